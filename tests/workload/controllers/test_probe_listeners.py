"""Probes whose port another process answers, with real processes: only an answer of the own process tree counts."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.ports import free_ports
from tests.workload.app import PYTHON, app, condition_of

from setpoint.machine.linux_sockets import _by_table, listening
from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object
from setpoint.workload.controllers import probe_listeners
from setpoint.workload.controllers.probe_listeners import Listeners
from setpoint.workload.process.identity import identity_of
from setpoint.workload.process.listeners import Holder, foreign_holder
from setpoint.workload.process.processes import Running

SERVES = """
import http.server, sys
host, port, status = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(status)
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer((host, port), Handler)
print("up", flush=True)
server.serve_forever()
"""
# Waits for a file, then serves as the test says: itself, in a child, or in a daemon.
WAITS = "import os, sys, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"
ITSELF = f"{WAITS}exec({SERVES!r})"
CHILD = f"{WAITS}import subprocess\nsubprocess.run([sys.executable, '-c', {SERVES!r}, *sys.argv[1:]])"
DAEMON = f"""{WAITS}
import subprocess
subprocess.Popen([sys.executable, '-c', {SERVES!r}, *sys.argv[1:]], start_new_session=True, **OPTIONS)
if os.fork():
    time.sleep(600)
"""
INHERITED = f"""{WAITS}
import socket, subprocess
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
code = "import socket, sys; s = socket.socket(fileno=int(sys.argv[1]))\\nwhile True: s.accept()[0].close()"
child = subprocess.Popen([sys.executable, "-c", code, str(server.fileno())], pass_fds=[server.fileno()])
server.close()
child.wait()
"""


@contextmanager
def foreign(port: int, host: str = "127.0.0.1", status: int = 200) -> Iterator[int]:
    """A process outside of the control plane that serves at a port; its pid."""
    with subprocess.Popen([PYTHON, "-c", SERVES, host, str(port), str(status)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def probe(kind: str, port: int) -> Object:
    how: dict[str, Object] = {
        "TCP": {"tcpProbe": {"address": "127.0.0.1", "port": str(port)}},
        "HTTP": {"httpProbe": {"url": f"http://127.0.0.1:{port}/"}},
    }
    return {"name": "up", "type": kind, "schedule": {"interval": "200ms"}, **how[kind]}


@pytest.mark.parametrize(("kind", "status"), [("TCP", 200), ("HTTP", 200), ("HTTP", 404)])
async def test_an_answer_of_a_foreign_process_does_not_count(tmp_path: Path, kind: str, status: int) -> None:
    (port,) = free_ports(1)
    async with app(tmp_path) as world:
        with foreign(port, status=status) as pid:
            args = ["127.0.0.1", str(port), "200"]
            await world.python("web", ITSELF, args=args, healthProbes=[probe(kind, port)])
            found = await world.ready("Executable", "web", "False", "ProbeFailed")
            message = condition_of(found, "Ready")["message"]
            assert f"port {port} is answered by pid {pid} (python" in message
            assert "which is not part of this service" in message
            assert found["status"]["healthProbeResults"][0]["outcome"] == "Failure"
        (tmp_path / "go").touch()
        await world.ready("Executable", "web")


@pytest.mark.parametrize(
    "code", [CHILD, DAEMON.replace("OPTIONS", "{}"), DAEMON.replace("OPTIONS", "{'env': {}}"), INHERITED]
)
async def test_an_answer_of_any_process_of_the_tree_counts(tmp_path: Path, code: str) -> None:
    (port,) = free_ports(1)
    (tmp_path / "go").touch()
    async with app(tmp_path) as world:
        await world.python("web", code, args=["127.0.0.1", str(port), "200"], healthProbes=[probe("TCP", port)])
        await world.ready("Executable", "web")


@pytest.mark.parametrize(
    ("own", "other", "is_ready"), [("127.0.0.1", "0.0.0.0", True), ("0.0.0.0", "127.0.0.1", False)]
)
async def test_the_more_specific_address_answers(tmp_path: Path, own: str, other: str, is_ready: bool) -> None:
    (port,) = free_ports(1)
    (tmp_path / "go").touch()
    code = ITSELF.replace("server = http", "http.server.HTTPServer.allow_reuse_port = True; server = http")
    reusing = SERVES.replace("server = http", "http.server.HTTPServer.allow_reuse_port = True; server = http")
    async with app(tmp_path) as world:
        with subprocess.Popen([PYTHON, "-c", reusing, other, str(port), "200"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                await world.python("web", code, args=[own, str(port), "200"], healthProbes=[probe("TCP", port)])
                await world.first_line("web")
                await world.ready(
                    "Executable", "web", "True" if is_ready else "False", "" if is_ready else "ProbeFailed"
                )
            finally:
                process.kill()


async def test_the_process_table_is_read_once_for_each_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = []

    def check(*args: Any) -> Holder | None:
        checks.append(args)
        return foreign_holder(*args)

    monkeypatch.setattr(probe_listeners, "foreign_holder", check)
    (port,) = free_ports(1)
    with foreign(port) as pid:
        identity = identity_of(pid)
        assert identity is not None
        listeners = Listeners(Running(1, identity, None), SystemClock())
        for _ in range(5):
            assert await listeners.problem("127.0.0.1", port) == ""
        assert len(checks) == 1
    with foreign(port) as other:
        listeners.forget("127.0.0.1", port)
        assert f"pid {other}" in await listeners.problem("localhost", port)
        assert f"pid {other}" in await listeners.problem("localhost", port)
        assert len(checks) == 2


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_the_table_lists_the_same_sockets_as_netlink(host: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        try:
            server.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no address {host}")
        server.listen()
        port = server.getsockname()[1]
        (found,) = listening(port)
        assert (found.address, found.key) == (host, os.fstat(server.fileno()).st_ino)
        assert list(_by_table(port)) == [found]
