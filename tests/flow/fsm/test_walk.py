"""A walk goes from the first state until one says how it ends, and the conditions tell how far it came."""

import asyncio
from typing import Any

import pytest
from tests.flow.fsm.worlds import Bucket, World, bucket, config_map, new_world, settle, until

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.request import Requeue, TerminalError
from setpoint.flow.fsm import FSM, Done, Fail, Next, Note, Outputs, Wait, is_ready, wait_ready
from setpoint.objects.errors import Conflict


def machine(answer: Any) -> FSM:
    """Two states; the second answers, or raises, what it is given."""
    fsm = FSM(Bucket)

    @fsm.state("Issued")
    async def issued(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map(f"{found.metadata.name}-key"))
        return provisioned

    @fsm.state("Provisioned", reason="Stored", message="it is stored")
    async def provisioned(ctx: Context, found: Bucket, out: Outputs) -> Next:
        assert found.status is not None
        found.status.url = f"store://{found.spec.region}"
        out.apply(config_map(f"{found.metadata.name}-place", {"region": found.spec.region}))
        result = answer() if callable(answer) and not isinstance(answer, type) else answer
        if isinstance(result, Exception):
            raise result
        return result or checked

    @fsm.state("Checked")
    async def checked(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Done

    return fsm


@pytest.mark.feature("E2", "E68", "E69")
async def test_a_walk_to_the_end_makes_every_condition_and_ready_true(world: World) -> None:
    controller = world.run(machine(None))
    made = await world.create()
    found = await wait_ready(world.client, made, timeout=5)
    assert found.status is not None
    assert await world.conditions() == {
        "Issued": "True/Done",
        "Provisioned": "True/Stored",
        "Checked": "True/Done",
        "Ready": "True/Ready",
    }
    assert {each["observedGeneration"] for each in found.status.conditions} == {found.metadata.generation}
    assert found.status.url == "store://north"
    [owner] = (await world.client.get("v1/ConfigMap", "b-place", "default"))["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("Bucket", True)
    await settle(controller)
    assert [run.result for run in controller.runs if run.has_writes] == ["success"]


@pytest.mark.feature("E3", "E52")
async def test_a_walk_that_finds_all_as_it_was_writes_nothing(world: World) -> None:
    controller = world.run(machine(None))
    await world.create()
    await world.is_so("Ready=True/Ready")
    await settle(controller)
    count = len(controller.runs)
    await world.change(lambda found: found.metadata.labels.update(touched="yes"))
    await until(lambda: len(controller.runs) > count)
    await settle(controller)
    assert not controller.runs[-1].has_writes


@pytest.mark.feature("E5")
async def test_a_wait_stops_the_walk_tells_why_and_forgets_the_outputs_of_its_state() -> None:
    async with new_world(manual=True) as world:
        answers: list[Any] = [Wait(30, reason="Pending", message="not yet")]
        controller = world.run(machine(lambda: answers[0]))
        await world.create()
        told = await world.is_so("Ready=False/Pending", "Issued=True/Done", "Provisioned=False/Pending")
        assert told["Checked"]["status"] == "Unknown"
        assert told["Checked"]["message"] == "the walk stopped at Provisioned"
        assert told["Ready"]["message"] == "Provisioned: not yet"
        await settle(controller)
        assert not await world.has("b-place")
        assert controller.runs[-1].requeue_after == 30
        answers[0] = None
        await world.turn(30, controller)
        await world.is_so("Ready=True/Ready")


@pytest.mark.feature("E5")
async def test_a_wait_that_keeps_its_outputs_has_them_applied(world: World) -> None:
    world.run(machine(Wait(30, keep_outputs=True)))
    await world.create()
    await world.is_so("Ready=False/Waiting")
    assert await world.has("b-place")


@pytest.mark.feature("E5")
async def test_done_with_requeue_after_is_ready_and_looks_again() -> None:
    async with new_world(manual=True) as world:
        controller = world.run(machine(Done(requeue_after=60)))
        await world.create()
        told = await world.is_so("Ready=True/Ready")
        assert (told["Checked"]["status"], told["Checked"]["reason"]) == ("Unknown", "NotReached")
        await settle(controller)
        count = len(controller.runs)
        await world.turn(60, controller)
        await until(lambda: len(controller.runs) > count)


@pytest.mark.feature("E5", "E30", "E31")
@pytest.mark.parametrize(
    ("answer", "reason", "result"),
    [
        (Fail("Broken", "no space"), "Broken", "error"),
        (Fail("Broken", "no space", terminal=True), "Broken", "terminal"),
        (RuntimeError("no space"), "Error", "error"),
        (TerminalError("no space"), "Error", "terminal"),
        (Requeue(5, "no space"), "Waiting", "requeue_after"),
        (Conflict("no space"), "Conflict", "conflict"),
        (TimeoutError("no space"), "Error", "error"),
    ],
    ids=["fail", "terminal", "exception", "terminal error", "requeue", "conflict", "timeout of its own"],
)
async def test_what_a_state_answers_or_raises_is_told_and_ends_the_reconcile(
    world: World, answer: Any, reason: str, result: str
) -> None:
    controller = world.run(machine(answer))
    await world.create()
    told = await world.is_so(f"Provisioned=False/{reason}", f"Ready=False/{reason}")
    assert "no space" in told["Ready"]["message"]
    assert told["Checked"]["status"] == "Unknown"
    await until(lambda: bool(controller.runs))
    assert controller.runs[0].result in (result, "requeue")
    assert not await world.has("b-place")


@pytest.mark.feature("E5")
@pytest.mark.parametrize(("answer", "shown"), [(None, "None"), ("Done", "a str"), (Wait, "a type")])
async def test_a_state_that_answers_something_else_is_told_what_to_return(
    world: World, answer: Any, shown: str
) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Forgetful")
    async def forgetful(ctx: Context, found: Bucket, out: Outputs) -> Any:
        return answer

    world.run(fsm)
    await world.create()
    told = await world.is_so("Ready=False/Error")
    wanted = f"Forgetful: forgetful returned {shown}: expected the next state, Done, Wait, Fail or Note"
    assert told["Ready"]["message"] == wanted


async def test_a_state_that_takes_too_long_is_ended() -> None:
    async with new_world(manual=True) as world:
        fsm, begun = FSM(Bucket), asyncio.Event()

        @fsm.state("Slow", timeout=5)
        async def slow(ctx: Context, found: Bucket, out: Outputs) -> Next:
            begun.set()
            await ctx.clock.sleep(3600)
            return Done()

        world.run(fsm)
        await world.create()
        await begun.wait()  # the timeout counts from here on
        assert world.clock is not None
        world.clock.advance(5)
        told = await world.is_so("Slow=False/TimedOut", "Ready=False/TimedOut")
        assert told["Slow"]["message"] == "Slow took longer than 5 s"


@pytest.mark.feature("E71")
async def test_a_wait_beyond_its_deadline_says_so_and_goes_on() -> None:
    async with new_world(manual=True) as world:
        answers: list[Any] = [Wait(300, reason="Pending")]
        fsm = FSM(Bucket)

        @fsm.state("Slow", deadline=60)
        async def slow(ctx: Context, found: Bucket, out: Outputs) -> Next:
            result: Next = answers[0]
            return result

        controller = world.run(fsm)
        await world.create()
        await world.is_so("Slow=False/Pending")
        await settle(controller)
        assert controller.runs[-1].requeue_after == 60  # when it is too late, and not when it asked for
        await world.turn(60, controller)
        told = await world.is_so("Slow=False/DeadlineExceeded", "Ready=False/DeadlineExceeded")
        assert told["Slow"]["message"] == "for more than 60 s: Pending"
        await settle(controller)
        assert controller.runs[-1].requeue_after == 300  # the deadline is over: only the wait counts
        answers[0] = Done()
        await world.turn(300, controller)
        await world.is_so("Ready=True/Ready")


@pytest.mark.feature("E6")
async def test_a_note_goes_on_but_ready_is_false_and_a_requeue_comes_at_the_end(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Checked")
    async def checked(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.defer_requeue(60)
        return Note(published, "Degraded", "one of two")

    @fsm.state("Published")
    async def published(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Done(requeue_after=90)

    controller = world.run(fsm)
    await world.create()
    await world.is_so("Checked=False/Degraded", "Published=True/Done", "Ready=False/Degraded")
    await settle(controller)
    assert controller.runs[-1].requeue_after == 60


@pytest.mark.feature("E71")
async def test_waiting_for_children_names_those_that_are_not_ready(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Made")
    async def made(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("first"), config_map("second"))
        return ready

    ready = fsm.wait_ready("ChildrenReady", after=30, ready=lambda each: "done" in tree_of(each).get("data", {}))
    world.run(fsm)
    await world.create()
    told = await world.is_so("ChildrenReady=False/ChildrenNotReady")
    assert told["ChildrenReady"]["message"] == "not ready: ConfigMap first, ConfigMap second"
    for name in ("first", "second"):
        await world.client.edit("v1/ConfigMap", name, "default", lambda each: each.update(data={"done": "1"}))
    await world.is_so("Ready=True/Ready")


async def test_outputs_that_are_wanted_gone_are_deleted(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Tidied")
    async def tidied(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("here"))
        out.delete("v1/ConfigMap", "old")
        out.delete(config_map("never-was"))
        return Done()

    await world.client.create(config_map("old"))
    world.run(fsm)
    await world.create()
    await world.is_so("Ready=True/Ready")
    assert await world.has("here")
    assert not await world.has("old")


@pytest.mark.feature("E70", "E71")
async def test_wait_ready_says_what_it_waited_for_and_that_the_object_went(world: World) -> None:
    world.run(machine(Wait(reason="Pending", message="not yet")))
    made = await world.create()
    await world.is_so("Ready=False/Pending")
    with pytest.raises(TimeoutError, match=r"unavailable \[progressing\] Provisioned: not yet"):
        await wait_ready(world.client, made, timeout=0.02)
    await world.client.delete(made)
    with pytest.raises(LookupError, match="b was deleted"):
        await wait_ready(world.client, made, timeout=60)


@pytest.mark.feature("E70")
@pytest.mark.parametrize(
    ("metadata", "status", "ready"),
    [
        ({}, {}, True),
        ({"generation": 2}, {"observedGeneration": 1}, False),
        ({"generation": 2}, {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}, False),
        ({"generation": 2}, {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 2}]}, True),
        ({"generation": 2}, {"conditions": [{"type": "Ready", "status": "Unknown"}]}, False),
        ({"deletionTimestamp": "2030-01-01T00:00:00Z"}, {}, False),
    ],
    ids=["says nothing", "not seen yet", "of another generation", "ready", "unknown", "being deleted"],
)
def test_ready_is_what_says_so_of_the_spec_it_has(metadata: Any, status: Any, ready: bool) -> None:
    assert is_ready({"metadata": {"name": "b", **metadata}, "status": status}) is ready


@pytest.mark.feature("E2")
async def test_states_can_be_of_objects_without_a_class(world: World) -> None:
    fsm = FSM("storage.example.com/v1/Bucket")

    @fsm.state("Seen")
    async def seen(ctx: Context, found: Any, out: Outputs) -> Next:
        found["status"]["url"] = "store://" + found["spec"]["region"]
        return Done

    world.run(fsm)
    await world.client.create(bucket())
    await world.is_so("Ready=True/Ready")
    status = (await world.client.get(Bucket, "b", "default")).status
    assert status is not None
    assert status.url == "store://north"
