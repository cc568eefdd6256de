"""A control plane that runs workloads, for tests: objects in, and what became of them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.processes import has_ended

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.client.transport import Call
from setpoint.machine.chosen import system
from setpoint.objects.tree import Object
from setpoint.workload.process.identity import Identity
from setpoint.workload.workloads import Workloads, WorkloadSettings

GROUP = "usvc-dev.developer.microsoft.com/v1"
PYTHON = sys.executable
# Ends when it is asked to, and says so.
WAITS = "import signal, sys; print('up', flush=True); signal.pause()"


class App:
    """What a test does with a control plane."""

    def __init__(self, plane: sp.ControlPlane, client: Client) -> None:
        self.plane, self.client = plane, client

    @property
    def workloads(self) -> Workloads:
        return self.plane.workloads

    async def make(self, kind: str, name: str, spec: Object, **metadata: Any) -> Object:
        """Creates an object."""
        tree = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
        return await self.client.create(tree)

    async def python(self, name: str, code: str = WAITS, **spec: Any) -> Object:
        """Creates an Executable that runs some Python."""
        metadata = {name: spec.pop(name) for name in ("annotations", "finalizers", "labels") if name in spec}
        spec = {"executablePath": PYTHON, "args": ["-c", code, *spec.pop("args", [])], **spec}
        return await self.make("Executable", name, spec, **metadata)

    async def get(self, kind: str, name: str) -> Object:
        return await self.client.get(f"{GROUP}/{kind}", name)

    async def patch(self, kind: str, name: str, **change: Any) -> Object:
        changed: Object = await self.client.patch(f"{GROUP}/{kind}", merge(change), name)
        return changed

    async def delete(self, kind: str, name: str) -> None:
        """Deletes an object and waits until it is gone."""
        await self.client.delete(f"{GROUP}/{kind}", name)
        await self.until(kind, name, lambda tree: tree is None)

    async def until(self, kind: str, name: str, holds: Callable[[Any], bool], seconds: float = 60.0) -> Any:
        """The object, as soon as something holds of it; None: it is gone."""
        found: Any = None

        def check(tree: Any) -> bool:
            nonlocal found
            found = tree
            return holds(tree)

        try:
            await self.client.wait_for(f"{GROUP}/{kind}", name, until=check, timeout=seconds)
        except TimeoutError:
            raise AssertionError(f"{kind} {name} is still: {found and found.get('status')}") from None
        return found

    async def state(self, kind: str, name: str, *states: str) -> Object:
        """The object, as soon as it is in one of these states."""
        found: Object = await self.until(
            kind, name, lambda tree: tree is not None and (tree.get("status") or {}).get("state") in states
        )
        return found

    async def ready(self, kind: str, name: str, status: str = "True", reason: str = "") -> Object:
        """The object, as soon as its condition Ready is so."""

        def holds(tree: Object | None) -> bool:
            condition = condition_of(tree, "Ready")
            return condition.get("status") == status and reason in ("", condition.get("reason"))

        found: Object = await self.until(kind, name, holds)
        return found

    async def log(self, name: str, kind: str = "executables", **parameters: Any) -> str:
        """The log of an object."""
        query = [(key, str(value).lower()) for key, value in parameters.items()]
        path = f"/apis/{GROUP}/{kind}/{name}/log"
        async with self.client.stream(Call("GET", path, query)) as stream:
            return b"".join([piece async for piece in stream]).decode()

    async def first_line(self, name: str) -> str:
        """The first line that a process writes, as soon as it is there."""
        async with asyncio.timeout(60):
            while not (text := await self.log(name)):
                await asyncio.sleep(0.01)
        return text.splitlines()[0]


def condition_of(tree: Object | None, kind: str) -> Object:
    """A condition of an object; empty where it has none of that type."""
    conditions = ((tree or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})


@asynccontextmanager
async def app(directory: Path, *, store: str = "memory", **settings: Any) -> AsyncIterator[App]:
    """A control plane that runs workloads, with its files in a directory."""
    settings.setdefault("records", directory / "records.sqlite3")
    settings.setdefault("working_directory", directory)
    # Ports are derived from this name. Tests that run at the same time must not take each other's ports.
    settings.setdefault("workload_id", str(directory))
    chosen = WorkloadSettings(directory / "run", **settings)
    async with sp.ControlPlane(store, workloads=chosen) as plane, plane.client() as client:
        yield App(plane, client)


async def gone(pid: int, seconds: float = 60.0) -> None:
    """Returns when a process is no more."""
    async with asyncio.timeout(seconds):
        while not has_ended(pid):
            await asyncio.sleep(0.01)


def identity_time(identity: Identity) -> str:
    """The start time of a process in DCP's format for Linux: the time since boot, counted from the year 1."""
    since = timedelta(milliseconds=round(system.since_boot(identity.started) * 1000))
    return (datetime.min + since).isoformat(timespec="milliseconds") + "Z"
