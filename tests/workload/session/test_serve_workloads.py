"""`setpoint serve --workloads`, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.debian import require
from tests.workload.session.instances import GROUP, Instance, is_alive, serving, until

pytestmark = pytest.mark.slow

# A tree that does not want to go: its child is a daemon, and both are deaf to SIGTERM.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""
STUBBORN_SPEC = {"executablePath": sys.executable, "args": ["-c", STUBBORN], "stopTimeout": "100ms"}


def _stubborn(server: Instance) -> list[int]:
    """Has a stubborn tree run; its pids."""
    server.make("Executable", "stubborn", STUBBORN_SPEC)
    pid = server.state("Executable", "stubborn", "Running")["pid"]

    def said() -> str:
        with server.open("GET", f"{GROUP}/executables/stubborn/log") as log:
            text: str = log.read().decode().strip()
        return text

    return [pid, int(until(said))]


def test_kubectl_shows_what_runs_and_tells_its_story(tmp_path: Path) -> None:
    require("kubectl", "kubernetes-client")
    with serving(tmp_path) as server:
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}

        def asked(*arguments: str) -> str:
            done = subprocess.run(["kubectl", *arguments], capture_output=True, text=True, env=environment, timeout=30)
            assert done.returncode == 0, done.stderr
            return done.stdout

        server.make("Executable", "web", {"executablePath": "sleep", "args": ["1000"]})
        pid = server.state("Executable", "web", "Running")["pid"]
        heading, line = asked("get", "exe").splitlines()
        assert heading.split()[:4] == ["NAME", "STATE", "HEALTH", "PID"]
        assert line.split()[:4] == ["web", "Running", "Healthy", str(pid)]
        until(lambda: "Started" in asked("describe", "exe", "web").partition("Events:")[2])
        assert asked("get", "--raw", "/admin/execution").startswith('{"status":"Running"')
        assert asked("get", "--raw", f"{GROUP}/executables/web/log") == ""
        asked("delete", "exe", "web")
        assert not is_alive(pid)


def test_asked_to_stop_it_leaves_nothing_running(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        pids = _stubborn(server)
        server.process.terminate()
        assert server.process.wait(30) == 0
        assert not any(map(is_alive, pids))


def test_killed_it_leaves_nothing_running(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        pids = _stubborn(server)
        server.process.kill()
        until(lambda: not any(map(is_alive, pids)))


def test_a_client_can_end_it(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.make("Executable", "web", {"executablePath": "sleep", "args": ["1000"]})
        pid = server.state("Executable", "web", "Running")["pid"]
        server.end("Stopping")
        assert server.process.wait(30) == 0
        assert not is_alive(pid)


def test_started_again_on_its_store_it_runs_what_it_ran_before(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path / 'store.sqlite3'}")
    with serving(tmp_path, *store) as server:
        server.make("Executable", "web", {"executablePath": "sleep", "args": ["1000"]})
        first = server.state("Executable", "web", "Running")["pid"]
        server.process.terminate()
        server.process.wait(30)
    with serving(tmp_path, *store) as server:
        until(lambda: server.state("Executable", "web", "Running")["pid"] != first)
        assert is_alive(server.state("Executable", "web", "Running")["pid"])
