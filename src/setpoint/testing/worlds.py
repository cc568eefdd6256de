"""A world for one test: a control plane in this process, virtual time and injected faults.

    async with testing.world(crds=[Widget]) as world:
        await world.create(widget)
        await world.run(widgets)
        await world.eventually(lambda: ready(widget))

`world.client` is the administrator's client, without faults. Controllers use `world.app`, with `world.faults`, as a
user with the rights that the test defines.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Kind, ref_of, tree_of
from setpoint.client.patches import merge
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.controller.rbac import rules as rules_of
from setpoint.controller.request import Request, Trigger
from setpoint.objects import meta
from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import SeededIds, SystemIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane, Serving
from setpoint.plane.plane_snapshot import PlaneSnapshot
from setpoint.schema.types import Resource
from setpoint.server.admission.functions import AdmissionFunction
from setpoint.store.memory import MemoryStore
from setpoint.system.node_setting import NODE_FAILURE, NONE, NodeSetting, parse_nodes
from setpoint.testing.comparison import comparable
from setpoint.testing.controller_rights import USER, Rights, grant
from setpoint.testing.expectations import Expectation
from setpoint.testing.faults import Faults
from setpoint.testing.local_checks import LocalChecks
from setpoint.testing.problems import Problem
from setpoint.testing.recorded_state import read_state
from setpoint.testing.recorder import Recorder, Told
from setpoint.testing.single_reconcile import Ran
from setpoint.testing.started_controllers import ManagerState, Started, as_controller
from setpoint.testing.strictness import LOOP_LIMIT, Strictness, StrictOptions
from setpoint.testing.templates import START, template
from setpoint.testing.virtual_time import Passing
from setpoint.testing.world_evidence import Evidence, evidence_of
from setpoint.testing.world_observer import observer

# The number of event loop turns of a shutdown before virtual time is advanced.
_ENDING_TURNS = 500
T = TypeVar("T")


class World:
    """The world of a test, created by `world()`.

    async with testing.world(crds=[Widget], objects=[widget]) as world:
        await world.run(widgets)
        await world.eventually(lambda: world.find(ConfigMap, "child"))
    """

    def __init__(
        self,
        plane: ControlPlane,
        client: Client,
        app: Client,
        rights: Rights,
        seed: int,
        strict: StrictOptions,
        first_revision: int,
    ) -> None:
        self.plane = plane
        self.clock: Clock = plane.services.clock
        self._first_revision = first_revision
        # The installed classes: applied objects are checked before the server checks them.
        self._kinds: dict[GroupVersionKind, type[Resource]] = {}
        self.ids = SeededIds(seed)
        self.faults = Faults(LocalChecks.of(app, self._kinds), ids=self.ids)
        self._strict = self.faults.watcher = Strictness(strict, self.faults, client)
        # The client of the test, without faults.
        self.client = LocalChecks.of(self._strict.observed(client), self._kinds)
        # The client of the controllers.
        self.app = self.faults.of(app)
        self._rights = rights
        # All controllers so far, for the rights derived from their declarations.
        self._declared: list[Controller] = []
        self._managers: dict[Manager, Started] = {}
        self._passing = Passing(self.clock, self)

    # Objects

    async def install(self, *kinds: type[Resource]) -> None:
        """Installs kinds at the server."""
        for kind in kinds:
            await self.drive(self.client.install(kind))
            self._kinds[kind.gvk()] = kind

    async def create(self, *objects: AnyObject) -> list[Any]:
        """Creates objects, with their status and missing namespaces. Returns the created objects."""
        made = []
        for obj in objects:
            tree = tree_of(obj)
            await self._have_namespace(meta.namespace(tree))
            found = await self.client.create(obj)
            if tree.get("status"):
                wanted = {**tree_of(found), "status": tree["status"]}
                found = ref_of(obj).read(tree_of(await self.client.update_status(wanted)))
            made.append(found)
        return made

    async def _have_namespace(self, name: str) -> None:
        if name and name != "default":
            with suppress(AlreadyExists):
                await self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def find(self, kind: Kind[Any], name: str, namespace: str = "default") -> Any:
        """Returns an object from the server; None if missing."""
        try:
            return await self.client.get(kind, name, namespace)
        except NotFound:
            return None

    async def names(self, kind: Kind[Any], namespace: str = "default", *, labels: str = "") -> list[str]:
        """Returns the sorted names of the objects of a kind."""
        found = await self.client.list(kind, namespace, labels=labels)
        return sorted(meta.name(tree_of(item)) for item in found.items)

    async def state(self, *kinds: Kind[Any], namespace: str = "") -> dict[str, Object]:
        """Returns the objects of these kinds in comparable form (`comparable`), to compare two runs."""
        found = {}
        for kind in kinds:
            for item in (await self.client.list(kind, namespace)).items:
                tree = comparable(item)
                found[f"{ref_of(item).gvk.kind} {meta.namespace(tree)}/{meta.name(tree)}"] = tree
        return found

    async def events(self) -> list[Told]:
        """Returns the events of the server in write order."""
        found = (await self.client.list("events.k8s.io/v1/Event")).items
        return [Told.of(event) for event in sorted(found, key=lambda event: int(meta.resource_version(event)))]

    # Controllers

    async def run(self, *controllers: object, **options: Any) -> Manager:
        """Runs controllers under a new manager, until `stop` or the end of the world."""
        __tracebackhide__ = True
        made = [self._seeded(as_controller(each)) for each in controllers]
        await self._grant(made)
        return await self._start(Started(controllers, made, options))

    @property
    def managers(self) -> list[Manager]:
        """The running managers, in the order of their start."""
        return list(self._managers)

    async def _start(self, started: Started) -> Manager:
        __tracebackhide__ = True
        options = {"graceful": 0.0, "preflight": False, "ids": self.ids, **started.options}
        await self._strict.declare(started.controllers)
        for controller in started.controllers:
            controller.witness = self._strict
        if hasattr(options.get("webhooks"), "on_failure"):
            options["webhooks"].on_failure = self._strict.webhook_failed
        manager = Manager(self.app, controllers=started.controllers, **options)
        manager.witness = self._strict
        await manager.__aenter__()
        self._managers[manager] = started
        await self.settle()
        return manager

    async def stop(self, *managers: Manager) -> None:
        """Stops managers, or all of them, like a process that receives SIGTERM."""
        for manager in managers or reversed(list(self._managers)):
            del self._managers[manager]
            await self._passing_meanwhile(manager.__aexit__(None, None, None))

    async def run_once(self, target: object, obj: AnyObject | Request, *, world: Sequence[AnyObject] = ()) -> Ran:
        """Reconciles an object once, and returns the result, including a failure. A test that never looks at the
        failure (`ran.error`, `ran.result`, `ran.raise_error()`) fails at the end.

        Creates the object and those of `world` first if they do not exist.
        """
        __tracebackhide__ = True
        controller = self._seeded(as_controller(target))
        for each in world if isinstance(obj, Request) else (*world, obj):
            tree = tree_of(each)
            if await self.find(ref_of(each), meta.name(tree), meta.namespace(tree)) is None:
                await self.create(each)
        request = obj if isinstance(obj, Request) else Request(meta.name(tree_of(obj)), meta.namespace(tree_of(obj)))
        await self._grant([controller])
        await self._strict.declare([controller])
        controller.recorder = recorder = Recorder()
        controller.witness = None
        async with Cache(self.app, ids=self.ids) as cache:
            await self.drive(controller.start(cache))
            try:
                revision = int((await self.client.list("v1/Namespace", limit=1)).resource_version)
                before = len(self.faults.seen)
                run = await self.drive(controller.run_once(request, Trigger("requested")))
                requests = self.faults.seen[before:]
            finally:
                await controller.stop(0)
        after = None
        if controller.primary is not None:
            after = await self.find(controller.primary, request.name, request.namespace)
        status = tree_of(after).get("status") if after is not None else None
        conditions = {each["type"]: each for each in (status or {}).get("conditions") or ()}
        sent = [seen for seen in requests if seen.verb != "watch"]
        failure = self._strict.single_ended(run)
        self.check()
        return Ran(run, after, sent, recorder.told, conditions, revision, failure)

    def _seeded(self, controller: Controller) -> Controller:
        """Gives a controller without ids of its own those of the world: a seed repeats the ids of reconciles."""
        if isinstance(controller.ids, SystemIds):
            controller.ids = self.ids
        return controller

    async def _grant(self, controllers: Sequence[Controller]) -> None:
        """Grants controllers their rights."""
        if self._rights is None:
            return
        self._declared += controllers
        rights = self._rights
        await grant(self.client, await rules_of(self._declared, self.client) if isinstance(rights, str) else rights)

    # Time

    async def fail_node(self, name: str) -> None:
        """Lets a simulated node fail: it reports no states until `recover_node`."""
        await self.client.patch("v1/Node", merge({"metadata": {"annotations": {NODE_FAILURE: "true"}}}), name)
        await self.settle()

    async def recover_node(self, name: str) -> None:
        """Lets a failed simulated node report its state again."""
        await self.client.patch("v1/Node", merge({"metadata": {"annotations": {NODE_FAILURE: None}}}), name)
        await self.settle()

    async def settle(self) -> None:
        """Returns when all work that needs no time is done."""
        __tracebackhide__ = True
        await self._passing.settle()

    async def advance(self, seconds: float) -> None:
        """Advances the time by some seconds, timer by timer."""
        __tracebackhide__ = True
        await self._passing.advance(seconds)

    async def eventually(self, holds: Callable[[], Any], *, within: float = 60.0) -> Any:
        """Advances the time until a condition holds, and returns its value. Raises AssertionError on timeout."""
        __tracebackhide__ = True
        return await self._passing.eventually(holds, within=within)

    async def never(self, holds: Callable[[], Any], *, within: float = 60.0) -> None:
        """Advances the time by some seconds, during which a condition must never hold. Raises AssertionError."""
        __tracebackhide__ = True
        await self._passing.never(holds, within=within)

    async def drive(self, awaitable: Awaitable[T]) -> T:
        """Awaits an awaitable, and advances the time as long as necessary."""
        __tracebackhide__ = True
        return await self._passing.drive(awaitable)

    def pulse(self) -> object:
        """Returns a value that changes with every request, watch event and reconcile."""
        controllers = [each for manager in self._managers for each in manager.controllers]
        queues = tuple(
            (len(each.queue), len(each.queue.working()), each.runs[-1].id if each.runs else "") for each in controllers
        )
        return len(self.faults.seen), self.faults.request_count, queues, self.plane.pulse()

    # Problems

    def expect(
        self, problems: "type[BaseException] | Sequence[type[BaseException]]", *, match: str = ""
    ) -> Expectation:
        """Expects problems of controllers in a block: a class of `testing.Problem`, or the class of the exception that
        a reconcile raises. `match` is a regular expression for the text. Fails if no such problem occurs.

            with world.expect(ValueError, match="no members") as expected:
                await world.run(teams)
            assert expected.problems[0].object == "default/bakers"
        """
        return self._strict.expect(problems, match)

    @property
    def problems(self) -> list[Problem]:
        """The problems of controllers so far, including expected and tolerated ones."""
        return list(self._strict.problems)

    def check(self) -> None:
        """Raises the first problem that the test does not expect. All waits of the world do this by themselves."""
        __tracebackhide__ = True
        self._strict.check()

    # Copies

    async def snapshot(self) -> "WorldSnapshot":
        """Returns the state of the world, from which any number of other worlds can continue: all objects with their
        past, the time, the random numbers, and the queues of the controllers. Raises RuntimeError while a reconcile
        waits for time to pass, and TypeError for a running `Controller` that cannot be created again.

            snapshot = await world.snapshot()
            async with snapshot.world() as one, snapshot.world() as other: ...
        """
        await self.settle()
        managers = [started.state() for started in self._managers.values()]
        plane = await self.plane.snapshot()
        return WorldSnapshot(plane, self.ids.fork(), self._rights, dict(self._kinds), managers, self._strict.options)

    @asynccontextmanager
    async def fork(self) -> "AsyncIterator[World]":
        """Creates a world that continues from the current state. Changes in one of the worlds do not affect the other.

        async with world.fork() as other:
            await other.client.delete(Widget, "a", "default")
        """
        async with (await self.snapshot()).world() as found:
            yield found

    async def evidence(self) -> Evidence:
        """Returns the log, the last reconciles and the problems, which stay readable after the end."""
        strict = self._strict
        return await evidence_of(self.plane, self._first_revision, strict.runs, strict.run_count, strict.problems)

    # Shutdown

    async def close(self) -> None:
        """Stops all managers and removes all faults."""
        self.faults.clear()
        await self.stop()

    async def _passing_meanwhile(self, ending: Awaitable[Any]) -> None:
        """Awaits a shutdown in this task, as task groups require, while the time advances in the background."""

        async def tick() -> None:
            while True:
                for _ in range(_ENDING_TURNS):
                    await self.clock.sleep(0)
                await self._passing.to_next(None)

        ticking = asyncio.ensure_future(tick())
        try:
            await ending
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


@asynccontextmanager
async def world(
    *,
    objects: Sequence[AnyObject] = (),
    crds: Sequence[type[Resource]] = (),
    rights: Rights = None,
    clock: Clock | None = None,
    seed: int = 0,
    system: bool | Collection[str] | None = None,
    nodes: str | NodeSetting = NONE,
    strict: bool = True,
    tolerate: "type[BaseException] | Sequence[type[BaseException]]" = (),
    loop_limit: int = LOOP_LIMIT,
    state: str | PathLike[str] | None = None,
    **plane: Any,
) -> AsyncIterator[World]:
    """Creates a world with kinds and objects.

    The time is virtual, unless another clock is given. `rights` are the RBAC rules of controllers, or `"declared"` for
    rules derived from their declarations; without `rights`, everything is permitted. `seed` initializes the random
    numbers. `system` runs the built-in controllers of every cluster. `nodes="simulated"` or `"simulated:3"` adds nodes
    without processes, and runs the controllers of workloads and a scheduler; `system` then selects among all
    controllers. `simulated` gives the containers of such nodes scripts. Other arguments are passed to `ControlPlane`.
    `state` is a file of `setpoint export`: the world begins with its objects, at the time of the export; `crds`
    update the definitions in the file. Raises BadArchive.

    A problem of a controller fails the test unless expected (`World.expect`): a reconcile that raises, a
    request that RBAC refuses, a loop of more than `loop_limit` reconciles, a write that the controller does not
    declare. `tolerate` names problems or exceptions that never fail the test, `strict=False` tolerates all.

        async with testing.world(crds=[Widget], objects=[widget], rights="declared") as world:
            await world.run(widgets)
    """
    options = StrictOptions.of(strict, tolerate, loop_limit)
    has_nodes = parse_nodes(nodes).has_nodes
    if system is None:
        system = has_nodes
    has_template = clock is None and not system and not has_nodes and not plane and state is None
    namespaces: Sequence[str] = ()
    if has_template:
        started = (await template(tuple(crds), seed)).plane()
    elif state is not None:
        recorded = read_state(state, {kind.crd()["metadata"]["name"] for kind in crds})
        time, namespaces = clock or ManualClock(recorded.time), recorded.namespaces
        serving = Serving(offline=f"its objects come from {state}")
        own = {"clock": time, "system": system, "nodes": nodes, "ids": SeededIds(seed), "serving": serving}
        started = ControlPlane.with_objects(MemoryStore.fork(recorded.store, clock=time), **{**own, **plane})
    else:
        own = {"clock": clock or ManualClock(START), "system": system, "nodes": nodes, "ids": SeededIds(seed)}
        started = ControlPlane(**{**own, **plane})
    async with _opened(started, rights, seed, options) as found:
        for function in plane.get("admission", ()):
            if isinstance(function, AdmissionFunction):
                function.on_failure = found._strict.webhook_failed
        if has_nodes:
            await found.drive(started.system_started())
        if has_template:
            found._kinds.update({kind.gvk(): kind for kind in crds})
        else:
            await found.install(*crds)
        for namespace in namespaces:
            await found._have_namespace(namespace)
        await found.create(*objects)
        yield found


@asynccontextmanager
async def _opened(plane: ControlPlane, rights: Rights, seed: int, strict: StrictOptions) -> AsyncIterator[World]:
    """Starts a control plane, and provides its world."""
    __tracebackhide__ = True
    async with plane, plane.client() as client:
        app = client if rights is None else plane.client(user=USER, groups=["system:authenticated"])
        first = await plane.services.store.revision()
        found = World(plane, client, app, rights, seed, strict, first)
        async with _observed(found), _strict_end(found):
            yield found


@asynccontextmanager
async def _observed(found: World) -> AsyncIterator[None]:
    """Shows a world to the observer of this context, which describes the world if its test fails."""
    __tracebackhide__ = True
    seen_by, error = observer.get(), None
    if seen_by is None:
        yield
        return
    seen_by.opened(found)
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        seen_by.closed(found, await found.evidence(), error)


@asynccontextmanager
async def _strict_end(found: World) -> AsyncIterator[None]:
    """Closes a world, and raises its problems, unless the test has failed by itself."""
    __tracebackhide__ = True
    failure: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        await found.close()
        found._strict.end(failure)


@dataclass(frozen=True)
class WorldSnapshot:
    """The state of a world at one moment. Independent of that world, which may go on or end.

    The controllers of a new world are created anew from their declarations, and continue with the queues of the
    original ones; daemons and timers begin as after a restart. Attributes of the author's own objects are shared.
    Faults are not copied.
    """

    plane: PlaneSnapshot[ControlPlane]
    _ids: SeededIds
    _rights: Rights
    _kinds: Mapping[GroupVersionKind, type[Resource]]
    _managers: Sequence[ManagerState]
    _strict: StrictOptions

    @asynccontextmanager
    async def world(self) -> AsyncIterator[World]:
        """Creates a world that continues from this state.

        async with snapshot.world() as world:
            await world.advance(60)
        """
        async with _opened(self.plane.plane(), self._rights, 0, self._strict) as found:
            found._kinds.update(self._kinds)
            for manager in self._managers:
                made = [found._seeded(as_controller(target)) for target in manager.targets]
                for controller, queue in zip(made, manager.queues, strict=True):
                    controller.initial_queue = queue
                found._declared += made
                await found._start(Started(manager.targets, made, manager.options))
            # Starting the controllers has used some numbers.
            found.ids.resume(self._ids)
            if isinstance(self.plane.ids, SeededIds) and isinstance(ids := found.plane.services.ids, SeededIds):
                ids.resume(self.plane.ids)
            yield found
