"""Jobs: completions, parallelism, failures, backoff, deadlines, suspension, tracking, conditions and events."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.job_kubelet import KIND, end, job, remove_terminating, running, start
from tests.system.workload_objects import POD, events_of, pod

from setpoint import testing
from setpoint.client.patches import merge, strategic
from setpoint.objects.tree import Object
from setpoint.system.controller_names import GARBAGE_COLLECTOR, JOB
from setpoint.system.job import tracking
from setpoint.system.job.pod_state import FINALIZER


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[JOB, GARBAGE_COLLECTOR]) as world:
        yield world


async def status(world: testing.World, name: str = "work") -> Object:
    await world.settle()
    found: Object = (await world.find(KIND, name))["status"]
    return found


async def conditions(world: testing.World) -> list[tuple[str, str, str, str]]:
    found = (await status(world)).get("conditions") or ()
    return [(each["type"], each["status"], each["reason"], each["message"]) for each in found]


async def change(world: testing.World, **spec: Any) -> None:
    await world.client.patch(KIND, merge({"spec": spec}), "work", "default")
    await world.settle()


REACHED = "Reached expected number of succeeded pods"
LIMIT = "Job has reached the specified backoff limit"


async def test_a_job_runs_one_pod_and_completes(world: testing.World) -> None:
    await world.create(job())
    await world.settle()
    [only] = await running(world)
    assert only["metadata"]["finalizers"] == [FINALIZER]
    assert only["metadata"]["generateName"] == "work-"
    started = await status(world)
    moment = started.pop("startTime")
    assert started == {"active": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    await start(world, only)
    assert (await status(world))["ready"] == 1
    await world.advance(5)
    await end(world, only)
    done = await status(world)
    assert await conditions(world) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached", REACHED),
        ("Complete", "True", "CompletionsReached", REACHED),
    ]
    assert done.pop("completionTime") > moment
    del done["conditions"]
    assert done == {
        "startTime": moment,
        "succeeded": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    [ended] = (await world.client.list(POD, "default")).items
    assert not ended["metadata"].get("finalizers")
    told = await world.events()
    assert events_of(told, "SuccessfulCreate") == [f"Created pod: {only['metadata']['name']}"]
    assert events_of(told, "Completed") == ["Job completed"]


async def test_parallelism_bounds_the_pods_and_completions_their_successes(world: testing.World) -> None:
    await world.create(job(completions=5, parallelism=2))
    most = 0
    for _ in range(5):
        await world.settle()
        found = await running(world)
        most = max(most, len(found))
        await end(world, found[0])
    assert most == 2
    assert (await status(world))["succeeded"] == 5
    assert len((await world.client.list(POD, "default")).items) == 5


async def test_without_completions_the_first_success_ends_the_creation(world: testing.World) -> None:
    await world.create(job(parallelism=3))
    await world.settle()
    first, second, third = await running(world)
    await end(world, first)
    assert len(await running(world)) == 2
    await end(world, second)
    assert await conditions(world) == []
    await end(world, third, 1)
    assert (await conditions(world))[-1][0] == "Complete"
    found = await status(world)
    assert (found["succeeded"], found["failed"]) == (2, 1)


async def test_less_parallelism_deletes_pods_without_counting_them(world: testing.World) -> None:
    await world.create(job(completions=4, parallelism=3))
    await world.settle()
    first, *_ = await running(world)
    await start(world, first)
    await change(world, parallelism=1)
    assert [each["metadata"]["name"] for each in await running(world)] == [first["metadata"]["name"]]
    found = await status(world)
    assert (found["active"], found.get("failed")) == (1, None)


async def test_failed_pods_are_replaced_with_doubling_delays(world: testing.World) -> None:
    await world.create(job(backoffLimit=5))
    for delay in (10, 20, 40):
        await world.settle()
        [only] = await running(world)
        await end(world, only, 1)
        assert await running(world) == []
        await world.advance(delay - 1.5)
        assert await running(world) == []
        await world.advance(2)
    assert len(await running(world)) == 1
    assert (await status(world))["failed"] == 3


async def test_a_success_resets_the_delay(world: testing.World) -> None:
    await world.create(job(completions=3, parallelism=2))
    await world.settle()
    first, second = await running(world)
    await end(world, first, 1)
    await world.advance(1)
    await end(world, second)
    assert len(await running(world)) == 2


async def test_the_backoff_limit_fails_the_job(world: testing.World) -> None:
    await world.create(job(backoffLimit=1, completions=2, parallelism=2))
    await world.settle()
    first, second = await running(world)
    await end(world, first, 1)
    await world.advance(11)
    assert len(await running(world)) == 2
    await end(world, second, 1)
    assert await conditions(world) == [
        ("FailureTarget", "True", "BackoffLimitExceeded", LIMIT),
        ("Failed", "True", "BackoffLimitExceeded", LIMIT),
    ]
    found = await status(world)
    assert (found["failed"], found.get("active"), "completionTime" in found) == (3, None, False)
    assert await running(world) == []
    assert events_of(await world.events(), "BackoffLimitExceeded") == [LIMIT]


async def test_restarts_in_place_count_for_the_backoff_limit(world: testing.World) -> None:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "work", "image": "a"}]}}
    await world.create(job(backoffLimit=2, template=template))
    await world.settle()
    [only] = await running(world)
    for restarts, ends in ((1, False), (2, True)):
        container = {"name": "work", "image": "a", "imageID": "", "ready": False, "restartCount": restarts}
        patch = strategic({"status": {"phase": "Running", "containerStatuses": [container]}})
        await world.client.patch_status(POD, patch, only["metadata"]["name"], "default")
        assert bool(await conditions(world)) is ends


async def test_the_active_deadline_fails_the_job(world: testing.World) -> None:
    await world.create(job(activeDeadlineSeconds=30))
    await world.advance(29)
    assert len(await running(world)) == 1
    await world.advance(2)
    text = "Job was active longer than specified deadline"
    assert await conditions(world) == [
        ("FailureTarget", "True", "DeadlineExceeded", text),
        ("Failed", "True", "DeadlineExceeded", text),
    ]
    assert await running(world) == []
    assert events_of(await world.events(), "DeadlineExceeded") == [text]


async def test_the_end_waits_for_terminating_pods(world: testing.World) -> None:
    await world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    await world.create(job(activeDeadlineSeconds=5))
    await world.settle()
    [only] = await running(world)
    await world.client.bind(only["metadata"]["name"], "default", node="n1")
    await start(world, only)
    await world.advance(6)
    assert [each[0] for each in await conditions(world)] == ["FailureTarget"]
    assert (await status(world))["terminating"] == 1
    await remove_terminating(world)
    assert [each[0] for each in await conditions(world)] == ["FailureTarget", "Failed"]
    found = await status(world)
    assert (found["failed"], found["terminating"]) == (1, 0)


async def test_a_suspended_job_has_no_pods_and_resumes(world: testing.World) -> None:
    await world.create(job(suspend=True))
    assert await conditions(world) == [("Suspended", "True", "JobSuspended", "Job suspended")]
    assert "startTime" not in await status(world)
    assert await running(world) == []
    await world.advance(60)
    await change(world, suspend=False)
    assert await conditions(world) == [("Suspended", "False", "JobResumed", "Job resumed")]
    assert len(await running(world)) == 1
    resumed = (await status(world))["startTime"]
    await change(world, suspend=True)
    assert await running(world) == []
    found = await status(world)
    assert (found.get("active"), found.get("failed"), "startTime" in found) == (None, None, False)
    await world.advance(60)
    await change(world, suspend=False)
    assert (await status(world))["startTime"] > resumed
    told = await world.events()
    assert set(events_of(told, "Suspended")) == {"Job suspended"}
    assert set(events_of(told, "Resumed")) == {"Job resumed"}


async def test_a_job_of_another_controller_is_left_alone(world: testing.World) -> None:
    await world.create(job(managedBy="example.com/queue"))
    assert await status(world) == {}
    assert await running(world) == []


@pytest.mark.parametrize(("policy", "at_once"), [("TerminatingOrFailed", 1), ("Failed", 0)])
async def test_the_replacement_policy_decides_about_terminating_pods(
    world: testing.World, policy: str, at_once: int
) -> None:
    await world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    await world.create(job(podReplacementPolicy=policy))
    await world.settle()
    [only] = await running(world)
    await world.client.bind(only["metadata"]["name"], "default", node="n1")
    await start(world, only)
    await world.client.delete(POD, only["metadata"]["name"], "default")
    await world.advance(12)
    assert len(await running(world)) == at_once
    assert (await status(world))["terminating"] == 1
    await end(world, only, 143)
    await world.advance(12)
    assert len(await running(world)) == 1
    assert (await status(world))["failed"] == 1


async def test_a_refused_pod_is_reported_and_tried_again(world: testing.World) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"}}
    await world.create({**quota, "spec": {"hard": {"pods": "1"}}})
    await world.create(job(parallelism=2, completions=2))
    assert (await status(world))["active"] == 1
    refused = events_of(await world.events(), "FailedCreate")
    assert refused
    assert 'Error creating: pods "work-' in refused[0]
    assert "exceeded quota: few" in refused[0]
    await world.client.delete("v1/ResourceQuota", "few", "default")
    await world.advance(60)
    assert (await status(world))["active"] == 2


async def test_a_matching_pod_is_adopted_and_tracked(world: testing.World) -> None:
    await world.create(pod("orphan", {"app": "work"}))
    template = {"metadata": {"labels": {"app": "work"}}, "spec": job()["spec"]["template"]["spec"]}
    await world.create(job(manualSelector=True, selector={"matchLabels": {"app": "work"}}, template=template))
    await world.settle()
    [only] = await running(world)
    assert only["metadata"]["name"] == "orphan"
    assert only["metadata"]["finalizers"] == [FINALIZER]
    await end(world, only)
    assert (await status(world))["succeeded"] == 1


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_a_deleted_job_leaves_no_finalizers(world: testing.World, propagation: str) -> None:
    await world.create(job(parallelism=2, completions=2))
    await world.settle()
    first, _ = await running(world)
    await end(world, first)
    await world.client.delete(KIND, "work", "default", propagation=propagation)
    await world.settle()
    left = (await world.client.list(POD, "default")).items
    assert len(left) == (2 if propagation == "Orphan" else 0)
    assert not [each for each in left if each["metadata"].get("finalizers")]


async def test_a_pod_that_is_deleted_before_its_end_counts_as_failed(world: testing.World) -> None:
    await world.create(job())
    await world.settle()
    [only] = await running(world)
    await world.client.delete(POD, only["metadata"]["name"], "default", grace_period=0)
    assert (await status(world))["failed"] == 1
    await world.advance(11)
    assert len(await running(world)) == 1


async def test_many_ended_pods_are_counted_in_several_steps(
    world: testing.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MOST_UNCOUNTED", 2)
    await world.create(job(parallelism=5, completions=5, suspend=False))
    await world.settle()
    ended = strategic({"status": {"phase": "Succeeded"}})
    for each in await running(world):
        await world.client.patch_status(POD, ended, each["metadata"]["name"], "default")
    await world.advance(10)
    assert (await status(world))["succeeded"] == 5
    assert (await conditions(world))[-1][0] == "Complete"
