"""Daemon sets: their nodes, pods, updates, revisions, status and events."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.system.disturbances import check_conflicts, check_crashes, check_stale
from tests.system.workload_objects import LABELS, POD, TEMPLATE, events_of, pods, report

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import DAEMON_SET
from setpoint.system.daemonset.placement import target_of

KIND, REVISION, NODE = "apps/v1/DaemonSet", "apps/v1/ControllerRevision", "v1/Node"
NEW = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "example.com/web:2"}]}}}}


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(system=[DAEMON_SET]) as world:
        for number in range(1, 4):
            await add_node(world, f"n{number}")
        yield world


async def add_node(world: testing.World, name: str, labels: Object | None = None, *taints: Object) -> None:
    """Creates a node, and removes the taint of new nodes, as the controller of nodes does for a ready one."""
    await world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}})
    await world.client.patch(NODE, merge({"spec": {"taints": list(taints)}}), name)


def daemon_set(template: Object | None = None, **spec: Any) -> Object:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], **(template or {})}}
    spec = {"selector": {"matchLabels": LABELS}, "template": template, **spec}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


async def by_node(world: testing.World) -> dict[str, list[str]]:
    """The images of the pods by node."""
    await world.settle()
    found: dict[str, list[str]] = {}
    for each in await pods(world):
        found.setdefault(target_of(each) or "", []).append(each["spec"]["containers"][0]["image"][-1])
    return {name: sorted(images) for name, images in sorted(found.items())}


async def ready(world: testing.World, *nodes: str) -> None:
    """Makes the pods ready, of some nodes or of all."""
    await world.settle()
    for each in await pods(world):
        if not nodes or target_of(each) in nodes:
            await report(world, each["metadata"]["name"])
    await world.settle()


async def status(world: testing.World) -> Object:
    await world.settle()
    found: Object = (await world.find(KIND, "web"))["status"]
    return found


async def patch(world: testing.World, change: Object) -> None:
    await world.client.patch(KIND, merge(change), "web", "default")
    await world.settle()


async def test_each_node_gets_a_pod(world: testing.World) -> None:
    [made] = await world.create(daemon_set())
    assert await by_node(world) == {"n1": ["1"], "n2": ["1"], "n3": ["1"]}
    [revision] = (await world.client.list(REVISION, "default")).items
    assert revision["revision"] == 1
    assert revision["data"]["spec"]["template"]["$patch"] == "replace"
    digest = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"web-{digest}"
    first = (await pods(world))[0]
    assert first["metadata"]["labels"]["controller-revision-hash"] == digest
    assert first["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    keys = {each["key"] for each in first["spec"]["tolerations"]}
    assert {"node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"} <= keys
    assert len(events_of(await world.events(), "SuccessfulCreate")) == 3
    found = await status(world)
    assert (found["desiredNumberScheduled"], found["currentNumberScheduled"], found["numberReady"]) == (3, 3, 0)
    assert (found["numberUnavailable"], found["updatedNumberScheduled"], found["observedGeneration"]) == (3, 3, 1)
    await ready(world)
    found = await status(world)
    assert (found["numberReady"], found["numberAvailable"], found.get("numberUnavailable", 0)) == (3, 3, 0)


async def test_nodes_are_selected_by_labels_and_taints(world: testing.World) -> None:
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    disk = {"disk": "ssd"}
    await add_node(world, "ssd", disk)
    await add_node(world, "tainted", disk, taint)
    await add_node(world, "cordoned", disk, cordoned)
    await world.create(daemon_set({"nodeSelector": disk}))
    assert list(await by_node(world)) == ["cordoned", "ssd"]
    await world.client.patch(NODE, merge({"metadata": {"labels": {"disk": "ssd"}}}), "n1")
    assert list(await by_node(world)) == ["cordoned", "n1", "ssd"]
    # A taint without execution leaves running pods alone; one with execution does not.
    await world.client.patch(NODE, merge({"spec": {"taints": [taint]}}), "ssd")
    assert "ssd" in await by_node(world)
    assert (await status(world))["numberMisscheduled"] == 1
    await world.client.patch(NODE, merge({"spec": {"taints": [{**taint, "effect": "NoExecute"}]}}), "ssd")
    assert list(await by_node(world)) == ["cordoned", "n1"]
    await world.client.delete(NODE, "n1")
    assert list(await by_node(world)) == ["cordoned"]


async def test_a_rolling_update_respects_unavailability(world: testing.World) -> None:
    await world.create(daemon_set())
    await ready(world)
    await patch(world, NEW)
    assert await by_node(world) == {"n1": ["2"], "n2": ["1"], "n3": ["1"]}
    await ready(world, "n1")
    assert await by_node(world) == {"n1": ["2"], "n2": ["2"], "n3": ["1"]}
    await ready(world)
    await ready(world)
    assert await by_node(world) == {"n1": ["2"], "n2": ["2"], "n3": ["2"]}
    assert sorted(each["revision"] for each in (await world.client.list(REVISION, "default")).items) == [1, 2]


async def test_pods_that_are_not_available_are_updated_at_once(world: testing.World) -> None:
    await world.create(daemon_set())
    await world.settle()
    await patch(world, NEW)
    assert await by_node(world) == {"n1": ["2"], "n2": ["2"], "n3": ["2"]}


async def test_a_surge_adds_new_pods_before_old_ones_go(world: testing.World) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await world.create(daemon_set(updateStrategy=rolling))
    await ready(world)
    await patch(world, NEW)
    assert await by_node(world) == {"n1": ["1", "2"], "n2": ["1"], "n3": ["1"]}
    await ready(world)
    assert await by_node(world) == {"n1": ["2"], "n2": ["1", "2"], "n3": ["1"]}
    await ready(world)
    await ready(world)
    assert await by_node(world) == {"n1": ["2"], "n2": ["2"], "n3": ["2"]}


async def test_updates_on_delete_wait_for_the_user(world: testing.World) -> None:
    await world.create(daemon_set(updateStrategy={"type": "OnDelete"}))
    await ready(world)
    await patch(world, NEW)
    assert await by_node(world) == {"n1": ["1"], "n2": ["1"], "n3": ["1"]}
    assert (await status(world)).get("updatedNumberScheduled", 0) == 0
    name = next(each["metadata"]["name"] for each in await pods(world) if target_of(each) == "n2")
    await world.client.delete(POD, name, "default", grace_period=0)
    assert await by_node(world) == {"n1": ["1"], "n2": ["2"], "n3": ["1"]}


async def test_failed_pods_are_replaced_with_growing_delays(world: testing.World) -> None:
    await world.client.delete(NODE, "n2")
    await world.client.delete(NODE, "n3")
    await world.create(daemon_set())

    async def fail() -> str:
        await world.settle()
        [only] = await pods(world)
        name: str = only["metadata"]["name"]
        await report(world, name, ready=False, phase="Failed")
        await world.settle()
        return name

    first = await fail()
    assert events_of(await world.events(), "FailedDaemonPod") == [
        f"Found failed daemon pod default/{first} on node n1, will try to kill it"
    ]
    second = await fail()
    assert [each["metadata"]["name"] for each in await pods(world)] == [second]
    await world.advance(2)
    assert [each["metadata"]["name"] for each in await pods(world)] != [second]


async def test_a_rollback_makes_the_old_revision_the_newest(world: testing.World) -> None:
    await world.create(daemon_set(revisionHistoryLimit=1))
    await world.settle()
    await patch(world, NEW)
    old = {"spec": {"template": {"spec": TEMPLATE["spec"]}}}
    await patch(world, old)
    numbers = {each["revision"] for each in (await world.client.list(REVISION, "default")).items}
    assert numbers == {2, 3}
    newest = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "example.com/web:3"}]}}}}
    await patch(world, newest)
    numbers = {each["revision"] for each in (await world.client.list(REVISION, "default")).items}
    assert numbers == {3, 4}


async def scenario(world: testing.World) -> None:
    for name in ("n1", "n2"):
        await add_node(world, name)
    await world.create(daemon_set())
    await world.settle()
    await world.client.patch(KIND, merge(NEW), "web", "default")


async def state(world: testing.World) -> object:
    """A crash before the first revision skips that one, so that the numbers of the revisions differ."""
    found = await status(world)
    return await by_node(world), found


@pytest.mark.slow
async def test_crashes_lead_to_the_same_pods() -> None:
    assert await check_crashes([DAEMON_SET], scenario, state) >= 12


async def test_conflicts_and_stale_caches_lead_to_the_same_pods() -> None:
    await check_conflicts([DAEMON_SET], scenario, state, KIND)
    await check_stale([DAEMON_SET], scenario, state, POD, REVISION, KIND)
