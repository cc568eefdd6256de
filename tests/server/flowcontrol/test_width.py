"""How many seats requests take, and for how long."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.server.flowcontrol.crowd import MAPS, Crowd, crowd, soon
from tests.server.read.reader import MemorySink

from setpoint.objects.clock import ManualClock
from setpoint.server.access.flowcontrol.gate import Gate
from setpoint.server.access.flowcontrol.width import width
from setpoint.server.message import Request, Response, Seat

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("objects", "size", "seats"),
    [(0, 0, 1), (1, 10, 1), (100, 0, 1), (101, 0, 2), (950, 0, 10), (10_000, 0, 10), (3, 250_000, 3), (3, 10**9, 10)],
)
def test_a_list_takes_a_seat_for_a_hundred_objects_or_a_hundred_thousand_bytes(
    objects: int, size: int, seats: int
) -> None:
    assert width(objects, size) == seats


class Way:
    """An outlet that keeps the seats of answers."""

    is_disconnected = False

    def __init__(self) -> None:
        self.seats: list[Seat] = []

    def sending(self, request: Request, seat: Seat) -> bool:
        self.seats.append(seat)
        return True


def gate_of(server: Crowd) -> Gate:
    gate = server.server._gate
    assert gate is not None
    return gate


def seats(server: Crowd) -> Iterator[int]:
    """The seats that are taken for reads, and for writes."""
    return (pool.seated for pool in gate_of(server).pools.values())


async def ask(server: Crowd, way: Way, query: str = "", path: str = MAPS) -> Response:
    headers = {"authorization": "Bearer jane"}
    return await server.server(Request("GET", path, query, headers, outlet=way))


async def fill(server: Crowd, objects: int, size: int = 10) -> None:
    for number in range(objects):
        body = {"metadata": {"name": f"m{number:05}"}, "data": {"k": "x" * size}}
        assert (await server.ask("admin", MAPS, "POST", body)).status == 201


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 4),
        ("limit=100", 1),
        ("limit=150", 2),
        # A selector looks at all objects, however few it is to find.
        ("labelSelector=a%3Db", 4),
        ("labelSelector=a%3Db&limit=1", 4),
        ("fieldSelector=metadata.name%3Dm00001", 1),
        ("watch=true", 4),
        ("watch=true&resourceVersion=1", 1),
        ("watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=1", 1),
    ],
)
async def test_requests_take_seats_by_what_they_read_from_the_first_one_on(query: str, expected: int) -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server, 350)
        way = Way()
        taken = []
        gate = gate_of(server)
        found = gate.enter

        def enter(*arguments: object) -> object:
            seat = found(*arguments)  # type: ignore[arg-type]
            taken.append(next(seats(server)))
            return seat

        gate.enter = enter  # type: ignore[assignment, method-assign]
        await ask(server, way, query)
        assert max(taken) == expected
        for seat in way.seats:
            seat.release()
        assert list(seats(server)) == [0, 0]


async def test_bytes_count_as_soon_as_they_are_known() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server, 5, 90_000)
        way = Way()
        await ask(server, way)
        assert next(seats(server)) == 5
        [seat] = way.seats
        seat.release()
        seat.release()
        assert list(seats(server)) == [0, 0]


async def test_a_small_answer_holds_no_seat_after_it_is_made() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server, 1)
        way = Way()
        await ask(server, way)
        assert not way.seats
        assert list(seats(server)) == [0, 0]


async def test_no_request_needs_more_seats_than_its_flow_may_have() -> None:
    async with crowd(ManualClock(START), max_requests_inflight=8) as server:
        await fill(server, 1000)
        answers = await asyncio.gather(*(server.ask("jane", MAPS) for _ in range(5)))
        assert {response.status for response in answers} == {200}
        assert list(seats(server)) == [0, 0]


async def test_a_watch_holds_its_seats_until_its_initial_events_are_sent() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server, 350)
        way = Way()
        response = await ask(server, way, "watch=true")
        assert not isinstance(response.body, bytes | list)
        assert next(seats(server)) == 4
        sink = MemorySink()
        running = asyncio.create_task(response.body.run(sink))
        await soon()
        assert sum(frame.payload.count(b"ADDED") for frame in sink.frames) == 350
        assert next(seats(server)) == 0
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_write_holds_its_seats_while_watches_are_told_of_it() -> None:
    clock = ManualClock(START)
    async with crowd(clock) as server:
        running = []
        for _ in range(25):
            response = await server.ask("admin", f"{MAPS}?watch=true")
            assert not isinstance(response.body, bytes | list)
            running.append(asyncio.create_task(response.body.run(MemorySink())))
        await soon()
        assert (await server.make("jane", "a")).status == 201
        assert list(seats(server)) == [0, 3]
        await soon()
        clock.advance(1)
        await soon()
        assert list(seats(server)) == [0, 0]
        flow = next(flow for flow in gate_of(server)._flows.values() if flow.owner == "global-default/jane")
        assert flow.account.virtual >= 25 * 30e-6
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
