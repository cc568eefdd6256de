"""Disruption budgets: their numbers, conditions, evictions and events."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.workload_objects import LABELS, POD, deployment, events_of, pod, pods, replica_set, report

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import TooManyRequests
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_names import DEPLOYMENT, DISRUPTION, REPLICA_SET

BUDGET = "policy/v1/PodDisruptionBudget"
NAMES = [DISRUPTION, REPLICA_SET, DEPLOYMENT]


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=NAMES) as world:
        yield world


def budget(name: str = "web", **spec: Any) -> Object:
    spec = {"selector": {"matchLabels": LABELS}, **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


async def status(world: testing.World) -> Object:
    await world.settle()
    found: Object = (await world.find(BUDGET, "web"))["status"]
    return found


def numbers(found: Object) -> tuple[int, int, int, int]:
    """Allowed, current, desired and expected."""
    fields = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, current, desired, expected = (found[field] for field in fields)
    return allowed, current, desired, expected


async def ready_all(world: testing.World) -> None:
    await world.settle()
    for each in await pods(world):
        await report(world, each["metadata"]["name"])
    await world.settle()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (1, 3, 2, 3)),
        ({"minAvailable": 5}, (0, 3, 5, 3)),
        ({"minAvailable": "50%"}, (1, 3, 2, 3)),
        ({"maxUnavailable": 1}, (1, 3, 2, 3)),
        ({"maxUnavailable": "34%"}, (2, 3, 1, 3)),
        ({"maxUnavailable": 9}, (3, 3, 0, 3)),
    ],
)
async def test_numbers_and_percentages(world: testing.World, spec: Object, expected: tuple[int, ...]) -> None:
    await world.create(budget(**spec), deployment())
    await ready_all(world)
    found = await status(world)
    assert numbers(found) == expected
    assert found["observedGeneration"] == 1
    [condition] = found["conditions"]
    wanted = ("True", "SufficientPods") if expected[0] else ("False", "InsufficientPods")
    assert (condition["type"], condition["status"], condition["reason"]) == ("DisruptionAllowed", *wanted)
    assert condition["observedGeneration"] == 1


async def test_a_budget_without_pods_allows_no_eviction(world: testing.World) -> None:
    await world.create(budget(maxUnavailable=1))
    assert numbers(await status(world)) == (0, 0, 0, 0)
    assert events_of(await world.events(), "NoPods") == ["No matching pods found"]


async def test_pods_without_controller_are_reported(world: testing.World) -> None:
    await world.create(budget(maxUnavailable=1), pod("alone"))
    assert numbers(await status(world)) == (0, 0, 0, 0)
    [text] = events_of(await world.events(), "UnmanagedPods")
    assert text.startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    )


async def test_an_unknown_controller_allows_no_eviction(world: testing.World) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": True}
    await world.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}})
    await world.create(budget(maxUnavailable=1), pod("odd", ownerReferences=[owner]))
    found = await status(world)
    assert found["disruptionsAllowed"] == 0
    [condition] = found["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
    assert condition["message"] == "configmaps does not implement the scale subresource"
    assert events_of(await world.events(), "CalculateExpectedPodCountFailed") == [
        "Failed to calculate the number of expected pods: configmaps does not implement the scale subresource"
    ]


async def test_custom_resources_with_scale_are_counted(world: testing.World) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
    }
    names = {"plural": "farms", "singular": "farm", "kind": "Farm", "listKind": "FarmList"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "farms.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    await world.create(definition)
    await world.settle()
    metadata = {"name": "x", "namespace": "default"}
    farm = {"apiVersion": "example.com/v1", "kind": "Farm", "metadata": metadata, "spec": {"replicas": 4}}
    [made] = await world.create(farm)
    owner = {"apiVersion": "example.com/v1", "kind": "Farm", "name": "x", "controller": True}
    owner["uid"] = made["metadata"]["uid"]
    await world.create(budget(maxUnavailable="50%"), *(pod(f"p{n}", ownerReferences=[owner]) for n in range(3)))
    await ready_all(world)
    assert numbers(await status(world)) == (1, 3, 2, 4)


async def test_several_budgets_of_a_pod_are_reported(world: testing.World) -> None:
    await world.create(budget("a", minAvailable=1), budget("b", minAvailable=1))
    await world.settle()
    await world.create(pod("p"))
    await world.settle()
    assert events_of(await world.events(), "MultiplePodDisruptionBudgets")[0] == (
        'Pod "default"/"p" matches multiple PodDisruptionBudgets.  Chose "a" arbitrarily.'
    )


async def test_evictions_stop_at_the_budget_and_go_on_with_new_pods(world: testing.World) -> None:
    await world.create(budget(maxUnavailable=1), replica_set())
    await ready_all(world)
    first, second, _ = [each["metadata"]["name"] for each in await pods(world)]
    await world.client.evict(first, "default")
    assert list((await world.find(BUDGET, "web"))["status"]["disruptedPods"]) == [first]
    await world.settle()
    assert "disruptedPods" not in await status(world)
    with pytest.raises(TooManyRequests):
        await world.client.evict(second, "default")
    await ready_all(world)
    assert numbers(await status(world)) == (1, 3, 2, 3)
    await world.client.evict(second, "default")


async def test_an_eviction_that_does_not_happen_is_forgotten(world: testing.World) -> None:
    await world.create(budget(maxUnavailable=1), replica_set())
    await ready_all(world)
    name = (await pods(world))[0]["metadata"]["name"]
    began = format_time(world.clock.now())
    await world.client.patch(
        BUDGET, merge({"status": {"disruptedPods": {name: began}}}), "web", "default", subresource="status"
    )
    assert numbers(await status(world)) == (0, 2, 2, 3)
    await world.advance(125)
    found = await status(world)
    assert numbers(found) == (1, 3, 2, 3)
    assert "disruptedPods" not in found
    told = events_of(await world.events(), "NotDeleted")
    assert told == ["Pod was expected by PDB default/default to be deleted but it wasn't"]


async def test_a_stale_mark_is_cleared_from_its_pod(world: testing.World) -> None:
    await world.create(pod("p"))
    moment = format_time(world.clock.now())
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "Other", "lastTransitionTime": moment}
    await world.client.patch_status(POD, merge({"status": {"conditions": [mark]}}), "p", "default")
    await world.advance(110)
    assert (await world.find(POD, "p"))["status"]["conditions"][0]["status"] == "True"
    await world.advance(15)
    [cleared] = (await world.find(POD, "p"))["status"]["conditions"]
    assert (cleared["status"], cleared.get("reason")) == ("False", None)


async def scenario(world: testing.World) -> None:
    """The controller of the ReplicaSet does not run: the pods are given."""
    [made] = await world.create(replica_set())
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    owner["uid"] = made["metadata"]["uid"]
    await world.create(budget(minAvailable="50%"), *(pod(f"p{n}", ownerReferences=[owner]) for n in range(3)))
    for each in ("p0", "p1", "p2"):
        await world.settle()
        await report(world, each)
    await world.settle()
    await world.client.patch(BUDGET, merge({"spec": {"minAvailable": "67%"}}), "web", "default")


async def state(world: testing.World) -> object:
    found = await status(world)
    conditions = [(each["type"], each["status"], each["reason"]) for each in found["conditions"]]
    return numbers(found), found["observedGeneration"], conditions


@pytest.mark.slow
async def test_crashes_lead_to_the_same_status() -> None:
    assert await check_crashes([DISRUPTION], scenario, state) >= 6


async def test_conflicts_and_stale_caches_lead_to_the_same_status() -> None:
    await check_conflicts([DISRUPTION], scenario, state, BUDGET)
    await check_stale([DISRUPTION], scenario, state, BUDGET, POD)
