"""The observer of test worlds: the pytest plugin sees the worlds and servers of a failing test."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from setpoint.testing.world_evidence import Evidence


class Subject(Protocol):
    """A world or a server."""

    async def evidence(self) -> "Evidence":
        """Returns the current state, which stays readable after the end."""


class WorldObserver(Protocol):
    """Sees the beginning and the end of worlds and servers."""

    def opened(self, subject: Subject) -> None: ...

    def closed(self, subject: Subject, evidence: "Evidence", error: BaseException | None) -> None:
        """Sees the end, with the exception of the block, if any."""


# The observer of the worlds in this context; the plugin sets one for each run of pytest.
observer: ContextVar[WorldObserver | None] = ContextVar("world_observer", default=None)
