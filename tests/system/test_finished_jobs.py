"""Jobs that have ended go when the time is over that they say they are needed for."""

from datetime import UTC, datetime

import pytest
from tests.system.worlds import World, new_world

from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.system.finished_jobs import JOB

START = datetime(2026, 1, 1, tzinfo=UTC)


async def make_job(world: World, ttl: int | None) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"template": template, **({} if ttl is None else {"ttlSecondsAfterFinished": ttl})}
    metadata = {"name": "j", "namespace": "default"}
    await world.client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


async def end_job(world: World, kind: str) -> None:
    at = "2026-01-01T00:00:00Z"
    before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
    conditions = [{"type": each, "status": "True", "lastTransitionTime": at} for each in (before, kind)]
    status: Object = {
        "startTime": at,
        "conditions": conditions,
        **({"completionTime": at} if kind == "Complete" else {}),
    }
    status |= {"succeeded": 1} if kind == "Complete" else {}
    await world.client.patch_status(JOB, merge({"status": status}), "j", "default")


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
async def test_a_job_that_has_ended_goes_after_its_time_and_not_before(kind: str) -> None:
    clock = ManualClock(START)
    async with new_world(clock=clock) as world:
        await make_job(world, 100)
        await end_job(world, kind)
        await world.plane.settle()
        clock.advance(99)
        await world.plane.settle()
        assert await world.is_there(JOB, "j", "default")
        clock.advance(1)
        await world.plane.settle()
        assert not await world.is_there(JOB, "j", "default")


async def test_a_job_that_runs_or_says_nothing_stays() -> None:
    clock = ManualClock(START)
    async with new_world(clock=clock) as world:
        await make_job(world, 0)
        clock.advance(1000)
        await world.plane.settle()
        assert await world.is_there(JOB, "j", "default"), "it has not ended"
        await world.client.patch(JOB, merge({"spec": {"ttlSecondsAfterFinished": None}}), "j", "default")
        await end_job(world, "Complete")
        clock.advance(1000)
        await world.plane.settle()
        assert await world.is_there(JOB, "j", "default"), "it does not say for how long it is needed"


async def test_a_time_that_is_made_longer_counts() -> None:
    clock = ManualClock(START)
    async with new_world(clock=clock) as world:
        await make_job(world, 10)
        await end_job(world, "Complete")
        await world.plane.settle()
        await world.client.patch(JOB, merge({"spec": {"ttlSecondsAfterFinished": 100}}), "j", "default")
        clock.advance(50)
        await world.plane.settle()
        assert await world.is_there(JOB, "j", "default")
