"""Case tables and golden scenarios for the tests of this package."""

from pathlib import Path
from typing import Any

import pytest
import yaml

_CASES = Path(__file__).parent / "cases"
_GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "scenarios"

_NOT_HERE = "the recorded scenarios are not beside this checkout"


def table(name: str) -> Any:
    return _load((_CASES / f"{name}.yaml").read_text())


def named(cases: list[Any]) -> Any:
    """The cases as parameters of a test, under their own names."""
    return [pytest.param(case, id=case["name"]) for case in cases]


def steps(scenario: str) -> list[Any]:
    """The steps of a recorded scenario, with its run token filled in; skips the test where there are none."""
    path = _GOLDEN / "crd" / f"{scenario}.yaml"
    if not path.exists():
        pytest.skip(_NOT_HERE)
    return _steps(path)


def recorded_creations() -> list[Any]:
    """The steps of all scenarios that create a definition, as parameters of a test."""
    found = []
    for path in sorted(_GOLDEN.glob("*/*.yaml")):
        text = path.read_text()
        if "CustomResourceDefinition" not in text:
            continue
        for position, step in enumerate(_steps(path)):
            body = step.get("body")
            if (
                step.get("method") == "POST"
                and isinstance(body, dict)
                and body.get("kind") == "CustomResourceDefinition"
            ):
                found.append(pytest.param(step, id=f"{path.stem}-{position}"))
    return found or [pytest.param(None, id="none", marks=pytest.mark.skip(reason=_NOT_HERE))]


def _steps(path: Path) -> list[Any]:
    text = path.read_text().replace("{x}", "x1234567")
    found: list[Any] = _load(text)["steps"]
    return found


def _load(text: str) -> Any:
    # The loader in C where there is one: the scenarios are long.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
