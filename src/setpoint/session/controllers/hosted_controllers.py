"""The controllers of an app with hot reload: runs the entries of the app file, and reloads them when their files
change.

    hosted = HostedControllers(client, plane_kubeconfig, directory=app_directory, data=session_directory)
    await hosted.set(entries_of(app), app)
    await hosted.close()

Lifecycle changes are recorded as Events of the App object, in the log of this process, and in the log of the
controllers, which also contains their output.
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
from setpoint.objects.reconcile_report import ReconcileQuery, Reconciles
from setpoint.objects.tree import Object
from setpoint.server import secret_files
from setpoint.session.controllers.entry import EntryPoint
from setpoint.session.controllers.messages import Begin, Ran
from setpoint.session.controllers.worker_slots import WorkerSlots
from setpoint.store.files import make_directory
from setpoint.workload.logs.capture import Capture
from setpoint.workload.logs.log_store import LogStore

# The prefix of the controllers' user names, followed by the entry.
USER = "system:setpoint:controllers"
REPORTER = "setpoint-controllers"
# The time limit for writing the last Events.
_FLUSH_SECONDS = 1.0
_KUBECONFIG = ".kubeconfig"

_log = logging.getLogger(__name__)


class HostedControllers:
    """The controllers of one app, beside a control plane.

    `kubeconfig` creates a kubeconfig for a user. `directory` is the directory of the app file, the base of relative
    paths; `data` holds kubeconfigs and logs.
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
        self._kubeconfig, self._directory, self._data = kubeconfig, directory, data / "controllers"
        self._events = Events(client, ids=ids or SystemIds())
        self._recorder = self._events.recorder(REPORTER)
        self._event_task: asyncio.Task[None] | None = None
        self._app: Object | None = None
        self._seats = WorkerSlots(directory, self, client.clock, environ)
        self._begun: dict[EntryPoint, Begin] = {}
        self._setting = asyncio.Lock()
        self.logs = LogStore(self._data / "logs", client.clock)

    async def set(self, entries: Sequence[EntryPoint], app: Object | None = None) -> None:
        """Sets the entries to run; `loaded` waits for them. Unchanged entries keep running. Events refer to `app`."""
        async with self._setting:
            self._app = app or self._app
            if self._event_task is None:
                self._event_task = asyncio.ensure_future(self._events.run())
            self._begun = {entry: self._begun.get(entry) or self._begin(entry) for entry in entries}
            await self._seats.set(self._begun)

    async def loaded(self) -> None:
        """Waits until each entry runs or has failed."""
        async with self._setting:
            await self._seats.loaded()

    @property
    def listed(self) -> list[EntryPoint]:
        """The entries to run."""
        return list(self._begun)

    async def report(self) -> list[Row]:
        """Returns the status of each controller, in the order of the app file."""
        return await self._seats.rows()

    async def reconciles(self, wanted: ReconcileQuery) -> Reconciles:
        """Returns the remembered reconciles that match."""
        return await self._seats.reconciles(wanted)

    def logged(self) -> list[str]:
        """Returns the names of logs: controllers, and files for output before their controllers were known."""
        return [unquote(uid) for uid in self.logs.uids()]

    async def close(self) -> None:
        """Stops all controllers after their running reconciles."""
        await self._seats.close()
        for path in self._data.glob(f"*{_KUBECONFIG}"):
            path.unlink()
        if self._event_task is not None:
            self._event_task.cancel()
            await asyncio.gather(self._event_task, return_exceptions=True)
            await self._events.flush(_FLUSH_SECONDS)
            self._event_task = None
        self.logs.close()

    def _begin(self, entry: EntryPoint) -> Begin:
        make_directory(self._data)
        path = self._data / f"{quote(str(entry), safe='')}{_KUBECONFIG}"
        secret_files.write(path, self._kubeconfig(f"{USER}:{entry}").encode())
        return Begin(str(self._directory), entry.module, entry.name, [str(path)])

    # Implementation of `worker_slot.Teller`

    def happened(self, entry: EntryPoint, reason: str, text: str, *, bad: bool) -> None:
        _log.log(logging.WARNING if bad else logging.INFO, "%s", text)
        if self._app is not None:
            record = self._recorder.warning if bad else self._recorder.normal
            record(self._app, reason, text)
        self.printed(entry, self._seats.called(entry), f"[setpoint] {text}", error=bad)

    def printed(self, entry: EntryPoint, controller: str, text: str, *, error: bool) -> None:
        uid, source = quote(controller, safe=""), "stderr" if error else "stdout"
        track = self.logs.of(uid).tracks.get(source)
        if not isinstance(track, Capture):
            track = self.logs.capture(uid, source)
        track.write(f"{text}\n".encode("utf-8", "replace"))

    def ran(self, entry: EntryPoint, run: Ran) -> None:
        """Ignores reconciles: `setpoint trace` reads them from the log of revisions."""
