"""No test is left out: the gate runs `make test`, and `make full` runs `make test-long` and `make test-peers`."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from tools.gate import STAGES

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
MARKERS = ("slow", "kubectl", "peers")


def expression(variable: str) -> str:
    """The selection of a suite, as the Makefile defines it."""
    [found] = re.findall(rf"^{variable} := (.*)$", MAKEFILE, re.M)
    return str(found)


def commands(target: str) -> list[str]:
    """The commands of a target that run pytest."""
    [recipe] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    return [line for line in recipe.replace("\\\n", " ").splitlines() if "$(PYTEST)" in line]


def selects(variable: str, markers: dict[str, bool]) -> bool:
    return bool(eval(expression(variable), {"__builtins__": {}}, markers))


@pytest.mark.parametrize("given", list(product((False, True), repeat=len(MARKERS))))
def test_every_combination_of_markers_is_in_one_suite(given: tuple[bool, ...]) -> None:
    markers = dict(zip(MARKERS, given, strict=True))
    quick, long, peers = (selects(variable, markers) for variable in ("QUICK", "LONG_ONES", "PEERS"))
    assert quick + long == (not markers["peers"])
    assert peers == (markers["peers"] or markers["kubectl"])


def test_the_targets_select_by_these_expressions_and_leave_no_directory_out() -> None:
    assert [line.partition("$(PYTEST) ")[2] for line in commands("test")] == [
        '-n $(QUICK_WORKERS) -m "$(QUICK)" $(addprefix tests/,$(PACKAGE))'
    ]
    assert "\nPACKAGE :=\n" in MAKEFILE, "without PACKAGE, every directory is selected"
    assert [line.partition("$(PYTEST) ")[2] for line in commands("test-long")] == [
        '-n $(WORKERS) -rs -m "$(LONG_ONES)"',
        "-n $(WORKERS) $(PORTABLE)",  # once more, with the portable process layer
    ]
    serial = "tests/clients/test_controller_runtime.py"
    most, rest = (line.partition("$(PYTEST) ")[2] for line in commands("test-peers"))
    assert most.endswith(f'-m "$(PEERS)" tests/clients --ignore {serial}')
    assert rest.endswith(f'-m "$(PEERS)" {serial}')


def test_only_the_directory_that_test_peers_runs_has_tests_for_it() -> None:
    marked = {
        path.relative_to(ROOT).parts[:2]
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"pytest\.mark\.(peers|kubectl)\b", path.read_text())
    }
    assert marked == {("tests", "clients")}


def test_the_gate_runs_check_test_and_demo() -> None:
    assert [stage.target for stage in STAGES] == ["check", "test", "demo"]
    [runs] = re.findall(r"-m tools\.gate.*", (ROOT / ".ci" / "run").read_text())
    assert runs == '-m tools.gate --python "$oldest"'


def test_full_runs_the_rest() -> None:
    [recipe] = re.findall(r"^full:\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert re.findall(r"\$\(MAKE\) (.*)", recipe) == [
        'test-long PYTHON="$(firstword $(INTERPRETERS))"',
        'test-peers LONG=--long PYTHON="$(firstword $(INTERPRETERS))"',
        'test PYTHON="$(lastword $(INTERPRETERS))" PACKAGE="$(AGAIN)"',
    ], "no suite is left out on some machines"


def test_the_packages_that_run_again_on_the_newest_interpreter_exist() -> None:
    packages = expression("AGAIN").split()
    assert packages
    assert [package for package in packages if not any((ROOT / "tests" / package).rglob("test_*.py"))] == []


def test_the_interpreters_are_tested_ones_in_their_order() -> None:
    done = subprocess.run([ROOT / "tools" / "interpreters"], check=True, capture_output=True, text=True)
    found = [int(minor) for minor in re.findall(r"3\.(\d+)$", done.stdout, re.M)]
    assert found
    assert found == sorted(set(found))
    assert set(found) <= set(supported())


def supported() -> list[int]:
    """The minor versions of Python that pyproject.toml lists."""
    project = (ROOT / "pyproject.toml").read_text()
    return [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)]


def test_the_tested_versions_of_python_are_the_supported_ones() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    tested = supported()
    assert tested == list(range(tested[0], tested[-1] + 1))
    assert f'requires-python = ">=3.{tested[0]}"' in project
    assert f"| Python | 3.{tested[0]} to 3.{tested[-1]} |" in (ROOT / "docs" / "versioning.md").read_text()


def test_an_unknown_package_is_refused_with_the_known_ones() -> None:
    refused = subprocess.run(
        ["make", "--old-file", ".venv/.ready", "test", "PYTHON=python3", "PACKAGE=objects/nowhere"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "There is no directory tests/objects/nowhere." in refused.stderr
    assert {"objects", "workload/process"} <= set(refused.stderr.split())
