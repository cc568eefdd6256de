"""The logs of simulated containers: the lines of scripts, by the parameters of `pods/log`, in virtual time."""

import asyncio
from typing import Any

import pytest
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.transport import Call
from setpoint.objects.errors import BadRequest, Forbidden, NotFound, TooManyRequests
from setpoint.objects.tree import Object
from setpoint.system.nodes import container_log, run_observer
from setpoint.testing import Behaviour, ContainerRun, LogLine, simulated

POD = "v1/Pod"
LINES = (LogLine(0, "starting"), LogLine(2.5, "trouble", stderr=True), LogLine(4, "listening"))


def scripted(*behaviours: Behaviour) -> Any:
    """Simulated nodes: the runs of the container `web` have these behaviours, later runs the last one."""

    def script(run: ContainerRun) -> Behaviour | None:
        return behaviours[min(run.restarts, len(behaviours) - 1)] if run.container == "web" else None

    return simulated(scripts={"app=web": script})


def with_spec(**spec: Any) -> Object:
    found = pod("web")
    return {**found, "spec": {**found["spec"], **spec}}


async def followed(world: testing.World, found: list[bytes], **which: Any) -> None:
    async with world.client.logs("web", "default", **which) as lines:
        async for line in lines:
            found.append(line)  # noqa: PERF401 - the test reads the list meanwhile


async def test_lines_appear_at_their_times() -> None:
    async with testing.world(nodes=scripted(Behaviour(logs=LINES)), objects=[pod("web")]) as world:
        await world.settle()
        assert await world.client.log_text("web", "default") == "starting\n"
        await world.advance(2.4)
        assert await world.client.log_text("web", "default") == "starting\n"
        await world.advance(1.6)
        assert await world.client.log_text("web", "default") == "starting\ntrouble\nlistening\n"


async def test_a_container_without_a_script_has_an_empty_log() -> None:
    async with testing.world(nodes="simulated", objects=[pod("web")]) as world:
        await world.settle()
        assert await world.client.log_text("web", "default") == ""


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"tail_lines": 0}, ""),
        ({"tail_lines": 2}, "trouble\nlistening\n"),
        ({"tail_lines": 9}, "starting\ntrouble\nlistening\n"),
        ({"limit_bytes": 12}, "starting\ntro"),
        ({"since_seconds": 8}, "trouble\nlistening\n"),
        ({"since_seconds": 8, "tail_lines": 1}, "listening\n"),
        ({"since_time": "2999-01-01T00:00:00Z"}, ""),
        ({"since_seconds": 10**12}, "starting\ntrouble\nlistening\n"),
    ],
)
async def test_the_parameters_select_lines(which: Any, expected: str) -> None:
    async with testing.world(nodes=scripted(Behaviour(logs=LINES)), objects=[pod("web")]) as world:
        await world.settle()
        await world.advance(10)
        assert await world.client.log_text("web", "default", **which) == expected


async def test_a_line_may_begin_with_its_time_and_sources_are_separable() -> None:
    async with testing.world(nodes=scripted(Behaviour(logs=LINES)), objects=[pod("web")]) as world:
        await world.settle()
        await world.advance(10)
        [start] = (await world.find(POD, "web"))["status"]["containerStatuses"]
        began = start["state"]["running"]["startedAt"]
        lines = (await world.client.log_text("web", "default", timestamps=True)).splitlines()
        assert lines[0] == f"{began[:-1]}.000000000Z starting"
        assert lines[1][19:] == ".500000000Z trouble"
        for source, expected in (("Stderr", b"trouble\n"), ("Stdout", b"starting\nlistening\n")):
            assert await read(world, source) == expected


async def read(world: testing.World, source: str) -> bytes:
    call = Call("GET", "/api/v1/namespaces/default/pods/web/log", [("stream", source)])
    async with world.client.stream(call) as stream:
        return b"".join([piece async for piece in stream])


async def test_a_follower_gets_lines_until_the_end_of_the_run() -> None:
    behaviour = Behaviour(logs=LINES, exit_code=1, after=4)
    async with testing.world(nodes=scripted(behaviour, Behaviour()), objects=[pod("web")]) as world:
        await world.settle()
        found: list[bytes] = []
        following = asyncio.ensure_future(followed(world, found, tail_lines=0))
        await world.settle()
        assert found == []
        await world.advance(3)
        assert found == [b"trouble"]
        await world.advance(1)
        await asyncio.wait_for(following, 5)
        assert found == [b"trouble", b"listening"]
        assert await world.client.log_text("web", "default", previous=True) == "starting\ntrouble\nlistening\n"
        assert await world.client.log_text("web", "default") == ""


async def test_a_follower_gets_lines_that_a_test_adds_and_ends_with_the_pod() -> None:
    lines: list[tuple[float, str]] = [(0, "one\ntwo")]
    async with testing.world(nodes=scripted(Behaviour(logs=lines)), objects=[pod("web")]) as world:
        await world.settle()
        found: list[bytes] = []
        following = asyncio.ensure_future(followed(world, found))
        await world.advance(5)
        lines.append((0, "three"))
        await world.advance(1)
        assert found == [b"one", b"two", b"three"]
        await world.client.delete(POD, "web", "default")
        await world.settle()
        await asyncio.wait_for(following, 5)


async def test_the_previous_run_is_the_last_that_ended() -> None:
    behaviours = [Behaviour(logs=[(0, f"run {number}")], exit_code=1, after=1) for number in range(9)]
    async with testing.world(nodes=scripted(*behaviours), objects=[pod("web")]) as world:
        await world.settle()
        with pytest.raises(BadRequest, match='previous terminated container "web" in pod "web" not found'):
            await world.client.log_text("web", "default", previous=True)
        await world.advance(1)
        assert await world.client.log_text("web", "default", previous=True) == "run 0\n"
        assert await world.client.log_text("web", "default") == "run 1\n"
        await world.advance(1)  # waits for its third run
        for previous in (True, False):
            assert await world.client.log_text("web", "default", previous=previous) == "run 1\n"


async def test_the_log_of_an_ended_pod_stays() -> None:
    behaviour = Behaviour(logs=[(0, "one"), (1.5, "two"), (1.6, "never")], exit_code=0, after=1.5)
    async with testing.world(nodes=scripted(behaviour), objects=[with_spec(restartPolicy="Never")]) as world:
        await world.advance(0.7)
        await world.advance(20)
        assert (await world.find(POD, "web"))["status"]["phase"] == "Succeeded"
        assert await world.client.log_text("web", "default") == "one\ntwo\n"
        found: list[bytes] = []
        await asyncio.wait_for(followed(world, found), 5)
        assert found == [b"one", b"two"]


async def test_a_request_without_a_log_says_why() -> None:
    pulling = Behaviour(pull_error="no such image")
    several = with_spec(containers=[{"name": name, "image": "i"} for name in ("web", "other")])
    async with testing.world(nodes=scripted(pulling), objects=[several]) as world:
        await world.settle()
        for which, text in (
            ({}, r"a container name must be specified for pod web, choose one of: \[web other\]"),
            ({"container": "x"}, "container x is not valid for pod web"),
            (
                {"container": "web"},
                'container "web" in pod "web" is waiting to start: trying and failing to pull image',
            ),
        ):
            with pytest.raises(BadRequest, match=f"^{text}$"):
                await world.client.log_text("web", "default", **which)  # type: ignore[arg-type]
        with pytest.raises(NotFound):
            await world.client.log_text("nope", "default")


async def test_a_container_after_unfinished_init_containers_waits_to_start() -> None:
    waiting = with_spec(initContainers=[{"name": "first", "image": "i"}])
    nodes = simulated(scripts={"app=web": lambda run: Behaviour(exit_code=0, after=60, logs=[(0, "begun")])})
    async with testing.world(nodes=nodes, objects=[waiting]) as world:
        await world.settle()
        with pytest.raises(BadRequest, match='"web" in pod "web" is waiting to start: PodInitializing'):
            await world.client.log_text("web", "default")
        assert await world.client.log_text("web", "default", container="first") == "begun\n"


async def test_a_user_without_the_right_to_logs_reads_none() -> None:
    async with testing.world(nodes=scripted(Behaviour(logs=LINES)), objects=[pod("web")]) as world:
        await world.settle()
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]
        metadata = {"name": "reader"}
        await world.client.create(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
        )
        await world.client.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
            }
        )
        eve = world.plane.client(user="eve")
        assert (await eve.get(POD, "web", "default"))["metadata"]["name"] == "web"
        with pytest.raises(Forbidden, match='cannot get resource "pods/log" in API group ""'):
            await eve.log_text("web", "default")


async def test_the_cost_of_a_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_log, "MOST_BYTES", 25)
    monkeypatch.setattr(container_log, "MOST_LINES", 10)
    monkeypatch.setattr(run_observer, "MOST_OBSERVERS", 1)
    lines: list[tuple[float, str]] = [(0, f"line {number}") for number in range(10)]
    async with testing.world(nodes=scripted(Behaviour(logs=lines)), objects=[pod("web")]) as world:
        await world.settle()
        assert await world.client.log_text("web", "default") == "line 7\nline 8\nline 9\n"
        following = asyncio.ensure_future(followed(world, []))
        await world.settle()
        with pytest.raises(TooManyRequests, match="1 streams already"):
            await followed(world, [])
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        lines.append((0, "line 10"))
        with pytest.raises(BadRequest, match="more than 10 lines"):
            await world.client.log_text("web", "default")
