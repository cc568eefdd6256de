"""Tables of cases: YAML lists beside the tests, one parameter a row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

_FOLDER = Path(__file__).parent / "cases"


def cases(name: str) -> pytest.MarkDecorator:
    """A decorator that runs a test once for each row of the table, called by the row's name."""
    rows = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return pytest.mark.parametrize(
        "case", [pytest.param(row, id=str(row.get("name", at))) for at, row in enumerate(rows)]
    )


def refusal(function: Callable[[Any], Any], value: Any, kind: type[Exception] = ValueError) -> str | None:
    """What the function says when it refuses the value with that kind of error; None where it takes it."""
    try:
        function(value)
    except kind as error:
        return str(error)
    return None
