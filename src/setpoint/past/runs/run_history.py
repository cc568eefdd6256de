"""The runs of an app in its session: records the current run at its end, and a run that crashed at the next start.

The objects are read at the last revision before the shutdown began, while the workloads stop. Failures are logged, and
never delay or fail the session.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from setpoint.objects import meta
from setpoint.objects.clock import timeout
from setpoint.objects.times import format_micro_time
from setpoint.past.runs.record import CRASHED, End, RunContent, RunObject, RunRecord
from setpoint.past.runs.run_files import NoRun, RunFiles, past_of
from setpoint.past.runs.settings import RunSettings
from setpoint.store.contract import Selection, Store, StoreError, TooLate

if TYPE_CHECKING:
    from setpoint.server.request.context import Services

# The time limit for recording a run, and for reading a crashed one.
_SECONDS: Final = 10.0
# The user whose thread computes records.
_USER: Final = "system:setpoint:runs"
_CLUSTER: Final = "/core/namespaces/kube-system"
_FAILURES: Final = (OSError, StoreError, msgspec.MsgspecError, TimeoutError)
_log = logging.getLogger(__name__)


class RunStart(NamedTuple):
    """The app file and the enabled profiles of a run."""

    file: str = ""
    profiles: tuple[str, ...] = ()


class RunHistory:
    """The runs of one app, of which the current one began after revision `first` of the server's store. `open_crashed`
    opens the store of the run before, if that run crashed."""

    def __init__(
        self,
        services: "Services",
        first: int,
        directory: Path,
        settings: RunSettings,
        start: RunStart = RunStart(),  # noqa: B008 - immutable
        open_crashed: Callable[[], Awaitable[Store]] | None = None,
    ) -> None:
        self._files = RunFiles(directory, settings)
        self._services, self._first, self._clock = services, first, services.clock
        self._settings, self._start, self._open_crashed = settings, start, open_crashed
        self._beginning: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[RunContent] | None = None
        # Held by all changes of files.
        self._turn = asyncio.Lock()
        # The purges of this run, because the objects may have been read before.
        self._purged: list[Selection] = []
        self._summary = asyncio.Lock()
        # The current run at its last requested revision.
        self._known: RunRecord | None = None

    def begin(self) -> None:
        """Records the beginning of the run in the background, and the run before if that run crashed."""
        if self._settings.enabled:
            self._beginning = asyncio.ensure_future(self._begin())

    async def before_shutdown(self) -> None:
        """Begins to read the objects of the run, as they are at this revision."""
        if self._settings.enabled and self._reading is None:
            with suppress(StoreError):
                store = self._services.store
                started = RunRecord(number=0, log="", started="", first_revision=self._first)
                self._reading = asyncio.ensure_future(self._content(store, started, await store.revision()))

    async def finish(self, end: End) -> None:
        """Records the run."""
        try:
            async with timeout(self._clock, _SECONDS):
                await self._begun()
                await self.before_shutdown()
                if self._reading is not None:
                    await self._record(await self._reading, end)
        except Exception:  # the session ends normally in any case
            _log.exception("the run could not be recorded")
        finally:
            await self.close()

    async def close(self) -> None:
        """Cancels the work in the background."""
        tasks = [task for task in (self._beginning, self._reading) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def records(self) -> list[RunRecord]:
        """Returns the records of all runs, newest first, with the current one. Raises StoreError."""
        current = await self.current()
        ended = await asyncio.to_thread(self._files.records)
        return [current, *ended] if current is not None else ended

    async def current(self) -> RunRecord | None:
        """Returns the record of the current run as of now; None if runs are not recorded. Raises StoreError."""
        await self._begun()
        begun = await asyncio.to_thread(self._files.current) if self._settings.enabled else None
        if begun is None:
            return None
        async with self._summary:  # concurrent requests share one result
            revision = await self._services.store.revision()
            known = self._known
            if known is None or known.last_revision != revision:
                known = self._known = (await self._content(self._services.store, begun, revision)).record
        return msgspec.structs.replace(known, name=begun.name, pinned=begun.pinned)

    async def content(self, number: int | None) -> RunContent:
        """Returns a run with its objects; None is the current run, as of now. Raises NoRun, Damaged and StoreError."""
        current = await self.current()
        if current is not None and number in (None, current.number):
            return await self._content(self._services.store, current, current.last_revision)
        if number is None:
            raise NoRun("no run is recorded at present; name the second run to compare")
        record = await asyncio.to_thread(self._files.record, number)
        return RunContent(record, await asyncio.to_thread(self._files.objects, number))

    async def change(self, number: int, *, pinned: bool | None, name: str | None) -> None:
        """Pins, unpins or names a run. Raises NoRun, Refused and OSError."""
        await self._begun()
        async with self._turn:
            await asyncio.to_thread(partial(self._files.change, number, pinned=pinned, name=name))

    async def has(self, key: str) -> bool:
        """Returns True if an earlier run has an object."""
        await self._begun()
        return await asyncio.to_thread(self._files.has, key)

    async def purge(self, selection: Selection) -> int:
        """Removes the selected values of an object from the runs, and from the current one when it is recorded. Returns
        the number of removed values. Raises OSError."""
        await self._begun()
        store = self._services.store
        past = past_of(selection, await store.get(selection.key), await store.revision())
        self._purged.append(past)
        async with self._turn:
            return await asyncio.to_thread(self._files.purge, past, await _log_of(store))

    async def _begun(self) -> None:
        if self._beginning is not None:
            await asyncio.shield(self._beginning)

    async def _begin(self) -> None:
        try:
            async with self._turn:
                before, records, number = await asyncio.to_thread(self._files.beginning)
                if before is not None and all(record.number != before.number for record in records):
                    await self._recover(before)
                begun = RunRecord(
                    number=number,
                    log=await _log_of(self._services.store),
                    started=format_micro_time(self._clock.now()),
                    first_revision=self._first,
                    file=self._start.file,
                    profiles=self._start.profiles,
                )
                await asyncio.to_thread(self._files.begin, begun)
        except Exception:  # the session goes on in any case
            _log.exception("the run cannot be recorded")

    async def _recover(self, before: RunRecord) -> None:
        """Records a run that crashed, from its store. A run without a store had no objects, and is not recorded."""
        if self._open_crashed is None:
            return
        found, ended = RunContent(before), ""
        try:
            async with timeout(self._clock, _SECONDS):
                store = await self._open_crashed()
                try:
                    if await _log_of(store) != before.log:
                        raise StoreError("the store is that of another run")
                    last = await store.revision()
                    found = await self._content(store, before, last)
                    entries = await store.log(max(last - 1, 0), 1)
                    ended = _text(entries[-1].time) if entries else ""
                finally:
                    await store.close()
        except _FAILURES as error:
            _log.warning("the objects of the crashed run %d cannot be read: %s", before.number, error)
            found = RunContent(msgspec.structs.replace(before, omitted="the store of the run cannot be read"))
        record = msgspec.structs.replace(found.record, ended=ended, end=CRASHED)
        await self._write(record, found.objects)

    async def _record(self, found: RunContent, end: End) -> None:
        async with self._turn:
            begun = await asyncio.to_thread(self._files.current)
            if begun is None:
                return
            record = msgspec.structs.replace(
                begun,
                ended=format_micro_time(self._clock.now()),
                end=end,
                last_revision=found.record.last_revision,
                parts=found.record.parts,
                objects=found.record.objects,
                omitted=found.record.omitted,
            )
            await self._write(record, found.objects)

    async def _write(self, record: RunRecord, objects: tuple[RunObject, ...]) -> None:
        """Writes an ended run, without the values that were purged while its objects were read."""
        await asyncio.to_thread(self._files.write, record, objects)
        for selection in self._purged:
            await asyncio.to_thread(self._files.purge, selection, await _log_of(self._services.store))

    async def _content(self, store: Store, begun: RunRecord, at: int) -> RunContent:
        """Returns a run with its parts and objects at a revision. Raises StoreError."""
        from setpoint.past.runs.app_objects import read_app_objects, run_objects
        from setpoint.past.runs.part_outcomes import part_outcomes, start_of_log

        try:
            found = await read_app_objects(store, at, self._settings.max_bytes)
        except TooLate:
            omitted = "a purge or the retention removed values while the run was read"
            return RunContent(msgspec.structs.replace(begun, last_revision=at, omitted=omitted))
        log = await start_of_log(store, begun.first_revision, at)

        def summarize() -> RunContent:
            objects = () if found.omitted else run_objects(found.items)
            record = msgspec.structs.replace(
                begun,
                last_revision=at,
                parts=part_outcomes(found.items, log),
                objects=len(objects),
                omitted=found.omitted,
            )
            return RunContent(record, objects)

        return await self._services.offload.run(_USER, summarize)


async def _log_of(store: Store) -> str:
    """Returns the UID of the log of a store: that of a namespace which exists as long as the store."""
    found = await store.get(_CLUSTER)
    return meta.uid(msgspec.json.decode(found.value)) if found is not None else ""


def _text(seconds: float) -> str:
    return format_micro_time(datetime.fromtimestamp(seconds, UTC))
