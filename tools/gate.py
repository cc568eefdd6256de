"""The gate that each change passes: `make check`, `make test` and `make demo`, with a second opinion on failed tests.

    python -m tools.gate             in this directory; `.ci/run` calls it
    python -m tools.gate --in-clone  HEAD, in an empty directory; `make gate` calls it

A test that fails runs again alone, three times: in a new process, without pytest-xdist, with nothing beside it. A test
that passes all three times is flaky. The gate passes with a few flaky tests, and prints them with their first errors.
Some failures are never excused (`test_results.TestResults.faults`). A summary is written to build/gate/last.

Needs only the standard library: the first stage makes the environment.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tools.test_results import TestResults, read

PLACE = Path("build", "gate")
REPETITIONS = 3
MOST_FLAKY = 5
_SECONDS_ALONE = 600.0
# Without the repetitions of the remaining tests, a run in which everything hangs would take hours.
_SECONDS_OF_ALL = 1800.0
_SHOWN = 6000


class Stage(NamedTuple):
    """A target of the Makefile."""

    target: str
    arguments: tuple[str, ...] = ()
    # The output goes to a file first, because the target behaves in another way on a terminal.
    needs_log: bool = False


REPORT = PLACE / "test.jsonl"
STAGES = (
    Stage("check"),
    Stage("test", (f"PYTEST=$(BIN)/python -m tools.recorded_pytest {REPORT}",)),
    Stage("demo", needs_log=True),
)


@dataclass
class Outcome:
    """The outcome of a run of the gate."""

    # The reasons to refuse the commit.
    faults: list[str] = field(default_factory=list)
    minutes: dict[str, float] = field(default_factory=dict)
    results: TestResults = field(default_factory=TestResults)
    # Failed tests that passed all repetitions.
    flaky: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        return [test for test in self.results.having("failed") if test not in self.flaky]

    @property
    def counts(self) -> str:
        passed = len(self.results.having("passed")) + len(self.flaky)
        # A fault without a failed test, such as that of another stage, counts as one failure.
        failed = len(self.failed) or int(bool(self.faults))
        return f"{passed} passed, {failed} failed, {len(self.results.having('skipped'))} skipped"

    def summary(self, commit: str) -> str:
        """Returns the text of build/gate/last."""
        minutes = ", ".join(f"{name} {spent:.1f}" for name, spent in self.minutes.items())
        lines = [
            f"commit: {commit}",
            f"verdict: {'refused' if self.faults else 'passed'}",
            f"minutes: {minutes}; {sum(self.minutes.values()):.1f} in all",
            f"tests: {self.counts}, {len(self.flaky)} flaky, {self.results.deaths} workers died",
        ]
        lines += [f"refused because: {fault}" for fault in self.faults]
        lines += [f"flaky: {test}" for test in self.flaky]
        lines += [f"failed: {test}" for test in self.failed]
        return "\n".join(lines) + "\n"


# The second opinion


def second_opinion(outcome: Outcome, passes_alone: Callable[[str], bool]) -> None:
    """Judges the recorded results: repeats each failed test, unless the run is refused without that."""
    outcome.faults += outcome.results.faults()
    if outcome.faults:
        return
    start = time.monotonic()
    for test in outcome.results.having("failed"):
        if time.monotonic() - start > _SECONDS_OF_ALL:
            outcome.faults.append(f"{test} failed; there was no time to repeat it")
        elif all(passes_alone(test) for _ in range(REPETITIONS)):
            outcome.flaky.append(test)
        else:
            outcome.faults.append(f"{test} failed, and failed again alone")
    if len(outcome.flaky) > MOST_FLAKY:
        outcome.faults.append(f"{len(outcome.flaky)} tests are flaky; at most {MOST_FLAKY} may be")


def passes_alone(python: str, test: str) -> bool:
    """Runs one test in a new process. Returns True if the test passed; a skipped one has not."""
    report = PLACE / "alone.jsonl"
    command = [python, "-m", "tools.recorded_pytest", str(report), test]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as in the Makefile
    print(f"gate: again, alone: {test}", flush=True)
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            process.wait(_SECONDS_ALONE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
    alone = read(report)
    return not list(alone.faults()) and alone.having("passed") == [test]


# The run


def run(python: str) -> Outcome:
    """Runs all stages, also after a failure, so that one run shows all faults."""
    outcome = Outcome()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    for stage in STAGES:
        start = time.monotonic()
        code = _make(python, stage)
        if stage.target == "test":
            outcome.results = read(REPORT)
            _judge(outcome, code)
        elif code:
            outcome.faults.append(f"make {stage.target} ended with exit code {code}")
        outcome.minutes[stage.target] = (time.monotonic() - start) / 60
    return outcome


def _judge(outcome: Outcome, code: int) -> None:
    """Judges the stage `test`, which ended with an exit code of make."""
    results = outcome.results
    if bool(code) != bool(results.exit):
        outcome.faults.append(f"make test ended with exit code {code}, and pytest with {results.exit}")
    second_opinion(outcome, lambda test: passes_alone(results.python, test))


def _make(python: str, stage: Stage) -> int:
    """Runs a target without a terminal. Returns the exit code."""
    command = ["make", stage.target, f"PYTHON={python}", *stage.arguments]
    print(f"gate: {' '.join(command)}", flush=True)
    if not stage.needs_log:
        return subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    log = PLACE / f"{stage.target}.log"
    with log.open("w") as output:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
    print(log.read_text(errors="replace"), flush=True)
    return code


def details(outcome: Outcome) -> Iterator[str]:
    """Yields the first errors of flaky and failed tests, and the stacks of workers that died."""
    results = outcome.results
    for module, error in results.uncollected.items():
        yield f"{module} could not be collected:\n{error[-_SHOWN:]}"
    for kind, failed in (("flaky", outcome.flaky), ("failed", outcome.failed)):
        for test in failed:
            yield f"{kind}: {test}\n{results.results[test].error[-_SHOWN:]}"
    if results.deaths:
        died = ", ".join(test for test, result in results.results.items() if result.died)
        yield f"a worker died in: {died or 'no test'}\n{''.join(results.stack) or 'It printed no stack.'}"


def commit() -> str:
    """Returns the id of the commit under test; without the id if there are changes beside it, or if git fails."""
    found, changes = _git("rev-parse", "HEAD"), _git("status", "--porcelain")
    if not found or changes is None:
        return "none: git could not read the repository"
    return f"none: {found[:8]} with uncommitted changes" if changes else found


def _git(*arguments: str) -> str | None:
    """Returns the output of git; None if git failed, for example because another user owns the directory."""
    try:
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _run_here(python: str) -> int:
    tested = commit()
    outcome = run(python)
    for text in details(outcome):
        print(f"\n{text}")
    summary = outcome.summary(tested)
    (PLACE / "last").write_text(summary)
    # The last line is in a form that CI systems count.
    print(f"\n{summary}\n{outcome.counts}", flush=True)
    return 1 if outcome.faults else 0


def _run_in_clone() -> int:
    """Runs `.ci/run` in a clone of HEAD, and copies the summary back."""
    here = Path.cwd()
    # The summary of an earlier run must not stand for a run that ends without one.
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    # A process that a test left behind may still write into the clone while the clone is removed.
    with TemporaryDirectory(prefix="gate-", ignore_cleanup_errors=True) as place:
        clone = Path(place, here.name)
        if code := subprocess.run(["git", "clone", "--quiet", str(here), str(clone)]).returncode:
            return code
        # Recordings beside the checkout, which some tests read.
        if (shared := here.parent / "shared").exists():
            (clone.parent / "shared").symlink_to(shared)
        command = ["bash", ".ci/run"]
        done = subprocess.run(command, cwd=clone, env={**environment, "CI": "true"}, stdin=subprocess.DEVNULL)
        for name in ("last", REPORT.name):
            if (clone / PLACE / name).exists():
                shutil.copy(clone / PLACE / name, PLACE / name)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.gate", description="Runs what each change passes.")
    parser.add_argument("--in-clone", action="store_true", help="test HEAD in an empty directory")
    parser.add_argument("--python", default="python3", help="the interpreter for the environment of the tests")
    arguments = parser.parse_args()
    return _run_in_clone() if arguments.in_clone else _run_here(arguments.python)


if __name__ == "__main__":
    sys.exit(main())
