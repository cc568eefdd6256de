"""Engines without a socket on this machine: a Podman that is started for a session, and engines behind ssh."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workload.podman import Service, require
from tests.workload.session.instances import is_alive, until

from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.choice import Candidate, Unavailable, connect, endpoint_of
from setpoint.workload.engine.engine import Engine

# Copies between its standard streams and the socket that a file beside it names; writes its arguments to another one.
CARRIER = """#!{python}
import os, pathlib, select, socket, sys
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(f"{{os.getpid()}} {{' '.join(sys.argv[1:])}}\\n")
found = (here / "socket")
if not found.exists():
    sys.exit("ssh: connect to host far port 22: No route to host")
there = socket.socket(socket.AF_UNIX)
there.connect(found.read_text())
while True:
    for each in select.select([0, there], [], [])[0]:
        data = os.read(0, 65536) if each == 0 else there.recv(65536)
        if not data:
            sys.exit()
        there.sendall(data) if each == 0 else os.write(1, data)
"""


@pytest.fixture
def carrier(tmp_path: Path) -> Path:
    """A program in place of Docker's client."""
    program = tmp_path / "docker"
    program.write_text(CARRIER.format(python=sys.executable))
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("docker", ("docker", "--host", "ssh://me@far:2222", "system", "dial-stdio")),
        ("podman", ("podman", "--remote", "--url", "ssh://me@far:2222", "system", "dial-stdio")),
    ],
)
def test_an_engine_behind_ssh_is_reached_by_the_program_of_its_kind(name: str, command: tuple[str, ...]) -> None:
    found = endpoint_of(Candidate(name, "ssh://me@far:2222"))
    assert not isinstance(found, Unavailable)
    assert (found.host, found.command) == ("far", command)


async def test_an_engine_behind_ssh_says_why_it_cannot_be_reached(carrier: Path, tmp_path: Path) -> None:
    environ = {"DOCKER_HOST": "ssh://me@far", "PATH": str(tmp_path)}
    found = await connect(SystemClock(), environ)
    assert isinstance(found, Unavailable)
    assert found.reason == "NotRunning"
    assert "No route to host" in found.message
    assert "ssh far" in found.remedy
    found = await connect(SystemClock(), {**environ, "PATH": str(tmp_path / "empty")})
    assert isinstance(found, Unavailable)
    assert (found.reason, "not installed" in found.message) == ("BadAddress", True)


async def test_an_engine_behind_ssh_serves_requests_streams_and_terminals(
    carrier: Path, tmp_path: Path, podman: Service
) -> None:
    (tmp_path / "socket").write_text(str(podman.socket))
    engine = await connect(SystemClock(), {"DOCKER_HOST": "ssh://me@far", "PATH": str(tmp_path)})
    assert isinstance(engine, Engine), engine
    assert engine.version.name == "podman"
    assert engine.published_host == "far"
    events = engine.events()
    await anext(events)
    network = await engine.networks.create(f"carried-{os.getpid()}")
    try:
        assert network in [each.id for each in await engine.networks.list()]
    finally:
        await engine.networks.remove(network)
    pids = [int(line.split()[0]) for line in (tmp_path / "calls").read_text().splitlines()]
    # The stream of events has a connection of its own; the requests share another one.
    assert len(pids) == 2
    await engine.close()
    await events.aclose()  # type: ignore[attr-defined]
    await asyncio.to_thread(until, lambda: not any(map(is_alive, pids)))


@pytest.fixture
def without_socket(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a machine with Podman's program and no socket; its storage is in a directory of the test."""
    require()
    # Podman allows only short paths.
    service = Service(Path(tempfile.mkdtemp(prefix="podman-")), block=217)
    service.configure()
    program = tmp_path / "programs" / "podman"
    service.write_program(program)
    if Path("/run/podman/podman.sock").exists() or Path("/var/run/docker.sock").exists():
        pytest.skip("this machine has an engine with a socket")
    path = f"{program.parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in service.environ.items() if not name.startswith("DOCKER_")}
    yield {**kept, "PATH": path, "XDG_RUNTIME_DIR": str(tmp_path)}
    service.remove()


def services(directory: Path) -> list[int]:
    """The processes of services whose sockets are below a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(f"unix://{directory}/setpoint-podman-".encode()) for word in words):
            found.append(int(entry.parent.name))
    return found


def left(directory: Path) -> list[object]:
    return [*services(directory), *directory.glob("setpoint-podman-*")]


@pytest.mark.slow
async def test_podman_without_a_socket_is_started_and_ends_with_the_connection(
    without_socket: dict[str, str], tmp_path: Path
) -> None:
    found = await connect(SystemClock(), without_socket)
    assert isinstance(found, Unavailable)
    assert (found.reason, left(tmp_path)) == ("NotRunning", [])
    engine = await connect(SystemClock(), without_socket, starts=True)
    assert isinstance(engine, Engine), engine
    assert engine.version.name == "podman"
    [pid] = services(tmp_path)
    # A service that was killed is started again at the same address.
    assert engine.service is not None
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(until, lambda: left(tmp_path) == [])
    assert await engine.service.start(30) == ""
    assert await engine.containers.list() == []
    await engine.close()
    assert left(tmp_path) == []


@pytest.mark.slow
async def test_a_podman_that_cannot_start_says_why(tmp_path: Path) -> None:
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\necho 'Error: no space left on device' >&2\nexit 125\n")
    program.chmod(0o755)
    environ = {"PATH": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    found = await connect(SystemClock(), environ, "podman", starts=True)
    assert isinstance(found, Unavailable)
    assert (found.reason, "no space left" in found.message) == ("Failing", True)
    assert left(tmp_path) == []


@pytest.mark.slow
def test_a_killed_user_of_the_service_leaves_none(without_socket: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import asyncio, os\nfrom setpoint.objects.clock import SystemClock\n"
        "from setpoint.workload.engine.choice import connect\n"
        "async def main():\n"
        "    engine = await connect(SystemClock(), os.environ, starts=True)\n"
        "    async for _ in engine.events():\n"
        "        print('follows', flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], env=without_socket, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"follows\n"
        assert len(services(tmp_path)) == 1
        user.kill()
    until(lambda: left(tmp_path) == [])


@pytest.mark.slow
async def test_dockers_own_client_carries_the_connection(tmp_path: Path, carrier: Path, podman: Service) -> None:
    docker = shutil.which("docker")
    if docker is None:
        pytest.skip("Docker's client is not installed")
    # Docker's client starts `ssh`, which here connects to Podman.
    (tmp_path / "socket").write_text(str(podman.socket))
    carrier.rename(tmp_path / "ssh")
    (tmp_path / "docker").write_text(f'#!/bin/sh\nPATH="{tmp_path}:$PATH" exec {docker} "$@"\n')
    (tmp_path / "docker").chmod(0o755)
    environ = {"DOCKER_HOST": "ssh://me@far", "PATH": str(tmp_path)}
    engine = await connect(SystemClock(), environ)
    assert isinstance(engine, Engine), engine
    assert engine.version.name == "podman"
    await engine.close()
    assert "docker system dial-stdio" in (tmp_path / "calls").read_text()
