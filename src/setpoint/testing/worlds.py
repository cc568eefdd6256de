"""A world for one test: a control plane in this process, time that the test moves, and faults that it decides.

    async with testing.world(crds=[Widget]) as world:
        await world.create(widget)
        await world.run(widgets)
        await world.eventually(lambda: ready(widget))

`world.client` is a bystander's: the administrator's, on which nothing goes wrong. What controllers do goes by
`world.app`, past `world.faults`, as a user with as few rights as the test says.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Kind, ref_of, tree_of
from setpoint.controller.controller import Controller
from setpoint.controller.declare import controller_of
from setpoint.controller.manager import Manager
from setpoint.controller.rbac import rules as rules_of
from setpoint.controller.request import Request, Trigger
from setpoint.objects import meta
from setpoint.objects.clock import Clock, ManualClock
from setpoint.objects.errors import AlreadyExists, NotFound
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import Resource
from setpoint.testing.comparison import comparable
from setpoint.testing.faults import Faults
from setpoint.testing.recorder import Recorder, Told
from setpoint.testing.single_reconcile import Ran
from setpoint.testing.virtual_time import Passing

START = datetime(2030, 1, 1, tzinfo=UTC)
# Who controllers are where they have few rights; and the rights that all of them have: to tell events, and to lead.
USER = "controllers"
_ASIDE: list[Object] = [
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]},
]
# What ends has so many turns of the loop before it is taken to wait for time to pass.
_ENDING_TURNS = 500
_RBAC = "rbac.authorization.k8s.io"
Rights = Sequence[Object] | Literal["declared"] | None
T = TypeVar("T")


class World:
    """What a test has in its hands. `world()` makes one."""

    def __init__(
        self, plane: ControlPlane, clock: Clock, client: Client, app: Client, rights: Rights, seed: int
    ) -> None:
        self.plane = plane
        self.clock = clock
        # Nothing goes wrong with what it asks.
        self.client = client
        self.ids = SeededIds(seed)
        self.faults = Faults(app, ids=self.ids)
        # What controllers are given.
        self.app = self.faults.of(app)
        self._rights = rights
        # All that have been here, for the rights that follow from what they declare.
        self._declared: list[Controller] = []
        self._managers: list[Manager] = []
        self._passing = Passing(clock, self)

    # What there is

    async def install(self, *kinds: type[Resource]) -> None:
        """Has the server know kinds."""
        for kind in kinds:
            await self.drive(self.client.install(kind))

    async def create(self, *objects: AnyObject) -> list[Any]:
        """Makes objects, with the status that they say and the namespaces that they need. Returns them as they are."""
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
        """An object as the server has it; None where there is none."""
        try:
            return await self.client.get(kind, name, namespace)
        except NotFound:
            return None

    async def names(self, kind: Kind[Any], namespace: str = "default", *, labels: str = "") -> list[str]:
        """The names of what there is of a kind, sorted."""
        found = await self.client.list(kind, namespace, labels=labels)
        return sorted(meta.name(tree_of(item)) for item in found.items)

    async def state(self, *kinds: Kind[Any], namespace: str = "") -> dict[str, Object]:
        """What there is of these kinds, without what differs from run to run (`comparable`): to compare two runs."""
        found = {}
        for kind in kinds:
            for item in (await self.client.list(kind, namespace)).items:
                tree = comparable(item)
                found[f"{ref_of(item).gvk.kind} {meta.namespace(tree)}/{meta.name(tree)}"] = tree
        return found

    async def events(self) -> list[Told]:
        """The events that the server has, in the order in which they were written."""
        found = (await self.client.list("events.k8s.io/v1/Event")).items
        return [Told.of(event) for event in sorted(found, key=lambda event: int(meta.resource_version(event)))]

    # Controllers

    async def run(self, *controllers: object, **options: Any) -> Manager:
        """Has controllers work, under a manager of their own, until the world ends or `stop` is called."""
        made = [as_controller(each) for each in controllers]
        await self._grant(made)
        options = {"graceful": 0.0, "preflight": False, "ids": self.ids, **options}
        manager = Manager(self.app, controllers=made, **options)
        await manager.__aenter__()
        self._managers.append(manager)
        await self.settle()
        return manager

    async def stop(self, *managers: Manager) -> None:
        """Ends managers, or all: as a process ends that is told to."""
        for manager in managers or reversed(self._managers[:]):
            self._managers.remove(manager)
            await self._passing_meanwhile(manager.__aexit__(None, None, None))

    async def run_once(self, target: object, obj: AnyObject | Request, *, world: Sequence[AnyObject] = ()) -> Ran:
        """Reconciles an object once, and tells what came of it. Objects that are not there are made first: the object
        itself, and those of `world`. A failure is told as well, and not raised."""
        controller = as_controller(target)
        for each in world if isinstance(obj, Request) else (*world, obj):
            tree = tree_of(each)
            if await self.find(ref_of(each), meta.name(tree), meta.namespace(tree)) is None:
                await self.create(each)
        request = obj if isinstance(obj, Request) else Request(meta.name(tree_of(obj)), meta.namespace(tree_of(obj)))
        await self._grant([controller])
        controller.recorder = recorder = Recorder()
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
        asked = [seen for seen in requests if seen.verb != "watch"]
        return Ran(run, after, asked, recorder.told, conditions, revision)

    async def _grant(self, controllers: Sequence[Controller]) -> None:
        """Gives controllers the rights that they have here."""
        if self._rights is None:
            return
        if isinstance(self._rights, str):
            self._declared += controllers
            rules = await rules_of(self._declared, self.client)
        else:
            rules = list(self._rights)
        role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": USER}}
        binding = {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": USER},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": USER}],
        }
        for each in ({**role, "rules": [*_ASIDE, *rules]}, binding):
            await self.client.apply(each, field_manager="test", force=True)

    # Time

    async def settle(self) -> None:
        """Returns when everything has happened that needs no time."""
        await self._passing.settle()

    async def advance(self, seconds: float) -> None:
        """Lets so many seconds pass, timer by timer."""
        await self._passing.advance(seconds)

    async def eventually(self, holds: Callable[[], Any], *, within: float = 60.0) -> Any:
        """Lets time pass until something holds, and returns it. Raises AssertionError where it does not in time."""
        return await self._passing.eventually(holds, within=within)

    async def never(self, holds: Callable[[], Any], *, within: float = 60.0) -> None:
        """Lets so many seconds pass, in which something must not hold. Raises AssertionError where it does."""
        await self._passing.never(holds, within=within)

    async def drive(self, awaitable: Awaitable[T]) -> T:
        """Awaits something, and has time pass as long as it takes."""
        return await self._passing.drive(awaitable)

    def pulse(self) -> object:
        """Another value whenever something has happened: a request, an event of a watch, a reconcile."""
        controllers = [each for manager in self._managers for each in manager.controllers]
        queues = tuple(
            (len(each.queue), len(each.queue.working()), each.runs[-1].id if each.runs else "") for each in controllers
        )
        return len(self.faults.seen), self.faults.heard, queues

    # Its end

    async def close(self) -> None:
        """Ends what runs in it. Nothing goes wrong any more."""
        self.faults.clear()
        await self.stop()

    async def _passing_meanwhile(self, ending: Awaitable[Any]) -> None:
        """Awaits something in this task, as a group of tasks wants it, while time passes beside it."""

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
    system: bool = False,
    **plane: Any,
) -> AsyncIterator[World]:
    """A world of its own, with kinds and objects in it.

    Time is virtual, unless another clock is given. `rights` are the rules of RBAC that controllers have, or
    `"declared"` for those that follow from what they declare; without, they may do everything. `seed` decides about
    chance. `system` runs the controllers that every cluster has; what else is given goes to the `ControlPlane`.
    """
    clock = clock or ManualClock(START)
    plane.setdefault("ids", SeededIds(seed))
    async with ControlPlane(clock=clock, system=system, **plane) as made, made.client() as client:
        app = client if rights is None else made.client(user=USER, groups=["system:authenticated"])
        found = World(made, clock, client, app, rights, seed)
        await found.install(*crds)
        await found.create(*objects)
        try:
            yield found
        finally:
            await found.close()


def as_controller(target: object) -> Controller:
    """A controller of what is one, is declared as one, or makes one: a machine, a generator, a chain."""
    make = getattr(target, "controller", None)
    if isinstance(target, Controller) or not callable(make):
        return controller_of(target)
    made: Controller = make()
    return made
