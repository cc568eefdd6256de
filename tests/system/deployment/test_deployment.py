"""Deployments: rollouts, revisions, scaling, pauses, the deadline, status and events."""

from collections.abc import AsyncIterator
from functools import partial

import pytest
from tests.system.workload_objects import (
    change_image,
    change_spec,
    deployment,
    events_of,
    pods,
    replica_set,
    replica_sets,
    report,
    report_all,
)

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import DEPLOYMENT, GARBAGE_COLLECTOR, REPLICA_SET

KIND = "apps/v1/Deployment"
REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[DEPLOYMENT, REPLICA_SET, GARBAGE_COLLECTOR]) as world:
        yield world


async def found(world: testing.World) -> Object:
    await world.settle()
    tree: Object = await world.find(KIND, "web")
    return tree


async def conditions(world: testing.World) -> dict[str, tuple[str, str, str]]:
    status = (await found(world))["status"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}


change = partial(change_spec, kind=KIND)
set_image = partial(change_image, kind=KIND)


def sizes(sets: list[Object]) -> list[int]:
    return [each["spec"]["replicas"] for each in sets]


async def test_a_deployment_becomes_available(world: testing.World) -> None:
    await world.create(deployment())
    await world.settle()
    [only] = await replica_sets(world)
    name = only["metadata"]["name"]
    label = only["metadata"]["labels"]["pod-template-hash"]
    assert name == f"web-{label}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": label}
    assert only["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": label}
    assert only["metadata"]["annotations"] == {
        REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert await conditions(world) == {
        "Available": ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
        "Progressing": ("True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'),
    }
    await report_all(world)
    tree = await found(world)
    assert tree["metadata"]["annotations"] == {REVISION: "1"}
    status = {key: value for key, value in tree["status"].items() if key != "conditions"}
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    assert await conditions(world) == {
        "Available": ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        "Progressing": ("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'),
    }
    told = await world.events()
    assert events_of(told, "ScalingReplicaSet") == [f"Scaled up replica set {name} from 0 to 3"]


async def test_the_name_of_a_replica_set_depends_on_the_template_only() -> None:
    names = []
    for seed in (1, 2):
        async with testing.world(system=[DEPLOYMENT], seed=seed) as world:
            await world.create(deployment())
            await world.settle()
            [only] = await replica_sets(world)
            names.append(only["metadata"]["name"])
    assert names[0] == names[1]


async def test_a_rolling_update_keeps_to_surge_and_unavailability(world: testing.World) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await world.create(deployment(replicas=4, strategy=strategy))
    await report_all(world)
    await set_image(world, "example.com/web:2")
    first, second = await replica_sets(world)
    old, new = first["metadata"]["name"], second["metadata"]["name"]
    assert (sizes([first, second])) == [3, 2]
    for _ in range(20):
        running = await pods(world)
        ready = [each for each in running if each["status"].get("conditions")]
        assert len(running) <= 5
        assert len(ready) >= 3
        waiting = [each for each in running if not each["status"].get("conditions")]
        if not waiting:
            break
        await report(world, waiting[0]["metadata"]["name"])
        await world.settle()
    assert sizes(await replica_sets(world)) == [0, 4]
    notes = events_of(await world.events(), "ScalingReplicaSet")
    assert notes[1:4] == [
        f"Scaled up replica set {new} from 0 to 1",
        f"Scaled down replica set {old} from 4 to 3",
        f"Scaled up replica set {new} from 1 to 2",
    ]
    assert (await found(world))["metadata"]["annotations"][REVISION] == "2"


async def test_recreate_waits_for_the_end_of_all_old_pods(world: testing.World) -> None:
    await world.create(deployment(replicas=2, strategy={"type": "Recreate"}))
    await report_all(world)
    # Bound pods are not deleted at once: their kubelet has to end them.
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    await world.create(node)
    for each in await pods(world):
        await world.client.bind(each["metadata"]["name"], "default", node="n1")
    await set_image(world, "example.com/web:2")
    assert len(await replica_sets(world)) == 1
    assert await pods(world) == []
    for each in (await world.client.list("v1/Pod", "default")).items:
        await world.client.delete("v1/Pod", each["metadata"]["name"], "default", grace_period=0)
    await report_all(world)
    assert sizes(await replica_sets(world)) == [0, 2]


async def test_a_rollback_takes_the_next_revision_and_remembers_the_old_one(world: testing.World) -> None:
    await world.create(deployment(replicas=1))
    await report_all(world)
    await set_image(world, "example.com/web:2")
    await report_all(world)
    await set_image(world, "example.com/web:1")
    await report_all(world)
    second, first = await replica_sets(world)
    assert sizes([second, first]) == [0, 1]
    annotations = first["metadata"]["annotations"]
    assert annotations[REVISION] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert (await found(world))["metadata"]["annotations"][REVISION] == "3"


async def test_old_replica_sets_are_deleted_beyond_the_limit(world: testing.World) -> None:
    await world.create(deployment(replicas=1, revisionHistoryLimit=1))
    for number in range(2, 5):
        await report_all(world)
        await set_image(world, f"example.com/web:{number}")
    await report_all(world)
    revisions = [each["metadata"]["annotations"][REVISION] for each in await replica_sets(world)]
    assert revisions == ["3", "4"]


async def test_a_paused_deployment_scales_and_does_not_roll(world: testing.World) -> None:
    await world.create(deployment())
    await report_all(world)
    await change(world, paused=True)
    assert (await conditions(world))["Progressing"] == ("Unknown", "DeploymentPaused", "Deployment is paused")
    await set_image(world, "example.com/web:2")
    await change(world, replicas=5)
    assert sizes(await replica_sets(world)) == [5]
    await change(world, paused=False)
    await report_all(world)
    assert sizes(await replica_sets(world)) == [0, 5]
    assert (await conditions(world))["Progressing"][1] == "NewReplicaSetAvailable"


async def test_scaling_during_a_rollout_is_proportional(world: testing.World) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    await world.create(deployment(replicas=10, strategy=strategy))
    await report_all(world)
    await set_image(world, "example.com/web:2")
    assert sizes(await replica_sets(world)) == [8, 5]
    await change(world, replicas=20)
    assert sum(sizes(await replica_sets(world))) == 23
    assert sizes(await replica_sets(world)) == [14, 9]


async def test_a_rollout_without_progress_fails_after_its_deadline(world: testing.World) -> None:
    await world.create(deployment(replicas=1, progressDeadlineSeconds=30))
    await world.settle()
    [only] = await replica_sets(world)
    await world.advance(29)
    assert (await conditions(world))["Progressing"][0] == "True"
    await world.advance(5)
    text = f'ReplicaSet "{only["metadata"]["name"]}" has timed out progressing.'
    assert (await conditions(world))["Progressing"] == ("False", "ProgressDeadlineExceeded", text)
    await report_all(world)
    assert (await conditions(world))["Progressing"][1] == "NewReplicaSetAvailable"


async def test_a_failure_of_a_replica_set_is_reported(world: testing.World) -> None:
    hard = {"hard": {"pods": "1"}}
    metadata = {"name": "few", "namespace": "default"}
    await world.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard})
    await world.create(deployment())
    await world.settle()
    value, reason, message = (await conditions(world))["ReplicaFailure"]
    assert (value, reason) == ("True", "FailedCreate")
    assert "exceeded quota: few" in message


async def test_a_collision_of_names_leads_to_another_name(world: testing.World) -> None:
    async with testing.world(system=[DEPLOYMENT]) as first:
        await first.create(deployment())
        await first.settle()
        [taken] = await replica_sets(first)
    name = taken["metadata"]["name"]
    other = replica_set(name, replicas=0)
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    other["spec"]["template"] = {**other["spec"]["template"], "metadata": {"labels": {"app": "other"}}}
    await world.create(other)
    await world.create(deployment())
    await world.advance(1)
    tree = await found(world)
    assert tree["status"]["collisionCount"] == 1
    [own] = (await world.client.list("apps/v1/ReplicaSet", "default", labels="app=web")).items
    assert own["metadata"]["name"] != name
    assert own["metadata"]["name"].startswith("web-")


async def test_a_matching_replica_set_is_adopted(world: testing.World) -> None:
    labelled = replica_set("mine", replicas=2)
    labelled["metadata"]["labels"] = {"app": "web"}
    await world.create(labelled)
    [made] = await world.create(deployment(replicas=2))
    await report_all(world)
    adopted = await world.find("apps/v1/ReplicaSet", "mine")
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]


async def test_annotations_and_min_ready_seconds_reach_the_replica_set(world: testing.World) -> None:
    await world.create(deployment(replicas=1))
    await report_all(world)
    cause = {"metadata": {"annotations": {"kubernetes.io/change-cause": "a fix"}}, "spec": {"minReadySeconds": 7}}
    await world.client.patch(KIND, merge(cause), "web", "default")
    await world.settle()
    [only] = await replica_sets(world)
    assert only["metadata"]["annotations"]["kubernetes.io/change-cause"] == "a fix"
    assert only["spec"]["minReadySeconds"] == 7
