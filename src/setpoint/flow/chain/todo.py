"""What is to be done for one object beside what its next change brings: which handlers run again, and when; which have
not ended well; and what to tell of those that are gone. Most objects have nothing of all that, and nothing is kept."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, TypeAlias

from setpoint.cache.entry import Held
from setpoint.controller.read_tracker import Look
from setpoint.flow.chain.handler import DELETE, Handler

AnyHandler: TypeAlias = Handler[Any]

# Sums of floats may miss their time by as much.
HAIR_SECONDS = 1e-9


class Due(NamedTuple):
    """When a handler runs again, in the clock's monotonic seconds; never, for one that waits for another."""

    when: float
    # Whether those that come after it run again with it.
    followed: bool = True


class Departed(NamedTuple):
    """An object that is gone, and who is still to be told."""

    held: Held[Any]
    unseen: bool
    waiting: set[AnyHandler]


@dataclass(slots=True)
class Todo:
    """What is to be done for one request."""

    due: dict[AnyHandler, Due] = field(default_factory=dict)
    # Those whose last call did not end well.
    failed: set[AnyHandler] = field(default_factory=set)
    departed: list[Departed] = field(default_factory=list)
    # What each has looked up.
    looks: dict[AnyHandler, frozenset[Look]] = field(default_factory=dict)
    # When somebody wanted all of them to run.
    wanted: float = inf
    # The time before which nothing is tried, because not even the object could be read.
    not_before: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self.due or self.failed or self.departed or self.looks) and self.wanted == inf

    def put(self, handler: AnyHandler, when: float, *, followed: bool = True) -> None:
        """Has a handler run at a time, or earlier if that was said before."""
        known = self.due.get(handler)
        if known is not None:
            when, followed = min(when, known.when), followed or known.followed
        self.due[handler] = Due(when, followed)

    def is_due(self, handler: AnyHandler, now: float) -> bool:
        """Whether it is time for a handler."""
        due = self.due.get(handler)
        return due is not None and due.when <= now + HAIR_SECONDS

    def take_wanted(self, now: float) -> bool:
        """Whether it is time for all of them; that is asked once."""
        if self.wanted > now + HAIR_SECONDS:
            return False
        self.wanted = inf
        return True

    def is_settled(self, handler: AnyHandler) -> bool:
        """Whether a handler has nothing left to do."""
        return handler not in self.due and handler not in self.failed

    def drop(self, handler: AnyHandler) -> None:
        """A handler does not take part any more."""
        self.due.pop(handler, None)
        self.failed.discard(handler)
        self.looks.pop(handler, None)
        for departed in self.departed:
            departed.waiting.discard(handler)
        self.departed = [departed for departed in self.departed if departed.waiting]

    def bring(self, handlers: Iterable[AnyHandler], now: float) -> None:
        """Has handlers run that build on one which stands in their way no more."""
        for handler in handlers:
            if handler.settings.what != DELETE or any(handler in departed.waiting for departed in self.departed):
                self.put(handler, now)

    def next(self) -> float:
        """When something is to be done next."""
        return max(min((due.when for due in self.due.values()), default=inf), self.not_before, 0.0) if self.due else inf

    def wait(self, now: float) -> float | None:
        """The seconds until then; None: nothing is."""
        found = min(self.next(), self.wanted)
        return None if found == inf else max(found - now, 0.0)
