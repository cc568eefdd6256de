"""Large answers, made small for clients that ask for it."""

import asyncio
import zlib
from collections.abc import Sequence

from setpoint.server.message import Request, Response

# Smaller answers are sent sooner than compressed.
LEAST = 128 * 1024
# What takes longer to compress than the event loop should wait goes to a thread: zlib works without the interpreter.
_LONG = 512 * 1024
# As fast as it goes: the gain of higher levels is small for JSON.
_LEVEL = 1
_GZIP = 31


def is_large(response: Response) -> bool:
    """Whether an answer is one that may be compressed: most are not, and need not ask further."""
    return isinstance(response.body, list) or (isinstance(response.body, bytes) and len(response.body) > LEAST)


async def compressed(request: Request, response: Response) -> Response:
    """The answer, with a compressed body if it is large and the client takes gzip."""
    whole = response.body
    if not isinstance(whole, bytes | list):
        return response
    body = [whole] if isinstance(whole, bytes) else whole
    size = sum(map(len, body))
    if size <= LEAST or not _takes_gzip(request):
        return response
    if any(name == "Content-Encoding" for name, _ in response.headers):
        return response
    small = _gzip(body) if size <= _LONG else await asyncio.to_thread(_gzip, body)
    headers = (*response.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return response._replace(body=small, headers=headers)


def _takes_gzip(request: Request) -> bool:
    header = request.headers.get("accept-encoding", "")
    return bool(header) and any(part.strip() == "gzip" for part in header.split(","))


def _gzip(body: Sequence[bytes]) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join([*map(packer.compress, body), packer.flush()])
