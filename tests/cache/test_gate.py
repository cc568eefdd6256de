"""While a server does not answer at all, one asks for all, and everybody can see it."""

import asyncio

import pytest
from tests.cache.faults import CONFIG_MAP, World, config_map, names

from setpoint.client.transport import Call, TransportError

REFUSED = TransportError("connection refused", sent=False)


async def out(world: World) -> list[Call]:
    """Takes the server away, and gives what it is asked from then on."""
    asked: list[Call] = []

    def refuse(call: Call) -> TransportError:
        asked.append(call)
        return REFUSED

    world.faults.refuse = refuse
    world.faults.cut()
    await world.until(lambda: not world.cache.gate.is_open)
    return asked


@pytest.mark.feature("E38")
async def test_while_the_server_is_out_one_small_question_is_asked_for_all_and_then_all_go_on(world: World) -> None:
    kinds = (CONFIG_MAP, "v1/Secret", "v1/Service", "v1/Pod")
    informers = [await world.followed(kind) for kind in kinds]
    asked = await out(world)
    assert "connection refused" in world.cache.gate.problem
    await world.advance(60)
    asked.clear()
    await world.advance(600)
    assert {call.path for call in asked} == {"/version"}
    assert len(asked) < 200  # one in 15 s, which the client itself tries a few times
    await world.client.create(config_map("meanwhile"))
    world.faults.refuse = lambda call: None
    await world.until(lambda: world.cache.gate.is_open, 16)
    await world.until(lambda: all(informer.state == "watching" for informer in informers), 1)
    assert names(informers[0]) == ["meanwhile"]
    assert world.cache.gate.problem == ""


@pytest.mark.feature("E38", "G21")
async def test_waiting_for_a_server_that_is_out_can_be_cancelled(world: World) -> None:
    informer = await world.followed()
    await out(world)
    waiting = asyncio.ensure_future(world.cache.gate.wait_open())
    await world.settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    # The cache ends at once, though the server never comes back.
    await world.cache.close()
    assert informer.state == "stopped"


@pytest.mark.feature("E38")
async def test_one_that_refuses_is_there_and_keeps_nobody_waiting(world: World) -> None:
    await world.followed()

    def refuse(call: Call) -> TransportError | None:
        return REFUSED if call.path.endswith("/configmaps") else None

    world.faults.refuse = refuse
    world.faults.cut()
    await world.advance(60)
    assert world.cache.gate.is_open
