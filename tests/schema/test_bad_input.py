"""What is malicious, huge or absurd gets an answer, and gets it soon."""

from typing import Any

import msgspec
import pytest

from setpoint.objects.errors import BadRequest
from setpoint.schema.compile import compile_schema
from setpoint.schema.formats.time_formats import is_duration
from setpoint.schema.openapi import Schema
from setpoint.schema.regex import matcher, pattern_error, quick_pattern
from setpoint.schema.structural import MAX_DEPTH, validate_schema


def nested_schema(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def nested_tree(depth: int, leaf: Any = "x") -> Any:
    for _ in range(depth):
        leaf = {"a": leaf}
    return leaf


def anything() -> Any:
    return {"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "^(a|a)*b$", "^(a|aa)+$", "(.*)*x", "^([a-z]+)*[0-9]$", "^(a?){30}a{30}$", "(x+x+)+y", "^a*a*a*a*a*b$"],
)
def test_a_pattern_made_to_hang_does_not_hang(pattern: str) -> None:
    match = matcher(pattern)
    for text in ("a" * 30, "a" * 5_000 + "!", "x" * 100_000):
        match(text)


def test_only_patterns_that_cannot_explode_are_left_to_a_backtracking_matcher() -> None:
    assert quick_pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$") is not None
    assert quick_pattern(r"^\d+(\.\d+){0,2}$") is not None
    for pattern in ("(a+)+$", "^(a|a)*b$", "^(a|ab|b)*c$", "^([a-z]+)*$"):
        assert quick_pattern(pattern) is None
    short = quick_pattern("^a*a*b$")
    assert short is not None
    assert short.limit < 1000, "the more a matcher may try, the shorter the text it gets"


@pytest.mark.parametrize("pattern", ["(" * 5_000, "a{1000}" * 200, "[" + "a-z" * 5_000 + "]", "\\", "\ud800"])
def test_a_monstrous_pattern_is_judged(pattern: str) -> None:
    assert isinstance(pattern_error(pattern), str)


def test_a_schema_nested_too_deeply_is_refused_with_the_remedy() -> None:
    [error] = validate_schema(Schema.parse(nested_schema(200)), "schema")
    assert str(error) == f"schema: Forbidden: must not nest schemas deeper than {MAX_DEPTH} levels; flatten the schema"


def test_a_schema_as_deep_as_allowed_works() -> None:
    schema = Schema.parse(nested_schema(MAX_DEPTH - 1))
    assert validate_schema(schema, "schema") == []
    compiled = compile_schema(schema)
    assert compiled.accept(nested_tree(MAX_DEPTH - 1)) == ([], [])
    [error] = compiled.accept(nested_tree(MAX_DEPTH - 1, 3)).errors
    assert error.message.endswith('must be of type string: "integer"')


def test_a_schema_of_a_hundred_thousand_levels_cannot_be_read() -> None:
    with pytest.raises(msgspec.ValidationError, match="nested too deeply"):
        Schema.parse(nested_schema(100_000))


def test_content_without_a_schema_may_be_deep() -> None:
    tree = {"a": nested_tree(100_000)}
    assert compile_schema(Schema.parse(anything())).accept(tree) == ([], [])


def test_lists_that_nobody_declared_may_not_be_bottomless() -> None:
    tree: Any = []
    for _ in range(100_000):
        tree = [tree]
    schema = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}}
    with pytest.raises(BadRequest, match="nested too deeply"):
        compile_schema(Schema.parse(schema)).normalize({"a": {"b": tree}})


def test_an_update_of_bottomless_content_is_answered() -> None:
    schema = Schema.parse({**anything(), "required": ["b"]})
    [error] = compile_schema(schema).validate({"a": nested_tree(100_000)}, {"a": nested_tree(100_000)})
    assert error.field == "b"


def test_a_set_of_bottomless_values_is_answered() -> None:
    item = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}
    listed = {"type": "array", "items": item, "x-kubernetes-list-type": "set"}
    compiled = compile_schema(Schema.parse({"type": "object", "properties": {"a": listed}}))
    errors = compiled.validate({"a": [nested_tree(100_000), nested_tree(100_000)]})
    assert [error.detail for error in errors] == ["the object is nested too deeply; flatten it"]


def test_of_many_unknown_fields_a_hundred_are_told() -> None:
    compiled = compile_schema(Schema.parse({"type": "object", "properties": {"a": {"type": "string"}}}))
    tree = {f"unknown{number:06}": 1 for number in range(50_000)}
    dropped = compiled.normalize(tree)
    assert dropped == [f"unknown{number:06}" for number in range(100)]
    assert tree == {}


def test_an_object_of_thousands_of_properties_compiles_only_what_is_used() -> None:
    fields = {f"field{number}": {"type": "string", "pattern": f"^{number}$"} for number in range(5_000)}
    compiled = compile_schema(Schema.parse({"type": "object", "properties": fields}))
    assert compiled.accept({"field7": "7"}) == ([], [])
    assert [error.field for error in compiled.accept({"field7": "8"}).errors] == ["field7"]
    assert len(compiled._generator.names) < 100


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400, 1e308, -1e308])
def test_a_number_beyond_64_bits_is_no_integer(number: Any) -> None:
    compiled = compile_schema(Schema.parse({"type": "object", "properties": {"a": {"type": "integer"}}}))
    errors = compiled.accept({"a": number}).errors
    assert 'a: Invalid value: "number": a in body must be of type integer: "number"' in map(str, errors)


@pytest.mark.parametrize("name", ["'", '"', "\\", "\n", "}", "{x}", "'); raise SystemExit #", "\u2028", "\ud800", ""])
def test_names_and_texts_of_a_schema_are_never_code(name: str) -> None:
    field = {"type": "string", "enum": [name], "default": name}
    schema = Schema.parse(
        {
            "type": "object",
            "required": [name],
            "properties": {
                name: field,
                "l": {"type": "array", "items": {"type": "object", "properties": {name: field}}},
            },
        }
    )
    compiled = compile_schema(schema)
    tree: Any = {"l": [{}]}
    assert compiled.accept(tree) == ([], [])
    assert tree == {name: name, "l": [{name: name}]}
    assert [error.type.name for error in compiled.accept({name: name + "x"}).errors] == ["NOT_SUPPORTED"]


@pytest.mark.parametrize(("number", "is_valid"), [("1", True), ("0" * 5_000 + "1", True), ("9" * 5_000, False)])
def test_a_duration_of_thousands_of_digits_is_answered(number: str, is_valid: bool) -> None:
    assert is_duration(f"{number} days") is is_valid
    assert not is_duration(number)
