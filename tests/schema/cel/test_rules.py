"""Rules of schemas: which are accepted, and what objects break, in the words of a real API server."""

import re
from typing import Any

import pytest

from setpoint.objects.field import FieldError
from setpoint.schema.cel import compile_rules, validate_rules
from setpoint.schema.cel.rules import FEW
from setpoint.schema.cel.values import ABSENT
from setpoint.schema.openapi import Schema

from .tables import table

_CASES = table("rules")


def _schema(spec: Any) -> Schema:
    return Schema.parse({"type": "object", "properties": {"spec": spec}})


def _object(spec: Any) -> Any:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def _shown(error: FieldError) -> list[str]:
    return [error.field, re.sub(r"selfType\d+", "selfType<n>", error.message)]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_a_schema_is_accepted_or_refused(case: Any) -> None:
    found = sorted(_shown(error) for error in validate_rules(_schema(case["spec"]), "ROOT"))
    assert found == case.get("refused", [])


@pytest.mark.parametrize("few", [0, FEW], ids=["many", "few"])
@pytest.mark.parametrize("case", [case for case in _CASES if "objects" in case], ids=lambda case: case["name"])
def test_objects_are_held_to_the_rules(case: Any, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.schema.cel.rules.FEW", few)
    rules = compile_rules(_schema(case["spec"]))
    assert rules is not None
    for given in case["objects"]:
        old = _object(given["old"]) if "old" in given else ABSENT
        found = rules.validate(_object(given["new"]), old)
        assert sorted(_shown(error.error) for error in found if not error.ratcheted) == given.get("errors", [])
        assert sorted(str(error.error) for error in found if error.ratcheted) == given.get("warnings", [])


def test_a_schema_without_rules_has_none_to_apply() -> None:
    assert compile_rules(_schema({"type": "object"})) is None


def test_errors_about_the_whole_object_name_no_path() -> None:
    schema = Schema.parse({"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name == 'x'"}]})
    rules = compile_rules(schema)
    assert rules is not None
    (found,) = rules.validate(_object({}))
    assert str(found.error) == "<nil>: Invalid value: failed rule: self.metadata.name == 'x'"


def test_a_known_size_bounds_the_cost_as_a_measured_one_does() -> None:
    spec = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [{"rule": "self.l.all(x, x.size() < 3)"}],
    }
    rules = compile_rules(_schema(spec))
    assert rules is not None
    assert rules.validate(_object({"l": ["a"]}), size=100) == rules.validate(_object({"l": ["a"]})) == []
    assert rules.validate(_object({"l": ["abc"]}), size=100) == rules.validate(_object({"l": ["abc"]})) != []


def test_message_of_an_unevaluable_type_falls_back_to_the_rule() -> None:
    spec = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string", "maxLength": 5}},
        "x-kubernetes-validations": [{"rule": "self.a > 0", "messageExpression": "self.s"}],
    }
    rules = compile_rules(_schema(spec))
    assert rules is not None
    assert [found.error.detail for found in rules.validate(_object({"a": 0}))] == ["failed rule: self.a > 0"]
    assert [found.error.detail for found in rules.validate(_object({"a": 0, "s": "why"}))] == ["why"]
