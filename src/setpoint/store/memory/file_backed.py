"""A store in memory that is saved to a file: loaded at the start, written by a clean shutdown.

Changes of a process that is killed are lost: this store is for tests, which start often and stop cleanly.
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
    """A memory store with a file; created by `open`. The state and the revision are saved; the past is not."""

    def __init__(self, path: Path, *, clock: Clock | None = None, retention: Retention = MEMORY_RETENTION) -> None:
        super().__init__(clock=clock, retention=retention)
        self._path = path

    @classmethod
    async def open(cls, path: Path, *, clock: Clock | None = None, retention: Retention = MEMORY_RETENTION) -> Self:
        """Returns the store as of its last close, or an empty one without a file. Raises OSError or BadSnapshot."""
        store = cls(path, clock=clock, retention=retention)
        if path.exists():
            await store.restore(path.read_bytes())
        return store

    async def close(self) -> None:
        """Writes the file and closes the store. Raises OSError; the file is then unchanged."""
        try:
            if not self.closed:
                await self.compact(self.current)
                self._write((await self.snapshot()).dump())
        finally:
            await super().close()

    async def scrub(self, *, always: bool = False) -> None:
        """Rewrites the file: it holds the state of the last start, possibly with values that were purged since. Raises
        OSError."""
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
