"""The archive of a failed test."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

from setpoint.objects.clock import StandingClock
from setpoint.past.archive.format import LogOf
from setpoint.session.archive.sources import Owner
from setpoint.session.archive.writer import ArchiveContents, write_archive
from setpoint.store.contract import LogEntry
from setpoint.store.memory import MemorySnapshot, MemoryStore
from setpoint.testing.world_evidence import Evidence, entries_of


async def write_evidence(path: Path, evidence: Evidence, test: str) -> None:
    """Saves the log of a world under the name of its test, readable only for the current user. Secrets are masked."""
    assert evidence.store is not None
    clock, wanted = StandingClock(evidence.now), ArchiveContents(test, "", logs=False)
    await write_archive(path, EvidenceSource(evidence.store), wanted, clock)


class EvidenceSource:
    """The log of an evidence as the source of an archive."""

    notes: Sequence[str] = ()

    def __init__(self, store: MemorySnapshot) -> None:
        self._snapshot = store
        self._store = MemoryStore.fork(store)

    async def bounds(self) -> tuple[int, int]:
        return await self._store.oldest(), await self._store.revision()

    def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        return entries_of(self._snapshot)

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        """Returns no logs: a world runs no workloads."""
        return []

    async def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        """Yields no output."""
        return
        yield b""
