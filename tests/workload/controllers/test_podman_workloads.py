"""Containers, networks, volumes and commands in a real engine, by their objects."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import App, app, condition_of
from tests.workload.controllers.ship import logged
from tests.workload.podman import IMAGE, Service, connected
from tests.workload.terminal.test_terminals import looking

from setpoint.objects.tree import Object
from setpoint.workload.engine.engine import Engine
from setpoint.workload.terminal.hmp import Kind

pytestmark = pytest.mark.slow

SERVES = "while true; do echo -e 'HTTP/1.0 200 OK\\r\\n\\r\\nhello' | nc -l -p 80; done"
# The shell in these containers does not listen to what asks it to end.
QUICK = {"stopTimeout": "0s"}
WAITS = "trap 'echo bye; exit 7' TERM; echo up; while true; do sleep 0.1; done"


@asynccontextmanager
async def ship(directory: Path, podman: Service, **settings: Any) -> AsyncIterator[tuple[App, Engine]]:
    """A control plane with Podman, and Podman itself."""
    async with (
        connected(podman) as engine,
        app(directory, container_runtime=podman.address, **settings) as world,
    ):
        yield world, engine


async def shell(world: App, name: str, script: str = WAITS, **spec: Any) -> Object:
    """Creates a Container that runs a script."""
    return await world.make("Container", name, {**QUICK, "image": IMAGE, "args": ["sh", "-c", script], **spec})


async def test_a_container_runs_prints_stops_by_its_signal_and_goes(tmp_path: Path, podman: Service) -> None:
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "real", stopTimeout="10s")
        status = (await world.ready("Container", "real"))["status"]
        assert (await engine.containers.inspect(status["containerId"])).status == "running"
        await logged(world, "real", "up\n")
        await world.patch("Container", "real", spec={"stop": True})
        status = (await world.state("Container", "real", "Exited"))["status"]
        assert status["exitCode"] == 7
        assert await world.log("real", "containers") == "up\nbye\n"
        await world.delete("Container", "real")
        assert await engine.containers.find(status["containerId"]) is None


async def test_a_service_reaches_a_container_and_containers_reach_each_other_by_alias(
    tmp_path: Path, podman: Service
) -> None:
    async with ship(tmp_path, podman) as (world, engine):
        await world.make("ContainerNetwork", "inner", {})
        await world.make("Service", "front", {})
        attached = [{"name": "inner", "aliases": ["shop"]}]
        ports = [{"containerPort": 80}]
        await shell(world, "server", SERVES, networks=attached, ports=ports, serves=[{"service": "front", "port": 80}])
        found = await world.ready("Container", "server")
        assert found["status"]["networks"] == ["inner"]
        service = (await world.state("Service", "front", "Ready"))["status"]
        assert "hello" in await fetched(service["effectiveAddress"], service["effectivePort"])
        await shell(world, "caller", "wget -qO- http://shop", networks=[{"name": "inner"}])
        ended = (await world.state("Container", "caller", "Exited"))["status"]
        assert ended["exitCode"] == 0, await world.log("caller", "containers", source="stderr")
        assert await world.log("caller", "containers") == "hello\n"
        network = (await world.get("ContainerNetwork", "inner"))["status"]
        assert found["status"]["containerId"] in network["containerIds"]
        await world.patch("Container", "server", spec={"networks": []})
        await world.until(
            "ContainerNetwork",
            "inner",
            lambda tree: found["status"]["containerId"] not in tree["status"]["containerIds"],
        )
        await shell(world, "alone", "ip -o link", networks=[])
        await world.state("Container", "alone", "Exited")
        assert len((await world.log("alone", "containers")).splitlines()) == 1, "it has nothing but the loopback"
        await world.delete("Container", "caller")
        await world.delete("Container", "server")
        await world.delete("ContainerNetwork", "inner")
        assert await engine.networks.find(network["id"]) is None


async def test_a_container_that_goes_leaves_no_rule_for_its_port(tmp_path: Path, podman: Service) -> None:
    async with ship(tmp_path, podman) as (world, _):
        await world.make("ContainerNetwork", "inner", {})
        await shell(world, "server", SERVES, networks=[{"name": "inner"}], ports=[{"containerPort": 80}])
        found = (await world.ready("Container", "server"))["status"]["containerId"]
        # So that it is in the network for its object as well, and would be taken out again.
        await world.until("ContainerNetwork", "inner", lambda tree: found in tree["status"].get("containerIds", ()))
        assert found in rules()
        await world.delete("Container", "server")
        assert found not in rules()


def rules() -> str:
    """How the machine sends on what comes to its ports."""
    return subprocess.run(["iptables-save", "-t", "nat"], capture_output=True, text=True, check=True).stdout


async def fetched(host: str, port: int) -> str:
    """What a server of one answer sends."""
    for _ in range(50):
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            said = (await asyncio.wait_for(reader.read(), 5)).decode()
            writer.close()
        except (OSError, TimeoutError):
            said = ""
        if said:
            return said
        await asyncio.sleep(0.1)
    return ""


async def test_a_volume_outlives_containers_and_goes_with_its_object(tmp_path: Path, podman: Service) -> None:
    async with ship(tmp_path, podman) as (world, engine):
        await world.make("ContainerVolume", "data", {"name": "setpoint-test-data", "persistent": False})
        mounts = [{"type": "volume", "source": "setpoint-test-data", "target": "/kept"}]
        bind = {"type": "bind", "source": "made/for/it", "target": "/host"}
        await shell(world, "writer", "echo kept > /kept/file; echo out > /host/file", volumeMounts=[*mounts, bind])
        await world.state("Container", "writer", "Exited")
        assert (tmp_path / "made/for/it/file").read_text() == "out\n"
        await shell(world, "reader", "cat /kept/file", volumeMounts=mounts)
        await world.state("Container", "reader", "Exited")
        assert await world.log("reader", "containers") == "kept\n"
        await world.client.delete("usvc-dev.developer.microsoft.com/v1/ContainerVolume", "data")
        await world.ready("ContainerVolume", "data", "False", "InUse")
        await world.delete("Container", "writer")
        await world.delete("Container", "reader")
        await world.until("ContainerVolume", "data", lambda tree: tree is None)
        assert await engine.volumes.find("setpoint-test-data") is None


async def test_a_command_runs_in_the_container_and_is_ended_with_its_object(tmp_path: Path, podman: Service) -> None:
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "host", env=[{"name": "WHO", "value": "ada"}])
        script = "echo $WHO $MORE {{ .metadata.name }}; echo bad >&2; exit 3"
        spec = {"containerName": "host", "command": "sh", "env": [{"name": "MORE", "value": "bob"}]}
        await world.make("ContainerExec", "short", {**spec, "args": ["-c", script]})
        ended = await world.state("ContainerExec", "short", "Finished")
        assert ended["status"]["exitCode"] == 3
        assert await world.log("short", "containerexecs") == "ada bob host\n"
        assert await world.log("short", "containerexecs", source="stderr") == "bad\n"
        await world.make("ContainerExec", "long", {**spec, "args": ["-c", "trap '' TERM; echo on; sleep 7654"]})
        await logged(world, "long", "on\n", "containerexecs")
        assert runs("sleep 7654")
        await world.delete("ContainerExec", "long")
        assert not runs("sleep 7654")
        found = await world.get("Container", "host")
        assert (await engine.containers.inspect(found["status"]["containerId"])).status == "running"


def runs(words: str) -> bool:
    """Whether a process with this command line runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.replace(" ", "\0").encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False


async def test_a_restart_keeps_the_container_and_its_log_goes_on(tmp_path: Path, podman: Service) -> None:
    async with ship(tmp_path, podman) as (world, _):
        await shell(world, "again", "echo up; sleep 600")
        first = (await world.ready("Container", "again"))["status"]
        await logged(world, "again", "up\n")
        await world.patch("Container", "again", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        second = await world.until(
            "Container",
            "again",
            lambda tree: tree["status"].get("restartCount") == 1 and tree["status"]["state"] == "Running",
        )
        assert second["status"]["containerId"] == first["containerId"]
        await logged(world, "again", "up\nup\n")


async def test_what_is_suspended_stays_down_whatever_its_policy_and_goes_on_in_its_container(
    tmp_path: Path, podman: Service
) -> None:
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "paused", "echo up; sleep 600", restartPolicy="always")
        first = (await world.ready("Container", "paused"))["status"]["containerId"]
        await world.patch("Container", "paused", spec={"suspend": True})
        await world.ready("Container", "paused", "False", "Suspended")
        await asyncio.sleep(0.5)
        assert (await engine.containers.inspect(first)).status == "exited"
        await world.patch("Container", "paused", spec={"suspend": False})
        assert (await world.ready("Container", "paused"))["status"]["containerId"] == first
        await logged(world, "paused", "up\nup\n")


async def test_a_persistent_container_is_taken_over_unless_it_has_changed(tmp_path: Path, podman: Service) -> None:
    spec: Object = {"containerName": "setpoint-test-kept", "persistent": True}
    ids = []
    for env in ("a", "a", "b"):
        async with ship(tmp_path, podman) as (world, engine):
            await shell(world, "kept", "sleep 600", env=[{"name": "WHO", "value": env}], **spec)
            ids.append((await world.ready("Container", "kept"))["status"]["containerId"])
            said = await world.log("kept", "containers", source="system")
    assert ids[0] == ids[1] != ids[2]
    assert "env.WHO changed" in said
    async with ship(tmp_path, podman) as (world, engine):
        await world.make("Container", "kept", {"containerName": "setpoint-test-kept", "mode": "cleanup", **QUICK})
        await world.ready("Container", "kept")
        await world.delete("Container", "kept")
        assert await engine.containers.find("setpoint-test-kept") is None


async def test_a_health_check_and_commands_say_how_well_a_container_is(tmp_path: Path, podman: Service) -> None:
    check = {"command": ["test", "-e", "/tmp/well"], "interval": "1s", "retries": 1}
    probe = {
        "name": "inside",
        "type": "Exec",
        "execProbe": {"command": ["test", "-e", "/tmp/well"]},
        "schedule": {"interval": "200ms"},
    }
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "ill", healthcheck=check, healthProbes=[probe])
        found = await world.ready("Container", "ill", "False", "ProbeFailed")
        await engine_runs(engine, found["status"]["containerId"], "touch", "/tmp/well")
        status = (await world.ready("Container", "ill"))["status"]
        assert {each["probeName"]: each["outcome"] for each in status["healthProbeResults"]} == {
            "inside": "Success",
            "__runtime": "Success",
        }


async def engine_runs(engine: Engine, container: str, *command: str) -> None:
    async with engine.containers.exec(container, command) as run:
        async for _ in run:
            pass


async def test_an_image_is_built_and_files_are_in_the_container_before_it_starts(
    tmp_path: Path, podman: Service
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY built /built\n")
    (context / "built").write_text("built\n")
    (tmp_path / "mine").write_text("copied\n")
    files = [{"destination": "/data", "entries": [{"name": "file", "source": "mine", "mode": 0o600}]}]
    async with ship(tmp_path, podman) as (world, _):
        spec = {"build": {"context": "context"}, "createFiles": files, "args": ["cat", "/built", "/data/file"]}
        await world.make("Container", "built", {"image": "localhost/setpoint-built:1", **spec})
        await world.state("Container", "built", "Exited")
        assert await world.log("built", "containers") == "built\ncopied\n"
        assert "COPY built /built" in await world.log("built", "containers", source="startup_stdout")


async def test_a_line_of_the_life_before_makes_no_container_ready(tmp_path: Path, podman: Service) -> None:
    probe = {"name": "up", "type": "Log", "logProbe": {"pattern": "listening"}, "schedule": {"interval": "200ms"}}
    # The mark comes before the line: the container is killed as soon as the line is seen.
    script = "test -e /quiet && sleep 600; touch /quiet; echo listening; sleep 600"
    async with ship(tmp_path, podman) as (world, _):
        await shell(world, "web", script, healthProbes=[probe], stopTimeout="0s")
        await world.ready("Container", "web")
        await world.patch("Container", "web", metadata={"annotations": {"setpoint.dev/restart-requested-at": "1"}})
        await world.until("Container", "web", lambda tree: tree["status"].get("restartCount") == 1)
        found = await world.ready("Container", "web", "False", "ProbeFailed")
        assert "no line of the log matches listening yet" in condition_of(found, "Ready")["message"]


async def test_a_container_reaches_a_service_of_this_machine_through_a_tunnel(tmp_path: Path, podman: Service) -> None:
    code = "import http.server, sys; http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]))"
    async with ship(tmp_path, podman) as (world, _):
        await world.make("ContainerNetwork", "inner", {})
        await world.make("Service", "api", {})
        await world.make("Service", "api-inside", {"addressAllocationMode": "Proxyless"})
        (tmp_path / "hello.txt").write_text("from the host\n")
        await world.python("api", code, args=['{{ portForServing "api" }}'], serves=[{"service": "api"}])
        tunnel = {"name": "t", "serverServiceName": "api", "clientServiceName": "api-inside"}
        spec = {"containerNetworkName": "inner", "aliases": ["machine"], "tunnels": [tunnel]}
        await world.make("ContainerNetworkTunnelProxy", "tunnels", spec)
        await world.state("Service", "api", "Ready")
        script = 'wget -qO- http://{{ addressFor "api-inside" }}:{{ portFor "api-inside" }}/hello.txt && '
        script += 'wget -qO- http://machine:{{ portFor "api-inside" }}/hello.txt'
        await shell(world, "caller", script, networks=[{"name": "inner"}])
        await world.state("Container", "caller", "Exited")
        said = await world.log("caller", "containers", source="all")
        assert said == "from the host\nfrom the host\n"
        status = (await world.get("ContainerNetworkTunnelProxy", "tunnels"))["status"]
        assert status["tunnelStatuses"][0]["state"] == "Ready"


async def test_a_container_in_a_terminal_is_talked_with_on_its_socket(tmp_path: Path, podman: Service) -> None:
    script = "stty size; read line; echo you said $line; exit 5"
    async with ship(tmp_path, podman) as (world, _):
        await shell(world, "shell", script, terminal={"udsPath": "t.sock", "cols": 100, "rows": 30})
        status = (await world.ready("Container", "shell"))["status"]
        assert status["terminalSocketPath"] == str(tmp_path / "t.sock")
        async with looking(status["terminalSocketPath"]) as client:
            client.type("hello\n")
            await client.until("you said hello")
            assert await client.until_kind(Kind.EXIT) == (5).to_bytes(4, "little")
        assert (await world.state("Container", "shell", "Exited"))["status"]["exitCode"] == 5


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.workload.app import app

async def main():
    async with app(Path(sys.argv[1]), container_runtime=sys.argv[2]) as world:
        await world.make("ContainerNetwork", "net", {"networkName": "setpoint-test-killed"})
        await world.make("ContainerVolume", "vol", {"name": "setpoint-test-killed", "persistent": False})
        await world.make("ContainerVolume", "kept", {"name": "setpoint-test-kept", "persistent": True})
        spec = {"image": sys.argv[3], "args": ["sleep", "600"], "stopTimeout": "0s", "networks": [{"name": "net"}]}
        names = ("setpoint-test-killed", "setpoint-test-kept")
        mounts = [{"type": "volume", "source": name, "target": f"/{name}"} for name in names]
        await world.make("Container", "c", {**spec, "containerName": "setpoint-test-killed", "volumeMounts": mounts})
        await world.ready("Container", "c")
        print("up", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_killed_control_plane_leaves_no_container_no_network_and_no_volume_but_what_is_kept(
    tmp_path: Path, podman: Service
) -> None:
    async with connected(podman) as engine:
        words = [sys.executable, "-c", KILLED, str(tmp_path), podman.address, IMAGE]
        process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            assert await process.stdout.readline() == b"up\n"
            assert await engine.containers.find("setpoint-test-killed") is not None
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with asyncio.timeout(20):
            for things in (engine.containers, engine.networks, engine.volumes):
                while await things.find("setpoint-test-killed") is not None:
                    await asyncio.sleep(0.05)
        assert await engine.volumes.find("setpoint-test-kept") is not None
        await engine.volumes.remove("setpoint-test-kept")
