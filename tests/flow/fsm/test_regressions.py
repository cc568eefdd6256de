"""Defects of other finite-state frameworks (list G of the specification), each as a test that ours has it not."""

from functools import partial
from typing import Any

import pytest
from tests.flow.fsm.worlds import FINALIZER, Bucket, World, bucket, config_map, new_world, settle, until

from setpoint import testing
from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.controller.suspension import SUSPEND
from setpoint.flow.fsm import FSM, Done, Fail, Next, Outputs, Wait, is_ready
from setpoint.flow.fsm.fsm_metrics import Measures
from setpoint.flow.fsm.state_graph import GraphError
from setpoint.objects.meta import finalizers


def answering(answers: list[Any], *, finalizer: str = "") -> FSM:
    """One state, and one that cleans up where there is a finalizer; both answer the first of the answers."""
    fsm = FSM(Bucket, finalizer=finalizer)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("place", {"region": found.spec.region}))
        return Done() if finalizer else answers[0]

    if finalizer:

        @fsm.finalize("Removed")
        async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
            out.apply(config_map("farewell"))
            result: Next = answers[0]
            return result

    return fsm


@pytest.mark.feature("G1", "G2", "E5")
@pytest.mark.parametrize("wait", [Wait(), Wait(0), Wait(0.001)], ids=["backoff", "zero", "soon"])
async def test_g01_and_g02_a_wait_without_message_or_delay_comes_again(world: World, wait: Wait) -> None:
    controller = world.run(answering([wait]))
    await world.create()
    await until(lambda: len(controller.runs) > 3)


@pytest.mark.feature("G2")
async def test_g02_done_with_zero_delay_comes_again(world: World) -> None:
    controller = world.run(answering([Done(requeue_after=0)]))
    await world.create()
    await until(lambda: len(controller.runs) > 3)


@pytest.mark.feature("G3", "E65")
@pytest.mark.parametrize("answer", [Done(requeue_after=30), Wait(30)], ids=["done and requeue", "wait"])
async def test_g03_only_a_done_without_more_to_come_lets_the_object_go(world: World, answer: Any) -> None:
    answers = [answer]
    world.run(answering(answers, finalizer=FINALIZER))
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    assert finalizers((await world.client.get(Bucket, "b", "default")).to_json()) == [FINALIZER]
    await world.client.delete(made)
    await world.is_so("Ready=False/Deleting", "Stored=Unknown/Deleting")
    assert not await world.has("farewell")  # nothing new is made for what goes
    answers[0] = Done()
    await world.change(lambda found: found.metadata.labels.update(now="yes"))
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)


@pytest.mark.feature("G4", "E4")
async def test_g04_a_loop_of_states_is_told_by_the_state_that_came_again(world: World) -> None:
    fsm = FSM(Bucket)
    states: dict[str, Any] = {}

    @fsm.state("One", then=["Two"])
    async def one(ctx: Context, found: Bucket, out: Outputs) -> Next:
        following: Next = states["two"]
        return following

    @fsm.state("Two", then=[])
    async def two(ctx: Context, found: Bucket, out: Outputs) -> Next:
        following: Next = states["one"]
        return following

    states.update(one=one, two=two)
    world.run(fsm)
    await world.create()
    told = await world.is_so("One=False/Loop", "Ready=False/Loop")
    assert "One -> Two -> One" in told["Ready"]["message"]


@pytest.mark.feature("G5")
def test_g05_no_condition_is_without_a_type() -> None:
    fsm = FSM(Bucket)
    for name in ("", "two words", "Ready", "Suspended"):
        with pytest.raises(GraphError):
            fsm.state(name)(lambda ctx, found, out: None)  # type: ignore[arg-type]


@pytest.mark.feature("G6")
async def test_g06_an_object_without_finalizer_states_says_that_it_is_being_deleted(world: World) -> None:
    world.run(answering([Done()]))
    made = bucket()
    made.metadata.finalizers = ["example.com/another"]
    await world.client.create(made)
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made)
    await world.is_so("Ready=False/Deleting", "Stored=Unknown/Deleting")


@pytest.mark.feature("G7", "E69")
async def test_g07_a_state_that_is_not_reached_any_more_is_unknown(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("One")
    async def one(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Wait(60) if found.spec.wait else two

    @fsm.state("Two")
    async def two(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Done()

    world.run(fsm)
    await world.create()
    await world.is_so("Two=True/Done", "Ready=True/Ready")
    await world.change(lambda found: setattr(found.spec, "wait", True))
    await world.is_so("One=False/Waiting", "Two=Unknown/NotReached", "Ready=False/Waiting")


@pytest.mark.feature("G8", "E68")
async def test_g08_the_time_of_a_condition_moves_only_when_its_status_flips() -> None:
    async with new_world(manual=True) as world:
        answers: list[Any] = [Wait(10, reason="First")]
        controller = world.run(answering(answers))
        await world.create()
        first = (await world.is_so("Ready=False/First"))["Ready"]["lastTransitionTime"]
        answers[0] = Wait(10, reason="Second")
        await settle(controller)
        await world.turn(10, controller)
        assert (await world.is_so("Ready=False/Second"))["Ready"]["lastTransitionTime"] == first
        answers[0] = Done()
        await world.turn(10, controller)
        assert (await world.is_so("Ready=True/Ready"))["Ready"]["lastTransitionTime"] > first


@pytest.mark.feature("G10", "E15")
async def test_g10_an_output_that_is_not_owned_brings_its_machine_back_when_it_changes(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("loose", {"a": "1"}), owned=False)
        return Done()

    controller = world.run(fsm)
    await world.create()
    await world.is_so("Ready=True/Ready")
    await settle(controller)
    await world.client.delete("v1/ConfigMap", "loose", "default")
    await world.client.wait_for("v1/ConfigMap", "loose", "default", "create", timeout=5)
    assert "ownerReferences" not in (await world.client.get("v1/ConfigMap", "loose", "default"))["metadata"]


@pytest.mark.feature("G15")
def test_g15_an_output_needs_a_name_and_children_have_one_that_stays() -> None:
    out = Outputs(bucket("b" * 250).to_json())
    with pytest.raises(ValueError, match="needs a name"):
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "any-"}})
    first, second = out.child("one").name, out.child("two").name
    assert first == out.child("one").name != second
    assert len(first) <= 253


@pytest.mark.feature("G16")
@pytest.mark.feature("E76")
def test_g16_generations_are_compared_as_numbers() -> None:
    measures, request = Measures("bucket"), Request("b", "default")
    for generation in (2, 9, 10):
        measures.record_reconcile(request, generation, float(generation))
    measures.record_walk(request, "Stored", 10, 12.0, ready=True)
    assert (measures.until_ready.count, measures.until_ready.sum) == (3, 10.0 + 3.0 + 2.0)
    measures.record_reconcile(request, 10, 20.0)
    measures.record_walk(request, "Stored", 10, 21.0, ready=True)
    assert measures.until_ready.count == 3


@pytest.mark.feature("G17", "E75")
async def test_g17_nothing_is_measured_of_an_object_that_is_gone(world: World) -> None:
    controller: Any = world.run(answering([Done()]))
    made = await world.create(suspend=True)
    await world.is_so("Suspended=True/Suspended")
    assert len(controller.suspended) == 1
    await world.client.delete(made)
    await until(lambda: not controller.suspended)


@pytest.mark.feature("G18")
async def test_g18_a_change_is_looked_at_at_once_however_long_the_backoff_is() -> None:
    async with new_world(manual=True) as world:
        answers: list[Any] = [Fail("Broken")]
        controller = world.run(answering(answers))
        await world.create()
        await world.is_so("Ready=False/Broken")
        for _ in range(8):  # ever more slowly
            await world.turn(60, controller)
        answers[0] = Done()
        await world.change(lambda found: setattr(found.spec, "region", "south"))  # and no time passes
        await world.is_so("Ready=True/Ready")


@pytest.mark.feature("E74")
@pytest.mark.parametrize("how", ["annotation", "field"])
async def test_suspend_is_total_and_told_and_ends(world: World, how: str) -> None:
    def put(found: Bucket, on: bool) -> None:
        found.spec.region = "south"
        if how == "field":
            found.spec.suspend = on
        else:
            found.metadata.annotations[SUSPEND] = "true" if on else "false"

    controller = world.run(answering([Done()], finalizer=FINALIZER))
    made = bucket()
    put(made, True)
    await world.client.create(made)
    assert "Ready" not in await world.is_so("Suspended=True/Suspended")
    assert not (await world.client.get(Bucket, "b", "default")).metadata.finalizers
    assert not await world.has("place")
    await world.change(lambda found: put(found, False))
    assert "Suspended" not in await world.is_so("Ready=True/Ready")
    await world.change(lambda found: put(found, True))
    await world.is_so("Suspended=True/Suspended")
    await world.client.delete(made)
    await settle(controller)
    assert (await world.client.get(Bucket, "b", "default")).metadata.finalizers == [FINALIZER]
    await world.change(lambda found: put(found, False))
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)


@pytest.mark.feature("E3")
@pytest.mark.slow
async def test_a_crash_after_any_write_comes_to_the_same_end() -> None:
    """The process ends with a write, done or not; another one goes on."""
    fsm = FSM(Bucket, finalizer=FINALIZER)

    @fsm.state("One")
    async def one(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("first"), config_map("second"))
        return two

    @fsm.state("Two")
    async def two(ctx: Context, found: Bucket, out: Outputs) -> Next:
        assert found.status is not None
        found.status.url = "store://here"
        out.apply(config_map("third"))
        return Done()

    @fsm.finalize("Removed")
    async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.delete("v1/ConfigMap", "first")
        return Done()

    async def is_there(world: testing.World) -> bool:
        found = await world.find(Bucket, "b")
        return is_ready(found) and found.status.url == "store://here"

    async def is_gone(world: testing.World) -> bool:
        return await world.find(Bucket, "b") is None

    machine = fsm.controller(owns=["v1/ConfigMap"])
    async for crash in testing.every_crash(crds=[Bucket], objects=[bucket()]):
        world = crash.world
        await crash.run(machine, until=partial(is_there, world))
        assert {"first", "second", "third"} <= {*await world.names("v1/ConfigMap")}, str(crash)
        await world.client.delete(Bucket, "b", "default")
        await crash.run(machine, until=partial(is_gone, world))
        assert not {"first", "second", "third"} & {*await world.names("v1/ConfigMap")}, str(crash)
