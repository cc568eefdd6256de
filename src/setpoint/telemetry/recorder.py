"""Receives records into the store and writes them to the journal, without blocking the event loop."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from setpoint.objects.clock import Clock
from setpoint.telemetry.held import Held, lines
from setpoint.telemetry.journal import Journal
from setpoint.telemetry.store import Refusal, TelemetryStore

# The number of records that are added in one turn of the event loop.
SLICE: Final = 128
# The number of records that may wait for the disk; further ones are kept in memory only.
_MAX_WAITING: Final = 50_000
# The interval at which expired records are removed if no others arrive.
_EXPIRY_SECONDS: Final = 60.0
_log = logging.getLogger(__name__)


class TelemetryRecorder:
    """The store of a control plane with its files, if it has any. Call `start` once, and `close` at the end."""

    def __init__(self, store: TelemetryStore, journal: Journal | None, clock: Clock) -> None:
        self.store = store
        self._journal, self._clock = journal, clock
        self._tasks: list[asyncio.Task[None]] = []
        self._loaded = asyncio.Event()
        self._waiting: list[Held] = []
        self._wanted = asyncio.Event()
        self._is_closing = False
        # The number of records that are in no file.
        self.unwritten = 0

    def start(self) -> None:
        """Begins to read the stored records. Records received meanwhile wait until all are read."""
        self._tasks = [asyncio.create_task(self._run(self._journal)), asyncio.create_task(self._expire())]

    async def loaded(self) -> None:
        """Waits until the stored records are in the store."""
        await self._loaded.wait()

    async def add(self, records: Sequence[Held]) -> Refusal:
        """Adds records to the store and the files. Returns the number and reason of the rejected ones."""
        await self.loaded()
        refused, reason = 0, ""
        for start in range(0, len(records), SLICE):
            if start:
                await self._clock.sleep(0)
            added, refusal = self.store.add(records[start : start + SLICE])
            refused, reason = refused + refusal.rejected, refusal.reason or reason
            self._write(added)
        return Refusal(refused, reason)

    async def close(self) -> None:
        """Writes the waiting records, and ends."""
        if not self._tasks:
            return
        writing, expiring = self._tasks
        self._tasks = []
        expiring.cancel()
        self._is_closing = True
        self._wanted.set()
        await asyncio.gather(writing, expiring, return_exceptions=True)

    def _write(self, records: Sequence[Held]) -> None:
        if self._journal is None:
            return
        space = _MAX_WAITING - len(self._waiting)
        self._waiting += records[:space]
        self.unwritten += max(len(records) - space, 0)
        self._wanted.set()

    async def _run(self, journal: Journal | None) -> None:
        if journal is not None:
            await self._load(journal)
        self._loaded.set()
        while journal is not None:
            if not self._is_closing:
                await self._wanted.wait()
            self._wanted.clear()
            records, self._waiting = self._waiting, []
            if records:
                try:
                    await asyncio.to_thread(_append, journal, records)
                except OSError as error:
                    self.unwritten += len(records)
                    _log.error("cannot write telemetry: %s; %d records are in memory only", error, self.unwritten)
            elif self._is_closing:
                return

    async def _load(self, journal: Journal) -> None:
        slices = journal.read()
        try:
            while found := await asyncio.to_thread(next, slices, None):
                self.store.add(found, stored=True)
        except OSError as error:
            _log.error("cannot read the stored telemetry: %s", error)

    async def _expire(self) -> None:
        while True:
            await self._clock.sleep(_EXPIRY_SECONDS)
            while self.store.expire():
                await self._clock.sleep(0)


def _append(journal: Journal, records: Sequence[Held]) -> None:
    for start in range(0, len(records), SLICE):
        journal.append(lines(records[start : start + SLICE]))
