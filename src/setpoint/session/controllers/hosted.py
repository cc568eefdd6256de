"""The controllers of an app, hot-loaded: what the app file lists runs, and runs anew when its files change.

    hosted = HostedControllers(client, plane_kubeconfig, directory=app_directory, data=session_directory)
    await hosted.set(entries_of(app), app)
    await hosted.close()

What becomes of them is an event of the App object, a line in this process's log, and a line in the log of the
controllers, where all that they print is as well.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from setpoint.client.client import Client
from setpoint.controller.overview import Row
from setpoint.controller.recorder import Events
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.tree import Object
from setpoint.server.http import files
from setpoint.session.controllers.entry import Entry
from setpoint.session.controllers.seat import Seat, begin_of
from setpoint.workload.filewatch.inotify import Inotify
from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, Ignored, root_of
from setpoint.workload.filewatch.watcher import Watcher
from setpoint.workload.logs.store import LogStore

# As whom they write: with the name of the entry.
USER = "system:setpoint:controllers"
REPORTER = "setpoint-controllers"
# Editors write in several steps.
DEBOUNCE_SECONDS = 0.1
# How long the last events may take to be written.
_FLUSH_SECONDS = 1.0
# Where nobody keeps code that he changes.
NO_CODE = (".venv/", "venv/", ".tox/", ".nox/", "site-packages/", ".mypy_cache/", ".ruff_cache/", ".pytest_cache/")

_log = logging.getLogger(__name__)


class HostedControllers:
    """The controllers of one app, beside a control plane.

    `kubeconfig` makes one for a user. `directory` is where the app file is, and its paths begin; in `data` their
    kubeconfigs and logs are.
    """

    def __init__(
        self,
        client: Client,
        kubeconfig: Callable[[str], str],
        *,
        directory: Path,
        data: Path,
        ids: Ids | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._client, self._clock, self._kubeconfig = client, client.clock, kubeconfig
        self._directory, self._data, self._environ = directory, data / "controllers", environ
        self._events = Events(client, ids=ids or SystemIds())
        self._recorder = self._events.recorder(REPORTER)
        self._telling: asyncio.Task[None] | None = None
        self._app: Object | None = None
        self.logs = LogStore(self._data / "logs", self._clock)
        self._seats: dict[Entry, Seat] = {}
        self._setting = asyncio.Lock()
        self._inotify: Inotify | OSError | None = None
        self._watcher: Watcher | None = None
        self._looking: set[asyncio.Task[None]] = set()

    async def set(self, entries: Sequence[Entry], app: Object | None = None) -> None:
        """Has exactly these run, soon (`loaded` waits for it); what is listed as before goes on undisturbed. Events are
        about `app`."""
        async with self._setting:
            if app is not None:
                self._app = app
            if self._telling is None:
                self._telling = asyncio.ensure_future(self._events.run())
            gone = [self._seats.pop(entry) for entry in list(self._seats) if entry not in entries]
            await asyncio.gather(*(seat.close() for seat in gone))
            for entry in entries:
                if entry not in self._seats:
                    self._seats[entry] = self._seat(entry)
            if self._seats and self._watcher is None:
                await self._watch()

    async def loaded(self) -> None:
        """Returns when each of them works, or it is known why it does not."""
        for seat in list(self._seats.values()):
            await seat.decided.wait()

    async def report(self) -> list[Row]:
        """How each controller does, in the order of the app file."""
        found = await asyncio.gather(*(seat.rows() for seat in self._seats.values()))
        return [row for rows in found for row in rows]

    def logged(self) -> list[str]:
        """Whose output there is: names of controllers, and of files for what was printed before there were any."""
        return [unquote(uid) for uid in self.logs.known()]

    async def close(self) -> None:
        """Ends all of them: what reconciles may finish."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        if isinstance(self._inotify, Inotify):
            self._inotify.close()
        seats, self._seats = list(self._seats.values()), {}
        await asyncio.gather(*(seat.close() for seat in seats))
        for task in list(self._looking):
            task.cancel()
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, *self._looking, return_exceptions=True)
            await self._events.flush(_FLUSH_SECONDS)
            self._telling = None
        self.logs.close()

    def _seat(self, entry: Entry) -> Seat:
        label = quote(str(entry), safe="")
        self._data.mkdir(parents=True, exist_ok=True)
        path = self._data / f"{label}.kubeconfig"
        files.write(path, self._kubeconfig(f"{USER}:{entry}").encode())
        begin = begin_of(entry, self._directory, path)
        return Seat(entry, begin, self, self._taken, self._clock, self._environ)

    def _taken(self, name: str, asking: Entry) -> Entry | None:
        """Which other entry has a controller of this name."""
        return next((entry for entry, seat in self._seats.items() if entry != asking and name in seat.names), None)

    # Changes of files

    async def _watch(self) -> None:
        try:
            self._inotify = Inotify()
        except OSError as error:
            self._inotify = error
        root = root_of("**/*.py", os.path.realpath(self._directory))
        ignored = Ignored([*DEFAULT_IGNORED, *NO_CODE])
        self._watcher = Watcher([root], ignored, DEBOUNCE_SECONDS, self._changed, self._clock)
        await self._watcher.start(self._inotify)

    def _changed(self, paths: list[str]) -> None:
        looking = asyncio.ensure_future(self._look(paths))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)

    async def _look(self, paths: list[str]) -> None:
        """Loads those anew that the changed files have to do with."""
        changed = {os.path.realpath(path) for path in paths}
        await asyncio.gather(*(seat.refresh() for seat in self._seats.values()))
        because = _because(paths, self._directory)
        for seat in self._seats.values():
            if seat.concerns(changed):
                seat.change(because)

    # What becomes of them: `seat.Teller`

    def happened(self, entry: Entry, reason: str, text: str, *, bad: bool) -> None:
        _log.log(logging.WARNING if bad else logging.INFO, "%s", text)
        if self._app is not None:
            record = self._recorder.warning if bad else self._recorder.normal
            record(self._app, reason, text)
        seat = self._seats.get(entry)
        for name in (seat.names if seat is not None else None) or [entry.module]:
            self.printed(entry, name, f"[setpoint] {text}", error=bad)

    def printed(self, entry: Entry, controller: str, text: str, *, error: bool) -> None:
        source = "stderr" if error else "stdout"
        uid = quote(controller, safe="")
        track = self.logs.of(uid).tracks.get(source) or self.logs.capture(uid, source)
        track.write(f"{text}\n".encode("utf-8", "replace"))  # type: ignore[union-attr]


def _because(paths: Sequence[str], directory: Path) -> str:
    first = os.path.relpath(paths[0], os.path.realpath(directory))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{first}{more} changed"
