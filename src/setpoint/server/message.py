"""Requests and responses as the pipeline sees them, whatever carried them: a socket, or a call in the same process."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable


class Peer(NamedTuple):
    """Who is at the other end of the connection, as far as the connection itself says."""

    address: str = ""
    # The verified client certificate's common name and organizations; both empty without one.
    common_name: str = ""
    organizations: Sequence[str] = ()
    # The SHA-256 of that certificate, in hexadecimal.
    fingerprint: str = ""
    # When that certificate expires, in seconds since 1970; 0 without one.
    expires: float = 0.0
    # Code in our own process: it needs no credentials, and may bring some to be somebody else.
    in_process: bool = False
    # A controller of the server itself, such as the garbage collector.
    is_controller: bool = False


class Seat(Protocol):
    """The capacity that a request holds while it is served, and the account that its cost is charged to."""

    async def pause(self, size: int = 0) -> None:
        """Lets others run, and returns when it is this request's turn again. Work that grows with the number of objects
        waits here after every slice of it, and an answer before so many bytes of it are sent."""

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        """Notes that so many objects, with so many bytes, were read of a collection, which has `total` of them."""

    async def expect(self, scope: str, limit: int) -> None:
        """Waits as `reserve` does, for an answer with as many bytes as the collection had when it was read last."""

    async def reserve(self, size: int) -> None:
        """Waits until the user may have an answer of so many bytes. Raises TooManyRequests."""

    def sent(self, size: int) -> None:
        """Notes that so many bytes of the answer were sent so far."""

    def leave(self) -> None:
        """Gives it up; a second time does nothing."""


class Outlet(Protocol):
    """The way back to the client of a request."""

    @property
    def is_gone(self) -> bool:
        """Tells whether nobody is there any more to read an answer."""

    def sending(self, request: "Request", seat: Seat) -> bool:
        """Takes over the seat of a request until its answer is sent, or the client is gone. False: the request was
        answered already."""


class Request(NamedTuple):
    """One request, its body read whole."""

    method: str
    path: str  # percent-encoded, as on the request line, without the query
    query: str = ""  # percent-encoded, without the question mark
    # Names in lower case. A header sent twice is joined with ", "; with a line feed where it begins as `LISTED` says.
    headers: Mapping[str, str] = {}
    body: bytes = b""
    peer: Peer = Peer()
    # None: the answer goes to code in our own process.
    outlet: Outlet | None = None


# What the names of headers begin with whose values may hold commas of their own: who somebody wants to be. Each line of
# such a header is one value.
LISTED = "impersonate-"


def header_values(headers: Mapping[str, str], name: str) -> list[str]:
    """All values of a header of those."""
    joined = headers.get(name)
    return [] if joined is None else joined.split("\n")


class Frame:
    """One piece of a stream, in both its forms: the payload, and that payload as a chunk of HTTP/1.1.

    It is made once, however many streams send it.
    """

    __slots__ = ("chunk", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.chunk = b"%x\r\n%b\r\n" % (len(payload), payload)


class Sink(Protocol):
    """Where a stream writes its frames: the far end of a connection, with its patience."""

    def write(self, frame: Frame) -> bool:
        """Hands a frame over, at once. False: the other side is gone, or was too slow and has been cut off; the stream
        should end."""

    async def drain(self) -> bool:
        """Returns when the other side has taken most of what was written. A stream that has much to write at once (the
        initial events of a watch) waits here now and then: what is written without waiting beyond some megabytes
        makes the other side count as too slow. False: the stream should end."""

    @property
    def closed(self) -> bool:
        """Whether the stream should end: the other side has gone, or the server is shutting down."""

    async def wait_closed(self) -> None:
        """Returns when the other side has gone, or the server is shutting down and the stream should end."""


class Counter(Protocol):
    """Counts bytes that wait for a user."""

    def add(self, user: str, size: int) -> None:
        """Counts bytes more, or fewer."""

    def is_over(self, user: str) -> bool:
        """Tells whether more wait for the user than may."""


@runtime_checkable
class Buffered(Sink, Protocol):
    """A sink that holds bytes for a client that does not read."""

    def count_unsent(self, counter: Counter, user: str) -> None:
        """Has the bytes that it holds counted for a user. A stream is cut off while there are too many for the user."""


@runtime_checkable
class Line(Sink, Protocol):
    """A sink whose other side can be heard as well: where the client has offered a WebSocket."""

    def listen(self, hear: Callable[[bytes], None]) -> bool:
        """Has what the other side says heard, message by message. From then on every frame is one message. False: it
        cannot be heard, for there is no WebSocket."""

    def hold(self, held: bool) -> None:
        """Hears nothing more for now, or again: what the other side says waits on its way."""


class Stream(Protocol):
    """A body that is made while it is sent, such as a watch.

    What it holds it takes hold of in `run`, which may never be called (a HEAD request has no body), and lets go of when
    `run` ends: by returning, which ends the body cleanly, or cancelled, when the other side is gone.
    """

    async def run(self, sink: Sink) -> None: ...


Body: TypeAlias = bytes | list[bytes] | Stream


class Response(NamedTuple):
    """One answer. The edge adds what belongs to it: length or chunking, date, connection."""

    status: int
    content_type: str
    body: Body = b""
    headers: Sequence[tuple[str, str]] = ()


class Handler(Protocol):
    """What the edge calls. It answers every request, and raises for none of them."""

    async def __call__(self, request: Request) -> Response: ...
