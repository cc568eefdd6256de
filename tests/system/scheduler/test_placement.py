"""Affinity between pods, spreading, and preemption, as pure decisions."""

from typing import Any

import pytest
from tests.system.scheduler.test_scheduler import NOW, asking, node, scheduler

from setpoint.objects.tree import Object
from setpoint.system.scheduler.framework import Unschedulable
from setpoint.system.scheduler.scheduler import Scheduler

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
SPREAD: Object = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def labelled(uid: str, app: str = "web", requests: Object | None = None, **spec: Any) -> Object:
    found = asking(uid, requests, **spec)
    found["metadata"] |= {"labels": {"app": app}, "namespace": "default"}
    return found


def term(app: str = "web", key: str = ZONE) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def zones() -> Scheduler:
    return scheduler(*(node(name, {ZONE: zone, HOST: name}) for name, zone in (("a1", "a"), ("b1", "b"), ("b2", "b"))))


async def refusal(found: Scheduler, pod: Object) -> str:
    with pytest.raises(Unschedulable) as raised:
        await found.place(pod, NOW)
    return str(raised.value).partition(" preemption:")[0]


async def test_required_affinity_leads_to_the_domain_of_the_other_pods() -> None:
    found = zones()
    near = labelled("2", "near", affinity={"podAffinity": {REQUIRED: [term()]}})
    reason = "0/3 nodes are available: 3 node(s) didn't match pod affinity rules."
    assert await refusal(found, near) == reason
    found.cluster.assign(labelled("1"), "a1")
    assert (await found.place(near, NOW)).node == "a1"
    # A pod has to match all terms together.
    both = labelled("3", "near", affinity={"podAffinity": {REQUIRED: [term(), term("db")]}})
    found.cluster.assign(labelled("4", "db"), "a1")
    assert await refusal(found, both) == reason


async def test_required_anti_affinity_holds_in_both_directions() -> None:
    found = zones()
    away = {"podAntiAffinity": {REQUIRED: [term()]}}
    found.cluster.assign(labelled("1", affinity=away), "b1")
    assert (await found.place(labelled("2"), NOW)).node == "a1"
    found.cluster.assign(labelled("2"), "a1")
    assert await refusal(found, labelled("3", affinity=away)) == (
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
    )
    assert await refusal(found, labelled("3", nodeSelector={ZONE: "b"})) == (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "2 node(s) didn't satisfy existing pods anti-affinity rules."
    )
    found.cluster.remove("1")
    assert (await found.place(labelled("3", nodeSelector={ZONE: "b"}), NOW)).node in ("b1", "b2")


async def test_preferences_of_both_pods_count() -> None:
    found = zones()
    found.cluster.assign(labelled("1"), "a1")
    weighted = [{"weight": 100, "podAffinityTerm": term()}]
    assert (await found.place(labelled("2", "x", affinity={"podAffinity": {PREFERRED: weighted}}), NOW)).node == "a1"
    apart = labelled("2", "x", affinity={"podAntiAffinity": {PREFERRED: weighted}})
    assert (await found.place(apart, NOW)).node in ("b1", "b2")
    found.cluster.assign(labelled("3", "y", affinity={"podAntiAffinity": {PREFERRED: weighted}}), "b1")
    found.cluster.remove("1")
    assert (await found.place(labelled("4"), NOW)).node == "a1"


async def test_hard_constraints_limit_the_difference_between_domains() -> None:
    found = zones()
    constraint = {**SPREAD, "whenUnsatisfiable": "DoNotSchedule"}
    found.cluster.assign(labelled("1"), "b1")
    spread = labelled("2", topologySpreadConstraints=[constraint])
    assert (await found.place(spread, NOW)).node == "a1"
    found.cluster.set_node("a1", node("a1", {ZONE: "a", HOST: "a1"}, unschedulable=True))
    assert await refusal(found, spread) == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread constraints."
    )
    only_b = labelled("3", topologySpreadConstraints=[constraint], nodeSelector={ZONE: "b"})
    assert (await found.place(only_b, NOW)).node == "b2"
    many = labelled("4", topologySpreadConstraints=[{**constraint, "minDomains": 3}], nodeSelector={ZONE: "b"})
    assert await refusal(found, many) == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread constraints."
    )


async def test_soft_constraints_prefer_the_emptier_domain() -> None:
    found = zones()
    soft = {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}
    found.cluster.assign(labelled("1"), "b1")
    assert (await found.place(labelled("2", topologySpreadConstraints=[soft]), NOW)).node == "a1"


async def test_the_least_important_pods_are_the_victims_and_the_state_is_unchanged() -> None:
    found = scheduler(node("a"), node("b"))
    given = (("1", "a", 5), ("2", "a", 1), ("3", "b", 5), ("4", "b", 3))
    for uid, name, priority in given:
        found.cluster.assign(labelled(uid, requests={"cpu": "1"}, priority=priority), name)
    wanted = labelled("5", requests={"cpu": "1"}, priority=10)
    with pytest.raises(Unschedulable) as raised:
        await found.place(wanted, NOW)
    assert raised.value.nomination is not None
    assert raised.value.nomination.node == "a"
    assert [each["metadata"]["uid"] for each in raised.value.nomination.victims] == ["2"]
    assert [found.cluster.info(name).requested["cpu"] for name in "ab"] == [2000, 2000]
    assert sorted(found.cluster.info("a").pods) == ["1", "2"]


async def test_the_room_of_a_nominated_pod_is_not_given_to_a_less_important_one() -> None:
    found = scheduler(node("a"))
    nominated = labelled("1", requests={"cpu": "2"}, priority=10)
    nominated["status"] = {"nominatedNodeName": "a"}
    found.cluster.nominate(nominated, "a")
    with pytest.raises(Unschedulable, match="Insufficient cpu"):
        await found.place(labelled("2", requests={"cpu": "1"}), NOW)
    assert (await found.place(labelled("3", requests={"cpu": "1"}, priority=11), NOW)).node == "a"
    assert (await found.place(nominated, NOW)).node == "a"
    found.cluster.withdraw("1")
    assert (await found.place(labelled("2", requests={"cpu": "1"}), NOW)).node == "a"
