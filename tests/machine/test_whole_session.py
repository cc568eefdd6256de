"""A whole session with the portable process layer uses no function of Linux, in any of its processes."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.machine import linux_functions
from tests.ports import free_ports

pytestmark = pytest.mark.slow
APP = """
app: audited
services:
  web:
    run: [{python}, serve.py, "${{port.http}}"]
    ports: {{ http: {port} }}
    ready: {{ tcp: true, every: 1s }}
    restart: {{ on: failure, backoff: 10ms..20ms }}
    watch: {{ paths: [serve.py] }}
  daemon: {{ run: [sh, -c, "sleep 1000 & wait"] }}
"""
SERVE = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("serves", flush=True)
while True:
    if server.accept()[0].recv(5) == b"crash":
        sys.exit(7)
"""


class Commands:
    """Commands in the directory of an app, each recorded for functions of Linux."""

    def __init__(self, directory: Path, hook: Path, **environ: str) -> None:
        self._directory = directory
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SETPOINT")},
            **environ,
            "XDG_STATE_HOME": str(directory / "state"),
            "PYTHONPATH": str(hook),
            "SETPOINT_RESIDENT": "off",
        }

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "setpoint", *words],
            cwd=self._directory,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def until(self, condition: Callable[[str], bool], *words: str) -> str:
        for _ in range(200):
            if condition(found := self.run(*words)):
                return found
        pytest.fail(f"{words}: {found}")


def whole_session(tmp_path: Path, **environ: str) -> list[str]:
    """Starts an app, crashes, restarts and changes it, reads its logs and metrics, and ends it. Returns the
    records of all processes."""
    (port,) = free_ports(1)
    app, hook = tmp_path / "app", tmp_path / "hook"
    app.mkdir()
    found = linux_functions.install(hook)
    (app / "setpoint.yaml").write_text(APP.format(python=sys.executable, port=port))
    (app / "serve.py").write_text(SERVE)
    commands = Commands(app, hook, **environ)

    def lives(number: int) -> Callable[[str], bool]:
        return lambda text: text.count("serves") >= number

    commands.run("up", "-d")
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"crash")
        commands.until(lives(2), "logs", "web")
        assert "7" in commands.run("why", "web")
        commands.run("restart", "web")
        commands.until(lives(3), "logs", "web")
        (app / "serve.py").write_text(SERVE + "# changed\n")
        commands.until(lives(4), "logs", "web")
        commands.run("up", "-d")
        for words in (("ps",), ("top",), ("get", "--raw", "/metrics")):
            commands.run(*words)
    finally:
        commands.run("down")
    return found.read_text().splitlines()


def test_a_whole_session_with_the_portable_layer_uses_no_function_of_linux(tmp_path: Path) -> None:
    pytest.importorskip("psutil", reason="the portable layer needs psutil")
    pytest.importorskip("watchfiles", reason="the portable layer needs watchfiles")
    records = whole_session(tmp_path, SETPOINT_PORTABLE="1")
    assert [line for line in records if line.startswith("USED")] == []
    # The host of the session, the guardian and the commands were all recorded.
    for part in ("setpoint.session.standby", "guardian", "up -d", "down"):
        assert any(part in line for line in records if line.startswith("RUNS")), records


def test_the_same_session_with_the_layer_of_linux_is_caught(tmp_path: Path) -> None:
    if sys.platform != "linux" or not hasattr(signal, "pidfd_send_signal"):
        pytest.skip("the layer of Linux needs Linux")
    records = whole_session(tmp_path)
    used = {line.split()[1] for line in records if line.startswith("USED")}
    assert {"pidfd_open", "memfd_create", "inotify_init1", "netlink", "prctl"} <= used
    assert any(each.startswith("/proc/") for each in used)
