"""The work for each pod of a Deployment on simulated nodes, in counts that no machine changes."""

from collections import Counter
from typing import Any

import pytest
from bench.nodes import deployment

from setpoint import testing
from setpoint.controller.request import Trigger
from setpoint.system.nodes.container_status import reported
from setpoint.system.pods.facts import PodFacts, facts_of
from setpoint.system.pods.state import POD

REPLICAS = 40


def pods_of(world: testing.World) -> Any:
    """The informer of the pods in the cache of the system controllers."""
    runner = world.plane._runner
    assert runner is not None
    system = runner.system
    assert system is not None
    return system.cache.informer(POD)


async def revision(world: testing.World) -> int:
    found = await world.client.list("v1/Namespace")
    return int(found.resource_version)


async def test_a_pod_becomes_available_with_four_writes() -> None:
    async with testing.world(nodes="simulated:3") as world:
        await world.settle()
        before = await revision(world)
        await world.client.create(deployment(REPLICAS))
        await world.settle()
        written = await revision(world) - before
        pods = [each async for each in world.client.each(POD, "default")]
    assert [each["status"]["phase"] for each in pods] == ["Running"] * REPLICAS
    # Its creation, its assignment, its status and one event; the rest is for the Deployment and its ReplicaSet.
    assert written < 5 * REPLICAS, written


async def test_a_pod_is_decoded_for_its_two_reconciles_only() -> None:
    async with testing.world(nodes="simulated:3") as world:
        await world.settle()
        pods = pods_of(world)
        before = pods.kept.decoded
        await world.client.create(deployment(REPLICAS))
        await world.settle()
        assert len(list(pods.store.all())) == REPLICAS
        # The scheduler reads the new pod, and the node reads the assigned one; its own report needs no reconcile.
        assert pods.kept.decoded - before == 2 * REPLICAS


async def test_idle_pods_stay_bytes_and_handlers_share_their_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    read, reads = PodFacts.read, Counter[str]()

    def counted(raw: bytes) -> PodFacts:
        reads["facts"] += 1
        return read(raw)

    monkeypatch.setattr("setpoint.system.system.DECODED_OBJECTS", 8)
    monkeypatch.setattr(PodFacts, "read", counted)
    async with testing.world(nodes="simulated:3") as world:
        await world.client.create(deployment(REPLICAS))
        await world.settle()
        entries = list(pods_of(world).store.all())
        assert len(entries) == REPLICAS
        assert sum(each.is_made for each in entries) <= 8
        # Each of the three states of a pod is decoded once for all handlers.
        assert reads["facts"] <= 3 * REPLICAS
        assert all(facts_of(each).is_ready for each in entries)
        assert reads["facts"] <= 3 * REPLICAS


async def test_only_the_controllers_that_a_pod_concerns_are_triggered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counter[str]()

    def counted(*args: Any) -> Trigger:
        found = Trigger(*args)
        made[found.kind.kind if found.kind else ""] += 1
        return found

    monkeypatch.setattr("setpoint.controller.watch.Trigger", counted)
    async with testing.world(nodes="simulated:3") as world:
        await world.settle()
        made.clear()
        await world.client.create(deployment(REPLICAS))
        await world.settle()
    # Three changes of a pod, each reported to the controllers that the pod concerns, and to those that looked up
    # objects: three of them, not all handlers.
    assert 0 < made["Pod"] <= 9 * REPLICAS, made


def test_a_node_reports_no_empty_states() -> None:
    status = {"phase": "Running", "containerStatuses": [{"name": "a", "lastState": {}, "state": {"running": {}}}]}
    assert reported(status) == {
        "phase": "Running",
        "containerStatuses": [{"name": "a", "state": {"running": {}}}],
    }
    ended = {"containerStatuses": [{"name": "a", "lastState": {"terminated": {"exitCode": 1}}}]}
    assert reported(ended) == ended
