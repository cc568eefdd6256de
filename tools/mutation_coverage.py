"""The pytest plugin of `tools.mutation`: records the lines that each test runs, and the durations of passed tests.

Every process of pytest-xdist writes files of its own: the coverage data, with the id of a test as the context of a
line, and as JSON the durations and the slow tests. A slow test that started another process is not recorded: a run
against a mutant must be bounded, and end with its process.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tools.mutation import RECORD

_DIRECTORY = Path(os.environ[RECORD])
# pytest imports plugins given with `-p` before all others, hence before the first module of Setpoint.
_COVERAGE = coverage.Coverage(
    data_file=str(_DIRECTORY / f"coverage.{os.getpid()}"), include=["*/src/setpoint/*"], config_file=False
)
_COVERAGE.start()
_durations: dict[str, float] = {}
# The tests that failed, or that must not be run against mutants.
_excluded: set[str] = set()
_slow: set[str] = set()
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec")
_starts = 0


def _count_starts(event: str, _arguments: tuple[object, ...]) -> None:
    global _starts
    if event in _STARTS:
        _starts += 1


sys.addaudithook(_count_starts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _COVERAGE.switch_context(item.nodeid)
    began, starts = time.perf_counter(), _starts
    try:
        return (yield)
    finally:
        _durations[item.nodeid] = time.perf_counter() - began
        _COVERAGE.switch_context("")
        if item.get_closest_marker("slow") is not None:
            _slow.add(item.nodeid)
            if _starts > starts:
                _excluded.add(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _excluded.add(report.nodeid)


def pytest_unconfigure() -> None:
    _COVERAGE.stop()
    _COVERAGE.save()
    passed = {test: seconds for test, seconds in _durations.items() if test not in _excluded}
    (_DIRECTORY / f"durations.{os.getpid()}.json").write_text(json.dumps(passed))
    (_DIRECTORY / f"slow.{os.getpid()}.json").write_text(json.dumps(sorted(_slow & passed.keys())))
