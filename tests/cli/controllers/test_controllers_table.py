"""How the table of controllers looks, at two widths. UPDATE_SNAPSHOTS=1 writes what it looks like now: look at it."""

import json
import os
import re
from pathlib import Path

import pytest

from setpoint.cli.controllers.group import table
from setpoint.cli.output.terminal import Terminal
from setpoint.cli.past.why import hampered

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "rows.json").read_text())


@pytest.mark.parametrize(
    ("name", "place", "wide"),
    [
        ("table-80-plain", Terminal(80), False),
        ("table-140-colour", Terminal(140, True), False),
        ("table-140-wide", Terminal(140), True),
    ],
)
def test_the_table_looks_as_it_did_when_it_was_looked_at(name: str, place: Terminal, wide: bool) -> None:
    text = re.sub(
        r"\x1b\[([\d;]*)m", lambda code: "‹›" if code[1] == "0" else f"‹{code[1]}›", table(ROWS, place, wide=wide)
    )
    file = HERE / "snapshots" / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{text}\n")
    assert f"{text}\n" == file.read_text()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, []),
        ({"kind": "Other.example.com", "state": "Blocked"}, []),
        ({"state": "Blocked", "note": "blocks at a.py:3"}, ["its controller shop blocks at a.py:3"]),
        (
            {"queue": 9, "lagSeconds": 4.6},
            ["its controller shop is behind: 9 objects are queued, the oldest for 4.6 s"],
        ),
    ],
)
def test_why_tells_what_keeps_the_controllers_of_a_kind_from_its_objects(
    changed: dict[str, object], told: list[str]
) -> None:
    row = {"name": "shop", "kind": "Shop.example.com", "state": "Running", "queue": 0, "lagSeconds": 0.1, "note": ""}
    assert hampered([row | changed], "Shop.example.com") == told
