"""The loop's time is shared out by what requests cost: in small slices, and first to those who have used the least."""

import asyncio
import json
from datetime import UTC, datetime
from time import thread_time
from typing import Any

import pytest
from tests.server.flowcontrol.crowd import LEVELS, MAPS, Crowd, crowd
from tests.server.read.reader import MemorySink

from setpoint.objects.clock import ManualClock
from setpoint.server.access.flowcontrol import cpu_meter
from setpoint.server.access.flowcontrol.cpu_meter import Metered
from setpoint.server.access.flowcontrol.seats import Account, Flow, Level, Pool, Share, Tally, Waiter
from setpoint.server.message import Request, Response

START = datetime(2026, 1, 1, tzinfo=UTC)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
OBJECTS = 600


async def turns_of(work: "asyncio.Task[Response]", most: int = 100_000) -> int:
    """How often the loop goes round until some work is done."""
    turns = 0
    while not work.done() and turns < most:
        turns += 1
        await asyncio.sleep(0)
    return turns


async def table(server: Crowd, user: str, path: str = MAPS) -> Response:
    headers = {"authorization": f"Bearer {user}", "accept": TABLE}
    path, _, query = path.partition("?")
    return await server.server(Request("GET", path, query, headers))


async def fill(server: Crowd, objects: int = OBJECTS) -> None:
    for number in range(objects):
        await server.make("admin", f"m{number:05}")


def body_of(response: Response) -> bytes:
    assert isinstance(response.body, bytes | list)
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


@pytest.mark.parametrize(
    ("user", "path", "method"),
    [
        ("quiet", f"{MAPS}/m00000", "GET"),
        ("quiet", MAPS, "POST"),
        ("system:serviceaccount:default:x", MAPS, "POST"),
        ("system:kube-controller-manager", LEASES, "POST"),
        ("system:kube-scheduler", MAPS, "GET"),
    ],
)
async def test_beside_fifty_queued_tables_of_one_user_another_is_served_within_a_few_turns(
    user: str, path: str, method: str
) -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        noisy = [asyncio.create_task(table(server, "noisy")) for _ in range(50)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert not any(task.done() for task in noisy)
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"} if path == LEASES else {}
        for number in range(10):
            body = {**kind, "metadata": {"name": f"n{number}"}} if method == "POST" else None
            one = path + ("?limit=1" if path == MAPS and method == "GET" else "")
            asked = asyncio.create_task(server.ask(user, one, method, body))
            assert await turns_of(asked) <= 6
            assert asked.result().status in (200, 201)
        assert not all(task.done() for task in noisy)
        assert {response.status for response in await asyncio.gather(*noisy)} == {200}


async def test_the_writes_of_a_level_do_not_wait_for_its_reads() -> None:
    """Both share the level's time, so neither may be first each time."""
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        noisy = [asyncio.create_task(table(server, "noisy")) for _ in range(20)]
        await asyncio.sleep(0)
        writes = [asyncio.create_task(server.make("noisy", f"w{number}")) for number in range(20)]
        await asyncio.gather(*writes)
        assert not all(task.done() for task in noisy)
        await asyncio.gather(*noisy)


@pytest.mark.parametrize("users", [("noisy", "system:serviceaccount:default:x"), ("system:kube-scheduler", "noisy")])
async def test_levels_take_turns_by_their_shares_whichever_was_busy_first(users: tuple[str, str]) -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        done = dict.fromkeys(users, 0)

        async def ask(user: str) -> None:
            await table(server, user, f"{MAPS}?limit=100")
            done[user] += 1

        tasks = [asyncio.create_task(ask(user)) for user in users for _ in range(40)]
        while max(done.values()) < 20:
            await asyncio.sleep(0)
        assert min(done.values()) >= 2, done
        await asyncio.gather(*tasks)


async def test_a_large_answer_is_made_in_slices() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        assert await turns_of(asyncio.create_task(table(server, "quiet"))) >= OBJECTS // 16
        assert await turns_of(asyncio.create_task(server.ask("quiet", MAPS))) >= OBJECTS // 512
        selected = f"{MAPS}?labelSelector=a%3Db"
        assert await turns_of(asyncio.create_task(server.ask("quiet", selected))) >= OBJECTS // 256
        deleted = asyncio.create_task(server.ask("quiet", MAPS, "DELETE"))
        assert await turns_of(deleted) >= OBJECTS
        assert deleted.result().status == 200


async def test_the_initial_events_of_a_watch_are_sent_in_slices() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        response = await server.ask("quiet", f"{MAPS}?watch=true")
        assert not isinstance(response.body, bytes | list)
        sink = MemorySink()
        running = asyncio.create_task(response.body.run(sink))
        turns = 0
        while sum(frame.payload.count(b"ADDED") for frame in sink.frames) < OBJECTS:
            turns += 1
            await asyncio.sleep(0)
        assert turns >= OBJECTS // 256
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_slices_show_one_revision_whatever_is_written_between_them() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        listing = asyncio.create_task(server.ask("quiet", MAPS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not listing.done()
        for number in (1, 500, 599):
            await server.ask("admin", f"{MAPS}/m{number:05}", "DELETE")
        await server.make("admin", "m00300-new")
        await server.make("admin", "z")
        found = json.loads(body_of(await listing))
        revision = found["metadata"]["resourceVersion"]
        names = [item["metadata"]["name"] for item in found["items"]]
        again = await server.ask("admin", f"{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact")
        assert names == [item["metadata"]["name"] for item in json.loads(body_of(again))["items"]]
        assert len(names) in (OBJECTS, OBJECTS + 2 - 3)


async def test_who_has_gone_is_served_no_further() -> None:
    class Gone:
        is_disconnected = False

        def sending(self, request: Request, seat: object) -> bool:
            return False

    async with crowd(ManualClock(START)) as server:
        await fill(server)
        outlet = Gone()
        headers = {"authorization": "Bearer noisy", "accept": TABLE}
        asked = asyncio.create_task(server.server(Request("GET", MAPS, "", headers, outlet=outlet)))
        await asyncio.sleep(0)
        outlet.is_disconnected = True
        assert await turns_of(asked) <= 3
        assert asked.result().status == 504


def flow_at(level: Level, owner: str) -> Flow:
    return Flow(level.pool, level, Tally(level.name, owner), owner, ())


async def test_a_flow_is_served_by_what_its_requests_have_cost() -> None:
    level = Level("level", Pool("readOnly", 100), Share())
    level.configure(100, 100, {"type": "Queue", "queuing": {}})
    dear, cheap = flow_at(level, "dear"), flow_at(level, "cheap")
    loop = asyncio.get_running_loop()
    for flow in (dear, cheap):
        for _ in range(20):
            level.join_queue(Waiter(flow, loop.create_future(), 0.0))
    served: list[Any] = []
    while len(served) < 22:
        waiter = level.first()
        assert waiter is not None
        level.dequeue(waiter)
        level.share.now = waiter.flow.account.virtual
        waiter.flow.account.virtual += 0.010 if waiter.flow is dear else 0.001
        served.append(waiter.flow.owner)
    assert served.count("dear") == 2


async def test_a_pause_earns_no_credit() -> None:
    level = Level("level", Pool("readOnly", 100), Share())
    level.configure(100, 100, {"type": "Queue", "queuing": {}})
    busy = flow_at(level, "busy")
    level.share.now = busy.account.virtual = 5.0
    idle = flow_at(level, "idle")
    loop = asyncio.get_running_loop()
    for flow in (idle, busy):
        level.join_queue(Waiter(flow, loop.create_future(), 0.0))
    assert level._beginning[0][0] == 5.0
    assert level._beginning[0][2] is idle


async def test_a_wide_request_is_not_passed_by_narrow_ones_and_one_that_goes_on_never_waits_for_it() -> None:
    level = Level("level", Pool("readOnly", 12), Share())
    level.configure(12, 12, {"type": "Queue", "queuing": {}})
    loop = asyncio.get_running_loop()
    wide, narrow = flow_at(level, "wide"), flow_at(level, "narrow")
    level.executing = level.pool.seated = 6
    narrow.account.virtual = 1.0
    level.join_queue(Waiter(wide, loop.create_future(), 0.0, 9))
    level.join_queue(Waiter(narrow, loop.create_future(), 0.0, 1))
    assert level.first() is None
    going = Waiter(narrow, loop.create_future(), 0.0, 0)
    level.enqueue_continuing(going)
    assert level.first() is going
    level.dequeue(going)
    level.executing = level.pool.seated = 3
    first = level.first()
    assert first is not None
    assert first.flow is wide


async def test_measured_is_the_time_of_the_request_and_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = 0

    def burn(seconds: int) -> None:
        nonlocal spent
        spent += seconds

    async def work() -> str:
        burn(1)
        await asyncio.sleep(0)
        burn(2)
        return "done"

    async def other() -> None:
        burn(20)

    monkeypatch.setattr(cpu_meter, "thread_time", lambda: spent)
    steps: list[float] = []
    beside = asyncio.create_task(other())
    assert await Metered(work(), steps.append) == "done"
    await beside
    assert spent == 23
    assert steps == [1, 2]


def test_the_meter_reads_the_processor_time_of_its_thread() -> None:
    assert vars(cpu_meter)["thread_time"] is thread_time


async def test_what_work_raises_and_is_thrown_into_it_passes_through_the_meter() -> None:
    steps: list[float] = []
    cleaned = []

    async def fails() -> None:
        raise KeyError("x")

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cleaned.append(1)
            raise

    with pytest.raises(KeyError):
        await Metered(fails(), steps.append)

    async def metered() -> None:
        await Metered(waits(), steps.append)

    task = asyncio.create_task(metered())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [1]
    assert len(steps) == 3


async def test_reads_and_writes_of_a_user_are_charged_to_one_account() -> None:
    async with crowd() as server:
        await server.make("noisy", "a")
        await server.ask("noisy", MAPS)
        gate = server.server._gate
        assert gate is not None
        accounts = {id(flow.account) for flow in gate._flows.values() if flow.owner == "global-default/noisy"}
        assert len(accounts) == 1
        [account] = {flow.account for flow in gate._flows.values() if flow.owner == "global-default/noisy"}
        assert isinstance(account, Account)
        assert account.virtual > 0


async def test_a_level_of_ones_own_is_served_beside_a_busy_one_from_the_first_request() -> None:
    async with crowd(ManualClock(START)) as server:
        await fill(server)
        limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
        spec = {"type": "Limited", "limited": limited}
        assert (await server.ask("admin", LEVELS, "POST", {"metadata": {"name": "own"}, "spec": spec})).status == 201
        noisy = [asyncio.create_task(table(server, "noisy")) for _ in range(30)]
        await asyncio.sleep(0)
        asked = asyncio.create_task(server.ask("system:kube-scheduler", f"{MAPS}/m00000"))
        assert await turns_of(asked) <= 6
        for task in noisy:
            task.cancel()
        await asyncio.gather(*noisy, return_exceptions=True)
