"""Indexed jobs: indexes, limits for each index, and the policies about failures and successes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.job_kubelet import KIND, end, index, job, running
from tests.system.workload_objects import POD, events_of

from setpoint import testing
from setpoint.client.patches import merge, strategic
from setpoint.objects.tree import Object
from setpoint.system.controller_names import GARBAGE_COLLECTOR, JOB
from setpoint.system.job.indexed_pods import FAILURES, IGNORED_FAILURES, INDEX


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[JOB, GARBAGE_COLLECTOR]) as world:
        yield world


def indexed(**spec: Any) -> Object:
    return job(**{"completionMode": "Indexed", "completions": 3, "parallelism": 3, **spec})


async def found(world: testing.World) -> Object:
    await world.settle()
    status: Object = (await world.find(KIND, "work"))["status"]
    return status


async def last(world: testing.World) -> tuple[str, str, str]:
    condition = (await found(world))["conditions"][-1]
    return condition["type"], condition["reason"], condition["message"]


async def test_each_pod_has_an_index_in_annotation_label_hostname_and_variable(world: testing.World) -> None:
    await world.create(indexed())
    await world.settle()
    pods = await running(world)
    assert [index(each) for each in pods] == ["0", "1", "2"]
    for number, each in enumerate(pods):
        assert each["metadata"]["labels"][INDEX] == str(number)
        assert each["metadata"]["generateName"] == f"work-{number}-"
        assert each["spec"]["hostname"] == f"work-{number}"
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
        assert each["spec"]["containers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]
    await end(world, pods[2])
    assert ((await found(world))["completedIndexes"], (await found(world))["succeeded"]) == ("2", 1)
    await end(world, pods[0])
    await end(world, pods[1])
    assert (await found(world))["completedIndexes"] == "0-2"
    assert (await last(world))[:2] == ("Complete", "CompletionsReached")


async def test_a_failed_index_is_tried_again(world: testing.World) -> None:
    await world.create(indexed())
    await world.settle()
    pods = await running(world)
    await end(world, pods[1], 1)
    await world.advance(11)
    assert [index(each) for each in await running(world)] == ["0", "1", "2"]
    assert (await found(world))["failed"] == 1


async def test_a_second_pod_of_an_index_is_deleted(world: testing.World) -> None:
    await world.create(indexed())
    await world.settle()
    pods = await running(world)
    copy = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "copy",
            "namespace": "default",
            **{name: pods[0]["metadata"][name] for name in ("labels", "annotations", "ownerReferences", "finalizers")},
        },
        "spec": job()["spec"]["template"]["spec"],
    }
    await world.create(copy)
    await world.settle()
    assert [index(each) for each in await running(world)] == ["0", "1", "2"]
    assert (await found(world)).get("failed") is None


async def test_each_index_has_its_own_limit_and_delay(world: testing.World) -> None:
    await world.create(indexed(backoffLimitPerIndex=1, completions=2, parallelism=2))
    await world.settle()
    first, second = await running(world)
    assert first["metadata"]["annotations"][FAILURES] == "0"
    await end(world, first, 1)
    await world.advance(1)
    await end(world, second, 1)
    await world.advance(9.5)
    [again] = await running(world)
    assert (index(again), again["metadata"]["annotations"][FAILURES]) == ("0", "1")
    assert (await found(world))["failed"] == 1
    await end(world, again, 1)
    assert (await found(world))["failedIndexes"] == "0"
    await world.advance(2)
    [again] = await running(world)
    assert index(again) == "1"
    await end(world, again)
    assert await last(world) == ("Failed", "FailedIndexes", "Job has failed indexes")
    status = await found(world)
    assert (status["completedIndexes"], status["failedIndexes"], status["failed"]) == ("1", "0", 3)


async def test_too_many_failed_indexes_end_the_job(world: testing.World) -> None:
    await world.create(indexed(backoffLimitPerIndex=0, maxFailedIndexes=1))
    await world.settle()
    pods = await running(world)
    await end(world, pods[0], 1)
    assert len(await running(world)) == 2
    await end(world, pods[1], 1)
    text = "Job has exceeded the specified maximal number of failed indexes"
    assert await last(world) == ("Failed", "MaxFailedIndexesExceeded", text)
    assert await running(world) == []
    assert events_of(await world.events(), "MaxFailedIndexesExceeded") == [text]


async def test_fewer_completions_of_an_elastic_job(world: testing.World) -> None:
    await world.create(indexed())
    await world.settle()
    pods = await running(world)
    await end(world, pods[2])
    await world.client.patch(KIND, merge({"spec": {"completions": 2, "parallelism": 2}}), "work", "default")
    status = await found(world)
    assert (status.get("completedIndexes"), status.get("succeeded"), status["active"]) == (None, None, 2)


def rule(action: str, **match: Any) -> Object:
    return {"action": action, **match}


CODES = {"operator": "In", "values": [42]}
CONDITIONS = [{"type": "DisruptionTarget", "status": "True"}]


async def test_a_rule_about_exit_codes_fails_the_job(world: testing.World) -> None:
    await world.create(job(podFailurePolicy={"rules": [rule("FailJob", onExitCodes=CODES)]}))
    await world.settle()
    [only] = await running(world)
    await end(world, only, 42)
    name = only["metadata"]["name"]
    text = f"Container work for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    assert await last(world) == ("Failed", "PodFailurePolicy", text)
    assert events_of(await world.events(), "PodFailurePolicy") == [text]


async def test_a_rule_about_conditions_fails_the_job(world: testing.World) -> None:
    rules = [rule("Ignore", onExitCodes=CODES), rule("FailJob", onPodConditions=CONDITIONS)]
    await world.create(job(podFailurePolicy={"rules": rules}))
    await world.settle()
    [only] = await running(world)
    await end(world, only, 1, *CONDITIONS)
    text = f"Pod default/{only['metadata']['name']} has condition DisruptionTarget matching FailJob rule at index 1"
    assert await last(world) == ("Failed", "PodFailurePolicy", text)


async def test_ignored_failures_do_not_count(world: testing.World) -> None:
    rules = [rule("Ignore", onPodConditions=CONDITIONS)]
    await world.create(job(backoffLimit=0, podFailurePolicy={"rules": rules}))
    for _ in range(2):
        await world.settle()
        [only] = await running(world)
        await end(world, only, 137, *CONDITIONS)
        await world.advance(25)
    [only] = await running(world)
    assert (await found(world)).get("failed") is None
    await end(world, only, 1)
    assert (await last(world))[:2] == ("Failed", "BackoffLimitExceeded")


async def test_rules_can_fail_one_index_or_ignore_its_failures(world: testing.World) -> None:
    rules = [rule("FailIndex", onExitCodes=CODES), rule("Ignore", onPodConditions=CONDITIONS)]
    await world.create(indexed(backoffLimitPerIndex=1, podFailurePolicy={"rules": rules}))
    await world.settle()
    pods = await running(world)
    await end(world, pods[0], 42)
    assert (await found(world))["failedIndexes"] == "0"
    await end(world, pods[1], 1, *CONDITIONS)
    await world.advance(11)
    again = next(each for each in await running(world) if index(each) == "1")
    annotations = again["metadata"]["annotations"]
    assert (annotations[FAILURES], annotations[IGNORED_FAILURES]) == ("0", "1")


@pytest.mark.parametrize(
    ("rules", "succeeds", "met"),
    [
        ([{"succeededIndexes": "0"}], 0, 0),
        ([{"succeededIndexes": "1,2", "succeededCount": 1}], 2, 0),
        ([{"succeededIndexes": "0-1"}, {"succeededCount": 1}], 2, 1),
    ],
)
async def test_a_success_policy_ends_the_job_early(
    world: testing.World, rules: list[Object], succeeds: int, met: int
) -> None:
    await world.create(indexed(successPolicy={"rules": rules}))
    await world.settle()
    pods = await running(world)
    await end(world, pods[succeeds])
    assert await running(world) == []
    assert await last(world) == ("Complete", "SuccessPolicy", f"Matched rules at index {met}")
    status = await found(world)
    assert (status["succeeded"], status.get("failed")) == (1, None)


async def test_a_success_policy_waits_for_its_rules(world: testing.World) -> None:
    await world.create(indexed(successPolicy={"rules": [{"succeededIndexes": "0,1"}]}))
    await world.settle()
    pods = await running(world)
    await end(world, pods[0])
    assert "conditions" not in await found(world)
    # An index that is not valid counts for no rule.
    broken = strategic({"metadata": {"annotations": {INDEX: "x"}}})
    await world.client.patch(POD, broken, pods[2]["metadata"]["name"], "default")
    await world.settle()
    assert [index(each) for each in await running(world)] == ["1", "2"]
