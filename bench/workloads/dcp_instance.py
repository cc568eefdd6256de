"""An instance of DCP's API server with its controllers: Setpoint's or DCP's own, as a process of its own."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from bench.workloads import accounts
from setpoint.client.client import Client
from setpoint.client.loop import loop_factory
from setpoint.client.transport import Call

_GROUP = "usvc-dev.developer.microsoft.com/v1"
PATH = f"/apis/{_GROUP}"
_JSON = {"content-type": "application/json", "accept": "application/json"}
# The time limit of each step of a measure.
PATIENCE = 300.0
_LOOK_SECONDS = 0.02
T = TypeVar("T")


class Program(NamedTuple):
    """A program with DCP's command line."""

    name: str
    command: list[str]


def programs() -> list[Program]:
    """Returns Setpoint, and DCP if the variable DCP names the directory of its executables, or DCP_SOURCE its source
    with the executables in `bin`."""
    found = [Program("setpoint", [sys.executable, "-m", "setpoint.cli.dcp"])]
    source = os.environ.get("DCP_SOURCE")
    directory = os.environ.get("DCP") or (str(Path(source) / "bin") if source else "")
    if directory and os.access(Path(directory) / "dcp", os.X_OK):
        found.append(Program("dcp", [str(Path(directory) / "dcp")]))
    return found


class Instance:
    """A running instance, and a client."""

    def __init__(self, program: Program, folder: Path) -> None:
        self._folder = folder
        self._kubeconfig = folder / "kubeconfig"
        self._runner = asyncio.Runner(loop_factory=loop_factory())
        began = time.perf_counter()
        with open(folder / "output", "wb") as output:
            self._process = subprocess.Popen(
                [*program.command, "start-apiserver", "--kubeconfig", str(self._kubeconfig)],
                stdout=output,
                stderr=output,
                env=self._environ(),
            )
        while not self._kubeconfig.exists():
            if self._process.poll() is not None:
                raise OSError(f"the instance ended: {(folder / 'output').read_text(errors='replace')[-800:]}")
            self._pause(began)
        self.start_seconds = time.perf_counter() - began
        self.client: Client = self.run(self._connect())

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(asyncio.wait_for(task, PATIENCE))

    async def create(self, kind: str, name: str, spec: Mapping[str, object]) -> None:
        """Creates an object without discovery: DCP has no core group."""
        tree = {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self.client.send(Call("POST", f"{PATH}/{kind.lower()}s", (), _JSON, msgspec.json.encode(tree)))

    async def get(self, path: str) -> Any:
        """Returns an object, or a list."""
        return msgspec.json.decode((await self.client.send(Call("GET", f"{PATH}/{path}", (), _JSON))).body)

    def pids(self) -> list[int]:
        return accounts.own_processes(str(self._folder))

    def spent(self) -> float:
        """Returns the processor time of the instance up to now."""
        pids = self.pids()
        return accounts.seconds(pids) + accounts.seconds_of_children(pids)

    def stop(self) -> float:
        """Shuts the instance down by a request, as its clients do. Returns the seconds until all of its processes have
        ended."""
        began = time.perf_counter()
        self.run(self._request_stop())
        while self._process.poll() is None:
            self._pause(began)
        while self.pids():
            self._pause(began)
        return time.perf_counter() - began

    def close(self) -> None:
        """Kills the processes that are left."""
        self.run(self.client.close())
        self._runner.close()
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        mark = str(self._folder)
        for pid in (*accounts.own_processes(mark), *accounts.services(mark)):
            subprocess.run(["kill", "-9", str(pid)], check=False, stderr=subprocess.DEVNULL)

    def _environ(self) -> dict[str, str]:
        place = str(self._folder)
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith("DCP")},
            accounts.MARK: place,
            "DCP_SESSION_FOLDER": place,
            "DCP_STATE_STORE_PATH": str(self._folder / "records"),
            "XDG_STATE_HOME": place,
            "TMPDIR": place,
        }

    @staticmethod
    def _pause(began: float) -> None:
        if time.perf_counter() - began > PATIENCE:
            raise TimeoutError(f"no result after {PATIENCE:g} s")
        time.sleep(_LOOK_SECONDS)

    async def _connect(self) -> Client:
        return Client.from_kubeconfig(self._kubeconfig)

    async def _request_stop(self) -> None:
        body = b'{"status": "Stopping"}'
        await self.client.transport.send(
            Call("PATCH", "/admin/execution", (), {"content-type": "application/merge-patch+json"}, body)
        )


@contextmanager
def running(program: Program) -> Iterator[Instance]:
    """Starts an instance in a directory of its own; afterwards no process of the instance is left."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        made = Instance(program, Path(name))
        try:
            yield made
        finally:
            made.close()
