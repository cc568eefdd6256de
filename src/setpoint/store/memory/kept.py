"""A store in memory that a file keeps between two lives: read at the start, written at an orderly end.

What a process that is killed had not written yet is lost: this is for tests, which start often and stop in order.
"""

from pathlib import Path
from typing import Self

from setpoint.objects.clock import Clock
from setpoint.store.contract import Retention
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
                beside = self._path.with_name(f".{self._path.name}.new")
                beside.write_bytes((await self.snapshot()).dump())
                beside.replace(self._path)
        finally:
            await super().close()
