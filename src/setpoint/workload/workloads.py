"""The workloads of a control plane: the machine, the kinds, and the controllers that make them true.

    workloads = Workloads(client, directory=..., records=...)
    await workloads.start()

`stop` leaves nothing running that is not meant to outlive it, and a guardian sees to that should it not come to it.
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
from setpoint.workload.controllers.container.controller import Containers
from setpoint.workload.controllers.container.exec import ContainerExecs
from setpoint.workload.controllers.container.network import ContainerNetworks
from setpoint.workload.controllers.container.tunnel_proxy import TunnelProxies
from setpoint.workload.controllers.container.volume import ContainerVolumes
from setpoint.workload.controllers.executable.controller import Executables
from setpoint.workload.controllers.file_restart import FileWatching
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.controllers.replica_set.controller import ReplicaSets
from setpoint.workload.controllers.service import Services
from setpoint.workload.controllers.task.controller import Tasks
from setpoint.workload.dependencies import Deadlock, deadlocks
from setpoint.workload.engine.choice import connect
from setpoint.workload.engine_lookup import Connect, Engines
from setpoint.workload.events import RECORDER
from setpoint.workload.ide.offer import is_offered
from setpoint.workload.kinds.all import KINDS
from setpoint.workload.kinds.api_names import SERVICE_PRODUCER
from setpoint.workload.kinds.definitions import install
from setpoint.workload.kinds.endpoint import Endpoint
from setpoint.workload.logs.store import LogStore
from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.processes import Processes
from setpoint.workload.proxy.ports import Ports
from setpoint.workload.records import Records
from setpoint.workload.runtime import World
from setpoint.workload.terminal.terminals import Terminals

if TYPE_CHECKING:
    from setpoint.workload.ide.runner import IdeRunner

_BY_SERVICE = "service"
# How long the last events may take to be written.
_FLUSH_SECONDS = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkloadSettings:
    """What can be chosen about workloads."""

    # Where logs and sockets of this control plane are; files of one that is gone may lie there.
    directory: Path
    # The file in which what outlives control planes is recorded; None: nothing does.
    records: Path | None = None
    # Where the output of what outlives them goes; beside the records, unless told otherwise.
    kept_directory: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    # Where paths that are not absolute begin.
    working_directory: Path = field(default_factory=Path.cwd)
    workload_id: str = ""
    # Which container engine: docker, podman, or an address; or what finds one.
    container_runtime: str = ""
    # Of how many objects that are gone the output stays in the directory.
    kept_logs: int = 0
    connect: Connect | None = None


class Workloads:
    """What runs workloads for one control plane, whose client it is given."""

    def __init__(self, client: Client, settings: WorkloadSettings, ids: Ids | None = None) -> None:
        self._client = client
        self._cache = Cache(client)
        ids = ids or SystemIds()
        clock = client.clock
        processes = Processes(clock, ids, settings.environ)
        records = Records(settings.records, identity_of(os.getpid()) or Identity(os.getpid(), 0), processes.session)
        # Which objects were last looked at for circles, as they were, and the circles.
        self._judged: tuple[tuple[str, int, str | None], ...] = ()
        self._circles: list[Deadlock] = []
        self.world = World(
            clock=clock,
            ids=ids,
            processes=processes,
            records=records,
            ports=Ports(records.ports),
            logs=LogStore(settings.directory / "logs", clock, kept=settings.kept_logs),
            engines=Engines(
                clock,
                processes,
                settings.connect or partial(connect, clock, settings.environ, settings.container_runtime),
            ),
            directory=settings.directory,
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
        self._telling: asyncio.Task[None] | None = None
        self.terminals = self.world.terminals = Terminals(self.world)
        self.executables = Executables(self.world)
        self.ide = _ide(self.world, self.executables.wake)
        self.world.ide = self.ide
        self.services = Services(self.world)
        self.replica_sets = ReplicaSets(self.world)
        self.tasks = Tasks(self.world)
        self.containers = Containers(self.world)
        self.networks = ContainerNetworks(self.world)
        self.volumes = ContainerVolumes(self.world)
        self.execs = ContainerExecs(self.world)
        self.tunnels = TunnelProxies(self.world)
        self.file_watching = FileWatching(self.world, self.executables, self.containers)
        self.world.watched = self.file_watching.said
        self.cascade = Cascade(self.world, self.executables, self.containers)
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
            *self.cascade.controllers,
        ]

    @property
    def controllers(self) -> Sequence[Controller]:
        """What makes the objects true."""
        return self._controllers

    async def prepare(self) -> None:
        """Makes the kinds known: from then on clients may write objects, though nothing is done about them yet."""
        await install(self._client)

    async def start(self) -> None:
        """Cleans up after control planes that were killed, and begins to work. The kinds must be known."""
        if self.world.records.problem:
            _log.warning("%s", self.world.records.problem)
        for session, stopped in (await self.world.processes.sweep()).items():
            _log.warning("stopped %d processes that session %s left behind", stopped.asked, session)
        recorder = self.world.telling.recorder = self._events.recorder(RECORDER, legacy=True)
        informers = [self._cache.acquire(kind) for kind in READS]
        for informer in informers:
            await informer.wait_synced()
        self._cache.informer(Endpoint).add_index(_BY_SERVICE, lambda endpoint: [endpoint.spec.service_name])
        for controller in self._controllers:
            controller.recorder = recorder
            await controller.start(self._cache)
        self._telling = asyncio.ensure_future(self._events.run())
        for controller in self._controllers:
            controller.work()

    async def stop(self) -> None:
        """Ends everything that is not to be kept."""
        await asyncio.gather(*(controller.stop(0) for controller in self._controllers))
        self.file_watching.close()
        self.executables.close()
        await self.execs.close()
        await self.tunnels.close()
        await self.containers.close()
        await self.networks.close()
        await self.world.engines.close()
        await self.services.close()
        if self.ide is not None:
            await self.ide.close()
        await self.world.processes.close()
        await self.terminals.close()
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
            await self._events.flush(_FLUSH_SECONDS)
        self.world.logs.close()
        self.world.records.close()
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
        """Those that wait for each other. What they need stands in specs and one annotation: circles are sought again
        when one of these has changed, and not whenever somebody waits."""
        known = tuple(
            (held.meta.uid, held.meta.generation, (held.object.metadata.annotations or {}).get(SERVICE_PRODUCER))
            for kind in KINDS
            for held in self._cache.informer(kind).store.all()
        )
        if known != self._judged:
            self._judged, self._circles = known, deadlocks(self._objects())
        return self._circles

    def _endpoints(self, service: str) -> list[Object]:
        """The Endpoints of a Service, the oldest first."""
        found = self._cache.informer(Endpoint).store.by_index(_BY_SERVICE, service)
        return sorted(
            (tree_of(held.object) for held in found),
            key=lambda tree: (tree["metadata"]["creationTimestamp"], tree["metadata"]["name"]),
        )


def _ide(world: World, wake: Callable[[str], None]) -> "IdeRunner | None":
    """What runs Executables in an IDE, where one has said how to reach it; else nothing of it is even loaded."""
    if not is_offered(world.environ):
        return None
    from setpoint.workload.ide.runner import IdeRunner

    return IdeRunner(world.environ, world.clock, world.ids, world.logs, wake)
