"""Requests and responses of the pipeline, independent of the transport: a socket, or a call in the same process."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from setpoint.objects.metrics import Histogram


class Peer(NamedTuple):
    """The client of a connection, as far as the connection itself identifies the client."""

    address: str = ""
    # The verified client certificate's common name and organizations; both empty without one.
    common_name: str = ""
    organizations: Sequence[str] = ()
    # The SHA-256 of that certificate, in hexadecimal.
    fingerprint: str = ""
    # When that certificate expires, in seconds since 1970; 0 without one.
    expires: float = 0.0
    # The caller runs in this process and needs no credentials; with credentials, the caller acts as another user.
    in_process: bool = False
    # A controller of the server itself, such as the garbage collector.
    is_controller: bool = False
    # The user (`ports.User`) of a browser's session with the dashboard, if the request comes from its page.
    session_user: Any = None


class Seat(Protocol):
    """The share of the server's capacity that a request occupies while being served, and the user that its cost is
    charged to."""

    @property
    def executions(self) -> Histogram:
        """The counts of the execution times of answered requests."""

    async def pause(self, size: int = 0) -> None:
        """Lets other requests run and returns at this request's next turn. Work that grows with the number of objects
        calls this after every slice; a response calls this before `size` more bytes are sent."""

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        """Records that a request read `objects` objects, with `size` bytes, of a collection with `total` objects."""

    async def expect(self, scope: str, limit: int) -> None:
        """Waits as `reserve` does, for a response as large as the collection was when last read."""

    async def reserve(self, size: int) -> None:
        """Waits until the user may receive a response of `size` bytes. Raises TooManyRequests."""

    def sent(self, size: int) -> None:
        """Records that `size` bytes of the response have been sent so far."""

    def release(self) -> None:
        """Releases the seat. Further calls have no effect."""


class Outlet(Protocol):
    """The sending side of the connection that a request came from."""

    @property
    def is_disconnected(self) -> bool:
        """Returns True if the client has disconnected."""

    def sending(self, request: "Request", seat: Seat) -> bool:
        """Holds the seat of a request until its response is sent or the client disconnects. Returns False if the
        request has already been answered."""


class Request(NamedTuple):
    """One request with its complete body."""

    method: str
    path: str  # percent-encoded, as on the request line, without the query
    query: str = ""  # percent-encoded, without the question mark
    # Names in lower case. Repeated headers are joined with ", "; those that begin with `LISTED`, with a line feed.
    headers: Mapping[str, str] = {}
    body: bytes = b""
    peer: Peer = Peer()
    # None: the answer goes to code in our own process.
    outlet: Outlet | None = None


# The prefix of the impersonation headers. Their values may contain commas, so each header line is one value.
LISTED = "impersonate-"


def header_values(headers: Mapping[str, str], name: str) -> list[str]:
    """Returns all values of an impersonation header."""
    joined = headers.get(name)
    return [] if joined is None else joined.split("\n")


class Frame(msgspec.Struct, eq=False, gc=False):
    """One piece of a stream in two forms: the payload, and the payload as a chunk of HTTP/1.1.

    A frame is built once and shared by all streams that send the same payload.
    """

    payload: bytes
    _chunk: bytes | None = None

    @property
    def chunk(self) -> bytes:
        """The payload as a chunk, built for the first connection that sends the frame."""
        if self._chunk is None:
            self._chunk = b"%x\r\n%b\r\n" % (len(self.payload), self.payload)
        return self._chunk


class Sink(Protocol):
    """The destination of the frames of a stream: a connection, which limits the number of unsent bytes."""

    def write(self, frame: Frame) -> bool:
        """Queues a frame without waiting. Returns False if the client has disconnected, or was too slow and has been
        cut off; the stream should then end."""

    async def drain(self) -> bool:
        """Waits until the client has read most of the written bytes. A stream that writes much at once (the initial
        events of a watch) calls this now and then: some megabytes written without waiting make the client count as too
        slow. Returns False if the stream should end."""

    @property
    def closed(self) -> bool:
        """True if the stream should end: the client has disconnected, or the server is shutting down."""

    async def wait_closed(self) -> None:
        """Waits until the client disconnects or the server shuts down; the stream should then end."""


class Counter(Protocol):
    """Counts the unsent bytes of each user."""

    def add(self, user: str, size: int) -> None:
        """Adds a number of bytes, which may be negative."""

    def is_over(self, user: str) -> bool:
        """Returns True if the user has more unsent bytes than allowed."""


@runtime_checkable
class Buffered(Sink, Protocol):
    """A sink that buffers bytes for a client that does not read."""

    def count_unsent(self, counter: Counter, user: str) -> None:
        """Counts the buffered bytes for a user. While the user has too many, the stream is cut off."""


@runtime_checkable
class DuplexSink(Sink, Protocol):
    """A sink that can also receive, because the client offered a WebSocket."""

    def listen(self, on_message: Callable[[bytes], None]) -> bool:
        """Calls `on_message` with each message of the client. From then on every frame is sent as one message. Returns
        False if the client offered no WebSocket."""

    def pause_reading(self, is_paused: bool) -> None:
        """Stops receiving while `is_paused` is true; unread messages then wait in the connection."""


class Stream(Protocol):
    """A body that is produced while being sent, such as a watch.

    A stream acquires its resources in `run`, which may never be called (a HEAD request has no body), and releases them
    when `run` ends: either `run` returns, which ends the body cleanly, or `run` is cancelled because the client has
    disconnected.
    """

    async def run(self, sink: Sink) -> None: ...


Body: TypeAlias = bytes | list[bytes] | Stream


# The header of every response: caches between client and server keep none.
NO_CACHE = ("Cache-Control", "no-cache, private")


class Response(NamedTuple):
    """One response. The edge adds the headers of the transport: length or chunking, date, connection."""

    status: int
    content_type: str
    body: Body = b""
    headers: Sequence[tuple[str, str]] = ()


class RequestHandler(Protocol):
    """The callable that the edge passes requests to. A handler answers every request and never raises."""

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]: ...
