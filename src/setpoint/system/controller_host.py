"""The services that the system offers to one of its controllers: clients, the shared cache, events, and running.

Every module of a system controller has a function `start(host)`, which the catalog names. A controller of the SDK is
started with `host.control`; its reconciles read the shared cache and write as the user of the controller:

    async def start(host: ControllerHost) -> None:
        await host.control(Controller(host.name, reconcile, kind="apps/v1/ReplicaSet", clock=host.clock))
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.controller.queue import Queue
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.system.node_setting import NodeSetting
from setpoint.system.ownership_feed import OwnershipListener
from setpoint.system.system_environment import ServerInterface

if TYPE_CHECKING:
    from setpoint.controller.recorder import Events, Recorder

# The field manager of all controllers of kube-controller-manager, as in managed fields of a cluster.
FIELD_MANAGER = "kube-controller-manager"


class SystemServices(Protocol):
    """The system, as seen by the host of one controller."""

    server: ServerInterface
    cache: Cache
    manager: Client
    nodes: NodeSetting
    listeners: list[OwnershipListener]
    queues: list[Queue[Any]]
    authority: str

    async def control(self, controller: Controller) -> None:
        """Starts a controller of the SDK."""

    def run(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Runs a function in the background until the system stops."""

    def record_events(self, events: "Events") -> None:
        """Writes the events of a controller until the system stops."""

    def wake(self) -> None:
        """Wakes the tasks that wait until all work is done."""


class ControllerHost:
    """The services for the controller `name`, which acts as the user of `client`."""

    def __init__(self, system: SystemServices, name: str, client: Client) -> None:
        self._system = system
        self.name = name
        self.client = client
        self._events: Events | None = None

    @property
    def server(self) -> ServerInterface:
        return self._system.server

    @property
    def cache(self) -> Cache:
        """The cache that all system controllers share. Its objects are read as kube-controller-manager."""
        return self._system.cache

    @property
    def manager(self) -> Client:
        """A client with the rights of kube-controller-manager itself."""
        return self._system.manager

    @property
    def nodes(self) -> NodeSetting:
        return self._system.nodes

    @property
    def clock(self) -> Clock:
        return self.server.clock

    @property
    def ids(self) -> Ids:
        return self.server.ids

    @property
    def authority(self) -> str:
        """The CA certificate of the server in PEM; empty as long as the server does not listen."""
        return self._system.authority

    @property
    def writer(self) -> Client:
        """The client for the writes of reconciles. Reads of the shared cache wait for these writes."""
        return self.cache.recorded(self.client)

    async def control(self, controller: Controller) -> None:
        """Starts a controller of the SDK. Its writes have the user of this host."""
        if controller.writer is None:
            controller.writer = self.writer
        controller.ids = self.ids
        await self._system.control(controller)

    def run(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Runs a function in the background until the system stops."""
        return self._system.run(run)

    def listen(self, listener: OwnershipListener) -> None:
        """Reports the owners of all objects to a listener."""
        self._system.listeners.append(listener)

    def track(self, queue: Queue[Any]) -> None:
        """Includes a queue in the wait for all work; the owner of the queue calls `wake` after each item."""
        self._system.queues.append(queue)

    def wake(self) -> None:
        """Wakes the tasks that wait until all work is done."""
        self._system.wake()

    def recorder(self, component: str, *, legacy: bool = True) -> "Recorder":
        """Returns the recorder of a component, which writes events as the user of this host. The writer of the events
        is created on first use, because most planes never need one. The events of kube-controller-manager are core/v1
        events (`legacy`), those of kube-scheduler are not."""
        if self._events is None:
            from setpoint.controller.recorder import Events

            self._events = Events(self.client, ids=self.ids, host="")
            self._system.record_events(self._events)
        return self._events.recorder(component, legacy=legacy)
