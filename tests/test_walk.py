"""The walk of a request and of a reconcile through the source files stays short."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tools.walk import Walk, measure

from setpoint.objects import meta, times
from setpoint.objects.clock import StandingClock
from setpoint.objects.ids import SeededIds


@pytest.fixture(scope="module")
def walks() -> dict[str, Walk]:
    return asyncio.run(measure())


def test_a_post_enters_few_files_and_seldom_goes_back(walks: dict[str, Walk]) -> None:
    walk = walks["POST of a custom resource"]
    assert 20 < len(walk.files) <= 38
    assert 20 < walk.returns <= 40  # the order of tasks varies


def test_a_reconcile_enters_few_files_and_seldom_goes_back(walks: dict[str, Walk]) -> None:
    """The tasks of the controller and of the server run at the same time, so the order of their calls varies a little:
    the bound of the calls back is above the 202 of an undisturbed run."""
    walk = walks["reconcile of a custom resource"]
    assert 40 < len(walk.files) <= 74
    assert 100 < walk.returns <= 204


def test_only_calls_of_another_file_count() -> None:
    walk = Walk()

    def work() -> None:
        clock = StandingClock(times.parse_time("2026-01-02T03:04:05Z"))
        meta.fill_system_fields({}, clock, SeededIds(1))
        meta.put({}, "a", 1)
        meta.put({}, "b", 1)

    asyncio.run(walk.of(_awaited(work)))
    names = [path.rpartition("/")[2] for path in walk.files]
    # `uid`, `now`, `format_time` and the first `put` go back to their files; the second `put` stays there.
    assert names[:2] == ["times.py", "clock.py"]
    assert set(names) == {"times.py", "clock.py", "meta.py", "ids.py"}
    assert walk.returns == 4


def _awaited(work: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        work()

    return run
