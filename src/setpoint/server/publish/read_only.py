"""Common parts of read-only documents: their methods, media types and ETags."""

import hashlib
from collections.abc import Collection

from setpoint.objects.errors import MethodNotAllowed, UnsupportedMediaType
from setpoint.server.codec.request_body import media_type
from setpoint.server.request.context import Context


def check_method(context: Context, *, head: bool = True) -> None:
    """Raises MethodNotAllowed for a method other than GET and, if `head` is True, HEAD."""
    method = context.request.method
    if method != "GET" and not (head and method == "HEAD"):
        raise MethodNotAllowed.method()


def check_consumed(context: Context, media_types: Collection[str]) -> None:
    """Raises UnsupportedMediaType for a media type of the body that the page does not decode, even without a body."""
    if media_type(context) not in media_types:
        raise UnsupportedMediaType("415: Unsupported Media Type", details=True)


def digest(content: bytes) -> str:
    """Returns the hash of the content."""
    return hashlib.sha512(content).hexdigest().upper()


def is_not_modified(context: Context, etag: str) -> bool:
    """Returns True if the client already has the content with this ETag."""
    header = context.request.headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") in (etag, "*") for part in header.split(","))
