"""Managers on a real server in one process, and patience that ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Answer, Call
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = "v1/ConfigMap"
PATIENCE = 10.0


def config_map(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


async def until(is_so: Callable[[], bool]) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.002)


class Log:
    """What happened, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def controller(self, name: str, **options: Any) -> Controller:
        """A controller of ConfigMaps that writes down what it reconciles."""

        async def reconcile(ctx: Context, request: Request) -> None:
            self.lines.append(f"{name} {request.name}")

        return Controller(name, reconcile, kind=CONFIG_MAP, namespaces=["default"], **options)


@asynccontextmanager
async def running(manager: Manager, stop: asyncio.Event | None = None) -> AsyncIterator["asyncio.Future[None]"]:
    """A manager that runs, and is ended with the context if it has not ended yet."""
    task = asyncio.ensure_future(manager.run(stop))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def no_task_left() -> AsyncIterator[None]:
    """Sees that no task outlives what is done inside."""
    before = asyncio.all_tasks()
    yield
    for _ in range(20):
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - before
    assert not left, left


async def fetch(url: str, path: str, token: str = "") -> Answer:
    """Reads a page. Certificates are not looked at."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    transport = HttpTransport(endpoint(url, tls=tls if url.startswith("https") else None))
    try:
        return await transport.send(Call("GET", path, (), {"authorization": f"Bearer {token}"} if token else {}))
    finally:
        await transport.close()


@asynccontextmanager
async def new_plane() -> AsyncIterator[tuple[ControlPlane, Client]]:
    """Provides a control plane and a client of it. No task may be left."""
    async with no_task_left(), ControlPlane(system=False) as plane, plane.client() as client:
        yield plane, client


class Timed:
    """A server whose time the test moves."""

    def __init__(self, plane: ControlPlane, clock: ManualClock) -> None:
        self.plane = plane
        self.clock = clock
        self.client = plane.client()

    async def settle(self) -> None:
        for _ in range(150):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        while True:
            await self.settle()
            due = self.clock.next_deadline()
            if due is None or due > until:
                break
            self.clock.advance(due - self.clock.monotonic())
        self.clock.advance(until - self.clock.monotonic())
        await self.settle()


@asynccontextmanager
async def new_timed() -> AsyncIterator[Timed]:
    """Provides a server whose time the test moves. No task may be left."""
    clock = ManualClock(START)
    async with no_task_left(), ControlPlane(clock=clock, system=False) as plane:
        yield Timed(plane, clock)
