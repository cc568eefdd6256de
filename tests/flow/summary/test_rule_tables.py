"""The tables of rules that are shipped are those that people write."""

from pathlib import Path

import pytest
from tools.rule_tables import TABLES, contents


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_what_is_shipped_is_what_is_written(table: Path) -> None:
    shipped = table.with_suffix(".json").read_bytes()
    assert shipped == contents(table), "make them anew: python -m tools.rule_tables"
