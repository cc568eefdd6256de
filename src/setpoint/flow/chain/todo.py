"""The pending work for one object: handlers to call again, failed handlers, and deletions to report.

Most objects have no pending work, and need no entry.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, TypeAlias

from setpoint.cache.entry import CachedObject
from setpoint.controller.read_tracker import Lookup
from setpoint.flow.chain.handler import DELETE, ChainHandler

AnyHandler: TypeAlias = ChainHandler[Any]

# The tolerance for rounding errors of float sums.
HAIR_SECONDS = 1e-9


class Due(NamedTuple):
    """The time of a handler's next call, in the clock's monotonic seconds; infinite for one that waits for another."""

    when: float
    # True if the handlers that come after are called again, too.
    followed: bool = True


class DeletedObject(NamedTuple):
    """A deleted object, and the handlers that are still to be called."""

    entry: CachedObject[Any]
    unseen: bool
    waiting: set[AnyHandler]


@dataclass(slots=True)
class Todo:
    """The pending work of one request."""

    due: dict[AnyHandler, Due] = field(default_factory=dict)
    # The handlers that failed in their last call.
    failed: set[AnyHandler] = field(default_factory=set)
    deleted: list[DeletedObject] = field(default_factory=list)
    # The lookups of each handler.
    lookups: dict[AnyHandler, frozenset[Lookup]] = field(default_factory=dict)
    # The generations that handlers have succeeded for, whose records could not be written.
    unrecorded: dict[AnyHandler, int] = field(default_factory=dict)
    # The requested time for a call of all handlers.
    wanted: float = inf
    # The time before which no handler is called, because the object could not be read.
    not_before: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self.due or self.failed or self.deleted or self.lookups or self.unrecorded) and self.wanted == inf

    def put(self, handler: AnyHandler, when: float, *, followed: bool = True) -> None:
        """Schedules a handler, or keeps an earlier time."""
        known = self.due.get(handler)
        if known is not None:
            when, followed = min(when, known.when), followed or known.followed
        self.due[handler] = Due(when, followed)

    def is_due(self, handler: AnyHandler, now: float) -> bool:
        """Returns True if a handler is due."""
        due = self.due.get(handler)
        return due is not None and due.when <= now + HAIR_SECONDS

    def consume_wanted(self, now: float) -> bool:
        """Returns True once if all handlers are due."""
        if self.wanted > now + HAIR_SECONDS:
            return False
        self.wanted = inf
        return True

    def is_finished(self, handler: AnyHandler) -> bool:
        """Returns True if a handler has no pending work."""
        return handler not in self.due and handler not in self.failed

    def drop(self, handler: AnyHandler) -> None:
        """Removes a handler."""
        self.due.pop(handler, None)
        self.failed.discard(handler)
        self.lookups.pop(handler, None)
        self.unrecorded.pop(handler, None)
        for departed in self.deleted:
            departed.waiting.discard(handler)
        self.deleted = [departed for departed in self.deleted if departed.waiting]

    def schedule(self, handlers: Iterable[AnyHandler], now: float) -> None:
        """Schedules handlers after one that they depend on has succeeded."""
        for handler in handlers:
            if handler.settings.event != DELETE or any(handler in departed.waiting for departed in self.deleted):
                self.put(handler, now)

    def next(self) -> float:
        """Returns the time of the next call."""
        return max(min(due.when for due in self.due.values()), self.not_before) if self.due else inf

    def wait(self, now: float) -> float | None:
        """Returns the seconds until the next call; None without one."""
        found = min(self.next(), self.wanted)
        return None if found == inf else max(found - now, 0.0)
