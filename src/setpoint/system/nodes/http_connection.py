"""A connection with HTTP/1.1 to a simulated port: reads the requests of a client, and writes the answers."""

from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus

import httptools

from setpoint.node.ports import PortReply, PortRequest
from setpoint.node.streams import Streams

# The most bytes of one request with its headers.
MOST_REQUEST_BYTES = 16 << 20
# Headers that concern one connection; the length is computed.
CONNECTION_HEADERS = frozenset(
    ("connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)

Answer = Callable[[PortRequest], Awaitable[PortReply]]


class _RequestReader:
    """Parses the requests of a connection. The methods with the prefix `on_` are called by the parser."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._complete: list[tuple[PortRequest, bool]] = []
        self._size = 0
        self.on_message_begin()

    def feed(self, data: bytes) -> Iterator[tuple[PortRequest, bool]]:
        """Yields the requests that are complete, each with True if the connection stays open. Raises HttpParserError,
        and OverflowError for a request that is too large."""
        self._size += len(data)
        self._parser.feed_data(data)
        found, self._complete = self._complete, []
        if found:
            self._size = 0
        elif self._size > MOST_REQUEST_BYTES:
            raise OverflowError
        yield from found

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode("ascii")
        request = PortRequest(method, path, query, self._headers, bytes(self._body))
        self._complete.append((request, self._parser.should_keep_alive()))


async def serve_requests(streams: Streams, answer: Answer) -> None:
    """Answers the requests of a client in order, until the client or a request ends the connection."""
    reader = _RequestReader()
    while data := await streams.read():
        try:
            requests = list(reader.feed(data))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            await streams.write(_encoded(PortReply("the request is no valid HTTP/1.1\n", 400), "GET", False))
            return
        except OverflowError:
            text = f"a request has at most {MOST_REQUEST_BYTES} bytes\n"
            await streams.write(_encoded(PortReply(text, 413), "GET", False))
            return
        for request, stays_open in requests:
            await streams.write(_encoded(await answer(request), request.method, stays_open))
            if not stays_open:
                return


def _encoded(reply: PortReply, method: str, stays_open: bool) -> bytes:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    headers = {name: value for name, value in reply.headers.items() if name.lower() not in CONNECTION_HEADERS}
    if "content-type" not in map(str.lower, headers):
        headers["Content-Type"] = "text/plain; charset=utf-8"
    headers["Content-Length"] = str(len(body))
    if not stays_open:
        headers["Connection"] = "close"
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join((*lines, "", "")).encode("latin-1")
    return head if method == "HEAD" else head + body
