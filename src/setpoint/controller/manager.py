"""The manager: starts controllers and their servers in the right order, and stops them cleanly.

    manager = Manager(client, controllers=[websites], leader_election="websites", metrics=":8080", health=":8081")
    await manager.run()

    async with manager: ...  # alongside other code of a test or a larger program

The manager starts, each after the previous is ready: the page servers (so that probes are answered from the beginning),
the webhooks (caches need conversion webhooks to read), the runnables of every replica, and, once this replica leads,
the rest. The order of the shutdown is the reverse: reconciles get `graceful` seconds to finish, the lease is released,
and pending events are written. If any part fails, the manager stops and raises the error. A lost lease is not a
failure: the controllers stop, and the replica stands by. A shutdown that would take 10 seconds longer than `graceful`,
because work ignores its cancellation, is given up with an error that names the work.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.controller.controller import Controller
from setpoint.controller.declare import controller_of
from setpoint.controller.health import Check, Health
from setpoint.controller.leader import Elector, LeaderElection
from setpoint.controller.loop_monitor import LoopMonitor
from setpoint.controller.metrics import Metrics, WebhookMetrics
from setpoint.controller.object_series import ObjectSeries
from setpoint.controller.options import Settings
from setpoint.controller.page_server import Page, PageAuthorizer, PageServer
from setpoint.controller.pages import metrics_page, reconciles_page
from setpoint.controller.recorder import Events
from setpoint.controller.runnable import Background, Group, Runnable
from setpoint.controller.shutdown import Shutdown, ShutdownTimeout
from setpoint.controller.tracing import Tracer, find_tracer, traced
from setpoint.controller.witness import Witness
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import APIError
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.metrics import Collector

if TYPE_CHECKING:
    from setpoint.server.edge.tls import Certificates

GRACEFUL_SECONDS = 30.0
# The seconds for the last events.
_FLUSH_SECONDS = 2.0
# The environment variable that every pod has.
_POD_VARIABLE = "KUBERNETES_SERVICE_HOST"

_log = logging.getLogger(__name__)


class Manager:
    """Runs controllers against one or several clusters. `docs/options.md` describes the options.

    manager = Manager(client, controllers=[website], leader_election="websites", health=":8081")
    await manager.run()
    """

    def __init__(
        self,
        client: Client,
        *,
        # The controllers, or the functions and classes that declare them.
        controllers: Sequence[object] = (),
        # The name of a lease, or its full configuration. None: this process is the only replica.
        leader_election: LeaderElection | str | None = None,
        # The address of `/metrics`, such as `:8080`; empty: no metrics page.
        metrics: str = "",
        # True serves the metrics with TLS to authorized users; certificate files replace a generated certificate.
        secure_metrics: "bool | Certificates" = False,
        # The address of `/healthz` and `/readyz`; the same address as the metrics makes one server.
        health: str = "",
        # The webhook server, a `WebhookServer`.
        webhooks: Runnable | None = None,
        # The seconds for reconciles to finish at the end: 0 does not wait, None waits without limit. Work that ignores
        # its cancellation is given up 10 seconds later, with an error.
        graceful: float | None = GRACEFUL_SECONDS,
        # The clients of other clusters, by name.
        clusters: Mapping[str, Client] | None = None,
        # True fills the caches while the replica stands by, so that a new leader starts at once.
        warm: bool = False,
        # An OpenTelemetry tracer for reconciles and requests, or True for the program's default tracer.
        tracing: Tracer | bool = False,
        # The settings (`concurrency`, `timeout`, `limiter`, ...) of declared controllers for values that the
        # declaration does not set.
        defaults: Settings | None = None,
        # True logs missing RBAC rules at the start, without a delay of the start.
        preflight: bool = True,
        # True names the line that blocks the event loop in the log. None: outside of pods only, where programs are
        # developed.
        watchdog: bool | None = None,
        # The source of IDs; a seeded one for reproducible tests.
        ids: Ids | None = None,
    ) -> None:
        """Creates the manager. Raises ValueError for invalid options."""
        self.metrics = Metrics()
        self.tracer = (find_tracer() if tracing else None) if isinstance(tracing, bool) else tracing
        self.client = client = self._counted(client)
        self.clock = client.clock
        self.ids = ids or SystemIds()
        self.cache = Cache(client)
        self.clusters = {name: Cache(self._counted(other)) for name, other in (clusters or {}).items()}
        self.health = Health()
        self.events = Events(client, ids=self.ids)
        self.graceful = graceful
        self.warm = warm
        self._defaults = defaults
        self._preflight = preflight
        self._watches_loop = _is_development(self.clock) if watchdog is None else watchdog
        self.elector: Elector | None = None
        if leader_election is not None:
            config = LeaderElection(leader_election) if isinstance(leader_election, str) else leader_election
            self.metrics.leading[config.name] = False
            self.elector = Elector(client, config, ids=self.ids, on_change=self._on_leader_change)
        # Sees the runs and failures of all controllers in a test.
        self.witness: Witness | None = None
        self._failure: BaseException | None = None
        self._has_run = False
        self._ending, self._left = asyncio.Event(), asyncio.Event()
        self._up = asyncio.Event()
        self._background = asyncio.TaskGroup()
        self._elected = asyncio.Event()
        self._webhooks = webhooks
        self._servers, self._webhook_group = Group(self._fail), Group(self._fail)
        self._everywhere, self._leading = Group(self._fail), Group(self._fail)
        self._controllers: dict[str, _Run] = {}
        self.metrics.parts.append(self.events)
        self._servers.add(Background("events", self.events.run, self.clock))
        self._add_pages(metrics, secure_metrics, health)
        if webhooks is not None:
            self._webhook_group.add(webhooks)
            counted = getattr(webhooks, "metrics", None)
            if isinstance(counted, WebhookMetrics):
                self.metrics.webhooks = counted
        self._add_checks()
        for controller in controllers:
            self.add(controller)

    def _counted(self, client: Client) -> Client:
        """Returns a copy of the client with tracing, and with request metrics unless already observed."""
        counted = copy(client)
        if counted.observer is None:
            counted.observer = self.metrics.rest
        return counted if self.tracer is None else traced(counted, self.tracer)

    # Members

    def add(self, target: object) -> Controller:
        """Adds a controller or a declared one; starts it at once if the manager runs.

        Raises ValueError for a duplicate name, and TypeError for a target that is not declared as a controller.
        """
        controller = controller_of(target, ids=self.ids, defaults=self._defaults)
        if controller.name in self._controllers:
            raise ValueError(f"a controller named {controller.name!r} already exists: choose another name")
        runs = self._controllers[controller.name] = _Run(controller, self)
        self._group(runs).add(runs)
        self.metrics.parts += runs.parts
        return controller

    async def remove(self, controller: Controller) -> None:
        """Stops and removes a controller while the others continue. Raises KeyError for an unknown controller."""
        runs = self._controllers.pop(controller.name)
        for part in runs.parts:
            self.metrics.parts.remove(part)
        await self._group(runs).remove(runs, self.graceful)
        await runs.stop(0)  # the controller may have been warmed up only

    def _group(self, runs: "_Run") -> Group:
        return self._leading if runs.controller.options.leader_election else self._everywhere

    def run_beside(self, name: str, function: Callable[[], Awaitable[None]], *, everywhere: bool = False) -> None:
        """Runs a coroutine function next to the controllers; with `everywhere`, also on replicas that do not lead."""
        (self._everywhere if everywhere else self._leading).add(Background(name, function, self.clock))

    @property
    def controllers(self) -> list[Controller]:
        return [runs.controller for runs in self._controllers.values()]

    def check_alive(self, name: str, check: Check) -> None:
        """Adds a check to `/healthz`."""
        self.health.add_alive(name, check)

    def check_ready(self, name: str, check: Check) -> None:
        """Adds a check to `/readyz`."""
        self.health.add_ready(name, check)

    @property
    def is_leader(self) -> bool:
        """True if this replica leads, or there is no leader election."""
        return self.elector is None or self.elector.is_leader

    async def elected(self) -> None:
        """Waits until this replica leads for the first time."""
        await self._elected.wait()

    def url_of(self, page: str) -> str:
        """Returns the URL of a page (`metrics` or `health`); empty while not served."""
        for server in self._servers.members:
            if isinstance(server, _Pages) and page in server.name.split(" and "):
                return server.server.url
        return ""

    # Running

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Runs until `stop` is set, the task is cancelled, or a part fails, and raises its error. Runs only once.

        Raises ShutdownTimeout if work still runs 10 seconds after the `graceful` seconds.
        """
        if self._has_run:
            raise RuntimeError("a manager can run only once: create another one")
        self._has_run = True
        electing: asyncio.Future[None] | None = None
        checking = asyncio.ensure_future(self._check_rights())
        monitor = LoopMonitor(self.clock, Path.cwd()) if self._watches_loop else None
        if monitor is not None:
            monitor.start()
        try:
            for group in (self._servers, self._webhook_group, self._everywhere):
                group.start()
                if await self._is_ended(stop, group.ready()):
                    break
            else:
                if self.elector is None:
                    self._elected.set()
                    self._leading.start()
                else:
                    self._warm_up()
                    electing = asyncio.ensure_future(self._elect(self.elector))
                self._up.set()
                await self._is_ended(stop)
        finally:
            try:
                await self._shut_down(electing, checking)
            finally:
                if monitor is not None:
                    monitor.stop()
        if self._failure is not None:
            raise self._failure

    async def _check_rights(self) -> None:
        """Logs missing RBAC rules. A server that does not answer the questions is only logged."""
        if not self._preflight or not self._controllers:
            return
        from setpoint.controller.preflight import missing_rules

        try:
            for missing in await missing_rules(self.controllers, self.client):
                _log.warning("%s", missing)
        except (APIError, TransportError, NoMatch) as error:
            _log.info("cannot check RBAC permissions: %s", error)

    async def __aenter__(self) -> Self:
        """Runs the manager in the background of the block, which is cancelled if the manager fails.

        Pages and webhooks are served when the block begins.
        """
        await self._background.__aenter__()
        self._background.create_task(self.run(self._left))
        try:
            await self._up.wait()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        try:
            await self._background.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise

    async def _is_ended(self, stop: asyncio.Event | None, before: Awaitable[None] | None = None) -> bool:
        """Waits for the shutdown. Returns False if `before` completed first."""
        signs = [asyncio.ensure_future(sign.wait()) for sign in (self._ending, stop) if sign is not None]
        waiting: list[asyncio.Future[Any]] = [*signs, *([asyncio.ensure_future(before)] if before is not None else [])]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return any(sign.done() for sign in signs) or self._ending.is_set()
        finally:
            for each in waiting:
                each.cancel()

    async def _elect(self, elector: Elector) -> None:
        try:
            await elector.run(self._lead, self._ending)
        except Exception as error:
            self._fail(error)

    async def _lead(self) -> None:
        """Runs the leader's members for one term, until the shutdown or the loss of the lease."""
        self._elected.set()
        graceful: float | None = 0.0
        try:
            self._leading.start()
            await self._ending.wait()
            graceful = self.graceful
        finally:
            # After a lost lease there is no grace period: running reconciles are cancelled.
            await self._leading.stop(graceful)
            if not self._ending.is_set():
                self._warm_up()

    def _warm_up(self) -> None:
        """Fills the caches of controllers that wait for this replica to lead."""
        if self.warm:
            for member in self._leading.members:
                if isinstance(member, _Run):
                    member.warm_up()

    async def _shut_down(self, electing: "asyncio.Future[None] | None", checking: "asyncio.Future[None]") -> None:
        """Stops all parts, in time. Raises ShutdownTimeout for work that has not ended."""
        shutdown, left = Shutdown(self.clock, self.graceful), list[str]()
        if not await shutdown.work(self._stop_work(electing, shutdown)):
            left += self._unended()
            if self.elector is not None:
                self.elector.abandon()
        if not await shutdown.rest(self._stop_rest(checking, shutdown)):
            left += self._unended()
        if left:
            raise ShutdownTimeout(
                f"gave up the shutdown after {shutdown.seconds:.0f} s, {self.graceful:g} s of which were for running "
                f"work to finish; still running: {'; '.join(dict.fromkeys(left))}"
            ) from self._failure
        shutdown.check()

    def _unended(self) -> list[str]:
        """Returns the names of the parts that do not end, with the positions of their work if known."""
        found = []
        for group in (self._everywhere, self._leading, self._webhook_group, self._servers):
            for member in group.ending:
                places = member.controller.unended() if isinstance(member, _Run) else []
                found.append(f"{member.name} at {', '.join(places)}" if places else member.name)
        return found or ["a request to the server"]

    async def _stop_work(self, electing: "asyncio.Future[None] | None", shutdown: Shutdown) -> None:
        """Stops the controllers and what runs beside them, and releases the lease."""
        self._ending.set()
        if electing is not None and self.elector is not None and not self.elector.is_leader:
            electing.cancel()
        await self._everywhere.stop(shutdown.grace)
        if electing is not None:
            await asyncio.gather(electing, return_exceptions=True)
        await self._leading.stop(shutdown.grace)
        for runs in self._controllers.values():
            await runs.stop(0)

    async def _stop_rest(self, checking: "asyncio.Future[None]", shutdown: Shutdown) -> None:
        """Closes the caches and the servers, and writes the last events."""
        checking.cancel()
        for cache in (*self.clusters.values(), self.cache):
            await cache.close()
        await self._webhook_group.stop(shutdown.grace)
        await self._servers.stop(shutdown.grace)
        await asyncio.gather(checking, return_exceptions=True)
        await self.events.flush(_FLUSH_SECONDS)

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._ending.set()

    def _on_leader_change(self, leading: bool) -> None:
        assert self.elector is not None
        self.metrics.leading[self.elector.config.name] = leading

    # Pages

    def _add_pages(self, metrics: str, secure: "bool | Certificates", health: str) -> None:
        pages = [metrics_page(self.metrics), reconciles_page(lambda: self.controllers)]
        if secure:
            gate = PageAuthorizer(self.client)
            pages = [gate.guard(page) for page in pages]
        if metrics and metrics == health and not metrics.endswith(":0"):
            self._serve("metrics and health", metrics, [self.health.respond, *pages], secure)
            return
        if metrics:
            self._serve("metrics", metrics, pages, secure)
        if health:
            self._serve("health", health, [self.health.respond], False)

    def _serve(self, name: str, address: str, pages: Sequence[Page], tls: "bool | Certificates") -> None:
        self._servers.add(_Pages(PageServer(address, pages, tls=tls, clock=self.clock, name=name)))

    # Health

    def _add_checks(self) -> None:
        self.health.add_alive("workers", self._check_workers)
        self.health.add_ready("caches", self._check_caches)
        self.health.add_ready("server", self._check_server)
        if self.elector is not None:
            self.health.add_alive("leader-election", self.elector.check)
            self.health.add_ready("leader-election", self._check_election)
        if self._webhooks is not None:
            self.health.add_ready("webhooks", self._check_webhooks)

    def _check_workers(self) -> None:
        stuck = [f"{each.name} {found.run.request}" for each in self.controllers for found in each.stuck()]
        if stuck:
            raise RuntimeError(f"stuck reconciles: {', '.join(stuck)}")

    def _check_caches(self) -> None:
        if not self._everywhere.is_running:
            raise RuntimeError("not started yet")
        behind = [runs.name for runs in self._controllers.values() if runs.is_behind]
        if behind:
            troubles = [trouble for each in self.controllers for trouble in each.problems]
            raise RuntimeError(f"{', '.join(behind)}: {'; '.join(troubles) or 'caches are not synced yet'}")

    def _check_server(self) -> None:
        troubles = [cache.gate.problem for cache in (self.cache, *self.clusters.values()) if not cache.gate.is_open]
        if troubles:
            raise RuntimeError("; ".join(troubles))

    def _check_election(self) -> None:
        assert self.elector is not None
        if not self.elector.is_leader and not self.elector.leader:
            raise RuntimeError("this replica does not lead, and no leader is known")

    def _check_webhooks(self) -> None:
        if not self._webhook_group.is_running or not getattr(self._webhooks, "is_serving", True):
            raise RuntimeError("the webhooks are not served")


def _is_development(clock: Clock) -> bool:
    """Returns True outside pods, unless the time is simulated."""
    return type(clock) is SystemClock and _POD_VARIABLE not in os.environ


class _Run:
    """Adapts a controller to a runnable of the manager."""

    def __init__(self, controller: Controller, manager: Manager) -> None:
        self.name = controller.name
        self.controller = controller
        self._manager = manager
        self._begun = self._ready = False
        self._warming: asyncio.Future[None] | None = None
        # Metrics of this controller beyond those that every controller has.
        self.parts: list[Collector] = [controller] if isinstance(controller, Collector) else []
        if controller.options.object_metrics:
            self.parts.append(ObjectSeries(controller))
        metrics = manager.metrics.controller(controller.name, controller.options.concurrency, lambda: controller.queue)
        controller.observer = controller.observer or metrics
        if controller.options.tracer is None and manager.tracer is not None:
            controller.options = replace(controller.options, tracer=manager.tracer)
        controller.queue_observer = controller.queue_observer or metrics.queue_observer
        controller.witness = controller.witness or manager.witness
        if controller.recorder is None:
            controller.recorder = manager.events.recorder(controller.name)
        if controller.options.leader_election and manager.elector is not None:
            controller.fence = manager.elector.fence

    @property
    def is_behind(self) -> bool:
        """True if the controller should be synced and is not."""
        return self._begun and not (self._ready and self.controller.synced)

    def warm_up(self) -> None:
        """Fills the caches and the queue, without reconciling."""
        if not self._begun:
            self._warming = asyncio.ensure_future(self._begin())

    async def start(self) -> None:
        warming, self._warming = self._warming, None
        await (self._begin() if warming is None else warming)
        self.controller.work()

    async def _begin(self) -> None:
        self._begun = True
        await self.controller.start(self._manager.cache, self._manager.clusters)
        self._ready = True

    async def wait(self) -> None:
        await self.controller.wait()

    async def stop(self, graceful: float | None) -> None:
        warming, self._warming = self._warming, None
        self._begun = self._ready = False
        try:
            if warming is not None:
                warming.cancel()
                await asyncio.gather(warming, return_exceptions=True)
        except asyncio.CancelledError:
            graceful = 0
            raise
        finally:
            await self.controller.stop(graceful)


class _Pages:
    """Adapts a page server to a runnable of the manager."""

    def __init__(self, server: PageServer) -> None:
        self.name = server.name
        self.server = server

    async def start(self) -> None:
        await self.server.start()

    async def wait(self) -> None:
        await asyncio.Event().wait()

    async def stop(self, graceful: float | None) -> None:
        await self.server.stop(graceful)
