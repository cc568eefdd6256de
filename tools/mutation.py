"""Mutation testing: runs tests against a seeded sample of mutants, and prints those that no test notices.

    make mutate SEED=1 COUNT=100

A first run records the lines that each test runs (`build/mutation/record`). A mutant is applied in a copy of the
sources, never in the checkout, and only tests that run the changed line are run against the copy: quick tests first,
then slow ones of the same package, such as the models of a store. Slow tests that start other processes are left out.
`--record` records tests anew, for example those added for a survivor. Mutants that cannot change the behaviour are
listed with reasons in `mutation_equivalents.toml`.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from coverage import CoverageData

from tools.mutants import Mutant, mutants

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "setpoint"
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.toml")
BUILD = ROOT / "build" / "mutation"
# The parts whose mutants are sampled.
TARGETS = (*("merge", "server/verbs", "server/registry/storage.py", "controller/queue.py", "cache", "store", "flow"),)
# `store/etcd` runs only with an etcd server, in the slow suite.
EXCLUDED = ("store/etcd/",)
TESTS = ("tests/merge", "tests/server", "tests/controller", "tests/cache", "tests/store", "tests/flow")
# The tests to record: the quick ones, and the slow ones without an etcd server.
SELECTED = ("-m", "not peers", "-k", "not etcd")
# The environment variable with the directory that the plugin writes to.
RECORD = "MUTATION_RECORD"
WANTED = 0.9
# The limits of the tests that are run against one mutant: the number and the seconds of quick tests, and the seconds of
# slow ones. The others run only if the first ones do not notice the mutant.
MOST_TESTS = 200
FIRST_TESTS = 30
MOST_SECONDS = 25.0
MOST_SLOW_SECONDS = 60.0
# The seconds after which a run of tests counts as hanging; more for tests that take long anyway.
TIMEOUT = 60.0


class Outcome(NamedTuple):
    """The result of one mutant: `killed`, `timeout`, `survived`, `uncovered` or `broken`, and the number of tests."""

    mutant: Mutant
    result: str
    tests: int

    @property
    def is_killed(self) -> bool:
        return self.result in ("killed", "timeout")


class Chosen(NamedTuple):
    """The tests to run against one mutant, each in the order in which they run."""

    quick: Sequence[str]
    slow: Sequence[str]
    # The recorded duration of the slow tests.
    slow_seconds: float = 0.0

    @property
    def number(self) -> int:
        return len(self.quick) + len(self.slow)

    def batches(self) -> Iterator[tuple[Sequence[str], float]]:
        """Yields the tests of each run with the timeout of the run."""
        for tests in (self.quick[:FIRST_TESTS], self.quick[FIRST_TESTS:]):
            if tests:
                yield tests, TIMEOUT
        if self.slow:
            yield self.slow, max(TIMEOUT, 2 * self.slow_seconds)


class Record:
    """The lines that each test runs, by file, and the durations of the tests."""

    def __init__(self, directory: Path) -> None:
        self._lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._seconds: dict[str, float] = {}
        self._slow: set[str] = set()
        for file in sorted(directory.glob("durations.*.json")):
            self._seconds |= json.loads(file.read_text())
        for file in sorted(directory.glob("slow.*.json")):
            self._slow.update(json.loads(file.read_text()))
        for file in sorted(directory.glob("coverage.*")):
            data = CoverageData(str(file))
            data.read()
            for name in data.measured_files():
                path = name.rpartition("/src/setpoint/")[2]
                if _is_target(path):
                    for line, tests in data.contexts_by_lineno(name).items():
                        self._lines[path][line].update(tests)

    def tests(self, mutant: Mutant) -> Chosen:
        """Returns tests that run the mutant, within the limits."""
        lines = self._lines[mutant.path]
        found = self._of(lines, mutant.lines) or self._of(lines, mutant.statement)
        if not mutant.in_function or (not found and any("" in lines.get(line, ()) for line in mutant.lines)):
            found = self._of(lines, lines)  # the import runs the line, in no test
        slow = self._quickest(found & self._slow, mutant)
        return Chosen(self._ordered(found - self._slow, mutant), slow, sum(self._seconds[test] for test in slow))

    def _quickest(self, tests: set[str], mutant: Mutant) -> list[str]:
        """Returns the slow tests of the mutant's package, the quickest first."""
        package = f"tests/{mutant.path.partition('/')[0]}/"
        own = sorted((self._seconds[test], test) for test in tests if test.startswith(package))
        ends = accumulate(seconds for seconds, _ in own)
        return [test for (_, test), end in zip(own, ends, strict=True) if end <= MOST_SLOW_SECONDS]

    def _ordered(self, tests: set[str], mutant: Mutant) -> list[str]:
        """Returns quick tests. Tests of a file named like the module come first. Among equals, those that run a line of
        the module that no faster one runs come first, since tests of the same lines mostly fail together; then one test
        for each set of lines, then the fastest case of each test function, the second fastest, and so on."""
        lines = self._lines_of(tests, mutant.path)
        by_speed = sorted(tests, key=lambda test: (self._seconds[test], test))
        reached: set[int] = set()
        sets: set[frozenset[int]] = set()
        turn: Counter[str] = Counter()
        order = []
        for test in by_speed:
            function = test.partition("[")[0]
            turn[function] += 1
            rank = 0 if lines[test] - reached else 1 if lines[test] not in sets else 1 + turn[function]
            reached |= lines[test]
            sets.add(lines[test])
            order.append((not _is_about(test, mutant.path), rank, self._seconds[test], test))
        chosen: list[str] = []
        left = MOST_SECONDS
        for *_, seconds, test in sorted(order)[:MOST_TESTS]:
            if chosen and seconds > left:
                continue
            chosen.append(test)
            left -= seconds
        return chosen

    def _lines_of(self, tests: set[str], path: str) -> dict[str, frozenset[int]]:
        """Returns the lines of a module that each test runs."""
        found: dict[str, set[int]] = {test: set() for test in tests}
        for line, runs in self._lines[path].items():
            for test in runs & tests:
                found[test].add(line)
        return {test: frozenset(lines) for test, lines in found.items()}

    def _of(self, lines: dict[int, set[str]], wanted: Iterable[int]) -> set[str]:
        return {test for line in wanted for test in lines.get(line, ()) if test in self._seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs tests against a seeded sample of mutants.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only mutants whose id contains this text")
    parser.add_argument("--record", nargs="+", default=[], metavar="TESTS", help="tests whose lines to record anew")
    arguments = parser.parse_args()
    record = BUILD / "record"
    if arguments.record or not record.exists():
        _record(record, arguments.record or TESTS)
    every = [mutant for mutant in _all() if arguments.only in mutant.id]
    sample = random.Random(arguments.seed).sample(every, min(arguments.count, len(every)))
    equivalents = {each["mutant"] for each in tomllib.loads(EQUIVALENTS.read_text()).get("equivalent", [])}
    left = [mutant for mutant in sample if mutant.id not in equivalents]
    print(f"{len(every)} mutants; seed {arguments.seed}: {len(sample)} sampled, {len(sample) - len(left)} equivalent")
    outcomes = _run_all(left, Record(record), arguments.jobs)
    return _report(outcomes, arguments.seed)


def _report(outcomes: Sequence[Outcome], seed: int) -> int:
    counts = Counter(outcome.result for outcome in outcomes)
    killed = sum(outcome.is_killed for outcome in outcomes)
    rate = killed / len(outcomes) if outcomes else 1.0
    results = {outcome.mutant.id: outcome.result for outcome in outcomes}
    (BUILD / f"seed-{seed}.json").write_text(json.dumps(results, indent=1))
    print(f"{killed} of {len(outcomes)} killed ({rate:.0%}): {dict(sorted(counts.items()))}")
    return 0 if rate >= WANTED else 1


def _is_about(test: str, path: str) -> bool:
    """Returns True if the file of a test is named like the module, as `test_index.py` and `index.py`."""
    name, module = Path(test.partition("::")[0]).stem.removeprefix("test_"), Path(path).stem
    return name in module or module in name


def _is_target(path: str) -> bool:
    return path.startswith(TARGETS) and not path.startswith(EXCLUDED)


def _all() -> list[Mutant]:
    paths = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return [each for path in paths if _is_target(path) for each in mutants(path, (SOURCE / path).read_bytes())]


def _record(directory: Path, tests: Sequence[str]) -> None:
    """Runs the tests with coverage. Raises CalledProcessError if the tests cannot be run."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-p", "tools.mutation_coverage"]
    command += ["--timeout", f"{MOST_SLOW_SECONDS:g}"]  # a longer test is never run against a mutant
    done = subprocess.run([*command, *SELECTED, *tests], cwd=ROOT, env={**os.environ, RECORD: str(directory)})
    # Failed tests are not recorded, and hence do not kill mutants.
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, done.args)


def _run_all(sample: Sequence[Mutant], record: Record, jobs: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            trees.put(_copy(Path(name) / str(number)))

        def run(mutant: Mutant) -> Outcome:
            tree = trees.get()
            try:
                outcome = _run(tree, mutant, record.tests(mutant))
            finally:
                trees.put(tree)
            line = f"{mutant.path}:{mutant.lines.start}"
            print(f"{outcome.result:9} {outcome.tests:3} tests  {line}  {mutant.id}", flush=True)
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(run, sample))


def _copy(tree: Path) -> Path:
    """Copies the sources, with compiled modules; links in the sources lead to the examples."""
    shutil.copytree(ROOT / "src", tree / "src", symlinks=True)
    (tree / "examples").symlink_to(ROOT / "examples")
    return tree


def _run(tree: Path, mutant: Mutant, tests: Chosen) -> Outcome:
    if not tests.number:
        return Outcome(mutant, "uncovered", 0)
    file = tree / "src" / "setpoint" / mutant.path
    original = file.read_bytes()
    # The time in a compiled module has a resolution of one second, so that a mutant of equal size could be missed.
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()
    for batch, timeout in tests.batches():
        try:
            file.write_bytes(mutant.apply(original))
            code, output = _pytest(tree, batch, timeout)
        finally:
            file.write_bytes(original)
        if code != 0:
            break
    else:
        return Outcome(mutant, "survived", tests.number)
    # A test that also fails or hangs without the mutant, or no longer exists, has not noticed the mutant.
    failed = [test for test in batch if f"FAILED {test}" in output or f"ERROR {test}" in output]
    if _pytest(tree, failed or batch, timeout)[0] != 0:
        return Outcome(mutant, "broken", tests.number)
    return Outcome(mutant, "timeout" if code is None else "killed", tests.number)


def _pytest(tree: Path, tests: Sequence[str], timeout: float) -> tuple[int | None, str]:
    """Runs tests against the sources of a tree. Returns the exit code, None after the timeout, and the output."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tree / "hypothesis"),
    }
    command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "--hypothesis-seed=0", *tests]
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = None
        output.seek(0)
        return code, output.read()


if __name__ == "__main__":
    sys.exit(main())
