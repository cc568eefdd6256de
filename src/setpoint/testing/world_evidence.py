"""The evidence of a world: its log, its last reconciles and its problems, readable after its end."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from setpoint.controller.run_record import ReconcileRecord
from setpoint.plane import ControlPlane
from setpoint.store.contract import LogEntry
from setpoint.store.memory import MemorySnapshot, MemoryStore
from setpoint.testing.problems import Problem

_PAGE = 4096


@dataclass(frozen=True)
class Evidence:
    """The state of a world or a server at one moment. Shares the log with its store, and costs little."""

    # None for a store outside of memory.
    store: MemorySnapshot | None
    now: datetime
    # The revision at the beginning, before the objects of the test.
    first: int = 0
    # The last reconciles, oldest first, and the number of all.
    runs: Sequence[ReconcileRecord] = ()
    run_count: int = 0
    problems: Sequence[Problem] = field(default=())

    async def log(self) -> list[LogEntry]:
        """Returns all entries of the log."""
        return [] if self.store is None else [entry async for page in entries_of(self.store) for entry in page]


async def evidence_of(
    plane: ControlPlane,
    first: int,
    runs: Sequence[ReconcileRecord] = (),
    run_count: int = 0,
    problems: Sequence[Problem] = (),
) -> Evidence:
    """Returns the evidence of a running control plane."""
    store, clock = plane.services.store, plane.services.clock
    found = await store.snapshot() if isinstance(store, MemoryStore) and not store.closed else None
    return Evidence(found, clock.now(), first, list(runs), run_count, list(problems))


async def entries_of(snapshot: MemorySnapshot) -> AsyncIterator[Sequence[LogEntry]]:
    """Yields the entries of a log in pages."""
    store, after = MemoryStore.fork(snapshot), 0
    while entries := await store.log(after, _PAGE):
        yield entries
        after = entries[-1].revision
