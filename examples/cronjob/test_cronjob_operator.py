"""Tests of the CronJob operator, in virtual time, with the rights of the generated role."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from examples.cronjob.cronjob_operator import CronJob, CronJobSpec, check, cronjob

import setpoint as sp
from setpoint import testing
from setpoint.api.batch.v1 import Job, JobTemplateSpec
from setpoint.objects.errors import APIError

RULES = next(
    each["rules"]
    for each in yaml.safe_load_all((Path(__file__).parent / "deploy/rbac.yaml").read_text())
    if each["kind"] == "ClusterRole"
)
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}


def every_minute(**spec: object) -> CronJob:
    template = JobTemplateSpec.from_json({"spec": JOB})
    metadata = sp.ObjectMeta(name="tick", namespace="default")
    return CronJob(metadata=metadata, spec=CronJobSpec(schedule="* * * * *", job_template=template, **spec))  # type: ignore[arg-type]


async def finish(world: testing.World, name: str, outcome: str = "Complete") -> None:
    """Reports the end of a Job, as its controller would."""
    now = world.clock.now().isoformat().replace("+00:00", "Z")
    condition = {"type": outcome, "status": "True", "reason": "Test", "lastTransitionTime": now}
    conditions = [{**condition, "type": "SuccessCriteriaMet" if outcome == "Complete" else "FailureTarget"}, condition]
    status: dict[str, object] = {"conditions": conditions, "startTime": now}
    if outcome == "Complete":
        status |= {"completionTime": now, "succeeded": 1}
    job = await world.client.get("batch/v1/Job", name, "default")
    await world.client.update({**job, "status": status}, subresource="status")


def names_of(world: testing.World, minutes: list[int]) -> list[str]:
    """The names of the Jobs that were due so many minutes ago."""
    whole = world.clock.now().replace(second=0, microsecond=0)
    return [f"tick-{int((whole - timedelta(minutes=minute)).timestamp())}" for minute in minutes]


@pytest.mark.world(crds=[CronJob], rights=RULES)
async def test_a_job_runs_every_minute_and_the_last_three_are_kept(world: testing.World) -> None:
    await world.client.create(every_minute())
    await world.run(cronjob)
    for _ in range(5):
        await world.advance(60)
        [active] = [
            job for job in (await world.client.list(Job, "default")).items if not (job.status and job.status.conditions)
        ]
        await finish(world, active.metadata.name)
        await world.settle()
    assert sorted(await world.names(Job)) == sorted(names_of(world, [0, 1, 2]))
    found = await world.find(CronJob, "tick")
    assert found.status is not None
    assert found.status.last_schedule_time == world.clock.now().replace(second=0, microsecond=0)
    assert not found.status.active


@pytest.mark.world(crds=[CronJob], rights=RULES)
@pytest.mark.parametrize(("policy", "count"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
async def test_the_policy_decides_about_runs_that_overlap(world: testing.World, policy: str, count: int) -> None:
    await world.client.create(every_minute(concurrency_policy=policy))
    await world.run(cronjob)
    await world.advance(185)
    names = await world.names(Job)
    assert len(names) == count
    latest = names_of(world, [0])[0]
    assert (latest in names) == (policy != "Forbid")


@pytest.mark.world(crds=[CronJob], rights=RULES)
async def test_a_suspended_one_runs_no_job_and_then_only_the_last_missed_one(world: testing.World) -> None:
    await world.client.create(every_minute(suspend=True))
    await world.run(cronjob)
    await world.advance(600)
    assert await world.names(Job) == []

    def resume(found: CronJob) -> None:
        found.spec.suspend = False

    await world.client.edit(CronJob, "tick", "default", resume)
    await world.settle()
    assert await world.names(Job) == names_of(world, [0])


@pytest.mark.world(crds=[CronJob], rights=RULES)
async def test_a_run_that_missed_its_deadline_is_skipped(world: testing.World) -> None:
    await world.client.create(every_minute(starting_deadline_seconds=10))
    await world.advance(90)  # the operator does not run yet
    await world.run(cronjob)
    await world.settle()
    assert await world.names(Job) == []
    await world.advance(40)
    assert len(await world.names(Job)) == 1


@pytest.mark.world(crds=[CronJob], rights=RULES)
async def test_failed_jobs_are_kept_apart_from_successful_ones(world: testing.World) -> None:
    await world.client.create(every_minute(failed_jobs_history_limit=1, successful_jobs_history_limit=1))
    await world.run(cronjob)
    for outcome in ("Failed", "Failed", "Complete", "Complete"):
        await world.advance(60)
        await finish(world, names_of(world, [0])[0], outcome)
        await world.settle()
    assert sorted(await world.names(Job)) == sorted(names_of(world, [0, 2]))


def test_a_crash_after_any_write_starts_every_run_once() -> None:
    async def scenario() -> int:
        crashes = 0
        async for crash in testing.every_crash(crds=[CronJob], objects=[every_minute()]):
            world = crash.world

            async def has_run(world: testing.World = world) -> bool:
                return len(await world.names(Job)) == 2

            await crash.run(cronjob, until=has_run)
            assert sorted(await world.names(Job)) == sorted(names_of(world, [0, 1])), str(crash)
            crashes += crash.happened
        return crashes

    assert asyncio.run(scenario()) > 0


@pytest.mark.world(crds=[CronJob], admission=sp.in_process([check]))
@pytest.mark.parametrize(("name", "schedule"), [("a" * 53, "* * * * *"), ("fine", "* * *"), ("fine", "61 * * * *")])
async def test_a_wrong_schedule_or_a_long_name_is_refused(world: testing.World, name: str, schedule: str) -> None:
    wrong = every_minute()
    wrong.metadata.name, wrong.spec.schedule = name, schedule
    with pytest.raises(APIError, match=r"spec\.schedule|metadata\.name"):
        await world.client.create(wrong)
