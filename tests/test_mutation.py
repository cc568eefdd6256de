"""The mutation tool runs tests that run the changed line: quick ones first, then slow ones of the same package."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from coverage import CoverageData
from tools import mutation
from tools.mutants import Mutant, mutants
from tools.mutation import Chosen, Record

PATH = "store/keys.py"
SOURCE = b"LIMIT = 5\n\n\ndef check(value):\n    return value < 3\n\n\ndef build():\n    return 7\n"


def mutant(before: str) -> Mutant:
    [found] = [each for each in mutants(PATH, SOURCE) if each.before == before]
    return found


def record(directory: Path, lines: Mapping[str, set[int]], seconds: Mapping[str, float], slow: set[str]) -> Record:
    data = CoverageData(str(directory / "coverage.1"))
    for test, found in lines.items():
        data.set_context(test)
        data.add_lines({f"/somewhere/src/setpoint/{PATH}": found})
    data.write()
    (directory / "durations.1.json").write_text(json.dumps(seconds))
    (directory / "slow.1.json").write_text(json.dumps(sorted(slow)))
    return Record(directory)


QUICK = {"tests/store/test_a.py::b[1]": 0.1, "tests/store/test_a.py::b[2]": 0.05, "tests/store/test_a.py::c": 0.3}
SLOW = {"tests/store/test_model.py::m": 9.0, "tests/store/test_model.py::n": 4.0, "tests/server/test_x.py::s": 1.0}


def test_the_fastest_case_of_each_test_runs_first_and_slow_tests_of_the_package_last(tmp_path: Path) -> None:
    seconds = QUICK | SLOW | {"tests/store/test_keys.py::k": 0.5, "tests/store/test_a.py::other": 0.01}
    lines = {test: {5} for test in seconds} | {"tests/store/test_a.py::other": {9}, "": {1, 4, 8}}
    chosen = record(tmp_path, lines, seconds, set(SLOW)).tests(mutant("3"))
    assert chosen.quick == [
        "tests/store/test_keys.py::k",  # named like the module
        "tests/store/test_a.py::b[2]",
        "tests/store/test_a.py::c",
        "tests/store/test_a.py::b[1]",
    ]
    assert chosen.slow == ["tests/store/test_model.py::n", "tests/store/test_model.py::m"]
    assert (chosen.number, chosen.slow_seconds) == (6, 13.0)


def test_slow_tests_are_bounded_by_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "MOST_SLOW_SECONDS", 12.0)
    chosen = record(tmp_path, {test: {5} for test in SLOW}, SLOW, set(SLOW)).tests(mutant("3"))
    assert (chosen.quick, chosen.slow) == ([], ["tests/store/test_model.py::n"])


def test_a_line_that_only_the_import_runs_is_tested_by_all_tests_of_the_module(tmp_path: Path) -> None:
    lines = {"tests/store/test_a.py::c": {5}, "": {1, 4, 8, 9}}
    found = record(tmp_path, lines, QUICK, set())
    for before in ("5", "7"):  # at the top of the module, and in a function that the import calls
        assert found.tests(mutant(before)).quick == ["tests/store/test_a.py::c"]


def test_a_line_that_no_test_runs_has_no_tests(tmp_path: Path) -> None:
    lines = {"tests/store/test_a.py::c": {5}, "tests/store/test_a.py::failed": {9}, "": {1, 4, 8}}
    assert record(tmp_path, lines, QUICK, set()).tests(mutant("7")).number == 0


def test_the_runs_of_a_mutant_have_their_timeouts() -> None:
    quick = [f"q{number}" for number in range(mutation.FIRST_TESTS + 2)]
    assert list(Chosen(quick, ["s"], 50.0).batches()) == [
        (quick[:-2], mutation.TIMEOUT),
        (quick[-2:], mutation.TIMEOUT),
        (["s"], 100.0),
    ]
    assert list(Chosen(["q"], ["s"], 1.0).batches()) == [(["q"], mutation.TIMEOUT), (["s"], mutation.TIMEOUT)]
    assert list(Chosen([], []).batches()) == []
