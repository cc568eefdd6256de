"""Waiting for children goes by their summaries: it names who is not ready and why, and says when it takes too long."""

from typing import Any

import pytest
from tests.flow.apply_set.sets import deployment
from tests.flow.fsm.worlds import Bucket, World, config_map, new_world, settle

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.flow.fsm import FSM, Done, Next, Outputs, is_ready

DEPLOYMENT = "apps/v1/Deployment"


def machine(timeout: float | None = None) -> FSM:
    """Puts out a Deployment and a ConfigMap, and waits for them."""
    fsm = FSM(Bucket)

    @fsm.state("Made")
    async def made(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("settings"), deployment("web", replicas=2))
        return ready

    @fsm.state("Told")
    async def told(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Done()

    ready = fsm.wait_ready("ChildrenReady", told, timeout=timeout)
    return fsm


async def report(world: World, ready: int) -> None:
    """Says of the Deployment what its controller would."""
    found: Any = await world.client.get(DEPLOYMENT, "web", "default")
    counts = dict.fromkeys(("replicas", "updatedReplicas"), 2)
    counts |= dict.fromkeys(("readyReplicas", "availableReplicas"), ready)
    status = {"observedGeneration": found["metadata"]["generation"], **counts}
    if ready == 2:
        progress = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""}
        status["conditions"] = [{"type": "Available", "status": "True", "reason": "Counted", "message": ""}, progress]
    await world.client.patch(DEPLOYMENT, merge({"status": status}), "web", "default", subresource="status")


@pytest.mark.feature("E71", "E70", "E72")
async def test_a_machine_waits_for_its_children_and_says_why_they_are_not_ready(world: World) -> None:
    world.run(machine(), owns=["v1/ConfigMap", DEPLOYMENT])
    await world.create()
    told = await world.is_so("ChildrenReady=False/ChildrenNotReady", "Told=Unknown/NotReached")
    assert told["ChildrenReady"]["message"].startswith("not ready: Deployment web (")
    await report(world, 1)
    await world.client.wait_for(
        Bucket, "b", "default", lambda found: "1 of 2" in str(found.status.conditions), timeout=5
    )
    await report(world, 2)
    await world.is_so("ChildrenReady=True/Done", "Ready=True/Ready")
    assert is_ready(await world.client.get(DEPLOYMENT, "web", "default"))


@pytest.mark.feature("E71")
async def test_waiting_too_long_is_told_and_waiting_goes_on() -> None:
    async with new_world(manual=True) as world:
        controller = world.run(machine(timeout=60), owns=["v1/ConfigMap", DEPLOYMENT])
        await world.create()
        await world.is_so("ChildrenReady=False/ChildrenNotReady")
        await settle(controller)
        for _ in range(7):
            await world.turn(10, controller)
        told = await world.is_so("ChildrenReady=False/DeadlineExceeded", "Ready=False/DeadlineExceeded")
        assert "Deployment web" in told["Ready"]["message"]
        await report(world, 2)
        await world.is_so("Ready=True/Ready")
