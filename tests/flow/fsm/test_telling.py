"""What a machine tells beside its conditions: events when Ready changes, and what is measured of it."""

import asyncio
from typing import Any

import pytest
from tests.flow.fsm.test_walk import machine
from tests.flow.fsm.worlds import World, settle

from setpoint.flow.fsm import Done, Fail, Wait
from setpoint.objects.metrics import exposition


async def touch(world: World, label: str) -> None:
    """Has the object walk again."""
    await world.change(lambda found: found.metadata.labels.update(now=label))


@pytest.mark.feature("E77")
async def test_events_tell_when_ready_changes_and_nothing_else(world: World) -> None:
    answers: list[Any] = [Wait(10, reason="Pending")]
    controller = world.run(machine(lambda: answers[0]))
    await world.create()
    await world.is_so("Ready=False/Pending")
    await settle(controller)
    await touch(world, "still")  # it still waits: there is nothing new to tell
    await settle(controller)
    for answer, reason in ((Fail("Broken", "no space", terminal=True), "Broken"), (Done(), "Ready")):
        answers[0] = answer
        await touch(world, reason)
        await world.is_so(f"Ready={'True' if reason == 'Ready' else 'False'}/{reason}")
    await world.manager.events.flush()
    found = (await world.client.list("events.k8s.io/v1/Event", "default")).items
    told = {(each["type"], each["reason"], each["note"]) for each in found}
    assert told == {
        ("Normal", "Pending", "Provisioned: Pending"),
        ("Warning", "Broken", "Provisioned: no space"),
        ("Normal", "Ready", "all states succeeded"),
    }
    assert len(found) == len(told)


@pytest.mark.feature("E75")
async def test_metrics_of_several_machines_are_one_family_each_and_count_objects_by_state(world: World) -> None:
    first = world.run(machine(None))
    world.run(machine(None), name="second")
    await asyncio.gather(*(world.create(f"b{number}") for number in range(3)))
    await asyncio.gather(*(world.is_so("Ready=True/Ready", name=f"b{number}") for number in range(3)))
    await settle(first)
    lines = list(exposition(world.manager.metrics.families()))
    assert 'setpoint_fsm_objects{fsm="bucket",state="Checked"} 3' in lines
    assert lines.count("# TYPE setpoint_fsm_state_duration_seconds histogram") == 1
    assert any(line.startswith('setpoint_fsm_state_total{fsm="second",state="Issued"') for line in lines)
    assert 'setpoint_fsm_ready_seconds_count{fsm="bucket"} 3' in lines
    await world.manager.remove(first)
    assert 'fsm="bucket"' not in "\n".join(exposition(world.manager.metrics.families()))
