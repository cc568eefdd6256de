"""Case tables and golden scenarios for the tests of this package."""

from pathlib import Path
from typing import Any

import pytest
import yaml

_CASES = Path(__file__).parent / "cases"
_GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "scenarios" / "crd"


def table(name: str) -> Any:
    return yaml.safe_load((_CASES / f"{name}.yaml").read_text())


def named(cases: list[Any]) -> Any:
    """The cases as parameters of a test, under their own names."""
    return [pytest.param(case, id=case["name"]) for case in cases]


def steps(scenario: str) -> list[Any]:
    """The steps of a recorded scenario, with its run token filled in; skips the test where there are none."""
    path = _GOLDEN / f"{scenario}.yaml"
    if not path.exists():
        pytest.skip("the recorded scenarios are not beside this checkout")
    found: list[Any] = yaml.safe_load(path.read_text().replace("{x}", "x1234567"))["steps"]
    return found
