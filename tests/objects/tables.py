"""Tables of cases: YAML lists beside the tests, one parameter a row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

_FOLDER = Path(__file__).parent / "cases"


def cases(name: str) -> pytest.MarkDecorator:
    """A decorator that runs a test once for each row of the table, called by its name or else by what it is given."""
    rows = yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return pytest.mark.parametrize("case", [pytest.param(row, id=row.get("name") or _given(row)) for row in rows])


def _given(row: dict[str, Any]) -> str:
    return " ".join(ascii(value)[:60] for name, value in row.items() if name in ("rule", "text", "given"))


def refusal(function: Callable[[Any], Any], value: Any, kind: type[Exception] = ValueError) -> str | None:
    """What the function says when it refuses the value with that kind of error; None where it takes it."""
    try:
        function(value)
    except kind as error:
        return str(error)
    return None
