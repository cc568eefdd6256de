"""A store in memory that a file keeps between two lives: read at the start, written at an orderly end.

What a process that is killed had not written yet is lost: this is for tests, which start often and stop in order.
"""

from pathlib import Path
from typing import Self

from setpoint.objects.clock import Clock
from setpoint.store.bounds import Bounds
from setpoint.store.contract import Retention
from setpoint.store.dump import Contents, dump, load
from setpoint.store.files import write_private
from setpoint.store.memory.store import MEMORY_RETENTION, MemoryStore


class KeptMemoryStore(MemoryStore):
    """Open it with `open`. The state is kept, and the revision; the past is not."""

    def __init__(self, path: Path, *, clock: Clock | None = None, retention: Retention = MEMORY_RETENTION) -> None:
        super().__init__(clock=clock, retention=retention)
        self._path = path

    @classmethod
    async def open(cls, path: Path, *, clock: Clock | None = None, retention: Retention = MEMORY_RETENTION) -> Self:
        """The store as it was closed, or an empty one where there is no file yet. Raises OSError or BadSnapshot."""
        store = cls(path, clock=clock, retention=retention)
        if path.exists():
            await store.restore(path.read_bytes())
        return store

    async def close(self) -> None:
        """Raises OSError; the file is then what it was."""
        try:
            if not self.closed:
                await self.compact(self.current)
                self._write((await self.snapshot()).dump())
        finally:
            await super().close()

    async def scrub(self, *, always: bool = False) -> None:
        """Writes the file anew: it holds the state at the last start, and with it values that were purged since.
        Raises OSError."""
        await super().scrub(always=always)
        contents = load((await self.snapshot()).dump())
        state = [entry for entry in contents.entries if entry.value is not None]
        current = {entry.key: entry for entry in state}
        kept = sorted(current.values(), key=lambda entry: entry[:2])
        there = [entry for entry in kept if self.peek(entry.key) is not None]
        bounds = Bounds(contents.bounds.current, contents.bounds.current)
        self._write(dump(Contents(bounds, there, contents.deadlines)))

    def _write(self, data: bytes) -> None:
        write_private(self._path, data)
