"""The work queue: client-go's rules, and what ours adds to them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.controller.queue import LOW_PRIORITY, MOST_REASONS, Queue, ShutDown
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.request import Request
from setpoint.objects.clock import ManualClock

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
async def queue(clock: ManualClock) -> AsyncIterator[Queue[str]]:
    """Provides a queue whose time the test moves."""
    queue: Queue[str] = Queue(clock=clock, max_wait=10.0)
    yield queue
    queue.shut_down()


async def pass_time(clock: ManualClock, seconds: float) -> None:
    await asyncio.sleep(0)
    clock.advance(seconds)
    for _ in range(3):
        await asyncio.sleep(0)


def order(queue: Queue[str]) -> list[str]:
    """All that is ready, in the order it comes."""
    found = []
    while len(queue):
        item = queue.pop()
        found.append(item.key)
        queue.done(item.key)
    return found


@pytest.mark.feature("E22")
async def test_what_is_added_twice_comes_once_with_both_reasons(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("a", "created")
    queue.add("a", "updated")
    queue.add("a", "created")
    item = await queue.get()
    assert (item.key, item.reasons) == ("a", ("created", "updated"))
    assert not len(queue)


async def test_what_is_added_while_it_is_worked_on_comes_again_when_it_is_done_and_not_before(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add("a", "first")
    await queue.get()
    queue.add("a", "second")
    queue.add("a", "third")
    assert not len(queue)
    queue.done("a")
    assert (await queue.get()).reasons == ("second", "third")
    queue.done("a")
    assert not len(queue)


async def test_done_is_only_for_what_was_given_out(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("a")
    with pytest.raises(KeyError, match="not being processed"):
        queue.done("a")


async def test_who_waits_for_work_gets_it_when_it_comes_in_the_order_of_waiting(
    queue: Queue[str], clock: ManualClock
) -> None:
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    queue.add("b")
    assert [(await first).key, (await second).key] == ["a", "b"]


async def test_a_waiter_that_is_cancelled_as_its_turn_comes_leaves_the_work_to_another(
    queue: Queue[str], clock: ManualClock
) -> None:
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert (await asyncio.wait_for(second, 60)).key == "a"


async def test_higher_priorities_come_first_and_equals_in_order(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("low", priority=LOW_PRIORITY)
    queue.add("a")
    queue.add("high", priority=5)
    queue.add("b")
    assert order(queue) == ["high", "a", "b", "low"]


async def test_a_key_takes_the_highest_priority_that_it_was_added_with(queue: Queue[str], clock: ManualClock) -> None:
    for key in ("a", "b"):
        queue.add(key, priority=LOW_PRIORITY)
    queue.add("c")
    queue.add("b")
    queue.add("b", priority=LOW_PRIORITY)
    assert order(queue) == ["c", "b", "a"]


async def test_a_key_that_is_worked_on_comes_again_with_the_highest_priority(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add("a", priority=LOW_PRIORITY)
    assert queue.pop().key == "a"
    queue.add("a", priority=LOW_PRIORITY)
    queue.add("a", priority=5)
    queue.add("b")
    queue.done("a")
    assert order(queue) == ["a", "b"]


async def test_nobody_waits_for_ever_however_much_that_is_more_important_keeps_coming(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add("patient", priority=LOW_PRIORITY)
    for number in range(3):
        queue.add(f"urgent-{number}")
    clock.advance(9)
    assert queue.pop().key == "urgent-0"
    clock.advance(2)
    assert queue.pop().key == "patient"
    assert queue.pop().key == "urgent-1"


async def test_namespaces_take_turns() -> None:
    queue: Queue[Request] = Queue()
    for number in range(3):
        queue.add(Request(f"a{number}", "crowded"))
    queue.add(Request("b", "quiet"))
    queue.add(Request("c"))
    found = [queue.pop().key.name for _ in range(len(queue))]
    assert found == ["a0", "b", "c", "a1", "a2"]


async def test_what_is_delayed_comes_when_it_is_due(queue: Queue[str], clock: ManualClock) -> None:
    queue.add_after("late", 20)
    queue.add_after("soon", 5, "timer")
    await pass_time(clock, 4.9)
    assert not len(queue)
    await pass_time(clock, 0.1)
    assert queue.pop().reasons == ("timer",)
    await pass_time(clock, 15)
    assert order(queue) == ["late"]


async def test_of_two_delays_the_earlier_counts_and_the_later_does_not_come_again(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add_after("a", 10, "slow")
    queue.add_after("a", 2, "fast")
    queue.add_after("a", 5, "between")
    await pass_time(clock, 2)
    item = queue.pop()
    assert item.reasons == ("slow", "fast", "between")
    queue.done("a")
    await pass_time(clock, 20)
    assert not len(queue)


async def test_what_is_added_now_takes_its_delayed_self_along(queue: Queue[str], clock: ManualClock) -> None:
    queue.add_after("a", 10, "later")
    queue.add("a", "now")
    assert queue.pop().reasons == ("later", "now")
    queue.done("a")
    await pass_time(clock, 20)
    assert not len(queue)


async def test_what_becomes_due_while_it_is_worked_on_waits_for_the_worker(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add("a")
    queue.pop()
    queue.add_after("a", 1)
    await pass_time(clock, 5)
    assert not len(queue)
    queue.done("a")
    assert order(queue) == ["a"]


async def test_retries_wait_five_milliseconds_and_twice_as_long_each_time_up_to_a_limit(
    queue: Queue[str], clock: ManualClock
) -> None:
    waits = []
    for _ in range(20):
        waits.append(queue.add_rate_limited("a"))
        queue.discard("a")
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[17:] == [655.36, 1000.0, 1000.0]
    assert queue.retries("a") == 20
    queue.forget("a")
    assert queue.add_rate_limited("a") == 0.005


async def test_a_key_that_is_discarded_does_not_come(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("a")
    queue.add_after("b", 1)
    queue.add("c")
    assert queue.discard("a")
    assert queue.discard("b")
    assert not queue.discard("nobody")
    await pass_time(clock, 5)
    assert order(queue) == ["c"]


@pytest.mark.feature("E22")
async def test_the_reasons_of_a_key_are_bounded_and_the_rest_is_counted(queue: Queue[str], clock: ManualClock) -> None:
    for number in range(MOST_REASONS + 5):
        queue.add("a", number)
    item = queue.pop()
    assert len(item.reasons) == MOST_REASONS
    assert item.more == 5


async def test_an_ending_queue_gives_out_what_it_has_and_then_says_so(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("a")
    queue.add_after("b", 1)
    queue.shut_down()
    queue.add("c")
    assert (await queue.get()).key == "a"
    with pytest.raises(ShutDown):
        await queue.get()


async def test_all_who_wait_are_told_of_the_end(queue: Queue[str], clock: ManualClock) -> None:
    waiting = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.shut_down()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in found] == [ShutDown] * 3


async def test_a_drain_waits_for_what_is_worked_on_and_for_what_was_added_meanwhile(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add("a")
    queue.pop()
    queue.add("a")
    queue.shut_down()
    drain = asyncio.ensure_future(queue.drained())
    await asyncio.sleep(0)
    queue.done("a")
    await asyncio.sleep(0)
    assert not drain.done()
    queue.pop()
    queue.done("a")
    await asyncio.wait_for(drain, 60)


async def test_delays_that_came_to_nothing_do_not_pile_up(queue: Queue[str], clock: ManualClock) -> None:
    for _ in range(5000):
        queue.add_after("a", 500)
        queue.add("a")
        queue.pop()
        queue.done("a")
    assert len(queue._delayed) < 1100


KEYS = st.sampled_from("abcde")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, st.integers(-1, 1)),
        st.tuples(st.just("after"), KEYS, st.integers(1, 4)),
        st.tuples(st.just("take")),
        st.tuples(st.just("done"), KEYS),
        st.tuples(st.just("pass"), st.integers(1, 3)),
        st.tuples(st.just("discard"), KEYS),
    ),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=300, deadline=None)
def test_the_queue_does_what_three_plain_sets_would(steps: list[tuple[object, ...]]) -> None:
    """Against a model that knows only: what is dirty, when at the earliest it is due, and what is worked on."""

    async def main() -> None:
        clock = ManualClock(START)
        queue: Queue[str] = Queue(clock=clock, limiter=Exponential())
        due: dict[str, float] = {}
        priorities: dict[str, int] = {}
        working: set[str] = set()
        for step in steps:
            match step:
                case ("add", str(key), int(priority)):
                    queue.add(key, priority=priority)
                    due[key] = min(due.get(key, clock.monotonic()), clock.monotonic())
                    priorities[key] = max(priorities.get(key, priority), priority)
                case ("after", str(key), int(seconds)):
                    queue.add_after(key, seconds)
                    due[key] = min(due.get(key, clock.monotonic() + seconds), clock.monotonic() + seconds)
                    priorities[key] = max(priorities.get(key, 0), 0)
                case ("take",) if len(queue):
                    key = queue.pop().key
                    ready = {each for each, at in due.items() if at <= clock.monotonic() and each not in working}
                    assert priorities[key] == max(priorities[each] for each in ready)
                    assert key in ready
                    del due[key], priorities[key]
                    working.add(key)
                case ("done", str(key)) if key in working:
                    queue.done(key)
                    working.remove(key)
                case ("pass", int(seconds)):
                    await pass_time(clock, seconds)
                case ("discard", str(key)):
                    assert queue.discard(key) == (due.pop(key, None) is not None)
                    priorities.pop(key, None)
            expected = {each for each, at in due.items() if at <= clock.monotonic() and each not in working}
            assert len(queue) == len(expected)
            assert {each for each in "abcde" if each in queue} == set(due)
        queue.shut_down()

    asyncio.run(main())
