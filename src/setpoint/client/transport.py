"""What carries requests to an API server and brings the answers back, whatever it is: a socket, or a call in process.

Everything of the client above this is the same for all of them.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable
from urllib.parse import quote


class TransportError(Exception):
    """There was no answer. `sent` says whether the server may have got the request, and so may have done it."""

    # Whether the same request may have an answer a moment later.
    passes = True

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class NoAnswerInTime(TransportError):  # noqa: N818 - it says what happened
    """The time that the call had is over. It is not tried again: whoever gave it no more time wants to know."""

    passes = False


class CredentialsError(TransportError):
    """There is nothing to say who asks, and so the server was not asked."""

    passes = False

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False)


class Call(NamedTuple):
    """One request. Names of headers are in lower case."""

    method: str
    path: str  # percent-encoded
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str | Sequence[str]] = {}
    body: bytes = b""
    # Seconds for the whole answer; for a stream, for its beginning. None: as long as it takes.
    timeout: float | None = None

    @property
    def target(self) -> str:
        """Path and query as they stand on the request line."""
        if not self.query:
            return self.path
        return f"{self.path}?{_pairs(tuple(self.query))}"


@lru_cache(maxsize=1024)
def _pairs(query: tuple[tuple[str, str], ...]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)


class Answer(NamedTuple):
    """One answer. Names of headers are in lower case; what came twice is joined by commas, in order."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Stream(Protocol):
    """An answer that comes bit by bit. `answer` is how it begins; where that is an error, its body is whole."""

    @property
    def answer(self) -> Answer: ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces of the body as they come, cut anywhere; ends where the body ends. Raises TransportError."""

    def cut(self, why: str) -> None:
        """Ends it from this side: whoever reads gets what has come, and then a TransportError that says why."""


class Socket(Protocol):
    """A WebSocket: messages of bytes both ways. `protocol` is the one the server chose."""

    protocol: str

    async def send(self, message: bytes) -> None:
        """Sends a message. Raises TransportError."""

    async def receive(self) -> bytes | None:
        """The next message; None when the other side has closed it. Raises TransportError."""

    async def close(self) -> None:
        """Says goodbye, and waits a moment for the other side to."""


class Transport(Protocol):
    """The way to one API server."""

    async def send(self, call: Call) -> Answer:
        """Sends a request and returns the whole answer, whatever its status. Raises TransportError."""

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        """Sends a request whose answer is read while it comes. Leaving the context ends it."""

    async def close(self) -> None:
        """Ends what is under way and lets go of every connection."""


@runtime_checkable
class SocketTransport(Protocol):
    """A transport that can open WebSockets too: where `exec` and its like go."""

    def socket(self, call: Call, protocols: Sequence[str]) -> AbstractAsyncContextManager[Socket]:
        """Opens one that speaks one of the protocols; leaving the context closes it. Raises TransportError, Refused."""


class Refused(Exception):  # noqa: N818 - it says what happened
    """The server answered a WebSocket's request with something else."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the server answered with code {answer.status}")
        self.answer = answer
