"""The metrics of a machine: calls by state and result, and the time until a generation is ready."""

from typing import Any

import pytest
from tests.flow.fsm.test_walk import machine
from tests.flow.fsm.worlds import World, new_world, settle

from setpoint.controller.request import Request
from setpoint.flow.fsm import Fail, Wait
from setpoint.flow.fsm.fsm import FSMController
from setpoint.flow.fsm.fsm_metrics import Measures

FIRST, SECOND = Request("a", "default"), Request("b", "default")


@pytest.mark.parametrize("answer", [Wait(30), Fail("Broken", "no space"), RuntimeError("broken")])
async def test_a_call_counts_as_passed_or_as_stopped(answer: Any) -> None:
    async with new_world(manual=True) as world:
        await counts(world, answer)


async def counts(world: World, answer: Any) -> None:
    controller = world.run(machine(lambda: answer))
    assert isinstance(controller, FSMController)
    await world.create()
    told = await world.is_so("Issued=True/Done")
    assert told["Ready"]["status"] == "False"
    await settle(controller)
    results = controller.measures.results
    assert set(results) == {("Issued", "passed"), ("Provisioned", "stopped")}
    assert results["Issued", "passed"] == results["Provisioned", "stopped"] >= 1
    assert controller.measures.stands == {Request("b", "default"): "Provisioned"}


def test_the_time_until_ready_is_measured_once_for_each_generation() -> None:
    measures = Measures("bucket")
    measures.record_reconcile(FIRST, 1, 10.0)
    measures.record_reconcile(FIRST, 1, 11.0)
    measures.record_walk(FIRST, "Issued", 1, 12.0, ready=False)
    assert measures.until_ready.count == 0
    measures.record_reconcile(FIRST, 2, 13.0)
    measures.record_walk(FIRST, "Checked", 2, 15.0, ready=True)
    assert (measures.until_ready.count, measures.until_ready.sum) == (2, 5.0 + 2.0)
    # A resync of a complete generation is no change that becomes ready.
    measures.record_reconcile(FIRST, 2, 20.0)
    measures.record_walk(FIRST, "Checked", 2, 21.0, ready=True)
    assert measures.until_ready.count == 2
    measures.record_reconcile(FIRST, 3, 30.0)
    measures.record_walk(FIRST, "Checked", 3, 30.5, ready=True)
    assert (measures.until_ready.count, measures.until_ready.sum) == (3, 7.5)


def test_a_generation_that_is_seen_during_the_walk_is_measured_later() -> None:
    measures = Measures("bucket")
    measures.record_reconcile(FIRST, 1, 0.0)
    measures.record_reconcile(FIRST, 2, 1.0)
    measures.record_walk(FIRST, "Checked", 1, 2.0, ready=True)
    assert measures.until_ready.count == 1
    measures.record_walk(FIRST, "Checked", 2, 4.0, ready=True)
    assert (measures.until_ready.count, measures.until_ready.sum) == (2, 2.0 + 3.0)


def test_pending_generations_are_bounded_and_dropped_with_the_object() -> None:
    measures = Measures("bucket")
    for generation in range(1, 30):
        measures.record_reconcile(FIRST, generation, 0.0)
    measures.record_reconcile(SECOND, 1, 0.0)
    measures.record_walk(FIRST, "Checked", 29, 1.0, ready=True)
    assert measures.until_ready.count == 16
    measures.record_walk(SECOND, "Issued", 1, 1.0, ready=False)
    assert measures.stands == {FIRST: "Checked", SECOND: "Issued"}
    measures.discard(FIRST)
    measures.discard(Request("unknown", "default"))
    assert measures.stands == {SECOND: "Issued"}
    measures.record_reconcile(FIRST, 1, 5.0)  # of another object with the same name
    measures.record_walk(FIRST, "Checked", 1, 6.0, ready=True)
    assert measures.until_ready.count == 17


def test_the_families_have_the_series_of_states() -> None:
    measures = Measures("bucket")
    measures.record_call("Issued", "passed", 0.5)
    measures.record_call("Issued", "passed", 0.5)
    measures.record_call("Issued", "stopped", 0.1)
    measures.record_walk(FIRST, "Issued", 1, 0.0, ready=False)
    measures.record_walk(SECOND, "Issued", 1, 0.0, ready=False)
    families = {family.name: family.samples for family in measures.families()}
    assert families["setpoint_fsm_state_total"] == [
        ({"fsm": "bucket", "state": "Issued", "result": "passed"}, 2),
        ({"fsm": "bucket", "state": "Issued", "result": "stopped"}, 1),
    ]
    assert families["setpoint_fsm_objects"] == [({"fsm": "bucket", "state": "Issued"}, 2)]
    assert measures.seconds["Issued"].count == 3
