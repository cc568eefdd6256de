"""Cron jobs: starts, concurrency, deadlines, history, suspension, status and events."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from tests.system.faulty_system import faulty_system
from tests.system.job_kubelet import SPEC, end, running
from tests.system.workload_objects import POD, events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.controller_names import CRON_JOB, GARBAGE_COLLECTOR, JOB

KIND, JOBS = "batch/v1/CronJob", "batch/v1/Job"
HOUR = 3600.0


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[CRON_JOB, JOB, GARBAGE_COLLECTOR]) as world:
        yield world


def cron_job(schedule: str = "0 * * * *", **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": "tick"}}, "spec": {"template": {"spec": SPEC}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }


async def jobs(world: testing.World) -> list[Object]:
    await world.settle()
    found = (await world.client.list(JOBS, "default")).items
    return sorted(found, key=lambda each: each["metadata"]["name"])


async def status(world: testing.World) -> Object:
    await world.settle()
    found: Object = (await world.find(KIND, "tick")).get("status") or {}
    return found


async def next_hour(world: testing.World) -> None:
    """Passes time until shortly after the next full hour."""
    now = world.clock.now()
    following = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    await world.advance((following - now).total_seconds() + 1)


async def change(world: testing.World, **spec: Any) -> None:
    await world.client.patch(KIND, merge({"spec": spec}), "tick", "default")
    await world.settle()


async def test_a_job_starts_at_its_time(world: testing.World) -> None:
    await world.create(cron_job())
    assert await jobs(world) == []
    await next_hour(world)
    [only] = await jobs(world)
    hour = world.clock.now().replace(minute=0, second=0, microsecond=0)
    name = f"tick-{int(hour.timestamp()) // 60}"
    metadata = only["metadata"]
    assert metadata["name"] == name
    assert metadata["labels"] == {"app": "tick"}
    assert metadata["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": format_time(hour)}
    assert [(each["kind"], each["name"], each["controller"]) for each in metadata["ownerReferences"]] == [
        ("CronJob", "tick", True)
    ]
    found = await status(world)
    [active] = found["active"]
    assert (active["kind"], active["apiVersion"], active["name"], active["uid"]) == (
        "Job",
        "batch/v1",
        name,
        metadata["uid"],
    )
    assert found["lastScheduleTime"] == format_time(hour)
    [pod] = await running(world)
    await end(world, pod)
    found = await status(world)
    assert "active" not in found
    assert parse_time(found["lastSuccessfulTime"]) >= hour
    told = await world.events()
    assert events_of(told, "SawCompletedJob") == [f"Saw completed job: {name}, condition: Complete"]
    created = [each.note for each in told if each.reason == "SuccessfulCreate" and each.note.startswith("Created job")]
    assert created == [f"Created job {name}"]


@pytest.mark.parametrize(("policy", "number"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
async def test_the_policy_decides_about_concurrent_jobs(world: testing.World, policy: str, number: int) -> None:
    await world.create(cron_job(concurrencyPolicy=policy))
    await next_hour(world)
    [first] = await jobs(world)
    await next_hour(world)
    found = await jobs(world)
    assert len(found) == number
    assert (first["metadata"]["name"] in {each["metadata"]["name"] for each in found}) is (policy != "Replace")
    assert len((await status(world))["active"]) == number
    told = await world.events()
    text = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert set(events_of(told, "JobAlreadyActive")) == ({text} if policy == "Forbid" else set())
    if policy == "Replace":
        assert f"Deleted job {first['metadata']['name']}" in events_of(told, "SuccessfulDelete")
    if policy == "Forbid":
        # The skipped start happens when the earlier job has ended.
        [pod] = await running(world)
        await end(world, pod)
        assert len(await jobs(world)) == 2


async def test_the_history_has_limits_for_successes_and_failures(world: testing.World) -> None:
    spec = {"template": {"spec": SPEC}, "backoffLimit": 0}
    template = {"spec": spec}
    await world.create(cron_job(jobTemplate=template, successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1))
    names = []
    for code in (0, 1, 0, 1, 0):
        await next_hour(world)
        [pod] = await running(world)
        names.append(pod["metadata"]["ownerReferences"][0]["name"])
        await end(world, pod, code)
    assert [each["metadata"]["name"] for each in await jobs(world)] == names[2:]
    # The event about the first deletion has expired after an hour.
    assert events_of(await world.events(), "SuccessfulDelete") == [f"Deleted job {names[0]}"]
    assert len((await world.client.list(POD, "default")).items) == 3


async def test_a_suspended_cron_job_starts_no_jobs_and_catches_up(world: testing.World) -> None:
    await world.create(cron_job(suspend=True))
    await next_hour(world)
    await next_hour(world)
    assert await jobs(world) == []
    await change(world, suspend=False)
    assert len(await jobs(world)) == 1


async def test_a_start_beyond_its_deadline_is_skipped(world: testing.World) -> None:
    await world.create(cron_job(suspend=True, startingDeadlineSeconds=60))
    await next_hour(world)
    await world.advance(120)
    await change(world, suspend=False)
    assert await jobs(world) == []
    await next_hour(world)
    assert len(await jobs(world)) == 1


@pytest.mark.slow
async def test_too_many_missed_starts_are_reported(world: testing.World) -> None:
    await world.create(cron_job("* * * * *", suspend=True))
    await world.advance(2 * HOUR)
    await change(world, suspend=False)
    assert len(await jobs(world)) == 1
    text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    assert events_of(await world.events(), "TooManyMissedTimes") == [text]


async def test_a_new_schedule_begins_with_its_next_time(world: testing.World) -> None:
    await world.create(cron_job("0 0 1 1 *"))
    await next_hour(world)
    await world.advance(100)
    await change(world, schedule="* * * * *")
    assert await jobs(world) == []
    await world.advance(60)
    assert len(await jobs(world)) == 1


async def test_a_deleted_active_job_is_forgotten(world: testing.World) -> None:
    await world.create(cron_job())
    await next_hour(world)
    [only] = await jobs(world)
    await world.client.delete(JOBS, only["metadata"]["name"], "default", propagation="Background")
    assert "active" not in await status(world)
    assert events_of(await world.events(), "MissingJob") == [f"Active job went missing: {only['metadata']['name']}"]
    assert await jobs(world) == []


async def test_an_unknown_job_of_the_cron_job_is_reported(world: testing.World) -> None:
    [owner] = await world.create(cron_job(suspend=True))
    owners = [
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": "tick",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]
    metadata = {"name": "manual", "namespace": "default", "ownerReferences": owners}
    spec = {"template": {"spec": SPEC}}
    await world.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    await world.settle()
    text = "Saw a job that the controller did not create or forgot: manual"
    assert text in events_of(await world.events(), "UnexpectedJob")


@pytest.mark.slow
async def test_times_are_in_the_zone_of_the_cron_job(world: testing.World) -> None:
    await world.create(cron_job("0 9 * * *", timeZone="Asia/Tokyo"))
    await world.advance(25 * HOUR)
    [only] = await jobs(world)
    moment = only["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert moment.endswith("T09:00:00+09:00")


async def test_a_lost_response_starts_no_second_job() -> None:
    async with testing.world(system=[GARBAGE_COLLECTOR]) as world, faulty_system(world, [CRON_JOB]):
        lost = world.faults.lose("create", JOBS)
        await world.create(cron_job())
        await next_hour(world)
        await world.advance(10)
        assert lost.hits == 1
        [only] = await jobs(world)
        assert [each["name"] for each in (await status(world))["active"]] == [only["metadata"]["name"]]
