"""The state of a control plane at one moment, from which any number of other control planes can continue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.ids import Ids, SeededIds
from setpoint.store.memory import MemorySnapshot, MemoryStore

# A control plane.
P = TypeVar("P")


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
        clock, ids = forked_clock(self.clock), forked_ids(self.ids)
        return self.make(MemoryStore.fork(self.store, at=at, clock=clock), clock, ids)


def forked_clock(clock: Clock) -> Clock:
    """Returns an independent clock with the same time; the machine's clock is shared."""
    return clock.fork() if isinstance(clock, ManualClock) else clock


def forked_ids(ids: Ids) -> Ids:
    """Returns an independent source with the same sequence; the machine's randomness is shared."""
    return ids.fork() if isinstance(ids, SeededIds) else ids
