"""The staleness mitigation of kube-controller-manager 1.36: a controller waits for its own writes in its cache."""

from tests.system.faulty_system import faulty_system
from tests.system.workload_objects import pods, replica_set

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.system.controller_names import CORE_NAMES, REPLICA_SET


async def test_a_delayed_view_of_pods_does_not_create_pods_twice() -> None:
    async with testing.world(system=CORE_NAMES) as world, faulty_system(world, [REPLICA_SET]):
        with world.faults.stale("v1/Pod"):
            await world.create(replica_set(replicas=2))
            await world.advance(1)
            assert len(await pods(world)) == 2
            # Each change leads to a reconcile with a view that lacks the two pods.
            for number in range(5):
                patch = merge({"metadata": {"annotations": {"change": str(number)}}})
                await world.client.patch("apps/v1/ReplicaSet", patch, "web", "default")
                await world.advance(5)
                assert len(await pods(world)) == 2
        await world.advance(60)
        assert len(await pods(world)) == 2
        assert len([each for each in await world.events() if each.reason == "SuccessfulCreate"]) == 2
