"""The tables in `cases/`: each case is a behaviour of a real server, named by what it shows."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.objects.field import FieldError
from setpoint.objects.tree import copy
from setpoint.schema.compile import compile_schema
from setpoint.schema.formats import string_check
from setpoint.schema.openapi import Schema
from setpoint.schema.regex import matcher, pattern_error
from setpoint.schema.structural import validate_schema
from setpoint.schema.violations import find_violations


def table(name: str) -> Any:
    return yaml.load((Path(__file__).parent / "cases" / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader)


def cases(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in table(name)])


def told(errors: list[FieldError]) -> list[str]:
    return sorted(f"{error.type.reason} {error}" for error in errors)


@cases("acceptance")
def test_acceptance(case: Any) -> None:
    schema = Schema.parse(case["schema"])
    errors = validate_schema(schema, "schema", status_subresource=case.get("statusSubresource", False))
    assert told(errors) == case["errors"]


@cases("validation")
def test_validation(case: Any) -> None:
    compiled, tree = compile_schema(Schema.parse(case["schema"])), copy(case["object"])
    compiled.normalize(tree)
    before = copy(tree)
    assert told(compiled.validate(tree)) == case["errors"]
    assert tree == before, "validating changes nothing"


@cases("ratcheting")
def test_ratcheting(case: Any) -> None:
    compiled, tree = compile_schema(Schema.parse(case["schema"])), copy(case["object"])
    compiled.normalize(tree)
    assert told(compiled.validate(tree, copy(case["old"]))) == case["errors"]


@cases("admission")
def test_admission(case: Any) -> None:
    tree = copy(case["object"])
    dropped = compile_schema(Schema.parse(case["schema"])).normalize(tree)
    assert dropped == case.get("dropped", [])
    assert repr(tree) == repr(reordered(case["becomes"], tree))


def reordered(tree: Any, like: Any) -> Any:
    """The tree with its fields in the order of another: order is not compared, types are."""
    if isinstance(tree, dict) and isinstance(like, dict) and tree.keys() == like.keys():
        return {name: reordered(tree[name], like[name]) for name in like}
    if isinstance(tree, list) and isinstance(like, list) and len(tree) == len(like):
        return [reordered(*pair) for pair in zip(tree, like, strict=True)]
    return tree


@pytest.mark.parametrize(("name", "texts"), table("formats").items())
def test_formats(name: str, texts: dict[str, list[str]]) -> None:
    check = string_check(name)
    assert check is not None
    assert [text for text in texts["valid"] if not check(text)] == []
    assert [text for text in texts["invalid"] if check(text)] == []


@pytest.mark.parametrize(("pattern", "fault"), table("patterns")["wrong"].items())
def test_a_wrong_pattern_is_refused_in_the_words_of_go(pattern: str, fault: str) -> None:
    assert pattern_error(pattern) == fault


@pytest.mark.parametrize("pattern", table("patterns")["right"])
def test_a_right_pattern_is_accepted(pattern: str) -> None:
    assert pattern_error(pattern) == ""


@pytest.mark.parametrize("case", table("patterns")["matching"], ids=lambda case: case["pattern"])
def test_a_pattern_matches_as_it_does_in_go(case: Any) -> None:
    match = matcher(case["pattern"])
    assert [text for text in case["matches"] if not match(text)] == []
    assert [text for text in case["not"] if match(text)] == []


def test_errors_of_a_part_are_told_at_its_place() -> None:
    schema = Schema.parse({"type": "object", "properties": {"phase": {"type": "string"}}, "not": {"required": ["x"]}})
    errors = find_violations({"phase": 3, "x": 1}, schema, path="status")
    assert told(errors) == [
        'FieldValueInvalid status: Invalid value: "": "" must not validate the schema (not)',
        'FieldValueTypeInvalid status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
    ]
