"""The system controllers of servers that share an etcd: one server runs them, and another takes over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from tests.store.etcd_server import require_etcd, shared_etcd

from setpoint.controller.fence import NotLeading
from setpoint.controller.leader import LEASE
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.plane.system_runner import ELECTION
from setpoint.system.catalog import MANAGER

START = datetime(2026, 1, 1, tzinfo=UTC)
_roots = count()


class Servers:
    """Servers over one etcd, each with a clock of its own: a server whose clock stands is one that is paused."""

    def __init__(self, stack: AsyncExitStack) -> None:
        require_etcd()
        self._store = f"etcd:http://{shared_etcd().endpoint}/elected-{next(_roots)}"
        self._stack = stack

    async def start(self) -> tuple[ControlPlane, ManualClock]:
        clock = ManualClock(START)
        plane = await self._stack.enter_async_context(ControlPlane(self._store, clock=clock))
        await plane.system_started()
        return plane, clock


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        yield Servers(stack)


async def until(condition: Callable[[], bool | Awaitable[bool]], clock: ManualClock | None = None) -> None:
    """Waits for a condition; with a clock, that clock advances by a little meanwhile, by less than a second in all."""
    left = 0.9
    while True:
        found = condition()
        if found is True or (not isinstance(found, bool) and await found):
            return
        if clock is not None and left > 0:
            clock.advance(0.05)
            left -= 0.05
        await asyncio.sleep(0.01)


async def lease(plane: ControlPlane) -> Object:
    async with plane.client() as client:
        return await client.get(LEASE, ELECTION.name, ELECTION.namespace)


async def deletes_namespaces(plane: ControlPlane) -> None:
    """Creates a namespace through a server, deletes it, and waits until the controllers have removed it."""
    async with plane.client() as client:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}})
        await client.delete("v1/Namespace", "short")

        async def is_gone() -> bool:
            try:
                await client.get("v1/Namespace", "short")
            except NotFound:
                return True
            return False

        await until(is_gone)


async def test_one_server_runs_the_controllers_for_all(servers: Servers) -> None:
    (first, _), (second, _) = await servers.start(), await servers.start()
    assert first.controllers
    assert not second.controllers
    await deletes_namespaces(second)
    await second.settle()  # does not wait for those of another server
    for plane in (first, second):
        async with plane.client() as client:
            [healthy] = (await client.get("v1/ComponentStatus", "controller-manager"))["conditions"]
            assert healthy["status"] == "True", healthy
            shown = (await client.raw("GET", "/metrics")).body.decode()
        led = int(plane is first)
        assert f'leader_election_master_status{{name="setpoint-system-controllers"}} {led}\n' in shown


async def test_a_server_that_stops_hands_over_at_once(servers: Servers) -> None:
    async with ControlPlane(servers._store, clock=ManualClock(START)) as first:
        await first.system_started()
        second, clock = await servers.start()
        assert not second.controllers
        held: Any = (await lease(second))["spec"]["holderIdentity"]
    # The time of the second server advances by less than an attempt takes.
    await until(lambda: bool(second.controllers), clock)
    spec = (await lease(second))["spec"]
    assert spec["holderIdentity"] not in ("", held)
    await deletes_namespaces(second)


async def test_a_paused_leader_is_replaced_and_writes_no_more(servers: Servers) -> None:
    (first, paused), (second, clock) = await servers.start(), await servers.start()
    runner = first._runner
    assert runner is not None
    assert runner.system is not None
    writer = runner.system.server.client_of(MANAGER)
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "e-", "namespace": "default"}}
    event["involvedObject"] = {"kind": "Namespace", "name": "default", "namespace": "default"}
    await writer.create(event)

    for _ in range(12):  # the lease lasts 15 s
        clock.advance(1)
        await asyncio.sleep(0.01)
    assert not second.controllers

    async def leads() -> bool:
        clock.advance(0.5)
        return bool(second.controllers)

    await until(leads)
    await deletes_namespaces(second)
    paused.advance(20)
    with pytest.raises(NotLeading):
        await writer.create(event)
    await until(lambda: not first.controllers)
    await first.system_started()
    assert second.controllers


async def test_the_controllers_start_again_when_the_term_begins_anew(servers: Servers) -> None:
    plane, clock = await servers.start()
    before = plane.controllers
    assert before
    clock.advance(30)  # longer than the lease: nobody else wanted it

    async def is_new() -> bool:
        clock.advance(0.5)
        return bool(plane.controllers) and plane.controllers[0] is not before[0]

    await until(is_new)
    await deletes_namespaces(plane)


async def test_a_server_without_controllers_takes_no_part() -> None:
    require_etcd()
    store = f"etcd:http://{shared_etcd().endpoint}/elected-{next(_roots)}"
    async with ControlPlane(store, system=False) as plane:
        with pytest.raises(NotFound):
            await lease(plane)


async def test_a_store_of_one_server_needs_no_election() -> None:
    async with ControlPlane() as plane:
        await plane.settle()
        assert plane.controllers
        with pytest.raises(NotFound):
            await lease(plane)
