"""Long work runs beside the event loop: in threads, one for each user, and in the loop where time is virtual."""

import asyncio
import gc
import sys
import threading
from datetime import UTC, datetime
from functools import partial

import pytest

from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.server.offload import Offload


async def test_work_runs_in_another_thread_and_its_error_comes_back() -> None:
    offload = Offload(SystemClock())
    try:
        assert await offload.run("a", threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await offload.run("a", lambda: 1 // 0)
    finally:
        offload.close()


async def test_under_a_virtual_clock_work_runs_in_the_loop() -> None:
    offload = Offload(ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    assert await offload.run("a", threading.get_ident) == threading.get_ident()
    assert offload.moved == 0


async def test_a_user_has_one_thread_at_a_time_and_others_do_not_wait_for_it() -> None:
    offload = Offload(SystemClock())
    gate, order = threading.Event(), list[str]()

    def long() -> None:
        assert gate.wait(10)
        order.append("long")

    greedy = [asyncio.ensure_future(offload.run("greedy", long)) for _ in range(20)]
    await asyncio.sleep(0)
    await offload.run("modest", lambda: order.append("modest"))
    assert order == ["modest"]
    assert offload.moved == 2  # one of the greedy user's, and the modest one's
    gate.set()
    await asyncio.gather(*greedy)
    assert len(order) == 21
    offload.close()


async def test_who_gives_up_waiting_leaves_the_turn_to_the_next() -> None:
    offload = Offload(SystemClock())
    gate, ran = threading.Event(), list[int]()
    first = asyncio.ensure_future(offload.run("a", lambda: gate.wait(10)))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(offload.run("a", partial(ran.append, number))) for number in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    gate.set()
    await first
    await waiting[2]
    assert ran == [2]
    offload.close()


async def test_turns_and_collections_are_as_usual_when_nothing_runs_aside() -> None:
    offload = Offload(SystemClock())
    usual = sys.getswitchinterval(), gc.get_threshold()
    inside = await offload.run("a", lambda: (sys.getswitchinterval(), gc.get_threshold()))
    assert inside[0] < usual[0]
    assert inside[1][2] > usual[1][2]
    while (sys.getswitchinterval(), gc.get_threshold()) != usual:
        await asyncio.sleep(0)
    offload.close()


async def test_values_are_freed_in_a_thread_one_after_another() -> None:
    freed: list[tuple[str, int]] = []

    class Value:
        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            freed.append((self.name, threading.get_ident()))

    offload = Offload(SystemClock())
    try:
        await offload.run("a", lambda: None)
        offload.release([Value("first"), Value("second")])
        while len(freed) < 2:
            await asyncio.sleep(0.001)
        assert {name for name, _ in freed} == {"first", "second"}
        assert threading.get_ident() not in {thread for _, thread in freed}
    finally:
        offload.close()
    # A request that ends after the server was closed.
    late: list[object] = [Value("late")]
    offload.release(late)
    assert not late
