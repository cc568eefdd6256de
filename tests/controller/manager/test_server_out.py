"""A manager whose server is out: it says so where probes ask, goes on when it is back, and can be stopped meanwhile."""

import asyncio

import pytest
from tests.controller.core.hurry import HurriedClock
from tests.controller.manager.worlds import Log, config_map, fetch, running, until

from setpoint.client.client import Client
from setpoint.controller.manager import Manager
from setpoint.plane import ControlPlane
from setpoint.testing import Faults


@pytest.mark.feature("E38", "G21")
async def test_readiness_shows_an_outage_and_nobody_waits_for_its_end_to_stop(
    plane: ControlPlane, client: Client
) -> None:
    log, stop = Log(), asyncio.Event()
    faults = Faults(client)
    client = Client(faults, clock=HurriedClock())
    manager = Manager(client, controllers=[log.controller("maps")], health="127.0.0.1:0", preflight=False)

    async with running(manager, stop) as task:
        await until(lambda: manager.url_of("health") != "" and manager.controllers[0].working)
        url = manager.url_of("health")
        assert (await fetch(url, "/readyz/server")).status == 200
        with faults.down():
            await until(lambda: not manager.cache.gate.is_open)
            answer = await fetch(url, "/readyz/server")
            assert (answer.status, b"connection refused" in answer.body) == (500, True)
            assert (await fetch(url, "/healthz")).status == 200
        await until(lambda: manager.cache.gate.is_open)
        assert (await fetch(url, "/readyz/server")).status == 200
        await client.create(config_map("after"))
        await until(lambda: "maps after" in log.lines)
        with faults.down():
            await until(lambda: not manager.cache.gate.is_open)
            stop.set()
            await task
