"""Node lifecycle and taint eviction: nodes that fail and return, taints, and the end of their pods."""

from datetime import UTC, datetime

import pytest
from tests.system.fault_runs import FaultCase, check_faults
from tests.system.workload_objects import deployment, events_of, pod, pods

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import DEPLOYMENT, NODE_LIFECYCLE, REPLICA_SET, TAINT_EVICTION
from setpoint.system.nodelifecycle.node_health import Zones, wanted_taints

NODE, POD = "v1/Node", "v1/Pod"


def taints(node: Object) -> list[tuple[str, str]]:
    return sorted((each["key"].rpartition("/")[2], each["effect"]) for each in node["spec"].get("taints") or ())


def readiness(node: Object) -> tuple[str, str]:
    [found] = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
    return found["status"], found["reason"]


async def test_a_failed_node_is_unknown_after_40_seconds_and_its_pods_move_after_300() -> None:
    async with testing.world(nodes="simulated:2") as world:
        await world.create(deployment(replicas=2))
        await world.settle()
        lost = [each for each in await pods(world) if each["spec"]["nodeName"] == "node-0"]
        assert len(lost) == 1
        name = lost[0]["metadata"]["name"]
        await world.fail_node("node-0")
        await world.advance(29)
        assert readiness(await world.find(NODE, "node-0", "")) == ("True", "KubeletReady")
        await world.advance(16)
        node = await world.find(NODE, "node-0", "")
        assert readiness(node) == ("Unknown", "NodeStatusUnknown")
        assert taints(node) == [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
        found = await world.find(POD, name)
        assert [each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"] == ["False"]
        told = await world.events()
        assert events_of(told, "NodeNotReady") == [
            "Node node-0 status is now: NodeNotReady",
            "Node is not ready",
        ]
        await world.advance(301)
        # No kubelet ends the pod, and the replica set has replaced it on the other node.
        assert (await world.find(POD, name))["metadata"]["deletionTimestamp"]
        assert {each["spec"]["nodeName"] for each in await pods(world)} == {"node-1"}
        assert (await world.find("apps/v1/Deployment", "web"))["status"]["availableReplicas"] == 2
        await world.recover_node("node-0")
        await world.settle()
        node = await world.find(NODE, "node-0", "")
        assert (readiness(node), taints(node)) == (("True", "KubeletReady"), [])
        assert name not in await world.names(POD)


async def test_a_node_that_returns_in_time_keeps_its_pods() -> None:
    async with testing.world(nodes="simulated:2") as world:
        await world.create(pod("web"))
        await world.settle()
        name = (await world.find(POD, "web"))["spec"]["nodeName"]
        await world.fail_node(name)
        await world.advance(100)
        assert taints(await world.find(NODE, name, ""))
        await world.recover_node(name)
        await world.advance(600)
        found = await world.find(POD, "web")
        assert not found["metadata"].get("deletionTimestamp")
        assert [each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"] == ["True"]
        assert "Cancelling deletion of Pod default/web" in events_of(await world.events(), "TaintManagerEviction")


async def test_no_pod_is_evicted_while_all_nodes_have_failed() -> None:
    async with testing.world(nodes="simulated:1") as world:
        await world.create(pod("web"))
        await world.settle()
        await world.fail_node("node-0")
        await world.advance(500)
        assert taints(await world.find(NODE, "node-0", "")) == [("unreachable", "NoSchedule")]
        assert not (await world.find(POD, "web"))["metadata"].get("deletionTimestamp")


async def test_healthy_nodes_stay_ready_without_writes_to_them() -> None:
    async with testing.world(nodes="simulated:2") as world:
        await world.settle()
        before = [each["metadata"]["resourceVersion"] for each in (await world.client.list(NODE)).items]
        await world.advance(300)
        assert [each["metadata"]["resourceVersion"] for each in (await world.client.list(NODE)).items] == before


async def test_a_cordon_is_a_taint_and_ends_with_it() -> None:
    async with testing.world(nodes="simulated:1") as world:
        await world.client.patch(NODE, merge({"spec": {"unschedulable": True}}), "node-0")
        await world.settle()
        assert taints(await world.find(NODE, "node-0", "")) == [("unschedulable", "NoSchedule")]
        await world.client.patch(NODE, merge({"spec": {"unschedulable": None}}), "node-0")
        await world.settle()
        assert taints(await world.find(NODE, "node-0", "")) == []


@pytest.mark.parametrize(("seconds", "gone_after"), [(None, 0), (30, 30)])
async def test_a_taint_evicts_pods_after_their_toleration(seconds: int | None, gone_after: int) -> None:
    async with testing.world(nodes="simulated:1") as world:
        given, tolerant = pod("web"), pod("tolerant")
        if seconds is not None:
            toleration = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
            given["spec"] = {**given["spec"], "tolerations": [toleration]}
        tolerant["spec"] = {**tolerant["spec"], "tolerations": [{"operator": "Exists"}]}
        await world.create(given, tolerant)
        await world.settle()
        taint = {"key": "broken", "effect": "NoExecute"}
        await world.client.patch(NODE, merge({"spec": {"taints": [taint]}}), "node-0")
        if gone_after:
            await world.advance(gone_after - 1)
            assert await world.names(POD) == ["tolerant", "web"]
        await world.advance(2)
        assert await world.names(POD) == ["tolerant"]
        assert events_of(await world.events(), "TaintManagerEviction") == ["Marking for deletion Pod default/web"]


def test_evictions_are_limited_by_zone() -> None:
    zones = Zones()
    for number in range(10):
        zones.set(str(number), "z", failed=number < 2)
    assert [zones.wait("z", now) for now in (0.0, 4.0, 10.0)] == [0.0, 6.0, 0.0]
    for number in range(6):
        zones.set(str(number), "z", failed=True)
    assert zones.wait("z", 100.0) is None


def test_taints_of_others_are_kept() -> None:
    own = {"key": "dedicated", "effect": "NoSchedule"}
    status = {"conditions": [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": "True"}]}
    node: Object = {"metadata": {"name": "a"}, "spec": {"taints": [own]}, "status": status}
    found = wanted_taints(node, evicts=None, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert found is not None
    assert [each["key"] for each in found] == ["dedicated", "node.kubernetes.io/disk-pressure"]
    node["spec"]["taints"] = found
    assert wanted_taints(node, evicts=None, now=datetime(2026, 1, 1, tzinfo=UTC)) is None


@pytest.mark.slow
async def test_faults_lead_to_the_same_state() -> None:
    async def lose(world: testing.World) -> None:
        await world.fail_node("node-0")
        await world.advance(400)
        await world.recover_node("node-0")

    async def is_done(world: testing.World) -> bool:
        found = await world.find("apps/v1/Deployment", "web")
        return bool(found["status"].get("availableReplicas") == 2)

    runs = await check_faults(
        FaultCase(
            controllers=[NODE_LIFECYCLE, TAINT_EVICTION],
            objects=[deployment(replicas=2)],
            change=lose,
            is_done=is_done,
            beside=[DEPLOYMENT, REPLICA_SET],
        )
    )
    assert runs > 20
