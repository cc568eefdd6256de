"""The results of a run of pytest, as `tools/recorded_pytest.py` records them, and the reasons to refuse the run."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A wrong answer in one of these directories is never an accident of the machine.
NEVER_EXCUSED = (
    "tests/server/authentication/",
    "tests/server/authorization/",
    "tests/server/rights/",
    "tests/server/policies/",
    "tests/store/",
    "tests/consistency/",
)
MOST_FAILURES = 20
MOST_DEATHS = 1


@dataclass
class Result:
    """The result of one test: of its setup, its call and its teardown."""

    outcome: str = ""
    error: str = ""
    is_assertion: bool = False
    # True if the process of the test died.
    died: bool = False
    is_complete: bool = False

    def add(self, when: str, outcome: str, error: str, is_assertion: bool) -> None:
        if outcome == "failed":
            self.outcome = "failed"
            self.error = self.error or error
            self.is_assertion = self.is_assertion or is_assertion
        elif self.outcome != "failed" and (outcome == "skipped" or when == "call"):
            self.outcome = outcome
        self.died = self.died or when == "???"
        self.is_complete = self.is_complete or when in ("teardown", "???")


@dataclass
class TestResults:
    """All results of a run."""

    __test__ = False

    # The interpreter of the run.
    python: str = ""
    collected: set[str] = field(default_factory=set)
    results: dict[str, Result] = field(default_factory=dict)
    # The errors of modules that could not be collected.
    uncollected: dict[str, str] = field(default_factory=dict)
    deaths: int = 0
    # The lines that dying workers printed.
    stack: list[str] = field(default_factory=list)
    # The exit code of pytest; None if the run has not ended.
    exit: int | None = None

    def add(self, line: dict[str, Any]) -> None:
        match line:
            case {"python": python}:
                self.python = python
            case {"collected": tests}:
                self.collected.update(tests)
            case {"test": test, **report}:
                self.results.setdefault(test, Result()).add(**report)
            case {"uncollected": module, "error": error}:
                self.uncollected[module] = error
            case {"died": _}:
                self.deaths += 1
            case {"stack": line}:
                self.stack.append(line)
            case {"exit": code}:
                self.exit = code

    def having(self, outcome: str) -> list[str]:
        """Returns the tests with an outcome."""
        return [test for test, result in self.results.items() if result.outcome == outcome]

    @property
    def missing(self) -> set[str]:
        """The collected tests without a complete result."""
        return {test for test in self.collected if test not in self.results or not self.results[test].is_complete}

    def faults(self) -> Iterator[str]:
        """Yields the reasons to refuse the run that no repetition of a test can excuse."""
        failed = self.having("failed")
        if self.exit is None:
            yield "there is no report of a complete run"
            return
        if self.exit not in (0, 1):
            yield f"pytest ended with exit code {self.exit}"
        if self.exit == 1 and not failed:
            yield "pytest ended with exit code 1 and without a failed test"
        if self.exit == 0 and failed:
            yield "pytest ended with exit code 0 in spite of failed tests"
        for module in self.uncollected:
            yield f"{module} could not be collected"
        if missing := self.missing:
            yield f"{len(missing)} collected tests have no result, for example {min(missing)}"
        if len(failed) > MOST_FAILURES:
            yield f"{len(failed)} tests failed"
        if self.deaths > MOST_DEATHS:
            yield f"{self.deaths} workers died"
        for test in failed:
            if self.results[test].is_assertion and test.startswith(NEVER_EXCUSED):
                yield f"{test} failed with an AssertionError, which is not excused in its directory"


def read(report: Path) -> TestResults:
    """Reads a report; an empty one if there is no file."""
    found = TestResults()
    if report.exists():
        for line in report.read_text().splitlines():
            with suppress(ValueError):  # half a line of a process that died; its test has no result then
                found.add(json.loads(line))
    return found
