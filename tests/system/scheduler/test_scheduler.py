"""The scheduler: filters with their reasons, scores, the events, and pods that wait for room."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.system.workload_objects import events_of, pod, pods

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.system.controller_names import SCHEDULER
from setpoint.system.scheduler.cluster_state import ClusterState
from setpoint.system.scheduler.framework import Unschedulable
from setpoint.system.scheduler.pod_requests import PodRequests
from setpoint.system.scheduler.scheduler import Scheduler, default_profile, enough_candidates

POD = "v1/Pod"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, labels: Object | None = None, taints: list[Object] | None = None, **spec: Any) -> Object:
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "3", "example.com/gpu": "1"}
    spec = {**spec, **({"taints": taints} if taints else {})}
    status = {"allocatable": allocatable, "capacity": allocatable}
    metadata = {"name": name, "labels": {"name": name, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def asking(uid: str = "1", requests: Object | None = None, **spec: Any) -> Object:
    containers = [{"name": "c", "resources": {"requests": requests or {}}}]
    return {"metadata": {"name": uid, "uid": uid}, "spec": {"containers": containers, **spec}}


def scheduler(*nodes: Object) -> Scheduler:
    cluster = ClusterState()
    for each in nodes:
        cluster.set_node(each["metadata"]["name"], each)
    return Scheduler(default_profile(), cluster)


def affinity(*expressions: Object, preferred: bool = False) -> Object:
    term = {"matchExpressions": list(expressions)}
    if preferred:
        wanted = [{"weight": 5, "preference": term}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wanted}}
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


HOST_PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("given", "wanted", "reason"),
    [
        (node("a"), asking(requests={"cpu": "2001m"}), "1 Insufficient cpu"),
        (node("a"), asking(requests={"cpu": "3", "memory": "5Gi"}), "1 Insufficient cpu, 1 Insufficient memory"),
        (node("a"), asking(requests={"example.com/gpu": "2"}), "1 Insufficient example.com/gpu"),
        (node("a"), asking(nodeSelector={"disk": "ssd"}), "1 node(s) didn't match Pod's node affinity/selector"),
        (
            node("a"),
            asking(affinity=affinity({"key": "name", "operator": "NotIn", "values": ["a"]})),
            "1 node(s) didn't match Pod's node affinity/selector",
        ),
        (node("a", unschedulable=True), asking(), "1 node(s) were unschedulable"),
        (node("a", taints=[TAINT]), asking(), "1 node(s) had untolerated taint(s)"),
    ],
)
async def test_a_node_is_rejected_with_the_reason(given: Object, wanted: Object, reason: str) -> None:
    with pytest.raises(Unschedulable) as raised:
        await scheduler(given).place(wanted, NOW)
    useless = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert str(raised.value) == f"0/1 nodes are available: {reason}. {useless}"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (node("a"), asking(requests={"cpu": "2", "memory": "4Gi"})),
        (node("a", {"disk": "ssd"}), asking(nodeSelector={"disk": "ssd"})),
        (node("a", {"cores": "8"}), asking(affinity=affinity({"key": "cores", "operator": "Gt", "values": ["4"]}))),
        (node("a", taints=[TAINT]), asking(tolerations=[{"key": "dedicated", "operator": "Exists"}])),
        (node("a", taints=[TAINT]), asking(tolerations=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])),
        (node("a", unschedulable=True), asking(tolerations=[{"operator": "Exists"}])),
    ],
)
async def test_a_suitable_node_is_chosen(given: Object, wanted: Object) -> None:
    assert (await scheduler(given).place(wanted, NOW)).node == "a"


async def test_reasons_are_counted() -> None:
    found = scheduler(node("a"), node("b"), node("c", unschedulable=True))
    with pytest.raises(Unschedulable) as raised:
        await found.place(asking(requests={"cpu": "9"}), NOW)
    message = str(raised.value).partition(" preemption:")[0]
    assert message == "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."


async def test_without_nodes_the_message_says_so() -> None:
    with pytest.raises(Unschedulable, match="no nodes available to schedule pods"):
        await scheduler().place(asking(), NOW)


async def test_assigned_pods_take_room_and_ports() -> None:
    found = scheduler(node("a"))
    found.cluster.assign(asking("1", {"cpu": "1500m"}), "a")
    with pytest.raises(Unschedulable, match="Insufficient cpu"):
        await found.place(asking("2", {"cpu": "600m"}), NOW)
    found.cluster.remove("1")
    found.cluster.assign({**asking("3"), "spec": HOST_PORT}, "a")
    with pytest.raises(Unschedulable, match="didn't have free ports"):
        await found.place({**asking("4"), "spec": HOST_PORT}, NOW)
    for uid in "56":
        found.cluster.assign(asking(uid), "a")
    with pytest.raises(Unschedulable, match="Too many pods"):
        await found.place(asking("7"), NOW)


async def test_the_emptiest_and_the_preferred_node_win() -> None:
    found = scheduler(node("a"), node("b"))
    found.cluster.assign(asking("1", {"cpu": "1"}), "a")
    assert (await found.place(asking("2"), NOW)).node == "b"
    like = affinity({"key": "name", "operator": "In", "values": ["a"]}, preferred=True)
    assert (await found.place(asking("3", affinity=like), NOW)).node == "a"
    avoided = node("b", taints=[{"key": "x", "effect": "PreferNoSchedule"}])
    found.cluster.set_node("b", avoided)
    assert (await found.place(asking("4"), NOW)).node == "a"


def test_the_requests_of_a_pod_include_its_start_and_its_sidecars() -> None:
    def container(name: str, cpu: str, **more: Any) -> Object:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    spec: Object = {
        "containers": [container("a", "100m"), container("b", "200m")],
        "initContainers": [container("side", "50m", restartPolicy="Always"), container("init", "500m")],
        "overhead": {"cpu": "10m"},
    }
    assert PodRequests.of({"spec": spec}).resources == {"cpu": 560}
    spec["initContainers"] = spec["initContainers"][:1]
    assert PodRequests.of({"spec": spec}).resources == {"cpu": 360}


def test_large_clusters_are_sampled() -> None:
    assert [enough_candidates(number) for number in (0, 50, 100, 1000, 5000)] == [0, 50, 100, 420, 500]


async def test_a_pod_waits_for_room_and_is_told_why() -> None:
    async with testing.world(system=[SCHEDULER]) as world:
        await world.create(pod("first"))
        await world.settle()
        told = await world.events()
        assert events_of(told, "FailedScheduling") == ["no nodes available to schedule pods"]
        [condition] = (await world.find(POD, "first"))["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "PodScheduled",
            "False",
            "Unschedulable",
        )
        await world.create(node("n1"))
        # New nodes are tainted until they are ready.
        await world.client.patch("v1/Node", merge({"spec": {"taints": None}}), "n1")
        await world.advance(30)
        found = await world.find(POD, "first")
        assert found["spec"]["nodeName"] == "n1"
        assert [each["status"] for each in found["status"]["conditions"]] == ["True"]
        assert events_of(await world.events(), "Scheduled") == ["Successfully assigned default/first to n1"]


async def test_gated_pods_and_pods_of_other_schedulers_are_left_alone() -> None:
    async with testing.world(system=[SCHEDULER]) as world:
        await world.create(node("n1"))
        await world.client.patch("v1/Node", merge({"spec": {"taints": None}}), "n1")
        gated, other = pod("gated"), pod("other")
        gated["spec"] = {**gated["spec"], "schedulingGates": [{"name": "example.com/wait"}]}
        other["spec"] = {**other["spec"], "schedulerName": "mine"}
        await world.create(gated, other)
        await world.advance(5)
        assert [each["spec"].get("nodeName") for each in await pods(world)] == [None, None]
        await world.client.patch(POD, merge({"spec": {"schedulingGates": None}}), "gated", "default")
        await world.settle()
        assert (await world.find(POD, "gated"))["spec"]["nodeName"] == "n1"
