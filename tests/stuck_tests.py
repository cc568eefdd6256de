"""Ends the process of a test that outlives its time limit.

pytest-timeout interrupts a test with a signal. A test or a teardown that waits again afterwards would keep the whole
run waiting. The process of such a test prints the stacks of its threads and exits; pytest-xdist then reports the test
as failed, and runs the remaining tests in a new process.
"""

import faulthandler
import os
from collections.abc import Generator

import pytest

_STDERR = pytest.StashKey[int]()


def add_option(parser: pytest.Parser) -> None:
    """Adds the setting for the time between the signal of pytest-timeout and the end of the process."""
    parser.addini(
        "stuck_seconds", "the process of a test ends this long after the time limit of the test", default="60"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the standard error of the process, which pytest replaces to capture the output of tests."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        config.stash[_STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Closes the standard error that was kept."""
    os.close(config.stash[_STDERR])
    del config.stash[_STDERR]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Runs a test with its fixtures, and ends the process long after the time limit of the test."""
    if limit(item) <= 0:
        return (yield)
    _start(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Starts the time again after a failure: pytest ends the time then, and the teardown may be stuck as well."""
    if isinstance(node, pytest.Item) and limit(node) > 0:
        _start(node)


def _start(item: pytest.Item) -> None:
    seconds = limit(item) + float(item.config.getini("stuck_seconds"))
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_STDERR])


def limit(item: pytest.Item) -> float:
    """Returns the time limit of a test in seconds: that of its marker, or else that of the project."""
    marker = item.get_closest_marker("timeout")
    if marker is not None and marker.args:
        return float(marker.args[0])
    return float(item.config.getini("timeout") or 0)
