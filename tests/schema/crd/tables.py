"""Case tables and golden scenarios for the tests of this package."""

from pathlib import Path
from typing import Any

import pytest
import yaml

_CASES = Path(__file__).parent / "cases"
_GOLDEN = Path(__file__).parents[2] / "golden" / "scenarios"


def table(name: str) -> Any:
    return _load((_CASES / f"{name}.yaml").read_text())


def named(cases: list[Any]) -> Any:
    """The cases as parameters of a test, under their own names."""
    return [pytest.param(case, id=case["name"]) for case in cases]


def steps(scenario: str) -> list[Any]:
    """The steps of a recorded scenario, with its run token filled in."""
    return _steps(_GOLDEN / "crd" / f"{scenario}.yaml")


def recorded_creations() -> list[Any]:
    """The steps of all scenarios that create a definition and are answered by its validation."""
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
                # These answers come before the validation, or after it.
                and step["expect"]["status"] not in (400, 409)
            ):
                found.append(pytest.param(step, id=f"{path.stem}-{position}"))
    return found


def _steps(path: Path) -> list[Any]:
    text = path.read_text().replace("{x}", "x1234567")
    found: list[Any] = _load(text)["steps"]
    return found


def _load(text: str) -> Any:
    # The loader in C where there is one: the scenarios are long.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
