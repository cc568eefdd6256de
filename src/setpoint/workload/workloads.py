"""The workloads of a control plane: the machine, the kinds, and their controllers.

    workloads = Workloads(client, directory=..., records=...)
    await workloads.start()

`stop` ends all workloads that are not persistent; a guardian does so if the control plane is killed.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, tree_of
from setpoint.controller.controller import Controller
from setpoint.controller.recorder import Events
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.tree import Object
from setpoint.workload.controllers.cascade import Cascade
from setpoint.workload.controllers.container.container_controller import Containers
from setpoint.workload.controllers.container.exec import ContainerExecs
from setpoint.workload.controllers.container.file_actions import FileActionControl
from setpoint.workload.controllers.container.network import ContainerNetworks
from setpoint.workload.controllers.container.tunnel_proxy import TunnelProxies
from setpoint.workload.controllers.container.volume import ContainerVolumes
from setpoint.workload.controllers.executable.executable_controller import Executables
from setpoint.workload.controllers.file_restart import FileWatching
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.controllers.replica_set.replica_set_controller import ReplicaSets
from setpoint.workload.controllers.service import Services
from setpoint.workload.controllers.task.task_controller import Tasks
from setpoint.workload.dependencies import Deadlock, deadlocks
from setpoint.workload.engine.choice import connect
from setpoint.workload.engine_lookup import Connect, Engines
from setpoint.workload.events import RECORDER
from setpoint.workload.ide.offer import is_offered
from setpoint.workload.kinds.all import KINDS
from setpoint.workload.kinds.api_names import SERVICE_PRODUCER
from setpoint.workload.kinds.definitions import install
from setpoint.workload.kinds.endpoint import Endpoint
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.note_line import DCP, PLAIN
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.processes import Processes
from setpoint.workload.proxy.ports import Ports
from setpoint.workload.records import Records
from setpoint.workload.runtime import Machine
from setpoint.workload.terminal.terminals import Terminals

if TYPE_CHECKING:
    from setpoint.workload.ide.runner import IdeRunner

_BY_SERVICE = "service"
# The time to wait for the last events to be written.
_FLUSH_SECONDS = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkloadSettings:
    """The settings of the workloads."""

    # The directory for logs and sockets of this control plane; may contain files of an earlier one.
    directory: Path
    # The file that records persistent workloads; None: not recorded.
    records: Path | None = None
    # The directory for the output of persistent processes; next to the records by default.
    kept_directory: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    # The base of relative paths.
    working_directory: Path = field(default_factory=Path.cwd)
    workload_id: str = ""
    # The container engine: docker, podman, or an address; or the function that connects to one.
    container_runtime: str = ""
    # The number of deleted objects whose logs are kept.
    kept_logs: int = 0
    connect: Connect | None = None
    # True for clients of DCP: its behaviour is used wherever Setpoint's differs (see `Machine.as_dcp`).
    as_dcp: bool = False


class Workloads:
    """Runs the workloads of one control plane, given its client."""

    def __init__(self, client: Client, settings: WorkloadSettings, ids: Ids | None = None) -> None:
        self._client = client
        self._cache = Cache(client)
        ids = ids or SystemIds()
        clock = client.clock
        processes = Processes(clock, ids, settings.environ)
        records = Records(settings.records, identity_of(os.getpid()) or Identity(os.getpid(), 0), processes.session)
        # The versions of the objects at the last computation of dependency cycles, and the cycles.
        self._judged: tuple[tuple[str, int, str | None], ...] = ()
        self._circles: list[Deadlock] = []
        self.machine = Machine(
            clock=clock,
            ids=ids,
            processes=processes,
            records=records,
            ports=Ports(records.ports),
            logs=LogStore(
                settings.directory / "logs",
                clock,
                kept=settings.kept_logs,
                note_format=DCP if settings.as_dcp else PLAIN,
            ),
            engines=Engines(
                clock,
                processes,
                settings.connect or partial(connect, clock, settings.environ, settings.container_runtime, starts=True),
            ),
            directory=settings.directory,
            as_dcp=settings.as_dcp,
            environ=settings.environ,
            working_directory=settings.working_directory,
            workload_id=settings.workload_id,
            kept_directory=settings.kept_directory or (settings.records or settings.directory / "records").parent,
            find=self._find,
            endpoints=self._endpoints,
            objects=self._objects,
            deadlocks=self._deadlocks,
        )
        self._events = Events(client, ids=ids)
        self._event_task: asyncio.Task[None] | None = None
        self.terminals = self.machine.terminals = Terminals(self.machine)
        self.executables = Executables(self.machine)
        self.ide = _ide(self.machine, self.executables.wake)
        self.machine.ide = self.ide
        self.services = Services(self.machine)
        self.replica_sets = ReplicaSets(self.machine)
        self.tasks = Tasks(self.machine)
        self.containers = Containers(self.machine)
        self.networks = ContainerNetworks(self.machine)
        self.volumes = ContainerVolumes(self.machine)
        self.execs = ContainerExecs(self.machine)
        self.tunnels = TunnelProxies(self.machine)
        self.file_watching = FileWatching(self.machine, self.executables, self.containers)
        self.machine.watched = self.file_watching.condition_of
        self.file_actions = FileActionControl(self.machine, self.containers, self.file_watching.watch)
        self.machine.syncs = self.file_actions
        self.cascade = Cascade(self.machine, self.executables, self.containers)
        self._controllers: list[Controller] = [
            self.executables.controller,
            self.services.controller,
            self.replica_sets.controller,
            self.tasks.controller,
            self.containers.controller,
            self.networks.controller,
            self.volumes.controller,
            self.execs.controller,
            self.tunnels.controller,
            *self.file_watching.controllers,
            self.file_actions.controller,
            *self.cascade.controllers,
        ]

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers of the workloads."""
        return self._controllers

    async def prepare(self) -> None:
        """Installs the kinds: from then on clients may write objects, although they are not reconciled yet."""
        await install(self._client)

    async def start(self) -> None:
        """Cleans up after killed control planes, and starts the controllers. The kinds must be installed."""
        if self.machine.records.problem:
            _log.warning("%s", self.machine.records.problem)
        for session, stopped in (await self.machine.processes.sweep()).items():
            _log.warning("stopped %d processes left behind by session %s", stopped.signalled, session)
        # DCP has no Events, and names of its objects may be invalid for those of Events.
        recorder = None if self.machine.as_dcp else self._events.recorder(RECORDER, legacy=True)
        self.machine.reporter.recorder = recorder
        informers = [self._cache.acquire(kind) for kind in READS]
        for informer in informers:
            await informer.wait_synced()
        self._cache.informer(Endpoint).add_index(_BY_SERVICE, lambda endpoint: [endpoint.spec.service_name])
        for controller in self._controllers:
            controller.recorder = recorder
            await controller.start(self._cache)
        self._event_task = asyncio.ensure_future(self._events.run())
        for controller in self._controllers:
            controller.work()

    async def stop(self) -> None:
        """Stops all workloads that are not persistent."""
        await asyncio.gather(*(controller.stop(0) for controller in self._controllers))
        self.file_actions.close()
        self.file_watching.close()
        self.executables.close()
        await self.execs.close()
        await self.tunnels.close()
        await self.containers.close()
        await self.networks.close()
        await self.machine.engines.close()
        await self.services.close()
        if self.ide is not None:
            await self.ide.close()
        await self.machine.processes.close()
        await self.terminals.close()
        if self._event_task is not None:
            self._event_task.cancel()
            await asyncio.gather(self._event_task, return_exceptions=True)
            await self._events.flush(_FLUSH_SECONDS)
        self.machine.logs.close()
        self.machine.records.close()
        await self._cache.close()

    def _find(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        held = self._cache.informer(kind).store.get(f"{namespace}/{name}" if namespace else name)
        return None if held is None else held.object

    def _objects(self) -> list[Object]:
        return [
            {**tree_of(held.object), "kind": kind.__name__}
            for kind in KINDS
            for held in self._cache.informer(kind).store.all()
        ]

    def _deadlocks(self) -> list[Deadlock]:
        """Returns the dependency cycles. They depend on specs and one annotation, and are computed again only when one
        of these has changed."""
        known = tuple(
            (held.meta.uid, held.meta.generation, (held.object.metadata.annotations or {}).get(SERVICE_PRODUCER))
            for kind in KINDS
            for held in self._cache.informer(kind).store.all()
        )
        if known != self._judged:
            self._judged, self._circles = known, deadlocks(self._objects())
        return self._circles

    def _endpoints(self, service: str) -> list[Object]:
        """Returns the Endpoints of a Service, the oldest first."""
        found = self._cache.informer(Endpoint).store.by_index(_BY_SERVICE, service)
        return sorted(
            (tree_of(held.object) for held in found),
            key=lambda tree: (tree["metadata"]["creationTimestamp"], tree["metadata"]["name"]),
        )


def _ide(machine: Machine, wake: Callable[[str], None]) -> "IdeRunner | None":
    """Returns the runner for an IDE if one is configured; otherwise its modules are not imported."""
    if not is_offered(machine.environ):
        return None
    from setpoint.workload.ide.runner import IdeRunner

    return IdeRunner(machine.environ, machine.clock, machine.ids, machine.logs, wake)
