"""kubectl's commands about containers: logs, exec, attach and port-forward, with scripted simulated pods."""

import os
import pty
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from shutil import which
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.clients.conftest import kubectl_program
from tests.clients.kubectl import Kubectl
from tests.clients.serving import SECONDS

from setpoint.objects.tree import Object
from setpoint.testing import (
    Behaviour,
    ContainerRun,
    ExecCall,
    ExecResult,
    LocalServer,
    LogLine,
    PortCall,
    PortReply,
    simulated,
)

pytestmark = pytest.mark.slow
# The first kubectl that opens WebSockets for commands by default.
WITH_WEBSOCKETS = 31
FORWARD = ("port-forward", "pod/web", ":8080", ":81", "--address", "127.0.0.1")
PIPES: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


async def command(call: ExecCall) -> ExecResult:
    """Behaves as some common programs."""
    match list(call.command):
        case ["cat"]:
            while data := await call.streams.read():
                await call.streams.write(data)
            return ExecResult()
        case ["exit", code]:
            return ExecResult(stderr=f"ends with {code}\n", exit_code=int(code))
        case ["tty"]:
            return ExecResult(stdout="a terminal\n" if call.tty else "not a tty\n")
        case words:
            return ExecResult(stdout=" ".join(words) + "\n")


def script(run: ContainerRun) -> Behaviour:
    """The first run of `crashing` ends soon, as those of `talking`; all others run for ever."""
    name = run.pod["metadata"]["name"]
    lines = [LogLine(0, f"{name} {run.container} run {run.restarts}")]
    if name == "crashing" and not run.restarts:
        return Behaviour(logs=lines, exit_code=1, after=0.1)
    if name.startswith("talking"):
        # A command that attaches sees no earlier lines, and starts late on a crowded machine.
        pause = 3.0 if name == "talking-again" else 0.2
        lines += [LogLine(each * pause, f"line {each}") for each in range(1, 4)]
        return Behaviour(logs=lines, exit_code=0, after=5 * pause)
    return Behaviour(logs=lines, exec=command, ports={8080: application})


def pod(name: str, *containers: str, scripted: str = "yes", policy: str = "Always") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"scripted": scripted}},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": each, "image": "i"} for each in containers or ("main",)],
        },
    }


@pytest.fixture(scope="module")
def nodes() -> Iterator[LocalServer]:
    with LocalServer(nodes=simulated(scripts={"scripted=yes": script})) as served:
        served.apply(pod("web"), pod("two", "one", "other"), pod("plain", scripted="no"))
        served.settle()
        yield served


@pytest.fixture
def kubectl(nodes: LocalServer, tmp_path: Path) -> Kubectl:
    """A kubectl with WebSockets: the one of the other tests, or a newer one on the path."""
    found = [
        Kubectl(each, nodes.kubeconfig, tmp_path, "default") for each in (kubectl_program(), which("kubectl")) if each
    ]
    return next((each for each in found if each.minor >= WITH_WEBSOCKETS), found[0])


def wait(nodes: LocalServer, name: str, is_reached: Callable[[Any], bool]) -> None:
    """Waits for a state of a pod."""
    end = time.monotonic() + SECONDS
    while not is_reached(nodes.client.get("v1/Pod", name, "default")["status"]):
        assert time.monotonic() < end, name
        time.sleep(0.02)


def test_logs_shows_the_lines_of_containers(kubectl: Kubectl, nodes: LocalServer) -> None:
    assert kubectl("logs", "web") == "web main run 0\n"
    assert kubectl("logs", "plain") == ""
    assert kubectl("logs", "web", "--tail=0") == ""
    assert kubectl("logs", "web", "--since=1h", "--limit-bytes=8") == "web main"
    assert re.fullmatch(r"20\S+\.\d{9}Z web main run 0\n", kubectl("logs", "web", "--timestamps"))
    assert sorted(kubectl("logs", "two", "--all-containers").splitlines()) == ["two one run 0", "two other run 0"]
    several = kubectl("logs", "-l", "scripted=yes", "--all-containers", "--prefix", "--ignore-errors")
    assert "[pod/two/other] two other run 0\n" in several
    assert "[pod/web/main] web main run 0\n" in several
    assert "container x is not valid for pod two" in kubectl.refused("logs", "two", "-c", "x")
    said = kubectl.refused("logs", "web", "--previous")
    assert 'previous terminated container "main" in pod "web" not found' in said


def test_logs_of_an_earlier_run(kubectl: Kubectl, nodes: LocalServer) -> None:
    nodes.apply(pod("crashing"))
    wait(nodes, "crashing", lambda status: status.get("containerStatuses", [{}])[0].get("restartCount") == 1)
    assert kubectl("logs", "crashing", "--previous") == "crashing main run 0\n"
    assert kubectl("logs", "crashing") == "crashing main run 1\n"


def test_logs_follows_until_the_end_of_the_container(kubectl: Kubectl, nodes: LocalServer) -> None:
    nodes.apply(pod("talking", policy="Never"))
    wait(nodes, "talking", lambda status: bool(status.get("startTime")))
    assert kubectl("logs", "talking", "-f") == "talking main run 0\nline 1\nline 2\nline 3\n"


def test_exec_passes_input_output_and_the_exit_code(kubectl: Kubectl) -> None:
    if kubectl.minor < WITH_WEBSOCKETS:
        pytest.skip("this kubectl knows only SPDY")
    assert kubectl("exec", "web", "--", "echo", "a", "b c") == "echo a b c\n"
    assert kubectl("exec", "-i", "web", "--", "cat", stdin="typed\n" * 10_000) == "typed\n" * 10_000
    assert kubectl("exec", "two", "-c", "other", "--", "tty") == "not a tty\n"
    done = kubectl.run("exec", "web", "--", "exit", "3")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("ends with 3\n")


def test_exec_of_an_unscripted_pod_says_how_to_script(kubectl: Kubectl) -> None:
    said = kubectl.refused("exec", "plain", "--", "ls")
    assert "answer them with a script, Behaviour(exec=FUNCTION)" in said


def test_exec_and_attach_have_terminals(kubectl: Kubectl, nodes: LocalServer) -> None:
    if kubectl.minor < WITH_WEBSOCKETS:
        pytest.skip("this kubectl knows only SPDY")
    assert "a terminal\r\n" in on_terminal(kubectl.command("exec", "-it", "web", "--", "tty"))
    nodes.apply(pod("talking-again", policy="Never"))
    wait(nodes, "talking-again", lambda status: bool(status.get("startTime")))
    assert "line 3" in kubectl("attach", "talking-again")


def application(call: PortCall) -> PortReply:
    if call.request.path == "/fail":
        raise ValueError("no such table")
    return PortReply(
        f"{call.run.pod['metadata']['name']} {call.request.method} {len(call.request.body)}" + "x" * 100_000
    )


def test_port_forward_connects_to_the_script_of_a_port(kubectl: Kubectl) -> None:
    """kubectl has SPDY inside of a WebSocket; each local connection is a connection to the port."""
    if kubectl.minor < WITH_WEBSOCKETS:
        pytest.skip("this kubectl knows only SPDY without a WebSocket")
    with subprocess.Popen(kubectl.command(*FORWARD), **PIPES) as forwarding:
        try:
            ports = [read_port(forwarding, port) for port in (8080, 81)]
            for number in range(5):
                with urlopen(f"http://127.0.0.1:{ports[0]}/", data=b"y" * 200_000 * number) as answer:
                    assert answer.read().startswith(f"web POST {200_000 * number}x".encode())
            with pytest.raises((URLError, ConnectionError, HTTPException)):
                urlopen(f"http://127.0.0.1:{ports[1]}/")
            said = ""
            while "81" not in said or "no script of a running container answers at port 81" not in said:
                assert forwarding.stderr is not None
                line = forwarding.stderr.readline()
                assert line, said
                said += line
        finally:
            forwarding.terminate()


def read_port(forwarding: "subprocess.Popen[str]", port: int) -> int:
    """The local port of a line such as `Forwarding from 127.0.0.1:40000 -> 8080`."""
    assert forwarding.stdout is not None
    line = forwarding.stdout.readline()
    found = re.search(r":(\d+) -> (\d+)", line)
    assert found is not None, line
    assert int(found[2]) == port
    return int(found[1])


def on_terminal(arguments: list[str]) -> str:
    """The output of a command that runs on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(arguments, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    found = b""
    try:
        while data := os.read(ours, 4096):
            found += data
    except OSError:
        pass  # the end of a terminal
    os.close(ours)
    assert process.wait(SECONDS) == 0, found
    return found.decode()
