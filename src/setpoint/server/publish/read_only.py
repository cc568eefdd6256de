"""What all documents have in common that clients can only read: the methods they know, and the tags of their states."""

import hashlib

from setpoint.objects.errors import MethodNotAllowed
from setpoint.server.request.context import Context


def check_method(context: Context, *, head: bool = True) -> None:
    """Refuses whoever wants to do more than read. Raises MethodNotAllowed."""
    method = context.request.method
    if method != "GET" and not (head and method == "HEAD"):
        raise MethodNotAllowed.method()


def digest(content: bytes) -> str:
    """The name of just this content."""
    return hashlib.sha512(content).hexdigest().upper()


def is_known(context: Context, etag: str) -> bool:
    """Whether the client says that it has the state with that tag already."""
    header = context.request.headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") in (etag, "*") for part in header.split(","))
