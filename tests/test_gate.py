"""The gate: which runs of the tests pass, and which are refused."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.gate import MOST_FLAKY, Outcome, details, second_opinion
from tools.test_results import NEVER_EXCUSED, TestResults, read

ROOT = Path(__file__).parents[1]
TEST = "tests/objects/test_a.py::test_b"
# Without the plugins that are installed, pytest starts in a fraction of the time.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
MAKEFILE = f"""
PYTEST = {sys.executable} -m pytest
BIN = {Path(sys.executable).parent}
check demo:
\t@true
test:
\t$(PYTEST) -p no:cacheprovider -p xdist -n 2 test_some.py
"""
TESTS = '''
import os
import signal
from pathlib import Path


def run_number(name):
    """The number of this run of a test, from 1 on."""
    with open(name, "a") as file:
        file.write("x")
    return len(Path(name).read_text())


def test_sound():
    pass
'''
FLAKY = """
def test_fails_once():
    assert run_number("flaky") > 1, "the first error"
"""
KILLED = """
def test_killed_once():
    if run_number("killed") == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
"""
BROKEN = """
def test_broken():
    raise ValueError
"""
UNSTEADY = """
def test_fails_every_second_time():
    assert run_number("unsteady") % 2 == 0
"""
ENDS_THE_RUN = """
def test_ends_the_run():
    os._exit(0)
"""

Gate = Callable[..., subprocess.CompletedProcess[str]]


def git(place: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Provides a function that runs the gate in a new repository with some files."""

    def run(*options: str, **files: str) -> subprocess.CompletedProcess[str]:
        files = {"Makefile": MAKEFILE, ".gitignore": "build/\n__pycache__/\n", **files}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        git(tmp_path, "init", "--quiet")
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "--message=a")
        return subprocess.run(
            [sys.executable, "-m", "tools.gate", *options],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )

    return run


def last(place: Path) -> list[str]:
    return (place / "build" / "gate" / "last").read_text().splitlines()


def test_tests_that_fail_once_or_kill_their_process_once_are_flaky(gate: Gate, tmp_path: Path) -> None:
    done = gate(**{"test_some.py": TESTS + FLAKY + KILLED})
    assert done.returncode == 0, done.stdout
    summary = last(tmp_path)
    assert summary[:2] == [f"commit: {git(tmp_path, 'rev-parse', 'HEAD')}", "verdict: passed"]
    assert summary[3] == "tests: 3 passed, 0 failed, 0 skipped, 2 flaky, 1 workers died"
    assert set(summary[4:]) == {"flaky: test_some.py::test_fails_once", "flaky: test_some.py::test_killed_once"}
    recorded = read(tmp_path / "build" / "gate" / "test.jsonl").results
    assert recorded["test_some.py::test_fails_once"].is_assertion
    report = done.stdout.rpartition("gate: again, alone")[2]
    assert "AssertionError: the first error" in report
    assert "a worker died in: test_some.py::test_killed_once\nFatal Python error: Segmentation fault" in report
    assert "in test_killed_once" in report
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed, 0 skipped"


def test_tests_that_fail_again_are_refused(gate: Gate, tmp_path: Path) -> None:
    done = gate(**{"test_some.py": TESTS + BROKEN + UNSTEADY})
    assert done.returncode == 1
    summary = last(tmp_path)
    assert summary[1] == "verdict: refused"
    assert set(summary[4:]) == {
        "refused because: test_some.py::test_broken failed, and failed again alone",
        "refused because: test_some.py::test_fails_every_second_time failed, and failed again alone",
        "failed: test_some.py::test_broken",
        "failed: test_some.py::test_fails_every_second_time",
    }
    assert not read(tmp_path / "build" / "gate" / "test.jsonl").results["test_some.py::test_broken"].is_assertion
    assert done.stdout.splitlines()[-1] == "1 passed, 2 failed, 0 skipped"


def test_a_run_that_ends_before_its_tests_is_refused(gate: Gate, tmp_path: Path) -> None:
    done = gate(**{"test_some.py": TESTS + ENDS_THE_RUN, "Makefile": MAKEFILE.replace("-n 2", "")})
    assert done.returncode == 1
    assert "1 collected tests have no result, for example test_some.py::test_ends_the_run" in last(tmp_path)[4]


def test_a_stage_that_fails_and_a_run_without_a_report_are_refused(gate: Gate, tmp_path: Path) -> None:
    done = gate(Makefile="check test:\n\t@true\ndemo:\n\t@false\n")
    assert done.returncode == 1
    assert last(tmp_path)[4:] == [
        "refused because: there is no report of a complete run",
        "refused because: make demo ended with exit code 2",
    ]
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_the_summary_of_a_clone_is_copied_back(gate: Gate, tmp_path: Path) -> None:
    script = (
        'mkdir -p build/gate; echo "$CI $(git rev-parse HEAD)" > build/gate/last; pwd > build/gate/test.jsonl; exit 3'
    )
    done = gate("--in-clone", **{".ci/run": script})
    assert done.returncode == 3
    assert last(tmp_path) == [f"true {git(tmp_path, 'rev-parse', 'HEAD')}"]
    used = Path((tmp_path / "build" / "gate" / "test.jsonl").read_text().strip())
    assert used.name == tmp_path.name
    assert not used.exists()


def test_an_earlier_summary_does_not_stand_for_a_run_without_one(gate: Gate, tmp_path: Path) -> None:
    gate("--in-clone", **{".ci/run": "mkdir -p build/gate; echo passed > build/gate/last"})
    assert last(tmp_path) == ["passed"]
    assert gate("--in-clone", **{".ci/run": "exit 1"}).returncode == 1
    assert not (tmp_path / "build" / "gate" / "last").exists()


def test_a_directory_that_cannot_be_cloned_is_refused_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.gate", "--in-clone"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode
    assert done.stderr.startswith("fatal: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("environment", "commit"),
    [
        ({}, "none: 12345678 with uncommitted changes"),
        ({"GIT_DIR": "nowhere"}, "none: git could not read the repository"),
    ],
)
def test_a_summary_without_a_commit_has_the_reason(
    gate: Gate, tmp_path: Path, environment: dict[str, str], commit: str
) -> None:
    gate(Makefile="check test demo:\n\t@true\n")
    (tmp_path / "new").touch()
    subprocess.run([sys.executable, "-m", "tools.gate"], cwd=tmp_path, env={**ENVIRONMENT, **environment})
    head = git(tmp_path, "rev-parse", "HEAD")
    assert last(tmp_path)[0] == f"commit: {commit.replace('12345678', head[:8])}"


# The judgement without a run


def results(*failed: str, exit_code: int = 1, is_assertion: bool = False, passed: int = 1) -> TestResults:
    """Returns the results of a run with some failed tests."""
    found = TestResults(exit=exit_code)
    outcomes = {**dict.fromkeys(failed, "failed"), **{f"{TEST}[{number}]": "passed" for number in range(passed)}}
    found.add({"collected": list(outcomes)})
    for test, outcome in outcomes.items():
        for when in ("setup", "call", "teardown"):
            here = outcome if when == "call" else "passed"
            found.add({"test": test, "when": when, "outcome": here, "error": "its error", "is_assertion": is_assertion})
    return found


def judged(found: TestResults, passes: bool = True) -> Outcome:
    outcome = Outcome(results=found)
    second_opinion(outcome, lambda _: passes)
    return outcome


def test_a_run_without_failures_passes() -> None:
    outcome = judged(results(exit_code=0))
    assert outcome.faults == outcome.flaky == []
    assert outcome.counts == "1 passed, 0 failed, 0 skipped"


def test_a_failed_test_is_repeated_three_times() -> None:
    repeated: list[str] = []

    def passes(test: str) -> bool:
        repeated.append(test)
        return True

    outcome = Outcome(results=results(TEST))
    second_opinion(outcome, passes)
    assert repeated == [TEST] * 3
    assert (outcome.faults, outcome.flaky) == ([], [TEST])
    assert list(details(outcome)) == [f"flaky: {TEST}\nits error"]


@pytest.mark.parametrize("number", [MOST_FLAKY, MOST_FLAKY + 1])
def test_few_tests_may_be_flaky(number: int) -> None:
    outcome = judged(results(*(f"{TEST}{each}" for each in range(number))))
    assert len(outcome.flaky) == number
    assert bool(outcome.faults) == (number > MOST_FLAKY)


def test_many_failures_are_refused_without_a_repetition() -> None:
    outcome = judged(results(*(f"{TEST}{each}" for each in range(21))))
    assert (outcome.faults, outcome.flaky) == (["21 tests failed"], [])


@pytest.mark.parametrize("directory", NEVER_EXCUSED)
def test_an_assertion_of_a_directory_is_never_excused(directory: str) -> None:
    assert (ROOT / directory).is_dir()
    test = f"{directory}test_a.py::test_b"
    assert judged(results(test, is_assertion=True)).faults == [
        f"{test} failed with an AssertionError, which is not excused in its directory"
    ]
    assert judged(results(test, is_assertion=False)).faults == [], "a time limit is repeated"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"exit": 3}, "pytest ended with exit code 3"),
        ({"exit": -11}, "pytest ended with exit code -11"),
        ({"exit": 0}, "pytest ended with exit code 0 in spite of failed tests"),
        ({"exit": None}, "there is no report of a complete run"),
        ({"uncollected": "tests/a.py", "error": "SyntaxError"}, "tests/a.py could not be collected"),
        ({"collected": ["a"]}, "1 collected tests have no result, for example a"),
    ],
)
def test_these_runs_are_never_excused(line: dict[str, object], fault: str) -> None:
    found = results(TEST)
    found.add(line)
    assert judged(found).faults == [fault]


def test_a_failure_without_a_failed_test_is_never_excused() -> None:
    assert judged(results()).faults == ["pytest ended with exit code 1 and without a failed test"]


def test_one_worker_may_die() -> None:
    found = results(TEST)
    found.add({"died": "gw0"})
    assert judged(found).faults == []
    found.add({"died": "gw1"})
    assert judged(found).faults == ["2 workers died"]


def test_a_test_that_only_fails_in_its_teardown_has_failed() -> None:
    found = results(exit_code=1)
    found.add({"test": f"{TEST}[0]", "when": "teardown", "outcome": "failed", "error": "late", "is_assertion": False})
    assert found.having("failed") == [f"{TEST}[0]"]


def test_half_a_line_of_a_report_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "report").write_text('{"collected": ["a"]}\n{"test": "a", "wh{"exit": 0}\n')
    assert list(read(tmp_path / "report").faults()) == ["there is no report of a complete run"]
