"""Printer columns: what a path finds, what a cell shows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schema.crd.tables import named, steps, table

from setpoint.objects.duration import human_duration
from setpoint.schema.crd.definition import Column, CustomResourceDefinition
from setpoint.schema.crd.printer_columns import PrinterColumns
from setpoint.schema.jsonpath import JSONPath, JSONPathError

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TYPES = ("string", "integer", "number", "boolean", "date")

_CELLS = table("cells")


@pytest.mark.parametrize("case", named(_CELLS["cases"]))
def test_cells(case: Any) -> None:
    columns = [Column(name=kind, type=kind, json_path=case["path"]) for kind in TYPES]
    shown = PrinterColumns(columns)
    if case.get("unreadable"):
        assert [header["name"] for header in shown.headers] == ["Name"]
        return
    cells = dict(zip(TYPES, shown.cells(_CELLS["object"], NOW)[1:], strict=True))
    assert {kind: cell for kind, cell in cells.items() if cell is not None} == case["cells"]


@pytest.mark.parametrize("case", named(table("ages")))
def test_ages(case: Any) -> None:
    assert human_duration(case["seconds"]) == case["text"]


def test_a_date_column_shows_how_long_ago_it_was() -> None:
    shown = PrinterColumns([Column(name="When", type="date", json_path=".at")])
    assert shown.cells({"at": "2026-01-31T11:55:00Z"}, NOW) == ["", "5m"]
    assert shown.cells({"at": "2026-01-31T12:00:00.5+01:00"}, NOW) == ["", "60m"]
    assert shown.cells({"at": "2999-01-01T00:00:00Z"}, NOW) == ["", "<invalid>"]


def test_without_columns_a_table_shows_the_age() -> None:
    shown = PrinterColumns([])
    assert [header["name"] for header in shown.headers] == ["Name", "Age"]
    made = (NOW - timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert shown.cells({"metadata": {"name": "w", "creationTimestamp": made}}, NOW) == ["w", "3h"]


def test_recorded_tables_have_the_same_headers_and_cells() -> None:
    first, *_ = found = steps("crd-printer-columns")
    version = CustomResourceDefinition.parse(first["body"]).spec.versions[0]
    shown = PrinterColumns(version.additional_printer_columns)
    objects = {step["body"]["metadata"]["name"]: step["body"] for step in found[1:] if step.get("method") == "POST"}
    tables = [step["expect"]["body"] for step in found if step.get("method") == "GET"]
    assert tables
    for recorded in tables:
        assert shown.headers == recorded["columnDefinitions"]
        for row in recorded["rows"]:
            tree = objects[row["cells"][0]]
            tree["metadata"]["creationTimestamp"] = "2026-01-31T12:00:00Z"
            ages = ["<age>" if cell == "0s" else cell for cell in shown.cells(tree, NOW)]
            assert ages == row["cells"]


@given(st.text(alphabet=".[]*?()@$'\"=<>!,:-+{}\\ abn01é\n", max_size=24))
def test_any_text_is_a_path_or_says_why_not(text: str) -> None:
    tree = {"a": [{"b": 1, "n": "x"}, {"b": 2.5}, None], "b": {"a": "n"}, "n": None}
    try:
        JSONPath(text).find(tree)
    except JSONPathError:
        return


def test_a_descent_into_a_deep_object_does_not_run_out_of_stack() -> None:
    deep: Any = {"leaf": 1}
    for _ in range(50_000):
        deep = {"a": deep}
    assert JSONPath("..leaf").find(deep) == [1]
    while deep:
        deep = deep.get("a")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r".a['x\.y']", 1),
        (".b[?(@.s=='it\\'s')].v", 2),
        ('.b[?(@.s=="\\u00e9")].v', 3),
        (".b[?(@.v>=3)].s", "é"),
    ],
)
def test_escapes(text: str, found: Any) -> None:
    tree = {"a": {"x.y": 1}, "b": [{"s": "it's", "v": 2}, {"s": "é", "v": 3}]}
    assert JSONPath(text).first(tree) == found
