"""Common parts of read-only documents: their methods and ETags."""

import hashlib

from setpoint.objects.errors import MethodNotAllowed
from setpoint.server.request.context import Context


def check_method(context: Context, *, head: bool = True) -> None:
    """Raises MethodNotAllowed for a method other than GET and, if `head` is True, HEAD."""
    method = context.request.method
    if method != "GET" and not (head and method == "HEAD"):
        raise MethodNotAllowed.method()


def digest(content: bytes) -> str:
    """Returns the hash of the content."""
    return hashlib.sha512(content).hexdigest().upper()


def is_not_modified(context: Context, etag: str) -> bool:
    """Returns True if the client already has the content with this ETag."""
    header = context.request.headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") in (etag, "*") for part in header.split(","))
