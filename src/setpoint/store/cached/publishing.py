"""Stores that report every revision to listeners before any caller learns of the revision."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from setpoint.store.bounds import Bounds
from setpoint.store.contract import Event, Store


class Listener(Protocol):
    """A follower of the log in the same event loop, which never falls behind."""

    def published(self, events: Sequence[Event]) -> None:
        """Receives the events of whole revisions, in order. The store calls this function before the commits of these
        revisions return, and before watches receive the events."""

    def restored(self) -> None:
        """Learns that another state was restored, or that revisions were missed: the whole state must be read again, at
        the current revision or later."""


@runtime_checkable
class Publishing(Store, Protocol):
    """A store that can report every revision to listeners. The current revision and the bounds are those that the
    listeners know; a read of the store itself may already return a later revision."""

    @property
    def current(self) -> int: ...

    @property
    def bounds(self) -> Bounds: ...

    def check_open(self) -> None:
        """Raises Closed, or the error that makes the store unusable."""

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener."""

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""

    def recent(self, after: int) -> Sequence[Event] | None:
        """Returns a step of the events after a revision, whole revisions; None if they are not in memory."""

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns only the revisions and times of entries after a revision."""


@runtime_checkable
class SharedPublishing(Publishing, Protocol):
    """A store that other servers write to as well. Listeners learn of a revision, also of one that this process made,
    some time after its commit."""

    async def confirmed(self) -> int:
        """Asks the store for a revision that includes every write that was acknowledged before the call, by any server.
        Listeners receive that revision; `recent` returns no events that were purged before the call."""
