"""One GET request over a new plain connection, for probes that run all the time: no pool, no resolver thread."""

import asyncio
from typing import NamedTuple, cast

import httptools

from setpoint.client.http.dial import reason_of

# A longer body is cut off, together with the connection.
_BODY_BYTES = 64 << 10
# The names of this machine are not resolved: IPv4 is tried first, IPv6 if refused.
_LOOPBACK = {"localhost": ("127.0.0.1", "::1")}


class Reply(NamedTuple):
    """A response: its status, the target of a redirect, and its body."""

    status: int
    location: str
    body: bytes


async def get(host: str, port: int, request: bytes) -> Reply:
    """Sends a request and returns the response. Raises OSError."""
    loop = asyncio.get_running_loop()
    problem: OSError | None = None
    for address in _LOOPBACK.get(host, (host,)):
        try:
            transport, exchange = await loop.create_connection(lambda: _Exchange(request), address, port)
        except OSError as error:
            problem = problem or error
            continue
        try:
            return await exchange.reply
        finally:
            transport.close()
    assert problem is not None
    raise OSError(problem.errno, f"cannot connect to http://{host}:{port}: {reason_of(problem)}")


class _Exchange(asyncio.Protocol):
    """Parses the response of one connection."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._parser = httptools.HttpResponseParser(self)
        self._location, self._body = b"", b""
        self._has_head = False
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.WriteTransport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the response is not HTTP: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        if self._has_head:
            self.on_message_complete()  # a body without a length ends with the connection
        self._fail(str(error) if error is not None else "the server closed the connection without a response")

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"location":
            self._location = value

    def on_headers_complete(self) -> None:
        self._has_head = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > _BODY_BYTES:
            self.on_message_complete()

    def on_message_complete(self) -> None:
        if self._has_head and not self.reply.done():
            location = self._location.decode("latin-1")
            self.reply.set_result(Reply(self._parser.get_status_code(), location, self._body[:_BODY_BYTES]))

    def _fail(self, message: str) -> None:
        if not self.reply.done():
            self.reply.set_exception(OSError(message))
