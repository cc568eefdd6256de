"""Every test runs in CI: `make test`, `make test-long` and `make test-peers` leave none out."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

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
    return [line for line in recipe.replace("\\\n", " ").splitlines() if "-m pytest" in line]


def selects(variable: str, markers: dict[str, bool]) -> bool:
    return bool(eval(expression(variable), {"__builtins__": {}}, markers))


@pytest.mark.parametrize("given", list(product((False, True), repeat=len(MARKERS))))
def test_every_combination_of_markers_is_in_one_suite(given: tuple[bool, ...]) -> None:
    markers = dict(zip(MARKERS, given, strict=True))
    quick, long, peers = (selects(variable, markers) for variable in ("QUICK", "LONG_ONES", "PEERS"))
    assert quick + long == (not markers["peers"])
    assert peers == (markers["peers"] or markers["kubectl"])


def test_the_targets_select_by_these_expressions_and_leave_no_directory_out() -> None:
    assert [line.partition("-m pytest ")[2] for line in commands("test")] == [
        '-n $(QUICK_WORKERS) -m "$(QUICK)" $(addprefix tests/,$(PACKAGE))'
    ]
    assert "\nPACKAGE :=\n" in MAKEFILE, "without PACKAGE, every directory is selected"
    assert [line.partition("-m pytest ")[2] for line in commands("test-long")] == [
        '-n $(WORKERS) -rs -m "$(LONG_ONES)"',
        "-n $(WORKERS) $(PORTABLE)",  # once more, with the portable process layer
    ]
    serial = "tests/clients/test_controller_runtime.py"
    most, rest = (line.partition("-m pytest ")[2] for line in commands("test-peers"))
    assert most.endswith(f'-m "$(PEERS)" tests/clients --ignore {serial}')
    assert rest.endswith(f'-m "$(PEERS)" {serial}')


def test_only_the_directory_that_test_peers_runs_has_tests_for_it() -> None:
    marked = {
        path.relative_to(ROOT).parts[:2]
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"pytest\.mark\.(peers|kubectl)\b", path.read_text())
    }
    assert marked == {("tests", "clients")}


def test_ci_runs_all_of_them() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    assert re.findall(r"^( *)make (.*)$", run, re.M) == [
        ("", 'check PYTHON="$oldest"'),
        ("", 'test PYTHON="$oldest"'),
        ("", 'test-long PYTHON="$oldest"'),
        ("", 'test-peers LONG=--long PYTHON="$oldest"'),
        ("", f'test PYTHON="$newest" PACKAGE="{" ".join(again(run))}"'),
    ], "no suite is left out on some machines"


def test_ci_repeats_packages_that_exist_on_the_newest_interpreter() -> None:
    packages = again((ROOT / ".ci" / "run").read_text())
    assert packages
    assert [package for package in packages if not any((ROOT / "tests" / package).rglob("test_*.py"))] == []


def again(run: str) -> list[str]:
    """The packages whose tests run on the newest interpreter too."""
    [packages] = re.findall(r'PACKAGE="(.*)"$', run, re.M)
    return str(packages).split()


def test_the_tested_versions_of_python_are_the_supported_ones() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    tested = [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)]
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
