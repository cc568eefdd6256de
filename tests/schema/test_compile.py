"""Compiled schemas beyond the tables: references, wide objects, parts of objects, the order of validation."""

from typing import Any

import pytest
from bench.custom_resource import OBJECT, SCHEMA

from setpoint.objects.errors import APIError
from setpoint.objects.field import FieldError, required
from setpoint.objects.tree import copy
from setpoint.schema.builtin import definitions
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.compile.function_source import Traversal
from setpoint.schema.compile.generator import Generator
from setpoint.schema.openapi import Schema
from setpoint.schema.ratchet import correlate, items_by_key
from setpoint.schema.references import ResolvingView, plain_view
from setpoint.schema.structural import unrecognized_formats, validate_schema
from setpoint.schema.validation import validate_object


def builtin(name: str) -> CompiledSchema:
    return compile_schema(definitions.schema(name), resolve=definitions.resolve_schema)


def test_a_realistic_object_takes_the_fast_way() -> None:
    generator = Generator(plain_view)
    fast = generator.names[generator.function(Schema.parse(SCHEMA), Traversal.BOTH, resource=True)]
    tree = copy(OBJECT)
    assert fast(tree)
    assert tree["spec"]["paused"] is False
    assert tree["spec"]["ports"][1]["protocol"] == "TCP"
    assert OBJECT["spec"].get("paused") is None


def test_definitions_that_refer_to_each_other_are_followed() -> None:
    pod: Any = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "bogus": 1}]}], "odd": {}},
    }
    assert builtin("io.k8s.api.core.v1.Pod").normalize(pod) == ["spec.containers[0].ports[0].bogus", "spec.odd"]
    pod["spec"]["containers"][0]["name"] = 3
    errors = builtin("io.k8s.api.core.v1.Pod").validate(pod)
    assert [error.field for error in errors] == ["spec.containers[0].name"]


def test_a_definition_that_refers_to_itself_is_followed_as_far_as_the_object_goes() -> None:
    props = builtin("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    tree: Any = {"type": "object", "odd": 1}
    for _ in range(20):
        tree = {"type": "object", "properties": {"a": tree}}
    assert props.normalize(tree) == ["properties.a." * 20 + "odd"]
    for _ in range(5_000):
        tree = {"type": "object", "properties": {"a": tree}}
    with pytest.raises(APIError, match="nested too deeply"):
        props.normalize(tree)


def test_what_stands_beside_a_reference_counts() -> None:
    view = ResolvingView({"#/x": Schema(type="object", properties={"a": Schema(type="string")})}.__getitem__)
    node = Schema(ref="#/x", default={"a": "b"})
    assert view(node).default == {"a": "b"}
    assert view(node) is view(node), "a reference is followed once"
    assert view(Schema(all_of=[Schema(ref="#/x")])).type == "object"


def test_references_in_a_circle_are_an_error() -> None:
    view = ResolvingView({"#/x": Schema(ref="#/x")}.__getitem__)
    with pytest.raises(ValueError, match="circle"):
        view(Schema(ref="#/x"))


def test_a_part_of_an_object_is_validated_at_its_place() -> None:
    status = Schema.parse({"type": "object", "properties": {"phase": {"type": "string", "maxLength": 3}}})
    compiled = compile_schema(status, root=False)
    assert [str(e) for e in compiled.validate({"phase": "Running"}, path="status")] == [
        "status.phase: Too long: may not be more than 3 bytes"
    ]
    assert compiled.validate({"phase": "Running"}, {"phase": "Running"}, path="status") == []


def test_a_part_of_an_object_has_no_kind_of_its_own() -> None:
    compiled = compile_schema(Schema.parse({"type": "object", "properties": {}}), root=False)
    assert compiled.normalize({"kind": "x"}) == ["kind"]


RULED = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"a": {"type": "integer", "maximum": 5}, "s": {"type": "string", "maxLength": 3}},
            "x-kubernetes-validations": [{"rule": "self.a > 2"}],
        }
    },
}


def test_rules_are_asked_of_what_has_the_right_shape() -> None:
    compiled = compile_schema(Schema.parse(RULED))
    verdict = validate_object(compiled, {"spec": {"a": 1}})
    assert [str(e) for e in verdict.errors] == ["spec: Invalid value: failed rule: self.a > 2"]
    both = validate_object(compiled, {"spec": {"a": 9}})
    assert [e.field for e in both.errors] == ["spec.a"], "a bound that is passed does not keep rules from being asked"


def test_rules_are_not_asked_of_what_has_the_wrong_shape() -> None:
    verdict = validate_object(compile_schema(Schema.parse(RULED)), {"spec": {"a": 1, "s": "long"}})
    assert [e.field for e in verdict.errors] == ["spec.s", "<nil>"]
    assert verdict.errors[1].message.startswith("Invalid value: null: some validation rules were not checked")


def test_a_rule_that_was_broken_before_is_only_worth_a_warning() -> None:
    old = {"spec": {"a": 1}}
    verdict = validate_object(compile_schema(Schema.parse(RULED)), {**copy(old), "kind": "x"}, old)
    assert verdict == ([], ["spec: Invalid value: failed rule: self.a > 2"])


def test_errors_found_before_come_first_and_count() -> None:
    compiled = compile_schema(Schema.parse(RULED))
    verdict = validate_object(compiled, {"spec": {"a": 1}}, before=[required("metadata.name")])
    assert [e.field for e in verdict.errors] == ["metadata.name", "<nil>"]


def test_formats_nobody_knows_are_named_once() -> None:
    schema = Schema.parse(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "bogus"},
                "b": {"type": "array", "items": {"type": "string", "format": "bogus"}},
                "c": {"type": "integer", "format": "date"},
                "d": {"type": "string", "format": "date-time"},
                "e": {"type": "integer", "format": "int32"},
            },
        }
    )
    assert unrecognized_formats(schema) == ["bogus", "date"]


def test_rules_are_looked_at_only_when_all_else_is_right_and_the_schema_is_new() -> None:
    schema, asked = Schema.parse(RULED), []

    def rules(_: Schema, path: str) -> list[FieldError]:
        asked.append(path)
        return [required(path)]

    assert validate_schema(schema, "schema", rules=rules) == [required("schema")]
    assert validate_schema(schema, "schema", rules=rules, old=Schema.parse(RULED)) == []
    assert validate_schema(Schema.parse({**RULED, "nullable": True}), "schema", rules=rules) != []
    assert asked == ["schema"]


def test_old_items_of_a_map_list_are_found_by_key() -> None:
    schema = Schema.parse(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {}, "v": {"type": "string"}}},
        }
    )
    old = [{"k": True, "v": "truth"}, {"k": 1, "v": "one"}, {"k": 1, "v": "again"}, {"v": "keyless"}]
    correlation = correlate(schema, [{"k": 1, "v": "new"}, {"v": "keyless"}, {"k": 2}], old)
    first = correlation.index(0)
    assert first is not None
    assert first.old == {"k": 1, "v": "one"}, "of several with one key the first counts; the truth is not one"
    assert correlation.index(1) is None
    assert correlation.index(2) is None
    assert len(items_by_key(schema, old)) == 2
