"""What a schema and an object may cost is bounded by their sizes: counted, not timed."""

from typing import Any

import msgspec
import pytest

from setpoint.schema import violations
from setpoint.schema.cel.rules import compile_rules
from setpoint.schema.compile import compile_schema
from setpoint.schema.compile.function_source import Body, Traversal
from setpoint.schema.compile.generator import PER_OBJECT, WORTH_COMPILING
from setpoint.schema.compile.schema_cache import RecentSchemas, shared_schema
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.schema.openapi import Schema
from setpoint.schema.work_limits import Lengthy

Tree = dict[str, Any]


def wide(number: int) -> Tree:
    return {
        "type": "object",
        "properties": {
            f"p{n}": {"type": "object", "maxProperties": n, "properties": {"a": {"type": "string"}}}
            for n in range(number)
        },
    }


def test_one_object_compiles_no_more_than_a_few_functions() -> None:
    compiled = compile_schema(Schema.parse(wide(500)), root=False)
    tree = {f"p{n}": {"a": "x"} for n in range(1, 500)}
    assert compiled.normalize(tree) == []
    assert compiled.validate(tree) == []
    assert compiled._generator.compiled <= 2 * PER_OBJECT


def test_what_is_asked_often_is_compiled() -> None:
    compiled = compile_schema(Schema.parse(wide(500)), root=False)
    tree = {f"p{n}": {"a": "x"} for n in range(1, 500)}
    for _ in range(WORTH_COMPILING):
        assert compiled.validate(tree) == []
    assert compiled._generator.compiled >= 499


def test_errors_are_the_same_before_and_after_compiling() -> None:
    compiled = compile_schema(Schema.parse(wide(100)), root=False)
    tree = {f"p{n}": {"a": 1} for n in range(100)}
    first = compiled.validate(tree)
    for _ in range(WORTH_COMPILING):
        again = compiled.validate(tree)
    assert first == again
    assert len(first) == 101  # each "a", and p0, which may have nothing


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"allOf": [{"maxProperties": n} for n in range(1, 2000)]}, id="allOf"),
        pytest.param({"anyOf": [{"minProperties": n} for n in range(5, 2000)]}, id="anyOf"),
        pytest.param({"oneOf": [{"minProperties": n} for n in range(2000)]}, id="oneOf"),
        pytest.param({"required": [f"p{n}" for n in range(2000)]}, id="required"),
        pytest.param({"properties": {f"p{n}": {"type": "string", "default": "x"} for n in range(2000)}}, id="defaults"),
    ],
)
def test_the_source_of_a_function_does_not_grow_with_its_schema(spec: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0
    source = Body.source

    def measured(self: Body) -> str:
        nonlocal longest
        found = source(self)
        longest = max(longest, found.count("\n"))
        return found

    monkeypatch.setattr(Body, "source", measured)
    compiled = compile_schema(Schema.parse({"type": "object"} | spec), root=False)
    for walk in Traversal:
        generator = compiled._generator
        generator.names[generator.function(compiled.schema, walk)]({"p1": "x"})
    assert 0 < longest < 40


def test_many_alternatives_are_judged_as_few_are() -> None:
    for number in (3, 17, 300):
        branches = [{"required": [f"p{n}"]} for n in range(number)]
        for keyword, tree, right in (
            ("oneOf", {"p1": 1}, True),
            ("oneOf", {"p1": 1, "p2": 1}, False),
            ("oneOf", {}, False),
            ("anyOf", {"p2": 1}, True),
            ("anyOf", {}, False),
            ("allOf", {f"p{n}": 1 for n in range(number)}, True),
            ("allOf", {f"p{n}": 1 for n in range(number - 1)}, False),
        ):
            schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, keyword: branches}
            compiled = compile_schema(Schema.parse(schema), root=False)
            assert (not compiled.validate(tree)) is right, (number, keyword, tree)


def test_an_exact_check_ends_after_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(violations, "MOST_STEPS", 1000)
    item = {"type": "object", "anyOf": [{"required": [f"p{n}"]} for n in range(15)]}
    compiled = compile_schema(Schema.parse({"type": "array", "items": item}), root=False)
    (error,) = compiled.validate([{} for _ in range(1000)])
    assert "shorten its lists and maps" in error.detail


def test_after_very_many_errors_the_rest_is_not_looked_at() -> None:
    compiled = compile_schema(Schema.parse({"type": "array", "items": {"type": "string"}}), root=False)
    assert len(compiled.validate([1] * 50_000)) == violations.MOST_ERRORS + 1


def test_equal_schemas_are_compiled_once() -> None:
    one, other = shared_schema(wide(3)), shared_schema(wide(3))
    assert one is other
    assert shared_schema(wide(4)) is not one
    assert shared_schema(msgspec.Raw(msgspec.json.encode(wide(3)))) is one


def test_the_latest_schemas_are_kept_up_to_a_total_size() -> None:
    recent, compiled = RecentSchemas(100), shared_schema(wide(3))
    for key, size in ((b"a", 40), (b"b", 40), (b"a", 40), (b"c", 40), (b"large", 101)):
        recent.use(key, compiled, size)
    assert [key for key in (b"a", b"b", b"c", b"large") if key in recent] == [b"a", b"c"]


def test_a_wide_schema_is_read_as_it_would_be_in_one_piece() -> None:
    tree = wide(300) | {"required": [], "description": "", "properties": wide(300)["properties"] | {"l": wide(2)}}
    assert Schema.parse(tree).to_json() == msgspec.convert(tree, Schema).to_json()
    tree["properties"]["p7"]["properties"]["a"]["type"] = 7
    with pytest.raises(msgspec.ValidationError) as whole:
        msgspec.convert(tree, Schema)
    with pytest.raises(msgspec.ValidationError) as found:
        Schema.parse(tree)
    assert str(found.value) == str(whole.value)


def test_rules_that_may_take_long_are_not_begun_in_a_hurry() -> None:
    schema = {
        "type": "object",
        "properties": {"texts": {"type": "array", "items": {"type": "string", "maxLength": 64}, "maxItems": 300}},
        "x-kubernetes-validations": [{"rule": "self.texts.all(x, self.texts.exists_one(y, y == x))"}],
    }
    rules = compile_rules(Schema.parse(schema), root=False)
    assert rules is not None
    short, long = {"texts": ["a", "b"]}, {"texts": [str(n) for n in range(300)]}
    for _ in range(60):  # more than it takes until all rules have one function
        assert rules.validate(short, quick=True) == []
        with pytest.raises(Lengthy):
            rules.validate(long, quick=True)
    assert rules.validate(long) == []
    (broken,) = rules.validate({"texts": ["a", "a"]}, quick=True)
    assert "failed rule" in broken.error.detail


def test_an_outline_leaves_schemas_encoded() -> None:
    tree = {
        "metadata": {"name": "things.ex.com"},
        "spec": {
            "group": "ex.com",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": wide(300)}}],
        },
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
    }
    outline = CustomResourceDefinition.outline(msgspec.json.encode(tree))
    whole = CustomResourceDefinition.parse(tree)
    assert type(outline.spec.versions[0].schema.open_apiv3_schema) is msgspec.Raw  # type: ignore[union-attr]
    assert outline.spec.versions[0].openapi_schema == whole.spec.versions[0].openapi_schema
    assert outline.spec.names == whole.spec.names
    assert outline.spec.versions[0].has_large_schema
    assert whole.spec.versions[0].has_large_schema
