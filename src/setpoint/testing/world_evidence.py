"""The evidence of a world: its log, its last reconciles and its problems, readable after its end."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from setpoint.controller.run_record import ReconcileRecord
from setpoint.past.archive.format import LogOf
from setpoint.plane import ControlPlane
from setpoint.session.archive.sources import Owner
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
        return [] if self.store is None else [entry async for page in _entries(self.store) for entry in page]


async def evidence_of(
    plane: ControlPlane,
    first: int,
    runs: Sequence[ReconcileRecord] = (),
    run_count: int = 0,
    problems: Sequence[Problem] = (),
) -> Evidence:
    """Returns the evidence of a running control plane."""
    services = plane.services
    found = await services.store.snapshot() if isinstance(services.store, MemoryStore) else None
    return Evidence(found, services.clock.now(), first, list(runs), run_count, list(problems))


class EvidenceSource:
    """The log of an evidence as the source of an archive."""

    notes: Sequence[str] = ()

    def __init__(self, store: MemorySnapshot) -> None:
        self._snapshot = store
        self._store = MemoryStore.fork(store)

    async def bounds(self) -> tuple[int, int]:
        return await self._store.oldest(), await self._store.revision()

    def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        return _entries(self._snapshot)

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        """Returns no logs: a world runs no workloads."""
        return []

    async def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        """Yields no output."""
        return
        yield b""


async def _entries(snapshot: MemorySnapshot) -> AsyncIterator[Sequence[LogEntry]]:
    store, after = MemoryStore.fork(snapshot), 0
    while entries := await store.log(after, _PAGE):
        yield entries
        after = entries[-1].revision
