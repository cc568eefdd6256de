"""The state of a control plane at one moment, from which any number of other control planes can continue."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.ids import Ids, SeededIds
from setpoint.store.memory import MemorySnapshot, MemoryStore, State

# A control plane.
P = TypeVar("P")
# Runs a copy in a thread.
RunInThread: TypeAlias = Callable[[Callable[[], State]], Awaitable[State]]


@dataclass(frozen=True)
class PlaneSnapshot(Generic[P]):
    """The store, the time and the random numbers of a control plane. Independent of the plane, which may go on or end.

    snapshot = await plane.snapshot()
    async with snapshot.plane() as one, snapshot.plane(at=120) as earlier: ...
    """

    store: MemorySnapshot
    clock: Clock
    ids: Ids
    # Creates a control plane with the settings of the original one, without its store, files and workloads.
    make: Callable[[MemoryStore, Clock, Ids], P]

    def plane(self, at: int | None = None) -> P:
        """Returns a new control plane in memory, not yet started, that continues from the snapshot or from an earlier
        revision, with the same revisions and past. Raises TooEarly or TooLate for a revision that cannot be read."""
        clock = forked_clock(self.clock)
        return self._with(MemoryStore.fork(self.store, at=at, clock=clock), clock)

    async def plane_beside(self, run: RunInThread, at: int | None = None) -> P:
        """Returns the same as `plane`, and copies in a thread, so that a large store does not delay other tasks."""
        while True:
            # A purge during the copy may have missed values that were copied before.
            purges = self.store.owner.purges
            state = await run(partial(State.copied, self.store, at))
            if self.store.owner.purges == purges:
                break
        state.share_purges(self.store)
        clock = forked_clock(self.clock)
        return self._with(MemoryStore.of(state, clock=clock), clock)

    def _with(self, store: MemoryStore, clock: Clock) -> P:
        return self.make(store, clock, forked_ids(self.ids))


def forked_clock(clock: Clock) -> Clock:
    """Returns an independent clock with the same time; the machine's clock is shared."""
    return clock.fork() if isinstance(clock, ManualClock) else clock


def forked_ids(ids: Ids) -> Ids:
    """Returns an independent source with the same sequence; the machine's randomness is shared."""
    return ids.fork() if isinstance(ids, SeededIds) else ids
