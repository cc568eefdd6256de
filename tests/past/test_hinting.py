"""Hints: each rule of the table fits what it is for, and nothing that is well."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.client.discovery import APIResource
from setpoint.flow.summary.summary import summarize
from setpoint.objects.gvk import GroupVersionKind
from setpoint.past.object_ref import ObjectReference
from setpoint.past.why.facts import Facts, Wait
from setpoint.past.why.hints import _rules, hints

from .world import START

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "hints.yaml").read_text())


def facts(case: dict[str, Any], **more: Any) -> Facts:
    """What would be known of an object like that."""
    kind = case.get("kind", "Thing")
    place = ObjectReference(APIResource(GroupVersionKind("example.com", "v1", kind), "things", False), "thing")
    condition = {
        "type": "Ready",
        "status": case.get("status", "False"),
        "reason": case.get("reason", "Other"),
        "message": case.get("message", ""),
    }
    tree = {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "thing"}, "spec": case.get("spec", {})}
    tree["status"] = {"conditions": [condition]}
    output = (case["output"],) if "output" in case else ()
    return Facts(place, START, tree, summarize(tree), output=output, **more)


@pytest.mark.parametrize("case", CASES, ids=[case["hint"] for case in CASES])
def test_a_hint_comes_with_what_it_is_for(case: dict[str, Any]) -> None:
    found = hints(facts(case))
    assert [text for text in found if text.startswith(case["hint"])], found
    assert "{" not in "".join(found)


def test_every_rule_of_the_table_has_a_case() -> None:
    told = {text for case in CASES for text in hints(facts(case))}
    unused = [rule.hint for rule in _rules() if not any(text.startswith(rule.hint.partition("{")[0]) for text in told)]
    assert unused == []


def test_what_says_nothing_gets_no_hint() -> None:
    assert hints(facts({"status": "True", "reason": "Fine", "message": "all is well"})) == ()


@pytest.mark.parametrize(
    ("line", "variable", "ports", "hint"),
    [
        ("refused port 5433", "db:5433", {"db": 41870, "mq": 1}, "has port 5433, but Service db has 41870"),
        ("dial tcp 127.0.0.1:5433: refused", "x:5433", {"store": 41870}, "Service store has 41870"),
        ("refused port 5433", "db:5433", {"db": 5433}, ""),
        ("refused port 5433", "db:9999", {"db": 41870}, ""),
        ("refused port 5433", "x:5433", {"a": 1, "b": 2}, ""),
    ],
)
def test_a_variable_that_points_to_where_no_service_is_is_told(
    line: str, variable: str, ports: dict[str, int], hint: str
) -> None:
    spec = {"env": [{"name": "URL", "value": variable}]}
    found = hints(facts({"output": line, "spec": spec}, ports=ports))
    assert any(hint in text for text in found) if hint else not any("use its address" in text for text in found)


def test_a_hint_says_whom_to_ask_next() -> None:
    last = Wait("Container", "db", "Ready", "it is Starting")
    waits = (Wait("Executable", "api", "Ready", "it waits", (last,)),)
    assert hints(facts({}, waits=waits)) == ("next: setpoint why container/db",)
