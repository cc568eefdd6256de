"""A control plane in real time gives requests of other processes priority over the reconciles in its process."""

import asyncio
from datetime import UTC, datetime

from tests.controller.core.worlds import config_map
from tests.plane.test_plane import connect
from tests.server.edge.edge import soon

from setpoint.cache.cache import Cache
from setpoint.client.request_priority import REQUESTS_PER_RECONCILE, RequestPriority
from setpoint.controller.context import Context
from setpoint.controller.controller import GRACEFUL_SECONDS, Controller
from setpoint.controller.request import Request
from setpoint.objects.clock import ManualClock
from setpoint.plane import ControlPlane

ANSWERS, WORKERS = 5 * REQUESTS_PER_RECONCILE, 4


async def test_requests_over_a_socket_let_the_share_of_reconciles_start() -> None:
    reconciled: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        if request.namespace == "default":
            reconciled.append(request.name)

    async with ControlPlane(system=False) as plane:
        # The time stands still, so that only answered requests let reconciles start.
        priority = RequestPriority(ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        plane.services.priority = priority
        await plane.listen("127.0.0.1", 0, tls=False)
        cache = Cache(plane.client())
        controller = Controller("counting", reconcile, kind="v1/ConfigMap", concurrency=WORKERS)
        running = asyncio.ensure_future(controller.run(cache))
        for number in range(2 * ANSWERS):
            await cache.client.create(config_map(f"own-{number}"))
        await soon(lambda: len(reconciled) == 2 * ANSWERS)  # no request of another process yet
        priority.received()
        for number in range(2 * ANSWERS):
            await cache.client.create(config_map(f"more-{number}"))
        before = len(reconciled)
        await soon(lambda: len(controller.queue.working()) == WORKERS)
        other = await connect(plane)
        for _ in range(ANSWERS):
            await other.ask("/version")
        other.close()
        await soon(lambda: len(reconciled) == before + ANSWERS // REQUESTS_PER_RECONCILE)
        running.cancel()
        async with asyncio.timeout(GRACEFUL_SECONDS / 2):  # the end does not wait for reconciles that have not started
            await asyncio.gather(running, return_exceptions=True)
        await cache.close()


async def test_controllers_in_virtual_time_have_no_priority_to_wait_for() -> None:
    async with ControlPlane(clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC))) as plane:
        assert plane.services.priority is None
        assert plane.client().priority is None
