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
from setpoint.objects.tree import Object
from setpoint.store.contract import Closed, StoreError
from setpoint.system.controller_names import (
    CERTIFICATE_SIGNING,
    CLAIM_PROTECTION,
    FINISHED_JOBS,
    GARBAGE_COLLECTOR,
    NAMESPACE,
    POD_GARBAGE_COLLECTOR,
    QUOTA,
    ROOT_CA,
    SERVICE_ACCOUNT,
    SERVICE_ACCOUNT_TOKEN,
    VOLUME_PROTECTION,
)
from setpoint.system.finished_jobs import finished_jobs
from setpoint.system.garbage_collector import GarbageCollector
from setpoint.system.namespaces import NamespaceDeletion
from setpoint.system.ownership_feed import OwnershipFeed, OwnershipListener
from setpoint.system.pod_garbage_collector import PodGarbageCollector
from setpoint.system.protection import claim_protection, volume_protection
from setpoint.system.quotas import keep_counting
from setpoint.system.root_ca import root_ca_publisher
from setpoint.system.service_accounts import default_service_accounts
from setpoint.system.system_environment import ServerInterface
from setpoint.system.tokens import token_controller

if TYPE_CHECKING:
    from setpoint.controller.recorder import Events
    from setpoint.controller.run_record import ReconcileRecord
    from setpoint.server.edge.certificates import Authority

MANAGER = "system:kube-controller-manager"
_ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:kube-system")
_CERTIFICATE_REQUESTS = ("certificates.k8s.io", "v1", "certificatesigningrequests")
# A longer delay means waiting for another party.
_SOON_SECONDS = 1.0

_log = logging.getLogger(__name__)


class System:
    """The running controllers. `start` starts them, `stop` stops them, `wait_processed` waits for them."""

    def __init__(self, server: ServerInterface, names: Collection[str]) -> None:
        self._server = server
        self._names = names
        self._manager = server.client_of(MANAGER)
        self._cache = Cache(self._manager)
        self._collector: GarbageCollector | None = None
        self._controllers: list[Controller] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._events: Events | None = None
        self._feed: OwnershipFeed | None = None
        self._authority = ""
        self._metrics: dict[str, ControllerMetrics] = {}
        self._publisher: Controller | None = None
        # Starts the signer of certificates when the first request for one appears.
        self._signing: asyncio.Task[None] | None = None
        # The number of background tasks that have failed.
        self._failures = 0

    @property
    def is_running(self) -> bool:
        """True if controllers were started, and none of them has failed."""
        return bool(self._controllers or self._tasks) and not self._failures

    async def start(self) -> None:
        """Starts the controllers that depend only on the server."""
        listeners: list[OwnershipListener] = []
        if GARBAGE_COLLECTOR in self._names:
            account = self._account("generic-garbage-collector")
            self._collector = GarbageCollector(account, warn=self._warn, finished=self._moved.set)
            listeners.append(self._collector)
            self._run(self._collector.run)
        if NAMESPACE in self._names:
            deletion = NamespaceDeletion(self._account("namespace-controller"))
            listeners.append(deletion)
            await self._control(deletion.controller)
        for name, make, user in (
            (CLAIM_PROTECTION, claim_protection, "pvc-protection-controller"),
            (VOLUME_PROTECTION, volume_protection, "pv-protection-controller"),
        ):
            if name in self._names:
                protection = make(self._account(user))
                listeners.append(protection)
                await self._control(protection.controller)
        if SERVICE_ACCOUNT in self._names:
            await self._control(default_service_accounts(self._account("service-account-controller")))
        if SERVICE_ACCOUNT_TOKEN in self._names:
            await self._control(token_controller(self._manager, lambda: self._authority))
        if FINISHED_JOBS in self._names:
            await self._control(finished_jobs(self._account("ttl-after-finished-controller")))
        if POD_GARBAGE_COLLECTOR in self._names:
            self._run(PodGarbageCollector(self._account("pod-garbage-collector"), self._server.revision).run)
        if QUOTA in self._names:
            self._run(lambda: keep_counting(self._server))
        if listeners:
            self._feed = OwnershipFeed(self._manager, listeners)
            self._run(self._feed.run)

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers that are built with the SDK."""
        return self._controllers

    async def publish(self, authority: str) -> None:
        """Publishes the CA certificate of the server (in PEM) in every namespace. Has no effect for the same
        certificate."""
        if authority == self._authority:
            return
        self._authority = authority
        if ROOT_CA in self._names:
            if self._publisher is not None:
                self._controllers.remove(self._publisher)
                await self._publisher.stop(0)
            self._publisher = root_ca_publisher(self._account("root-ca-cert-publisher"), authority)
            await self._control(self._publisher)

    async def sign_with(self, authority: "Authority") -> None:
        """Makes a controller sign certificates of clients with the authority of the server. A server with a certificate
        of another authority has no key to sign with. The controller starts with the first request for a certificate,
        because most servers never get one, and the rules of that kind take some milliseconds to load."""
        if CERTIFICATE_SIGNING in self._names and self._signing is None:
            self._signing = self._run(lambda: self._sign_later(authority))

    async def _sign_later(self, authority: "Authority") -> None:
        while True:
            try:
                await self._server.first_object(*_CERTIFICATE_REQUESTS)
                break
            except Closed:
                return
            except StoreError as error:
                _log.warning("cannot wait for certificate requests, retrying: %s", error)
                await self._server.clock.sleep(_SOON_SECONDS)
        from setpoint.system.certificate_signing import certificate_signer

        await self._control(certificate_signer(self._account("certificate-controller"), authority))

    async def stop(self) -> None:
        """Stops all controllers."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for controller in self._controllers:
            await controller.stop(0)
        await self._cache.close()

    async def wait_processed(self) -> None:
        """Waits until the controllers have processed all writes so far, and the writes that result. Ignores work that
        waits for other parties, or for a later time."""
        while True:
            revision = await self._server.revision()
            if self._signing is not None and await self._server.has_objects(*_CERTIFICATE_REQUESTS):
                await asyncio.wait((self._signing,))
            if self._feed is not None:
                await self._feed.reach(revision)
            await self._follow(revision)
            while not self._is_idle:
                self._moved.clear()
                await self._moved.wait()
            if self._events is not None:
                await self._events.flush()
            if await self._server.revision() == revision and self._is_idle:
                return

    async def _follow(self, revision: int) -> None:
        """Waits until the cache has everything up to a revision."""
        waiting = [asyncio.ensure_future(informer.wait_for(str(revision))) for informer in self._cache.informers]
        try:
            while not all(each.done() for each in waiting):
                # A watch that is still catching up does not report: it is asked again.
                self._server.send_bookmarks()
                await asyncio.sleep(0)
            await asyncio.gather(*waiting)
        finally:
            for each in waiting:
                each.cancel()

    @property
    def _is_idle(self) -> bool:
        idle = self._collector is None or _is_idle(self._collector.queue)
        return idle and all(_is_idle(controller.queue) for controller in self._controllers)

    def _account(self, name: str) -> Client:
        return self._server.client_of(f"system:serviceaccount:kube-system:{name}", _ACCOUNTS)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the metrics of the work queues, for `/metrics`."""
        return queue_families(self._metrics.values())

    async def _control(self, controller: Controller) -> None:
        controller.observer = self
        metrics = ControllerMetrics(controller.name, controller.options.concurrency, lambda: controller.queue)
        self._metrics[controller.name], controller.queue_observer = metrics, metrics.queue_observer
        self._controllers.append(controller)
        await controller.start(self._cache)
        controller.work()

    def _run(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(_logged(run))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failures += 1

    def _warn(self, about: Object, reason: str, note: str) -> None:
        """Records an event. The recorder is created on first use, because most planes never need one."""
        if self._events is None:
            from setpoint.controller.recorder import Events

            self._events = Events(self._account("generic-garbage-collector"))
            self._run(self._events.run)
        self._events.recorder(GARBAGE_COLLECTOR, legacy=True).warning(about, reason, note)

    # The observer of the controllers: `controller.options.Observer`.

    def started(self, run: "ReconcileRecord") -> None:
        """Ignored."""

    def finished(self, run: "ReconcileRecord") -> None:
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
