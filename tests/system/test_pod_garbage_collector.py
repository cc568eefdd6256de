"""Pods that nobody will ever end: those of nodes that are not there; and the oldest of very many that have ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from tests.system.worlds import World, new_world

from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.system.controller_names import NAMESPACE
from setpoint.system.pod_garbage_collector import EVERY_SECONDS, PATIENCE_SECONDS, POD, PodGarbageCollector


@asynccontextmanager
async def new_collector(
    *, most_ended: int = 100, system: Any = False
) -> AsyncIterator[tuple[World, ManualClock, PodGarbageCollector]]:
    """Provides a collector that looks when it is told to, and a clock that stands still."""
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    account = "system:serviceaccount:kube-system:pod-garbage-collector"

    async def revision() -> int:
        return 0

    async with new_world(system=system, clock=clock) as world, world.plane.client(user=account) as client:
        yield world, clock, PodGarbageCollector(client, revision, most_ended=most_ended)


async def make_pod(world: World, name: str, node: str = "", namespace: str = "default", phase: str = "") -> Object:
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    made = await world.client.create(pod)
    if phase:
        await world.client.patch_status(POD, merge({"status": {"phase": phase}}), name, namespace)
    return made


async def make_node(world: World, name: str) -> None:
    await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})


async def test_pods_of_a_node_that_is_not_there_go_after_a_while() -> None:
    async with new_collector() as (world, clock, collector):
        await make_node(world, "there")
        for name, node in (("orphan", "absent"), ("bound", "there"), ("pending", "")):
            await make_pod(world, name, node)
        await collector.collect()
        clock.advance(PATIENCE_SECONDS - 1)
        await collector.collect()
        assert await world.is_there(POD, "orphan", "default")
        clock.advance(1)
        await collector.collect()
        assert not await world.is_there(POD, "orphan", "default")
        assert await world.is_there(POD, "bound", "default")
        assert await world.is_there(POD, "pending", "default")


async def test_an_orphan_is_said_to_have_failed_before_it_goes() -> None:
    async with new_collector() as (world, clock, collector):
        await make_pod(world, "orphan", "absent")
        # So that it can be looked at when it should be gone.
        await world.client.patch(POD, merge({"metadata": {"finalizers": ["example.com/wait"]}}), "orphan", "default")
        await collector.collect()
        clock.advance(PATIENCE_SECONDS)
        await collector.collect()
        found = await world.client.get(POD, "orphan", "default")
        assert found["metadata"]["deletionTimestamp"]
        assert found["status"]["phase"] == "Failed"
        [condition] = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert condition["reason"] == "DeletionByPodGC"


async def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async with new_collector() as (world, clock, collector):
        await make_pod(world, "p", "late")
        await collector.collect()
        clock.advance(PATIENCE_SECONDS - 1)
        await make_node(world, "late")
        await collector.collect()
        clock.advance(PATIENCE_SECONDS)
        await collector.collect()
        await world.client.delete("v1/Node", "late")
        await collector.collect()
        assert await world.is_there(POD, "p", "default"), "a node that is missing anew has its time anew"


async def test_of_very_many_pods_that_have_ended_the_oldest_go() -> None:
    async with new_collector(most_ended=2) as (world, clock, collector):
        for index, phase in enumerate(("Failed", "Succeeded", "Running", "Succeeded", "Failed")):
            await make_pod(world, f"p{index}", phase=phase)
            clock.advance(1)
        await collector.collect()
        left = [pod["metadata"]["name"] for pod in (await world.client.list(POD, "default")).items]
        assert left == ["p2", "p3", "p4"]


async def test_a_namespace_whose_pods_wait_for_a_node_that_is_not_there_goes_all_the_same() -> None:
    async with new_collector(system=(NAMESPACE,)) as (world, clock, collector):
        await world.namespace("shop")
        await make_pod(world, "p", "absent", "shop")
        await world.client.delete("v1/Namespace", "shop")
        await world.plane.settle()
        assert await world.is_there(POD, "p", "shop"), "only its node could end it"
        await collector.collect()
        clock.advance(PATIENCE_SECONDS)
        await collector.collect()
        clock.advance(60)
        await world.plane.settle()
        assert not await world.is_there("v1/Namespace", "shop")


async def test_the_plane_runs_it() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with new_world(clock=clock) as world:
        await make_pod(world, "p", "absent")
        while await world.is_there(POD, "p", "default"):
            clock.advance(EVERY_SECONDS)
            await asyncio.sleep(0)
        assert clock.now() >= datetime(2026, 1, 1, 0, 0, int(PATIENCE_SECONDS), tzinfo=UTC)
