"""The slots of all entries, with one file watcher and unique controller names."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from setpoint.controller.overview import Row
from setpoint.objects.clock import Clock
from setpoint.objects.reconcile_report import ReconcileQuery, Reconciles
from setpoint.session.controllers.entry import EntryPoint
from setpoint.session.controllers.messages import Begin
from setpoint.session.controllers.worker_slot import Teller, WorkerSlot
from setpoint.workload.filewatch.notifier import Notifier, open_notifier
from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, root_of
from setpoint.workload.filewatch.watcher import Watcher
from setpoint.workload.ignore_patterns import by_git

# Editors write files in several steps.
DEBOUNCE_SECONDS = 0.1
# Directories without the user's own code.
_NO_CODE = (".venv/", "venv/", ".tox/", ".nox/", "site-packages/", ".mypy_cache/", ".ruff_cache/", ".pytest_cache/")


class WorkerSlots:
    """The slots of a directory, the base of relative paths."""

    def __init__(
        self, directory: Path, teller: Teller, clock: Clock, environ: Mapping[str, str], *, at_terminal: bool = False
    ) -> None:
        self._directory, self._teller, self._clock = directory, teller, clock
        self._environ, self._at_terminal = environ, at_terminal
        self._seats: dict[EntryPoint, WorkerSlot] = {}
        self._closing: list[asyncio.Task[None]] = []
        self._notifier: Notifier | OSError | None = None
        self._watcher: Watcher | None = None
        self._watched: tuple[str, ...] = ()
        self._reloading: set[asyncio.Task[None]] = set()

    async def set(self, wanted: Mapping[EntryPoint, Begin]) -> None:
        """Sets the entries to run. Unchanged entries keep running."""
        gone = [self._seats.pop(entry) for entry in list(self._seats) if entry not in wanted]
        # Cancelling this method does not cancel the stopping.
        self._closing += [asyncio.ensure_future(seat.close()) for seat in gone]
        await self._left()
        await self._watch(wanted)
        for entry, begin in wanted.items():
            if entry not in self._seats:
                self._seats[entry] = WorkerSlot(
                    *(entry, begin, self._teller, self._find_user, self._clock, self._environ),
                    at_terminal=self._at_terminal,
                )

    async def loaded(self) -> None:
        """Waits until each entry runs or has failed."""
        for seat in list(self._seats.values()):
            await seat.decided.wait()

    @property
    def problems(self) -> list[str]:
        """The errors of the entries."""
        return [seat.problem for seat in self._seats.values() if seat.problem]

    async def rows(self) -> list[Row]:
        """Returns the status of each controller, in the order of the entries."""
        found = await asyncio.gather(*(seat.rows() for seat in self._seats.values()))
        return [row for rows in found for row in rows]

    async def reconciles(self, wanted: ReconcileQuery) -> Reconciles:
        """Returns the remembered reconciles that match, and the names of all controllers."""
        seats = list(self._seats.values())
        found = await asyncio.gather(*(seat.reconciles(wanted) for seat in seats))
        return Reconciles(
            [each for reconciles in found for each in reconciles], [name for seat in seats for name in seat.names]
        )

    async def is_idle(self) -> bool:
        """Returns True if no controller has work until the next change or timer."""
        return all(await asyncio.gather(*(seat.is_idle() for seat in self._seats.values())))

    def called(self, entry: EntryPoint) -> str:
        """Returns the name for output of an entry without a controller."""
        seat = self._seats.get(entry)
        return seat.called if seat is not None else entry.module

    async def close(self) -> None:
        """Stops all workers after their running reconciles."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        if self._notifier is not None and not isinstance(self._notifier, OSError):
            self._notifier.close()
        for task in list(self._reloading):
            task.cancel()
        await asyncio.gather(*self._reloading, return_exceptions=True)
        seats, self._seats = list(self._seats.values()), {}
        self._closing += [asyncio.ensure_future(seat.close()) for seat in seats]
        await self._left()

    async def _left(self) -> None:
        """Waits for the slots that are stopping."""
        if self._closing:
            await asyncio.wait(self._closing)
            self._closing = [each for each in self._closing if not each.done()]

    def _find_user(self, name: str, asking: EntryPoint) -> EntryPoint | None:
        """Returns the other entry with a controller of this name, or None."""
        return next((entry for entry, seat in self._seats.items() if entry != asking and name in seat.names), None)

    # Changes of files

    async def _watch(self, wanted: Mapping[EntryPoint, Begin]) -> None:
        """Watches the directory, and the directories of files elsewhere, before any module is loaded."""
        top = os.path.realpath(self._directory)
        places = {os.path.realpath(self._directory / each.module).rpartition("/")[0] for each in wanted if each.is_file}
        directories = (top, *sorted(each for each in places if not f"{each}/".startswith(f"{top}/")))
        if directories == self._watched or not wanted:
            return
        if self._watcher is not None:
            self._watcher.close()
        if self._notifier is None:
            self._notifier = open_notifier()
        roots = [root_of("**/*.py", each) for each in directories]
        ignored = by_git([*DEFAULT_IGNORED, *_NO_CODE])
        self._watched = directories
        self._watcher = Watcher(roots, ignored, DEBOUNCE_SECONDS, self._changed, self._clock)
        await self._watcher.start(self._notifier)

    def _changed(self, paths: list[str]) -> None:
        looking = asyncio.ensure_future(self._reload_changed(paths))
        self._reloading.add(looking)
        looking.add_done_callback(self._reloading.discard)

    async def _reload_changed(self, paths: list[str]) -> None:
        """Reloads the entries that the changed files affect."""
        changed = {os.path.realpath(path) for path in paths}
        await asyncio.gather(*(seat.refresh() for seat in self._seats.values()))
        because = _because(paths, self._directory)
        for seat in self._seats.values():
            if seat.concerns(changed):
                seat.change(because)


def _because(paths: Sequence[str], directory: Path) -> str:
    first = os.path.relpath(paths[0], os.path.realpath(directory))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{first}{more} changed"
