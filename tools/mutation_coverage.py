"""The pytest plugin of `tools.mutation`: records the lines that each test runs, and the durations of passed tests.

Every process of pytest-xdist writes two files of its own: the coverage data, with the id of a test as the context of a
line, and the durations as JSON.
"""

import json
import os
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
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _COVERAGE.switch_context(item.nodeid)
    began = time.perf_counter()
    try:
        return (yield)
    finally:
        _durations[item.nodeid] = time.perf_counter() - began
        _COVERAGE.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


def pytest_unconfigure() -> None:
    _COVERAGE.stop()
    _COVERAGE.save()
    passed = {test: seconds for test, seconds in _durations.items() if test not in _failed}
    (_DIRECTORY / f"durations.{os.getpid()}.json").write_text(json.dumps(passed))
