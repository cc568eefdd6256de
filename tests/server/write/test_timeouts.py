"""Requests that name how long they may take: who is late is told so in time, and what was begun is finished."""

import asyncio

import pytest
from tests.server.write.api import CONFIG_MAPS, Answer, Api, config_map, new_api

from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

ALLOTTED = "Timeout: request did not complete within the allotted timeout"
CAPPED = "Timeout: request did not complete within requested timeout - context deadline exceeded"


class Slow(Plugin):
    """Takes a hundred seconds to look at what is created."""

    name = "Slow"

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.verb == "CREATE":
            await context.services.clock.sleep(100)


async def moved_on(api: Api, seconds: float) -> None:
    """Lets everybody get to where they wait, then moves time on, and lets them go on from there."""
    for step in (0.0, seconds, 0.0):
        api.clock.advance(step)
        for _ in range(10):
            await asyncio.sleep(0)


def late(api: Api, query: str) -> "asyncio.Task[Answer]":
    return asyncio.create_task(api("POST", CONFIG_MAPS, config_map(), query=query))


@pytest.mark.parametrize(
    ("query", "seconds", "message"),
    [
        ("timeout=5s", 5, ALLOTTED),
        ("timeout=1m30s", 34, CAPPED),
        ("timeout=0s", 34, CAPPED),
        ("timeout=-3s", 34, CAPPED),
        ("fieldManager=me&timeout=250ms", 0.25, ALLOTTED),
    ],
)
async def test_a_write_that_takes_too_long_is_answered_at_its_timeout_and_done_all_the_same(
    query: str, seconds: float, message: str
) -> None:
    async with new_api(admission=[Slow()]) as api:
        writing = late(api, query)
        await moved_on(api, seconds - 0.001)
        assert not writing.done()
        await moved_on(api, 0.001)
        answer = await writing
        assert (answer.status, answer.body["reason"], answer.body["message"]) == (504, "Timeout", message)
        assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 404
        await moved_on(api, 100)
        assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 200


async def test_what_is_ready_in_time_is_answered_as_ever(api: Api) -> None:
    assert (await api("POST", CONFIG_MAPS, config_map(), query="timeout=5s")).status == 201
    assert (await api("GET", CONFIG_MAPS, query="timeout=")).status == 200
    assert api.clock.next_deadline() is None


async def test_a_read_that_waits_for_what_is_not_written_yet_is_late_too(api: Api) -> None:
    reading = asyncio.create_task(api("GET", CONFIG_MAPS, query="resourceVersion=90000&timeout=1s"))
    await moved_on(api, 1)
    answer = await reading
    assert (answer.status, answer.body["message"]) == (504, ALLOTTED)
    await moved_on(api, 100)  # a late request is not cancelled, and gives up by itself


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", 'time: invalid duration "soon"'),
        ("10", 'time: missing unit in duration "10"'),
        ("3parsecs", 'time: unknown unit "parsecs" in duration "3parsecs"'),
    ],
)
async def test_a_timeout_that_is_no_duration_is_a_bad_request_before_anything_else(
    api: Api, text: str, why: str
) -> None:
    for path in (CONFIG_MAPS, "/api/v1/nothing", "/version"):
        answer = await api("GET", path, query=f"timeout={text}")
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
        assert answer.body["message"] == f"invalid timeout specified in the request URL - {why}"


async def test_a_caller_who_gives_up_takes_the_request_along() -> None:
    async with new_api(admission=[Slow()]) as api:
        writing = late(api, "timeout=5s")
        await moved_on(api, 1)
        writing.cancel()
        await moved_on(api, 200)
        assert writing.cancelled()
        assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 404
