"""The system controllers of a control plane: their selection, their users, and waiting for their completion.

They are ordinary clients: they read with the watches of `system:kube-controller-manager`, and each writes as its own
service account, with the permissions of RBAC. They have the names of kube-controller-manager.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.controller.controller import Controller
from setpoint.controller.metrics import ControllerMetrics, queue_families
from setpoint.controller.queue import Queue
from setpoint.objects.metrics import MetricFamily
from setpoint.store.contract import Closed, StoreError
from setpoint.system.catalog import CATALOG, MANAGER, account
from setpoint.system.controller_host import ControllerHost
from setpoint.system.controller_names import CERTIFICATE_SIGNING, ROOT_CA
from setpoint.system.node_setting import NO_NODES, NodeSetting
from setpoint.system.ownership_feed import OwnershipFeed, OwnershipListener
from setpoint.system.root_ca import root_ca_publisher
from setpoint.system.system_environment import ServerInterface

if TYPE_CHECKING:
    from setpoint.controller.recorder import Events
    from setpoint.controller.run_record import ReconcileRecord
    from setpoint.server.edge.certificates import Authority

_CERTIFICATE_REQUESTS = ("certificates.k8s.io", "v1", "certificatesigningrequests")
# A longer delay means waiting for another party.
_SOON_SECONDS = 1.0

_log = logging.getLogger(__name__)

# The objects of each kind that stay decoded in the shared cache. Ten thousand pods would need 200 MB.
DECODED_OBJECTS = 256


class System:
    """The running controllers. `start` starts them, `stop` stops them, `wait_processed` waits for them."""

    def __init__(self, server: ServerInterface, names: Collection[str], nodes: NodeSetting = NO_NODES) -> None:
        self.server = server
        self.nodes = nodes
        self._names = names
        self.manager = server.client_of(MANAGER)
        self.cache = Cache(self.manager, ids=server.ids, decoded_limit=DECODED_OBJECTS)
        # The listeners of the ownership feed, and queues of controllers that are not built with the SDK.
        self.listeners: list[OwnershipListener] = []
        self.queues: list[Queue[Any]] = []
        self._controllers: list[Controller] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._events: list[Events] = []
        self._feed: OwnershipFeed | None = None
        # The CA certificate of the server in PEM; empty as long as the server does not listen.
        self.authority = ""
        self._metrics: dict[str, ControllerMetrics] = {}
        self._publisher: Controller | None = None
        # Starts the signer of certificates when the first request for one appears.
        self._signing: asyncio.Task[None] | None = None
        # The number of background tasks that have failed.
        self._failures = 0
        # The number of reconciles that have started or ended.
        self._steps = 0

    @property
    def is_running(self) -> bool:
        """True if controllers were started, and none of them has failed."""
        return bool(self._controllers or self._tasks) and not self._failures

    async def start(self) -> None:
        """Starts the controllers that depend only on the server."""
        for entry in CATALOG:
            if entry.name in self._names:
                client = self.server.client_of(entry.user, entry.groups)
                await entry.start()(ControllerHost(self, entry.name, client))
        if self.listeners:
            self._feed = OwnershipFeed(self.manager, self.listeners)
            self.run(self._feed.run)

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers that are built with the SDK."""
        return self._controllers

    async def publish(self, authority: str) -> None:
        """Publishes the CA certificate of the server (in PEM) in every namespace. Has no effect for the same
        certificate."""
        if authority == self.authority:
            return
        self.authority = authority
        if ROOT_CA in self._names:
            if self._publisher is not None:
                self._controllers.remove(self._publisher)
                await self._publisher.stop(0)
            self._publisher = root_ca_publisher(self._account("root-ca-cert-publisher"), authority)
            await self.control(self._publisher)

    async def sign_with(self, authority: "Authority") -> None:
        """Makes a controller sign certificates of clients with the authority of the server. A server with a certificate
        of another authority has no key to sign with. The controller starts with the first request for a certificate,
        because most servers never get one, and the rules of that kind take some milliseconds to load."""
        if CERTIFICATE_SIGNING in self._names and self._signing is None:
            self._signing = self.run(lambda: self._sign_later(authority))

    async def _sign_later(self, authority: "Authority") -> None:
        while True:
            try:
                await self.server.first_object(*_CERTIFICATE_REQUESTS)
                break
            except Closed:
                return
            except StoreError as error:
                _log.warning("cannot wait for certificate requests, retrying: %s", error)
                await self.server.clock.sleep(_SOON_SECONDS)
        from setpoint.system.certificate_signing import certificate_signer

        await self.control(certificate_signer(self._account("certificate-controller"), authority))

    async def stop(self) -> None:
        """Stops all controllers."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for controller in self._controllers:
            await controller.stop(0)
        await self.cache.close()

    async def wait_processed(self) -> None:
        """Waits until the controllers have processed all writes so far, and the writes that result. Ignores work that
        waits for other parties, or for a later time."""
        while True:
            revision = await self.server.revision()
            if self._signing is not None and await self.server.has_objects(*_CERTIFICATE_REQUESTS):
                await asyncio.wait((self._signing,))
            if self._feed is not None:
                await self._feed.reach(revision)
            await self._follow(revision)
            while not self._is_idle:
                self._moved.clear()
                await self._moved.wait()
            for events in self._events:
                await events.flush()
            if await self.server.revision() == revision and self._is_idle:
                return

    async def _follow(self, revision: int) -> None:
        """Waits until the cache has everything up to a revision."""
        waiting = [asyncio.ensure_future(informer.wait_for(str(revision))) for informer in self.cache.informers]
        try:
            while not all(each.done() for each in waiting):
                # A watch that is still catching up does not report: it is asked again.
                self.server.send_bookmarks()
                await asyncio.sleep(0)
            await asyncio.gather(*waiting)
        finally:
            for each in waiting:
                each.cancel()

    @property
    def _is_idle(self) -> bool:
        return all(map(_is_idle, self.queues)) and all(_is_idle(controller.queue) for controller in self._controllers)

    def _account(self, name: str) -> Client:
        entry = account(name)
        return self.server.client_of(entry.user, entry.groups)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the metrics of the work queues, for `/metrics`."""
        return queue_families(self._metrics.values())

    async def control(self, controller: Controller) -> None:
        """Starts a controller of the SDK."""
        controller.observer = self
        controller.tolerate_loops()
        metrics = ControllerMetrics(controller.name, controller.options.concurrency, lambda: controller.queue)
        self._metrics[controller.name], controller.queue_observer = metrics, metrics.queue_observer
        self._controllers.append(controller)
        await controller.start(self.cache)
        controller.work()

    def run(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Runs a function in the background until the system stops."""
        task = asyncio.ensure_future(_logged(run))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failures += 1

    def record_events(self, events: "Events") -> None:
        """Writes the events of a controller until the system stops."""
        self._events.append(events)
        self.run(events.run)

    def wake(self) -> None:
        """Wakes the tasks that wait until all work is done."""
        self._moved.set()

    def pulse(self) -> object:
        """Returns a value that changes with every reconcile, every request that waits for one, and every request to the
        server: one reconcile may write hundreds of objects."""
        waiting = sum(len(controller.queue) for controller in self._controllers)
        return self._steps, waiting, self.server.request_count

    # The observer of the controllers: `controller.options.Observer`.

    def started(self, run: "ReconcileRecord") -> None:
        self._steps += 1

    def finished(self, run: "ReconcileRecord") -> None:
        self._steps += 1
        # The queue is updated just after this call.
        asyncio.get_running_loop().call_soon(self._moved.set)


def _is_idle(queue: Queue[Any]) -> bool:
    return not (len(queue) or queue.working() or any(seconds < _SOON_SECONDS for _, seconds in queue.waiting()))


async def _logged(run: Callable[[], Awaitable[None]]) -> None:
    try:
        await run()
    except Exception:
        _log.exception("a system controller has failed")
        raise
