"""A controller is added to an app file without touching anything else in it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from setpoint.app.controller_entry import AddingError, add_controller

CASES: list[dict[str, Any]] = msgspec.yaml.decode((Path(__file__).parent / "cases" / "adding.yaml").read_bytes())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_controller_is_added_where_it_belongs(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(AddingError) as refused:
            add_controller(case["file"], "controllers/shop.py")
        assert str(refused.value).startswith(case["refused"])
        return
    wanted = case["file"] if case.get("same") else case["becomes"]
    assert add_controller(case["file"], "controllers/shop.py") == wanted
