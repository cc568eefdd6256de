"""Objects of a set with a status: written to the status subresource, in every mode, and only if different."""

from typing import Any

import pytest

import setpoint as sp
from setpoint import testing
from setpoint.client.patches import merge
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.plan import Action
from setpoint.flow.policy import How, Mode
from setpoint.objects.errors import APIError, Conflict
from setpoint.objects.tree import Object

TASK = "example.com/v1/Task"


class TaskStatus(sp.Model):
    """The state of a task."""

    phase: str = ""
    done: int = 0


class Task(sp.Resource, group="example.com", version="v1"):
    """A task with a status."""

    text: str = ""
    status: TaskStatus | None = None


def task(phase: str = "Open", text: str = "x", **status: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Task",
        "metadata": {"name": "t", "namespace": "default"},
        "text": text,
        "status": {"phase": phase, **status},
    }


def new_set(world: testing.World, mode: Mode, **how: Any) -> ApplySet:
    return ApplySet(
        world.app, "tasks", namespace="default", field_manager="tasks", how=How(mode=mode, force=True, **how)
    )


def status_writes(world: testing.World) -> int:
    return sum(seen.subresource == "status" for seen in world.faults.writes)


def task_writes(world: testing.World) -> int:
    return sum(seen.resource == "tasks" for seen in world.faults.writes)


@pytest.mark.parametrize("mode", Mode)
async def test_the_status_of_an_object_is_written_once_and_again_when_others_change_it(mode: Mode) -> None:
    async with testing.world(crds=[Task]) as world:
        result = await new_set(world, mode).add(task(done=1)).apply()
        assert [found["status"]["phase"] for found in result.objects.values()] == ["Open"]
        found = await world.client.get(TASK, "t", "default")
        assert (found["text"], found["status"]) == ("x", {"phase": "Open", "done": 1})
        writes = task_writes(world)
        again = await new_set(world, mode).add(task(done=1)).apply()
        assert [step.action for step in again.plan.steps] == [Action.KEEP]
        assert task_writes(world) == writes
        await world.client.patch_status(TASK, merge({"status": {"phase": "Lost"}}), "t", "default")
        await new_set(world, mode).add(task(done=1)).apply()
        assert (await world.client.get(TASK, "t", "default"))["status"]["phase"] == "Open"
        assert task_writes(world) == writes + 1  # the object itself is not written
        assert status_writes(world) == 2


@pytest.mark.parametrize("mode", Mode)
async def test_an_object_and_its_status_change_together_and_the_plan_shows_both(mode: Mode) -> None:
    async with testing.world(crds=[Task]) as world:
        await new_set(world, mode).add(task()).apply()
        changed = new_set(world, mode).add(task("Done", "y"))
        plan = await changed.plan()
        assert '~ /status/phase: "Open" -> "Done"' in plan.render()
        await changed.apply(plan)
        found = await world.client.get(TASK, "t", "default")
        assert (found["text"], found["status"]["phase"]) == ("y", "Done")


async def test_a_plan_of_a_status_alone_names_its_reason() -> None:
    async with testing.world(crds=[Task]) as world:
        await new_set(world, Mode.APPLY).add(task()).apply()
        plan = await new_set(world, Mode.APPLY).add(task("Done")).plan()
        [step] = plan.steps
        assert (step.action, step.reason) == (Action.APPLY, "its status differs from the wanted one")
        assert not plan.is_empty


async def test_a_failed_status_is_written_by_the_next_run() -> None:
    async with testing.world(crds=[Task]) as world:
        world.faults.fail("apply", Task, error=500, subresource="status", times=1)
        with pytest.raises(APIError):
            await new_set(world, Mode.APPLY).add(task()).apply()
        assert "status" not in await world.client.get(TASK, "t", "default")
        await new_set(world, Mode.APPLY).add(task()).apply()
        assert (await world.client.get(TASK, "t", "default"))["status"]["phase"] == "Open"


async def test_a_lock_holds_for_the_status() -> None:
    async with testing.world(crds=[Task]) as world:
        await new_set(world, Mode.APPLY).add(task()).apply()
        old = (await world.client.get(TASK, "t", "default"))["metadata"]["resourceVersion"]
        await world.client.patch_status(TASK, merge({"status": {"done": 5}}), "t", "default")
        locked = task("Done")
        locked["metadata"]["resourceVersion"] = old
        with pytest.raises(Conflict):
            await new_set(world, Mode.APPLY, lock=True).add(locked).apply()


async def test_children_and_outputs_may_have_a_status() -> None:
    class Plan(sp.Resource, group="example.com", version="v1"):
        """A parent."""

        status: dict[str, Any] | None = None

    rule = {"apiGroups": ["example.com"], "resources": ["tasks/status"], "verbs": ["patch"]}

    @sp.generates(Plan, kinds=[Task], name="generated", extra_rules=[rule])
    def render(plan: Plan, status: Any) -> list[sp.Resource]:
        metadata = sp.ObjectMeta(name="generated", namespace="default")
        return [Task(metadata=metadata, status=TaskStatus(phase="Made"))]

    fsm = sp.FSM(Plan)

    @fsm.state("Planned")
    async def planned(ctx: sp.Context[Plan], plan: Plan, out: sp.Outputs) -> sp.Next:
        out.apply(Task(metadata=out.child("output"), status=TaskStatus(phase="Put")))
        return sp.Done()

    plan = Plan(metadata=sp.ObjectMeta(name="p", namespace="default"))
    async with testing.world(crds=[Task, Plan], objects=[plan], rights="declared") as world:
        (await world.run_once(render, plan)).raise_error()
        (await world.run_once(fsm.controller(owns=[Task], extra_rules=[rule]), plan)).raise_error()
        found = {each["metadata"]["name"]: each["status"]["phase"] for each in (await world.client.list(TASK)).items}
    assert found == {"generated": "Made", "p-output": "Put"}
