"""The runner of `async def` tests, on a file of tests of which most fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import asyncio
import contextvars

import pytest
import uvloop

LEVEL = contextvars.ContextVar("level")
kept = []


@pytest.fixture
async def fixture():
    LEVEL.set("fixture")
    async with asyncio.TaskGroup(), asyncio.timeout(60):
        yield asyncio.get_running_loop(), asyncio.current_task()


@pytest.fixture
async def value(fixture):
    return fixture


@pytest.fixture
async def fails_at_the_end():
    yield
    raise ValueError("the end")


@pytest.fixture
async def hurried():
    async with asyncio.timeout(0.01):
        yield


async def test_same_task(value):
    assert value == (asyncio.get_running_loop(), asyncio.current_task())
    assert LEVEL.get() == "fixture"
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_failure(fixture):
    raise ValueError


async def test_failure_of_a_fixture(fails_at_the_end):
    pass


async def test_task_left():
    kept.append(asyncio.create_task(asyncio.sleep(60)))


async def test_transport_left():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    await asyncio.open_connection(*server.sockets[0].getsockname())
    server.close()


async def test_cancelled_by_a_fixture(hurried):
    await asyncio.sleep(60)


def test_without_async(fixture):
    pass


@pytest.mark.timeout(0.5, func_only=True)
async def test_timeout(fixture):
    await asyncio.sleep(60)


class TestOnUvloop:
    @pytest.fixture
    def loop_factory(self):
        return uvloop.new_event_loop

    async def test_loop(self, value):
        assert isinstance(value[0], uvloop.Loop)

    @pytest.mark.timeout(0.5, func_only=True)
    async def test_timeout(self, fixture):
        await asyncio.sleep(60)
"""


STUCK = """
import asyncio

import pytest


@pytest.mark.timeout(0.5, func_only=True)
async def test_stuck():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


kept = []


async def test_stuck_task():
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass

    kept.append(asyncio.create_task(stubborn()))


async def test_next():
    await asyncio.sleep(0)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the outcomes of the tests, with warnings as errors."""
    return run(tmp_path_factory.mktemp("tests"), TESTS, "-W", "error")


def run(directory: Path, tests: str, *more: str) -> dict[str, str]:
    """Runs a file of tests, and returns the outcome of each test with its reason."""
    (directory / "test_cases.py").write_text(tests)
    options = ("-p", "tests.event_loops", "-p", "no:cacheprovider", "-rA", "--rootdir", str(directory), *more)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_cases.py"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    found: dict[str, str] = {}
    for outcome, name, reason in re.findall(r"^([A-Z]+) test_cases\.py::(\S+)(?: - (.*))?$", done.stdout, re.M):
        found[name] = f"{found[name]}, {outcome} {reason}" if name in found else f"{outcome} {reason}".strip()
    return found


def test_fixtures_and_test_share_a_task_a_loop_and_a_context(outcomes: dict[str, str]) -> None:
    assert outcomes["test_same_task"] == "PASSED"
    assert outcomes["TestOnUvloop::test_loop"] == "PASSED"


def test_failures_of_the_test_and_of_its_fixtures_are_told(outcomes: dict[str, str]) -> None:
    assert outcomes["test_failure"] == "FAILED ValueError"
    assert outcomes["test_failure_of_a_fixture"] == "PASSED, ERROR ValueError: the end"
    assert outcomes["test_cancelled_by_a_fixture"].startswith("FAILED Failed: the test was cancelled")


def test_a_task_or_a_transport_that_is_left_fails_the_test(outcomes: dict[str, str]) -> None:
    assert outcomes["test_task_left"].startswith("PASSED, ERROR Failed: tasks still run after the test")
    assert "PytestUnraisableExceptionWarning" in outcomes["test_transport_left"]


def test_a_plain_test_cannot_use_an_async_fixture(outcomes: dict[str, str]) -> None:
    assert outcomes["test_without_async"].startswith("ERROR Failed: only `async def` tests use the async fixture")


@pytest.mark.parametrize("name", ["test_timeout", "TestOnUvloop::test_timeout"])
def test_a_timeout_ends_the_test_on_either_loop(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "FAILED Failed: Timeout (>0.5s) from pytest-timeout."


@pytest.mark.slow
def test_a_test_that_cannot_be_cancelled_fails_and_the_others_go_on(tmp_path: Path) -> None:
    found = run(tmp_path, STUCK)
    assert "FAILED Failed: Timeout (>0.5s) from pytest-timeout." in found["test_stuck"]
    assert "ERROR Failed: the test does not end when it is cancelled" in found["test_stuck"]
    assert "ERROR Failed: tasks still run after the test" in found["test_stuck_task"]
    assert found["test_next"] == "PASSED"
