"""Runs pytest and records the collected tests, their results and the exit code, for `tools/gate.py`.

    python -m tools.recorded_pytest REPORT ARGUMENTS OF PYTEST ...

The report is a file with one JSON object a line, which `tools/test_results.py` reads. This module is also the plugin of
pytest that writes most lines. The program itself writes the exit code, because a process that is killed writes nothing,
and the stacks of workers that died, which pytest prints on its standard error.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

_STACK = re.compile(rb"Fatal Python error: |Timeout \(\d+:\d\d:\d\d\)!")
_STACK_LINE = re.compile(rb'\s*File "|(Current t|T)hread 0x|\s*$|\s*<|Extension modules: |\s*\.\.\.')
# The seconds that the program reads the standard error of pytest after the end of pytest.
_LAST_SECONDS = 5.0


class _Record:
    """Writes the lines of a report."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._collected: Sequence[str] | None = None

    def write(self, **line: Any) -> None:
        # Without a buffer, each line is one call of the system: two processes append to the file.
        with self._path.open("ab", buffering=0) as file:
            file.write(json.dumps(line).encode() + b"\n")

    def collected(self, tests: Sequence[str]) -> None:
        """Writes the collected tests; those of further workers only if they differ."""
        if tests != self._collected:
            self._collected = tests
            self.write(collected=tests)


# The plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", type=Path, help="the report to which the results are appended")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to record, except in a worker of pytest-xdist: its results reach the process that started it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(_Record(config.getoption("record"))))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the kind of the failure to the report of a test, also in a worker."""
    report = yield
    report.__dict__["is_assertion"] = call.excinfo is not None and _is_assertion(call.excinfo.value)
    return report


def _is_assertion(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_assertion(each) for each in error.exceptions)
    return isinstance(error, AssertionError)


class _Recorder:
    """The hooks that write the report."""

    def __init__(self, record: _Record) -> None:
        self._record = record

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._record.collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._record.collected(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._record.write(uncollected=report.nodeid, error=report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        error = report.longreprtext if report.failed else ""
        is_assertion = bool(getattr(report, "is_assertion", False))
        self._record.write(
            test=report.nodeid, when=report.when, outcome=report.outcome, error=error, is_assertion=is_assertion
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        if error:
            self._record.write(died=node.gateway.id)


# The program


def run(report: Path, arguments: Sequence[str]) -> int:
    """Runs pytest with the plugin in a new process, and returns its exit code."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    record = _Record(report)
    record.write(python=sys.executable)
    # A `make` that a test runs must not inherit the arguments of the `make` that runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = [sys.executable, "-m", "pytest", "-p", "tools.recorded_pytest", f"--record={report.resolve()}"]
    process = subprocess.Popen([*command, *arguments], env=environment, stderr=subprocess.PIPE)
    assert process.stderr is not None
    copying = threading.Thread(target=_copy, args=(process.stderr, record), daemon=True)
    copying.start()
    process.wait()
    # A process that a test left behind may keep the standard error open.
    copying.join(_LAST_SECONDS)
    record.write(exit=process.returncode)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _copy(source: IO[bytes], record: _Record) -> None:
    """Copies the standard error of pytest, and records the stacks in it."""
    is_stack = False
    for line in source:
        os.write(2, line)
        is_stack = bool(_STACK.search(line) or (is_stack and _STACK_LINE.match(line)))
        if is_stack:
            record.write(stack=line.decode(errors="replace"))


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:]))
