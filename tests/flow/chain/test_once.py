"""Handlers that are called once for each generation, also by a process that is started later."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
import pytest

from setpoint import testing
from setpoint.api.core.v1 import Node
from setpoint.client.patches import merge
from setpoint.controller.leader import LeaderElection
from setpoint.controller.request import Requeue, TerminalError
from setpoint.flow.chain import Chain, HandlerContext, Skip, SyncHandlerContext
from setpoint.flow.chain.order import RegistrationError
from setpoint.objects.tree import Object
from setpoint.schema.types import Model, ObjectMeta, Resource

STEPS = ("reserve", "charge", "notify")


class OrderSpec(Model):
    """The desired state of an order."""

    size: int = 1


class OrderStatus(Model):
    """The state of an order."""

    handlers: dict[str, int] = msgspec.field(default_factory=dict)
    total: int = 0
    observed_generation: int = 0


class Order(Resource, group="example.com", version="v1"):
    """An order."""

    spec: OrderSpec
    status: OrderStatus | None = None


def order(name: str = "o") -> Order:
    return Order(metadata=ObjectMeta(name=name, namespace="default"), spec=OrderSpec())


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(crds=[Order], objects=[order()]) as found:
        yield found


async def status(world: testing.World) -> OrderStatus:
    found = await world.find(Order, "o")
    return found.status or OrderStatus()


async def is_done(world: testing.World, generation: int = 1) -> bool:
    return (await status(world)).observed_generation == generation


async def is_gone(world: testing.World) -> bool:
    return not (await world.client.list(Order, "default")).items


async def change(world: testing.World, **metadata: Any) -> None:
    await world.client.patch(Order, merge({"metadata": metadata}), "o", "default")
    await world.settle()


async def resize(world: testing.World, size: int) -> None:
    await world.client.patch(Order, merge({"spec": {"size": size}}), "o", "default")
    await world.settle()


class Steps:
    """A chain of three steps, and the number of calls of each."""

    def __init__(self, *, in_threads: bool = False, **options: Any) -> None:
        self.calls: Counter[str] = Counter()
        self.in_threads = in_threads
        self.options = {"once": True, **options}
        self.errors: dict[str, list[Exception]] = {}

    def chain(self) -> Chain[Order]:
        """A new chain, as in a new process."""
        chain = Chain(Order)
        for name, before in zip(STEPS, (None, *STEPS), strict=False):
            after = [before] if before else []
            chain.on_change(name, after=after, **self.options)(self._handler(name))
        return chain

    def _handler(self, name: str) -> Any:
        async def step(ctx: HandlerContext[Order], found: Order) -> None:
            self._count(name)
            ctx.status.total = found.spec.size

        def blocking_step(ctx: SyncHandlerContext[Order], found: Order) -> None:
            self._count(name)
            ctx.status.total = found.spec.size

        return blocking_step if self.in_threads else step

    def _count(self, name: str) -> None:
        self.calls[name] += 1
        if self.errors.get(name):
            raise self.errors[name].pop(0)


@pytest.mark.parametrize("in_threads", [False, True])
async def test_a_restart_at_any_point_repeats_at_most_the_call_whose_record_was_lost(in_threads: bool) -> None:
    repeated: list[tuple[bool, list[str]]] = []
    async for crash in testing.every_crash(crds=[Order], objects=[order()], rights="declared"):
        steps = Steps(in_threads=in_threads)
        await _run_anew(crash, steps)
        assert set(steps.calls) == set(STEPS)
        assert max(steps.calls.values()) <= 2
        if crash.happened:
            repeated.append((crash.done, [name for name, calls in steps.calls.items() if calls > 1]))
        assert (await status(crash.world)).handlers == dict.fromkeys(STEPS, 1)
    # Four writes: three records, and the generation at the end.
    assert repeated == [(True, [])] * 4 + [(False, [name]) for name in STEPS] + [(False, [])]


async def _run_anew(crash: testing.Crash, steps: Steps) -> None:
    """Runs a chain until all is done; after a crash, another one."""
    faults, world = crash.world.faults, crash.world
    crash.ran = True

    async def over() -> bool:
        return faults.crashed or await is_done(world)

    manager = await world.run(steps.chain())
    await world.eventually(over)
    await world.stop(manager)
    if faults.crashed:
        crash.happened = True
        faults.revive()
        manager = await world.run(steps.chain())
        await world.eventually(partial(is_done, world))
        await world.settle()
        await world.stop(manager)


async def test_a_step_is_called_once_for_each_generation(world: testing.World) -> None:
    steps = Steps()
    manager = await world.run(steps.chain())
    await change(world, labels={"a": "b"})
    assert steps.calls == dict.fromkeys(STEPS, 1)
    await world.stop(manager)
    manager = await world.run(steps.chain())
    await change(world, labels={"a": "c"})
    assert steps.calls == dict.fromkeys(STEPS, 1)
    await world.stop(manager)
    await resize(world, 2)
    await world.run(steps.chain())
    assert steps.calls == dict.fromkeys(STEPS, 2)
    found = await status(world)
    assert (found.handlers, found.total, found.observed_generation) == (dict.fromkeys(STEPS, 2), 2, 2)


async def test_without_once_every_start_calls_every_handler(world: testing.World) -> None:
    steps = Steps(once=False)
    for starts in (1, 2):
        manager = await world.run(steps.chain())
        await world.stop(manager)
        assert steps.calls == dict.fromkeys(STEPS, starts)
    assert (await status(world)).handlers == {}


async def test_only_the_failed_step_and_later_ones_are_called_after_a_restart(world: testing.World) -> None:
    steps = Steps()
    steps.errors["charge"] = [ValueError(str(number)) for number in range(3)]
    with world.expect(ValueError) as expected:
        manager = await world.run(steps.chain())
        await world.stop(manager)
        assert (steps.calls["reserve"], steps.calls["notify"]) == (1, 0)
        await world.run(steps.chain())
        await world.eventually(partial(is_done, world))
    assert len(expected.problems) == 3
    assert steps.calls == {"reserve": 1, "charge": 4, "notify": 1}


@pytest.mark.parametrize(("error", "calls"), [(Requeue(10), 2), (Skip(), 2), (TerminalError("no"), 2)])
async def test_only_a_success_is_recorded(world: testing.World, error: Exception, calls: int) -> None:
    steps = Steps()
    steps.errors["notify"] = [error]
    with world.expect(TerminalError) if isinstance(error, TerminalError) else nullcontext():
        await world.run(steps.chain())
    assert "notify" not in (await status(world)).handlers
    await change(world, labels={"a": "b"})
    assert steps.calls == {"reserve": 1, "charge": 1, "notify": calls}
    assert (await status(world)).handlers == dict.fromkeys(STEPS, 1)


async def test_a_handler_that_asks_for_another_call_gets_it(world: testing.World) -> None:
    chain, calls = Chain(Order), list[float]()

    @chain.on_change("poll", once=True)
    async def poll(ctx: HandlerContext[Order], found: Order) -> None:
        calls.append(ctx.clock.monotonic())
        if len(calls) < 3:
            ctx.requeue_after(10)

    await world.run(chain)
    await world.advance(100)
    assert [when - calls[0] for when in calls] == [0, 10, 20]
    assert (await status(world)).handlers == {"poll": 1}


async def test_a_record_that_cannot_be_written_is_written_later_without_a_call(world: testing.World) -> None:
    steps = Steps()
    world.faults.fail("patch", Order, error=500, times=5, subresource="status")
    await world.run(steps.chain())
    await world.eventually(partial(is_done, world))
    assert world.faults.hits == 5
    assert steps.calls == dict.fromkeys(STEPS, 1)


async def test_a_new_leader_with_an_outdated_cache_repeats_no_step(world: testing.World) -> None:
    steps = Steps()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {"holderIdentity": "former", "leaseDurationSeconds": 30},
    }
    await world.create(lease)
    manager = await world.run(
        steps.chain(), warm=True, leader_election=LeaderElection("orders", "default", identity="new")
    )
    await world.advance(5)
    assert not manager.is_leader
    with world.faults.stale(Order):
        # The former leader has written two records, which the cache does not show.
        done = merge({"status": {"handlers": {"reserve": 1, "charge": 1}}})
        await world.client.patch(Order, done, "o", "default", subresource="status")
        await world.eventually(lambda: steps.calls)
        assert manager.is_leader
    await world.eventually(partial(is_done, world))
    assert steps.calls == {"notify": 1}


async def test_a_removal_does_not_repeat_what_has_succeeded(world: testing.World) -> None:
    calls: Counter[str] = Counter()

    def chain(*, broken: bool) -> Chain[Order]:
        made = Chain(Order, finalizer="example.com/orders")

        @made.on_remove("refund", once=True)
        async def refund(ctx: HandlerContext[Order], found: Order) -> None:
            calls["refund"] += 1

        @made.on_remove("tell", after=["refund"], once=True)
        async def tell(ctx: HandlerContext[Order], found: Order) -> None:
            calls["tell"] += 1
            if broken:
                raise ValueError("no answer")

        return made

    manager = await world.run(chain(broken=True))
    await world.client.delete(Order, "o", "default")
    with world.expect(ValueError, match="no answer"):
        await world.settle()
    await world.stop(manager)
    assert (await status(world)).handlers == {"refund": 2}  # the deletion is a generation of its own
    tried = calls["tell"]
    await world.run(chain(broken=False))
    assert await world.names(Order) == []
    assert calls == {"refund": 1, "tell": tried + 1}


async def test_a_removal_whose_record_could_not_be_written_still_lets_the_object_go(world: testing.World) -> None:
    chain, calls = Chain(Order, finalizer="example.com/orders"), list[str]()

    @chain.on_remove("refund", once=True)
    async def refund(ctx: HandlerContext[Order], found: Order) -> None:
        calls.append(found.metadata.name)

    await world.run(chain)
    world.faults.fail("patch", Order, error=500, times=2, subresource="status")
    await world.client.delete(Order, "o", "default")
    await world.eventually(partial(is_gone, world))
    assert (world.faults.hits, calls) == (2, ["o"])


async def test_a_finalizer_that_could_not_be_removed_is_removed_later(world: testing.World) -> None:
    chain, calls = Chain(Order, finalizer="example.com/orders"), list[str]()

    @chain.on_remove("refund")
    async def refund(ctx: HandlerContext[Order], found: Order) -> None:
        calls.append(found.metadata.name)
        if len(calls) == 1:
            world.faults.fail("patch", Order, error=500, times=1)

    await world.run(chain)
    await world.client.delete(Order, "o", "default")
    await world.eventually(partial(is_gone, world))
    assert (world.faults.hits, calls) == (1, ["o", "o"])
    assert [run.result for run in chain.runs if run.result == "error"] == ["error"]


async def test_the_next_handler_gets_the_object_with_the_record(world: testing.World) -> None:
    chain, versions = Chain(Order), list[str]()

    @chain.on_change("first", once=True)
    async def first(ctx: HandlerContext[Order], found: Order) -> None:
        versions.append(found.metadata.resource_version)

    @chain.on_change("second")
    async def second(ctx: HandlerContext[Order], found: Order) -> None:
        versions.append(found.metadata.resource_version)
        changed = found.edit()
        changed.metadata.labels = {"seen": "true"}
        await ctx.client.update(changed)  # no conflict with the record

    await world.run(chain)
    assert versions[0] != versions[1]
    assert {run.result for run in chain.runs} == {"success"}


class Bare(Resource, group="example.com", version="v1"):
    """A kind whose status has no records."""

    status: OrderSpec | None = None


def test_a_class_without_the_field_is_refused() -> None:
    for kind, text in ((Bare, "add `handlers: dict"), (Node, "to NodeStatus, or remove once=True")):
        with pytest.raises(RegistrationError, match=text):
            Chain(kind).on_change("charge", once=True)(_nothing)
    Chain(Order, records="handlers").on_change("charge", once=True)(_nothing)
    with pytest.raises(RegistrationError, match="has no field 'done'"):
        Chain(Order, records="done").on_change("charge", once=True)(_nothing)


async def _nothing(ctx: HandlerContext, found: Any) -> None: ...


async def test_a_server_that_drops_the_record_is_named(caplog: pytest.LogCaptureFixture) -> None:
    chain, calls = Chain("example.com/v1/Bare"), list[str]()

    @chain.on_change("charge", once=True)
    async def charge(ctx: HandlerContext, found: Object) -> None:
        calls.append("charge")

    bare = Bare(metadata=ObjectMeta(name="o", namespace="default"))
    async with testing.world(crds=[Bare], objects=[bare]) as world:
        with world.expect(TerminalError):
            await world.run(chain)
        await world.advance(60)
        assert calls == ["charge"]
        assert "charge has once=True, and the server has dropped status.handlers: add an object" in caplog.text


async def test_a_kind_without_generations_is_named(caplog: pytest.LogCaptureFixture) -> None:
    chain, calls = Chain("v1/ConfigMap"), list[str]()
    chain.on_change("charge", once=True)(_nothing)

    @chain.on_change("notify", after=["charge"])
    async def notify(ctx: HandlerContext, found: Object) -> None:
        calls.append(found["metadata"]["name"])

    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    async with testing.world(objects=[config_map]) as world:
        with world.expect(TerminalError):
            await world.run(chain)
        assert "objects of this kind have no generation: remove once=True" in caplog.text
        assert calls == [], "a handler after one that failed is not called"
