"""The usage of simulated containers: without a script, by annotations, and scripted."""

import pytest
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.node.functions import NodeFunctions
from setpoint.node.usage import Usage
from setpoint.objects.tree import Object
from setpoint.testing import Behaviour, simulated

POD = "v1/Pod"
MIB = 1 << 20


def agent(world: testing.World, node: str = "node-0") -> NodeFunctions:
    found = world.plane.services.nodes.of(node)
    assert found is not None
    return found


async def usage(world: testing.World, name: str = "web") -> dict[str, Usage]:
    sample = await agent(world).pod_sample(await world.find(POD, name))
    assert sample is not None
    assert (sample.time, sample.window_seconds) == (world.clock.now(), 15)
    return dict(sample.containers)


def annotated(**annotations: str) -> Object:
    found = pod("web")
    given = {f"kwok.x-k8s.io/usage-{name}": value for name, value in annotations.items()}
    return {**found, "metadata": {**found["metadata"], "annotations": given}}


async def test_containers_without_a_script_use_little() -> None:
    async with testing.world(nodes="simulated", objects=[pod("web"), pod("other")]) as world:
        await world.settle()
        assert await usage(world) == {"web": Usage(0.001, MIB)}
        node = await agent(world).node_sample("node-0")
        assert node is not None
        assert node.usage == Usage(0.002, 2 * MIB)
        await world.client.delete(POD, "web", "default")
        await world.settle()
        node = await agent(world).node_sample("node-0")
        assert node is not None
        assert node.usage == Usage(0.001, MIB)


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [("250m", "64Mi", Usage(0.25, 64 * MIB)), ("-1", "1e999999", Usage(0.001, MIB)), ("x", "0", Usage(0.001, 0))],
)
async def test_annotations_give_the_usage(cpu: str, memory: str, expected: Usage) -> None:
    async with testing.world(nodes="simulated", objects=[annotated(cpu=cpu, memory=memory)]) as world:
        await world.settle()
        assert await usage(world) == {"web": expected}


async def test_scripts_give_the_usage_by_time() -> None:
    behaviour = Behaviour(cpu=lambda seconds: seconds / 10, memory=5 * MIB, exit_code=1, after=8)
    async with testing.world(
        nodes=simulated(scripts={"app=web": lambda run: behaviour}), objects=[pod("web")]
    ) as world:
        await world.settle()
        await world.advance(5)
        assert await usage(world) == {"web": Usage(0.5, 5 * MIB)}
        await world.advance(4)  # the second run began a second ago
        assert await usage(world) == {"web": Usage(0.1, 5 * MIB)}
        await world.advance(8)  # waits for its third run
        assert await agent(world).pod_sample(await world.find(POD, "web")) is None


async def test_only_the_nodes_of_an_agent_have_samples() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.settle()
        assert world.plane.services.nodes.of("other") is None
