"""Who runs processes: Setpoint as `setpoint serve --workloads`, honcho and supervisord. Each is told the same commands
in its own way, and is some processes whose memory and CPU can be counted without what it runs for others."""

import asyncio
import http.client
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from setpoint.client.client import Client
from setpoint.client.loop import loop_factory
from setpoint.workload.process.process_table import ProcessTable

GROUP = "usvc-dev.developer.microsoft.com/v1"
_CREATORS = 16


class Rival(Protocol):
    """One that runs processes."""

    name: str

    def start(self) -> None:
        """Has it run, and know what it is to run."""

    def run(self) -> None:
        """Has it start everything; returns when it was told so."""

    def pids(self) -> list[int]:
        """Its own processes, without those that it runs for others."""

    def stop(self) -> None:
        """Ends it and all that it runs."""


class Ours:
    """The control plane is there; the processes are objects that a client creates."""

    name = "ours"

    def __init__(self, folder: Path, commands: list[str], restart: bool = False) -> None:
        self._folder, self._commands, self._restart = folder, commands, restart
        self._runner = asyncio.Runner(loop_factory=loop_factory())

    def start(self) -> None:
        kubeconfig = self._folder / "kubeconfig"
        environment = {**os.environ, "XDG_STATE_HOME": str(self._folder), "TMPDIR": str(self._folder)}
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "setpoint", "serve", "--workloads", "--plain-http"),
                *("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith(b"ready ")
        self._client = Client.from_kubeconfig(kubeconfig)
        self._runner.run(self._create("warm", ["true"]))

    def run(self) -> None:
        self._runner.run(self._create("process", self._commands))

    async def _create(self, prefix: str, commands: list[str]) -> None:
        waiting = list(enumerate(commands))

        async def create() -> None:
            while waiting:
                number, command = waiting.pop()
                spec: dict[str, Any] = {"executablePath": "/bin/sh", "args": ["-c", command]}
                if self._restart:
                    spec |= {"restartPolicy": "Always", "restartBackoff": {"initial": "1ms", "max": "1ms"}}
                metadata = {"name": f"{prefix}-{number}"}
                await self._client.create(
                    {"apiVersion": GROUP, "kind": "Executable", "metadata": metadata, "spec": spec}
                )

        await asyncio.gather(*(create() for _ in range(_CREATORS)))

    def apply(self, *objects: dict[str, Any]) -> None:
        """Creates other objects."""
        for each in objects:
            self._runner.run(self._client.create(each))

    def port_of(self, service: str) -> int:
        """Where a Service is."""
        found = self._runner.run(
            self._client.wait_for(
                f"{GROUP}/Service", service, until=lambda tree: bool((tree.get("status") or {}).get("effectivePort"))
            )
        )
        assert found is not None
        port: int = found["status"]["effectivePort"]
        return port

    def pids(self) -> list[int]:
        # Its children are guardians; the processes are theirs.
        return [self._process.pid, *_children(self._process.pid)]

    def stop(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()
        _end(self._process)


class Honcho:
    """It has no daemon: it starts what its Procfile says, and ends with the first of it that ends."""

    name = "honcho"

    def __init__(self, folder: Path, commands: list[str]) -> None:
        self._procfile = folder / "Procfile"
        self._procfile.write_text("".join(f"p{number}: {text}\n" for number, text in enumerate(commands)))

    def start(self) -> None:
        """There is nothing to do before it runs."""

    def run(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "honcho", "start", "-f", str(self._procfile)], stdout=subprocess.DEVNULL
        )

    def pids(self) -> list[int]:
        # Every process has one of honcho's own above it.
        return [self._process.pid, *_children(self._process.pid)]

    def stop(self) -> None:
        # Asked to end while it starts, it fails and leaves everything running.
        for pid in ProcessTable().descendants([self._process.pid]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


class Supervisord:
    """Its programs are in its configuration; it is there, and is told to start them."""

    name = "supervisord"

    def __init__(self, folder: Path, commands: list[str], restart: bool = False) -> None:
        self._socket = folder / "supervisor.sock"
        self._config = folder / "supervisord.conf"
        programs = "".join(
            f"[program:p{number}]\ncommand=/bin/sh -c '{text}'\nautostart=false\nstartsecs=0\n"
            f"autorestart={'true' if restart else 'false'}\n"
            for number, text in enumerate(commands)
        )
        self._config.write_text(
            f"[unix_http_server]\nfile={self._socket}\n"
            f"[supervisord]\nlogfile={folder}/log\npidfile={folder}/pid\nchildlogdir={folder}\nminfds=2000\n"
            "[rpcinterface:supervisor]\n"
            "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n" + programs
        )

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not self._socket.exists():
            assert self._process.poll() is None, "supervisord has ended"
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)

    def run(self) -> None:
        with xmlrpc.client.ServerProxy("http://localhost", transport=_AtSocket(self._socket)) as server:
            server.supervisor.startAllProcesses(False)

    def pids(self) -> list[int]:
        return [self._process.pid]

    def stop(self) -> None:
        _end(self._process)


class _AtSocket(xmlrpc.client.Transport):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        made = http.client.HTTPConnection("localhost")
        made.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.sock.connect(str(self._path))
        return made


def missing(name: str) -> str:
    """Why a rival cannot take part; nothing: it can."""
    module = {"honcho": "honcho", "supervisord": "supervisor"}[name]
    if importlib.util.find_spec(module) is None:
        return f"workloads: {name} is left out, it is not installed (pip install {module})"
    return ""


@contextmanager
def running(rival: Rival) -> Iterator[Rival]:
    rival.start()
    try:
        yield rival
    finally:
        rival.stop()


def memory(pids: list[int]) -> float:
    """Mebibytes, with a share of what several of them share."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += float(line.split()[1]) / 1024
    return total


def cpu(pids: list[int]) -> float:
    """Seconds that they have spent up to now, finer than the ticks of the usual file."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(task.read_text().split()[0])
    return total / 1e9


def _children(pid: int) -> list[int]:
    return [each.pid for each in ProcessTable().stats.values() if each.parent == pid]


def _end(process: "subprocess.Popen[Any]") -> None:
    process.send_signal(signal.SIGTERM)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
