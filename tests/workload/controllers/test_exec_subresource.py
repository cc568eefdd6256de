"""`…/exec`: commands in containers over a WebSocket, as `kubectl exec` runs them."""

import asyncio
from pathlib import Path

import pytest
from tests.workload.app import GROUP, App, app
from tests.workload.controllers.ship import logged, made, running, scripted, ship
from tests.workload.podman import IMAGE, Service, connected

import setpoint as sp
from setpoint.client.channels import Executed, Process
from setpoint.client.transport import Call
from setpoint.objects.errors import BadRequest, InternalError

V5 = "v5.channel.k8s.io"


async def ran(client: sp.Client, name: str, *command: str, stdin: bytes = b"", tty: bool = False) -> Executed:
    """What came of a command."""
    query = [("command", word) for word in command]
    query += [("stdin", "true")] if stdin else []
    query += [("tty", "true")] if tty else []
    async with client.socket(Call("GET", f"/apis/{GROUP}/containers/{name}/exec", query), (V5,)) as socket:
        return await asyncio.wait_for(Process(socket).run(stdin or None), 20)


async def attached(client: sp.Client, name: str, stdin: bytes = b"") -> Executed:
    """What came of talking with a command."""
    query = [("stdin", "true")] if stdin else []
    async with client.socket(Call("GET", f"/apis/{GROUP}/containerexecs/{name}/attach", query), (V5,)) as socket:
        return await asyncio.wait_for(Process(socket).run(stdin or None), 20)


async def over_a_connection(world: App, directory: Path) -> sp.Client:
    """A client of a control plane over a real connection."""
    await world.plane.listen()
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(world.plane.kubeconfig())
    return sp.Client.from_kubeconfig(kubeconfig)


async def test_a_command_in_a_real_container_is_talked_with(tmp_path: Path, podman: Service) -> None:
    async with connected(podman), app(tmp_path, container_runtime=podman.address) as world:
        spec = {"image": IMAGE, "args": ["sleep", "600"], "stopTimeout": "0s"}
        await world.make("Container", "host", spec)
        await world.ready("Container", "host")
        async with await over_a_connection(world, tmp_path) as client:
            done = await ran(client, "host", "sh", "-c", "cat; echo bad >&2; exit 3", stdin=b"hello\n")
            assert (done.stdout, done.stderr, done.exit_code) == (b"hello\n", b"bad\n", 3)
            done = await ran(client, "host", "sh", "-c", "test -t 1 && echo terminal", tty=True)
            assert (done.stdout, done.exit_code) == (b"terminal\r\n", 0)


async def test_a_command_that_is_an_object_is_talked_with_too(tmp_path: Path, podman: Service) -> None:
    async with connected(podman), app(tmp_path, container_runtime=podman.address) as world:
        await world.make("Container", "host", {"image": IMAGE, "args": ["sleep", "600"], "stopTimeout": "0s"})
        script = {"containerName": "host", "command": "sh", "args": ["-c", "echo ready; cat; echo bad >&2; exit 3"]}
        await world.make("ContainerExec", "asks", {**script, "stdin": True})
        await world.state("ContainerExec", "asks", "Running")
        await logged(world, "asks", "ready\n", "containerexecs")
        async with await over_a_connection(world, tmp_path) as client:
            done = await attached(client, "asks", b"hello\n")
            assert (done.stdout, done.stderr, done.exit_code) == (b"hello\n", b"bad\n", 3)
            await logged(world, "asks", "ready\nhello\n", "containerexecs")
            with pytest.raises(BadRequest, match="ContainerExec asks is not running: Finished"):
                await attached(client, "asks")
            await world.make("ContainerExec", "deaf", {**script, "args": ["-c", "cat; sleep 600"]})
            await world.state("ContainerExec", "deaf", "Running")
            with pytest.raises(BadRequest, match="create one with spec"):
                await attached(client, "deaf", b"hello")


async def test_a_command_needs_words_and_a_container_that_runs(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world, await over_a_connection(world, tmp_path) as client:
        await made(world, "waits", start=False)
        await running(world)
        with pytest.raises(BadRequest, match="command: required"):
            await ran(client, "web")
        with pytest.raises(BadRequest, match="Container waits is not running"):
            await ran(client, "waits", "ls")
        engine.fail("containers.exec", 500, "no such program")
        with pytest.raises(InternalError, match="no such program"):
            await ran(client, "web", "nonsense")
