"""The inspection, the metrics and the end of a work queue."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from setpoint.controller.queue import _SPARE, LOW_PRIORITY, MOST_REASONS, Queue, ShutDown
from setpoint.controller.request import Request
from setpoint.objects.clock import ManualClock

START = datetime(2026, 1, 1, tzinfo=UTC)


class Observed:
    """Records the calls of a queue."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def added(self, depth: int) -> None:
        self.calls.append(("added", depth))

    def retried(self) -> None:
        self.calls.append(("retried",))

    def got(self, waited: float, depth: int) -> None:
        self.calls.append(("got", waited, depth))

    def finished(self, seconds: float) -> None:
        self.calls.append(("finished", seconds))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def observed() -> Observed:
    return Observed()


@pytest.fixture
async def queue(clock: ManualClock, observed: Observed) -> AsyncIterator[Queue[str]]:
    queue: Queue[str] = Queue(clock=clock, max_wait=10.0, observer=observed)
    yield queue
    queue.shut_down()


async def pass_time(clock: ManualClock, seconds: float) -> None:
    await asyncio.sleep(0)
    clock.advance(seconds)
    for _ in range(3):
        await asyncio.sleep(0)


async def test_an_observer_hears_of_every_step(queue: Queue[str], clock: ManualClock, observed: Observed) -> None:
    queue.add("a")
    queue.add("b")
    queue.add("a", "again")
    clock.advance(2)
    assert queue.pop().waited == 2.0
    clock.advance(3)
    queue.done("a")
    seconds = queue.add_rate_limited("a", "failed")
    assert seconds > 0
    assert "a" in queue
    await pass_time(clock, seconds)
    assert observed.calls == [
        ("added", 1),
        ("added", 2),
        ("got", 2.0, 1),
        ("finished", 3.0),
        ("retried",),
        ("added", 2),
    ]


async def test_the_keys_can_be_inspected(queue: Queue[str], clock: ManualClock) -> None:
    assert (queue.longest_wait(), queue.working(), list(queue.waiting()), queue.depths()) == (0.0, {}, [], {})
    queue.add("a")
    clock.advance(1)
    queue.add("b")
    queue.add("low", priority=LOW_PRIORITY)
    queue.add_after("later", 5)
    assert queue.longest_wait() == 1.0
    assert queue.depths() == {0: 2, -100: 1}
    assert (len(queue), queue.delayed, list(queue.waiting())) == (3, 1, [("later", 5.0)])
    assert [key in queue for key in ("a", "low", "later", "x")] == [True, True, True, False]
    assert queue.pop().key == "a"
    clock.advance(2)
    assert queue.working() == {"a": 2.0}
    assert queue.longest_wait() == 2.0
    assert list(queue.waiting()) == [("later", 3.0)]
    queue.done("a")
    assert queue.working() == {}


async def test_a_delay_takes_its_reason_and_priority_along(queue: Queue[str], clock: ManualClock) -> None:
    queue.add_after("a", 5, "first")
    queue.add_after("a", 9, "later", priority=3)
    queue.add_after("a", 2, "sooner", priority=1)
    queue.add_after("a", 3)
    assert list(queue.waiting()) == [("a", 2.0)]
    await pass_time(clock, 2)
    item = queue.pop()
    assert (item.reasons, item.priority, item.more) == (("first", "later", "sooner"), 3, 0)
    queue.done("a")
    await pass_time(clock, 20)
    assert (len(queue), queue.delayed) == (0, 0)


async def test_a_delayed_add_of_a_ready_key_only_adds_to_it(queue: Queue[str]) -> None:
    queue.add("b")
    queue.add("a", "now")
    queue.add_after("a", 5, "later", priority=7)
    assert (len(queue), queue.delayed) == (2, 0)
    item = queue.pop()
    assert (item.key, item.reasons, item.priority) == ("a", ("now", "later"), 7)
    queue.add_after("b", 0, "at once")
    assert queue.pop().reasons == ("at once",)


async def test_clearing_drops_every_waiting_key(queue: Queue[str], clock: ManualClock) -> None:
    for key in ("a", "b", "c"):
        queue.add(key, priority=ord(key))
    queue.add_after("later", 5)
    assert queue.pop().key == "c"
    queue.clear()
    assert (len(queue), queue.delayed, queue.depths(), "a" in queue, "later" in queue) == (0, 0, {}, False, False)
    await pass_time(clock, 10)
    assert len(queue) == 0
    queue.add("a")
    queue.add("d")
    assert [queue.pop().key, queue.pop().key] == ["a", "d"], "the queue goes on"
    queue.add_after("e", 1)
    await pass_time(clock, 1)
    assert queue.pop().key == "e"


async def test_clearing_ends_a_drain(queue: Queue[str]) -> None:
    await queue.drained()  # no key is left
    queue.add("a")
    queue.add("b")
    queue.pop()
    queue.shut_down()
    waiting = asyncio.ensure_future(queue.drained())
    await asyncio.sleep(0)
    queue.clear()
    await asyncio.sleep(0)
    assert not waiting.done(), "a key is still being processed"
    queue.done("a")
    await asyncio.wait_for(waiting, 5)
    queue.clear()
    with pytest.raises(ShutDown):
        await queue.get()


async def test_clearing_ends_a_drain_of_waiting_keys(queue: Queue[str]) -> None:
    queue.add("a")
    waiting = asyncio.ensure_future(queue.drained())
    await asyncio.sleep(0)
    queue.clear()
    await asyncio.wait_for(waiting, 5)


async def test_a_cancelled_getter_leaves_no_trace(queue: Queue[str]) -> None:
    first, second = (asyncio.ensure_future(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert len(queue._getters) == 1
    queue.add("a")
    assert (await asyncio.wait_for(second, 5)).key == "a"
    third = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.add("b")
    third.cancel()  # after the key had woken the getter
    await asyncio.gather(third, return_exceptions=True)
    assert (await asyncio.wait_for(queue.get(), 5)).key == "b"


async def test_an_earlier_delay_replaces_the_timer(queue: Queue[str], clock: ManualClock) -> None:
    tasks = asyncio.all_tasks()
    queue.add_after("late", 50)
    queue.add_after("soon", 5)
    queue.add_after("later", 70)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks() - tasks) == 1, "one timer for all delays"
    await pass_time(clock, 5)
    assert [queue.pop().key, len(queue)] == ["soon", 0]
    await pass_time(clock, 45)
    assert [queue.pop().key, len(queue)] == ["late", 0]
    await pass_time(clock, 20)
    assert queue.pop().key == "later"
    await asyncio.sleep(0)
    assert asyncio.all_tasks() - tasks == set()


async def test_stale_delays_are_dropped_only_when_there_are_many(queue: Queue[str]) -> None:
    for number in range(3 * _SPARE):
        queue.add_after("a", 10_000.0 - number)
        assert len(queue._delayed) <= _SPARE + 3
    assert queue.delayed == 1


async def test_groups_of_other_keys_take_turns_by_a_function(clock: ManualClock) -> None:
    by_first: Queue[str] = Queue(clock=clock, fair=lambda key: key[0])
    for key in ("a1", "a2", "a3", "b1"):
        by_first.add(key)
    assert [by_first.pop().key for _ in range(4)] == ["a1", "b1", "a2", "a3"]
    requests: Queue[Request] = Queue(clock=clock)
    for name, namespace in (("1", "x"), ("2", "x"), ("3", "y")):
        requests.add(Request(name, namespace))
    assert [requests.pop().key.name for _ in range(3)] == ["1", "3", "2"]


async def test_retries_are_counted_until_a_success(queue: Queue[str]) -> None:
    assert queue.retries("a") == 0
    first, second = queue.add_rate_limited("a"), queue.add_rate_limited("a")
    assert second > first
    assert queue.retries("a") == 2
    queue.forget("a")
    queue.forget("unknown")
    assert queue.retries("a") == 0
    assert queue.add_rate_limited("a") == first


async def test_a_low_key_goes_first_after_the_longest_wait(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("low", priority=LOW_PRIORITY)
    clock.advance(10)
    queue.add("high")
    assert queue.pop().key == "high", "exactly the longest wait is not exceeded"
    queue.done("high")
    clock.advance(0.5)
    queue.add("high")
    assert queue.pop().key == "low"


# Copies


async def test_a_copy_has_the_same_keys_in_the_same_order_and_at_the_same_times(clock: ManualClock) -> None:
    first, second = Queue[str](clock=clock), Queue[str](clock=clock)
    first.add("low", "old", priority=LOW_PRIORITY)
    first.add("a", "changed")
    first.add("b")
    for number in range(MOST_REASONS + 2):
        first.add("b", f"reason {number}")
    first.add_after("late", 9, "requeue")
    first.add_after("soon", 2, priority=3)
    assert [first.add_rate_limited("failing") for _ in range(2)]
    second.add("forgotten")
    second.restore(first.state())
    assert second.state() == first.state()
    assert (len(second), second.delayed, second.retries("failing")) == (3, 3, 2)
    assert second.add_rate_limited("failing") == first.add_rate_limited("failing")
    for queue in (first, second):
        found = [queue.pop() for _ in range(3)]
        assert [(item.key, item.priority) for item in found] == [("a", 0), ("b", 0), ("low", LOW_PRIORITY)]
        assert found[0].reasons == ("changed",)
        assert (len(found[1].reasons), found[1].more) == (MOST_REASONS, 2)
    await pass_time(clock, 2)
    for queue in (first, second):
        assert "soon" in {queue.pop().key for _ in range(len(queue))}
        queue.shut_down()


async def test_a_queue_with_a_key_in_process_cannot_be_copied(queue: Queue[str]) -> None:
    queue.add("a")
    queue.pop()
    with pytest.raises(RuntimeError, match="a: being processed; a queue can be copied only while no key is"):
        queue.state()
    queue.done("a")
    assert queue.state().waiting == ()


async def test_a_restored_key_wakes_a_worker(queue: Queue[str], clock: ManualClock) -> None:
    other = Queue[str](clock=clock)
    other.add("a")
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.restore(other.state())
    assert (await asyncio.wait_for(waiting, 60)).key == "a"
    other.shut_down()
