"""Objects as people see them: the cells of the tables of the core kinds."""

from typing import Any

import pytest
from tests.server.kinds.objects import load
from tests.server.kinds.recorded import NOW
from tests.server.kinds.writes import CREATED

from setpoint.objects.tree import copy
from setpoint.server.registry.kinds import strategy_for
from setpoint.server.registry.kinds.core.event import convert

_CASES = load("rows")


def _tree(case: Any) -> Any:
    tree = copy(case["tree"])
    metadata = {"name": "a", "creationTimestamp": CREATED, **tree.get("metadata", {})}
    return {"apiVersion": "v1", "kind": case["kind"], **tree, "metadata": metadata}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in _CASES])
def test_a_row_says_what_matters(case: Any) -> None:
    strategy = strategy_for("", case["kind"])
    assert strategy is not None
    cells = {column.name: column.cell(_tree(case), NOW) for column in strategy.columns}
    assert {name: cells[name] for name in case["cells"]} == case["cells"]


def test_an_event_looks_the_same_in_both_groups() -> None:
    older, newer = strategy_for("", "Event"), strategy_for("events.k8s.io", "Event")
    assert older is not None
    assert newer is not None
    for case in (case for case in _CASES if case["kind"] == "Event"):
        tree = _tree(case)
        other = convert(copy(tree), "events.k8s.io/v1")
        assert [column.cell(other, NOW) for column in newer.columns] == [
            column.cell(tree, NOW) for column in older.columns
        ]


def test_an_event_comes_back_from_the_other_form_as_it_was() -> None:
    for case in (case for case in _CASES if case["kind"] == "Event"):
        event = convert(convert(_tree(case), "events.k8s.io/v1"), "v1")
        assert convert(convert(copy(event), "events.k8s.io/v1"), "v1") == event


@pytest.mark.parametrize(("phase", "reasons"), [("Running", []), ("Succeeded", ["Succeeded"]), ("Failed", ["Failed"])])
def test_the_row_of_a_pod_that_has_ended_says_so(phase: str, reasons: list[str]) -> None:
    strategy = strategy_for("", "Pod")
    assert strategy is not None
    conditions = strategy.row_conditions({"metadata": {}, "status": {"phase": phase}})
    assert [(it["type"], it["status"], it["reason"]) for it in conditions] == [
        ("Completed", "True", reason) for reason in reasons
    ]
