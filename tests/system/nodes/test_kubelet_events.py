"""The events of a kubelet, which simulated nodes record if asked to."""

from typing import Any

from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.system.node_setting import parse_nodes
from setpoint.testing import Behaviour, simulated

PATH = "spec.containers{web}"
PRESENT = 'Container image "web:1" already present on machine and can be accessed by the pod'


def probed(policy: str = "IfNotPresent") -> Any:
    found = pod("web")
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 5}
    container = {"name": "web", "image": "web:1", "imagePullPolicy": policy, "readinessProbe": probe}
    return {**found, "spec": {**found["spec"], "containers": [container]}}


async def events(world: testing.World) -> list[tuple[str, str]]:
    """The reasons and messages of the events of the kubelet, in their order."""
    await world.settle()
    found = (await world.client.list("v1/Event", "default")).items
    own = [each for each in found if each["source"].get("component") == "kubelet"]
    assert all(each["involvedObject"]["fieldPath"] == PATH for each in own)
    own.sort(key=lambda each: each["metadata"]["name"])
    return [(each["reason"], each["message"]) for each in own]


async def test_a_container_is_pulled_created_started_and_killed() -> None:
    async with testing.world(nodes="simulated,events", objects=[probed()]) as world:
        begun = [("Pulled", PRESENT), ("Created", "Container created"), ("Started", "Container started")]
        assert await events(world) == begun
        await world.client.delete("v1/Pod", "web", "default")
        assert await events(world) == [*begun, ("Killing", "Stopping container web")]


async def test_a_failing_pull_and_a_failing_probe_are_warnings() -> None:
    nodes = simulated(scripts={"app=web": lambda run: Behaviour(pull_error="no such image")}, events=True)
    async with testing.world(nodes=nodes, objects=[probed()]) as world:
        expected = [
            ("Pulling", 'Pulling image "web:1"'),
            ("Failed", 'Failed to pull image "web:1": no such image'),
            ("Failed", "Error: ErrImagePull"),
            ("BackOff", 'Back-off pulling image "web:1"'),
            ("Failed", "Error: ImagePullBackOff"),
        ]
        assert await events(world) == expected
    is_ready = True
    nodes = simulated(scripts={"app=web": lambda run: Behaviour(ready=is_ready)}, events=True)
    async with testing.world(nodes=nodes, objects=[probed("Always")]) as world:
        found = await events(world)
        assert [reason for reason, _ in found] == ["Pulling", "Pulled", "Created", "Started"]
        is_ready = False
        await world.advance(5)
        text = "Readiness probe failed: as the script of the container says"
        assert (await events(world))[4:] == [("Unhealthy", text)]
        await world.advance(5)
        assert len(await events(world)) == 5


async def test_most_events_are_recorded_only_if_asked_for() -> None:
    async with testing.world(nodes="simulated", objects=[probed()]) as world:
        assert await events(world) == []


def test_the_setting_is_part_of_its_text() -> None:
    for text in ("simulated", "simulated:3", "simulated,events", "simulated:3,events"):
        assert str(parse_nodes(text)) == text
    assert parse_nodes("simulated:3,events").events
