"""Compression of large responses for clients that accept gzip."""

import zlib
from collections.abc import Sequence
from functools import partial

from setpoint.server.message import Request, Response
from setpoint.server.offload import Offload

# Smaller responses are sent faster uncompressed.
LEAST = 128 * 1024
# Larger bodies would block the event loop for too long, and are compressed in a thread: zlib releases the interpreter
# lock.
_LONG = 512 * 1024
# The fastest level: higher levels gain little for JSON.
_LEVEL = 1
_GZIP = 31


async def compressed(request: Request, response: Response, offload: Offload, user: str) -> Response:
    """Returns the response, compressed if large and if the client accepts gzip."""
    whole = response.body
    if not isinstance(whole, bytes | list):
        return response
    body = [whole] if isinstance(whole, bytes) else whole
    size = sum(map(len, body))
    if size <= LEAST or not _accepts_gzip(request):
        return response
    if any(name == "Content-Encoding" for name, _ in response.headers):
        return response
    small = _gzip(body) if size <= _LONG else await offload.run(user, partial(_gzip, body))
    headers = (*response.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return response._replace(body=small, headers=headers)


def _accepts_gzip(request: Request) -> bool:
    header = request.headers.get("accept-encoding", "")
    return bool(header) and any(part.strip() == "gzip" for part in header.split(","))


def _gzip(body: Sequence[bytes]) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join([*map(packer.compress, body), packer.flush()])
