"""The workloads as a part of a control plane: the extensions of its server, and the controllers that start with it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.objects.ids import Ids
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.extension import Extension
from setpoint.server.request.observer import Plain
from setpoint.workload.admin.execution import ExecutionPage
from setpoint.workload.admin.finalizer_admission import FinalizerPlugin
from setpoint.workload.admin.perftrace import PerfTracePage
from setpoint.workload.admin.shutdown_admission import ClosingPlugin
from setpoint.workload.exporters import Exporters
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.session import is_dead, new_session
from setpoint.workload.records import records_path
from setpoint.workload.shutdown import Shutdown
from setpoint.workload.subresources.endpoints import WorkloadEndpoints
from setpoint.workload.workloads import Workloads, WorkloadSettings

# The prefix of the directory's name; the rest identifies its owner.
_PREFIX = "setpoint-"


class WorkloadHost:
    """The workloads of a control plane. Without settings, their files are in a temporary directory that is removed at
    the end, and persistent resources are recorded in the user's records file."""

    def __init__(self, settings: WorkloadSettings | None, ids: Ids) -> None:
        self._config = settings
        self._ids = ids
        self._own: Path | None = None
        self._endpoints = WorkloadEndpoints()
        self._starting: asyncio.Task[None] | None = None
        self._workloads: Workloads | None = None
        self.shutdown = Shutdown()
        # The receiver of the telemetry of the workloads; set before the start.
        self.exporters: Exporters | None = None
        self._perftrace = PerfTracePage(self._diagnostics)

    @property
    def pages(self) -> Sequence[Plain]:
        """The administrative endpoints of the control plane."""
        return ExecutionPage(self.shutdown), self._perftrace

    @property
    def admission(self) -> Sequence[Plugin]:
        return FinalizerPlugin(), ClosingPlugin(self.shutdown)

    @property
    def extensions(self) -> Sequence[Extension]:
        return self._endpoints.extensions

    @property
    def reports_telemetry(self) -> bool:
        """True if the workloads may send telemetry to the control plane: clients of DCP set the variables
        themselves."""
        return self._config is None or not self._config.as_dcp

    @property
    def workloads(self) -> Workloads:
        if self._workloads is None:
            raise RuntimeError("the control plane of these workloads is not running")
        return self._workloads

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers of the workloads; none before the start."""
        return self._workloads.controllers if self._workloads is not None else ()

    async def start(self, client: Client) -> None:
        """Returns when the kinds are registered; the controllers start in the background."""
        settings = self._config
        if settings is None:
            self._own = _own_directory(self._ids)
            settings = WorkloadSettings(self._own, records_path(os.environ))
        self._workloads = self._endpoints.workloads = Workloads(client, settings, self._ids)
        self._workloads.machine.exporters = self.exporters
        self.shutdown.begin(client, settings.environ)
        await self._workloads.prepare()
        self._starting = asyncio.ensure_future(self._workloads.start())

    async def started(self) -> None:
        """Waits until the controllers run. Raises the exception of a failed start."""
        if self._starting is not None:
            await asyncio.shield(self._starting)

    async def stop(self) -> None:
        """Stops all workloads that are not persistent, and removes the temporary directory."""
        await self.shutdown.close()
        await self._perftrace.close()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._workloads is not None:
            await self._workloads.stop()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def _diagnostics(self) -> Path | None:
        """Returns the directory for diagnostic files, or None before the start."""
        if self._workloads is None:
            return None
        world = self._workloads.machine
        given = world.environ.get("DCP_DIAGNOSTICS_LOG_FOLDER")
        return Path(given) if given else world.directory


def _own_directory(ids: Ids) -> Path:
    """Creates the temporary directory of this control plane, and removes those of control planes that were killed."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*"):
        if is_dead(left.name.removeprefix(_PREFIX)):
            shutil.rmtree(left, ignore_errors=True)
    own = place / f"{_PREFIX}{new_session(identity_of(os.getpid()) or Identity(os.getpid(), 0), ids)}"
    own.mkdir(mode=0o700)
    return own
