"""Every trap of the table has its tests, wherever in the suite they are."""

import re
from pathlib import Path

import msgspec
import pytest

TABLE = msgspec.yaml.decode((Path(__file__).parent / "traps.yaml").read_bytes())
_TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
THERE = {
    name
    for path in Path(__file__).parents[2].rglob("test_*.py")
    if "golden" not in path.parts
    for name in _TEST.findall(path.read_text())
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["trap"].replace(" ", "-")[:50])
def test_a_trap_has_its_tests(row: dict[str, list[str]]) -> None:
    assert row["tests"], "a trap without a test is none that we have tried"
    assert [name for name in row["tests"] if name not in THERE] == []
