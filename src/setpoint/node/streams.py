"""The streams between a client and a program on a node."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeAlias


class Size(NamedTuple):
    """The size of a terminal."""

    columns: int
    rows: int


class Streams(Protocol):
    """The streams of a client that runs a command, attaches to a container, or connects to a port."""

    async def read(self) -> bytes:
        """Returns the next input of the client; empty after its end."""

    async def write(self, data: bytes, *, stderr: bool = False) -> None:
        """Sends output to the client, and waits until the client has read most of the earlier output."""

    async def next_size(self) -> Size:
        """Returns the next size of the terminal of the client."""


# A prepared exchange with a client, which returns the exit code. Raises APIError.
Conversation: TypeAlias = Callable[[Streams], Awaitable[int]]
