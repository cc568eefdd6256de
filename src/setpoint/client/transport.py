"""The interface of transports, which carry requests to an API server: over a socket, or as a call in the same process.

The rest of the client is the same for all transports.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable
from urllib.parse import quote


class TransportError(Exception):
    """The request got no answer. `sent` is True if the server may have received, and so may have processed, the
    request."""

    # True if the same request may succeed a moment later.
    passes = True

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class NoAnswerInTime(TransportError):  # noqa: N818 - named for the event
    """The timeout of the call expired. The request is not retried."""

    passes = False


class CredentialsError(TransportError):
    """The credentials are unavailable, so the request was not sent."""

    passes = False

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False)


class Call(NamedTuple):
    """A request. The names of headers are in lower case."""

    method: str
    path: str  # percent-encoded
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str | Sequence[str]] = {}
    body: bytes = b""
    # The seconds for the whole answer, or for the head of a stream. None means no limit.
    timeout: float | None = None

    @property
    def target(self) -> str:
        """The path and query of the request line."""
        if not self.query:
            return self.path
        return f"{self.path}?{_pairs(tuple(self.query))}"


@lru_cache(maxsize=1024)
def _pairs(query: tuple[tuple[str, str], ...]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)


class Answer(NamedTuple):
    """An answer. The names of headers are in lower case; repeated headers are joined by commas, in order."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Stream(Protocol):
    """A streamed answer. `answer` has the head; for an error, `answer` has the whole body."""

    @property
    def answer(self) -> Answer: ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yields the pieces of the body as they arrive, split at any byte. Raises TransportError."""

    def cut(self, why: str) -> None:
        """Ends the stream from the client's side: the reader gets the data received so far, then a TransportError with
        the reason."""


class Socket(Protocol):
    """A WebSocket that carries messages of bytes in both directions. `protocol` is the subprotocol chosen by the
    server."""

    protocol: str

    async def send(self, message: bytes) -> None:
        """Sends a message. Raises TransportError."""

    async def receive(self) -> bytes | None:
        """Returns the next message, or None if the peer has closed the WebSocket. Raises TransportError."""

    async def close(self) -> None:
        """Sends a close frame, and waits briefly for the peer's."""


class Transport(Protocol):
    """The connection to one API server."""

    async def send(self, call: Call) -> Answer:
        """Sends a request and returns the whole answer, whatever its status. Raises TransportError."""

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        """Sends a request with a streamed answer. Leaving the context ends the stream."""

    async def close(self) -> None:
        """Cancels requests in progress and closes all connections."""


@runtime_checkable
class SocketTransport(Protocol):
    """A transport that also opens WebSockets, for `exec`, `attach` and port forwarding."""

    def socket(self, call: Call, protocols: Sequence[str]) -> AbstractAsyncContextManager[Socket]:
        """Opens a WebSocket with one of the subprotocols; leaving the context closes the WebSocket. Raises
        TransportError, Refused."""


@runtime_checkable
class MovableTransport(Protocol):
    """A transport that can be used in the event loops of several threads, each with its own instance."""

    async def for_other_loop(self) -> Transport:
        """Returns a transport to the same server for the event loop of another thread."""


class Refused(Exception):  # noqa: N818 - named for the event
    """The server refused to open a WebSocket."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the server answered with status {answer.status}")
        self.answer = answer
