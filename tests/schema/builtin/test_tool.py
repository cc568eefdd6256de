"""The rules by which the tool takes definitions back to Kubernetes' own form."""

from typing import Any

import pytest
from tools.builtin_schemas import compare_nodes, descriptions, document, restore_node, set_defaults


def test_types_are_single_again_and_references_point_to_definitions() -> None:
    node = {
        "description": "words",
        "type": ["object", "null"],
        "required": ["a"],
        "properties": {
            "a": {"$ref": "#/$defs/io.k8s.X", "description": "words"},
            "b": {"type": ["array", "null"], "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "kind": {"type": ["string", "null"], "enum": ["Thing"]},
        },
    }
    assert restore_node("Thing", node) == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"$ref": "#/definitions/io.k8s.X"},
            "b": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "kind": {"type": "string"},
        },
    }


@pytest.mark.parametrize("node", [{"pattern": "x"}, {"properties": {"policy": {"type": "string", "enum": ["A"]}}}])
def test_a_keyword_that_it_does_not_know_stops_it(node: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="does not know the keyword"):
        restore_node("Thing", node)


def test_defaults_follow_from_the_shape_of_the_fields_and_from_the_exceptions() -> None:
    struct: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
    node: dict[str, Any] = {
        "type": "object",
        "required": ["name", "count", "on", "template", "bytes", "pointer", "when"],
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "on": {"type": "boolean"},
            "bytes": {"type": "string", "format": "byte"},
            "optional": {"type": "string"},
            "metadata": {"$ref": "#/definitions/Struct"},
            "template": {"$ref": "#/definitions/Struct"},
            "affinity": {"$ref": "#/definitions/Struct"},
            "pointer": {"$ref": "#/definitions/Struct"},
            "when": {"$ref": "#/definitions/Time"},
            "protocol": {"type": "string"},
        },
    }
    set_defaults({"Struct": struct, "Time": {"type": "string"}}, node, {"pointer": None, "protocol": "TCP"})
    defaults = {name: field["default"] for name, field in node["properties"].items() if "default" in field}
    assert defaults == {"name": "", "count": 0, "on": False, "metadata": {}, "template": {}, "protocol": "TCP"}


def test_the_same_definitions_always_give_the_same_bytes() -> None:
    first: dict[str, Any] = {"B": {"type": "object"}, "A": {"type": "object", "format": "x"}}
    second: dict[str, Any] = {"A": {"format": "x", "type": "object"}, "B": {"type": "object"}}
    assert document(first) == document(second)


def test_a_comparison_names_what_differs_from_the_published_document() -> None:
    ours = {"type": "object", "properties": {"a": {"$ref": "#/definitions/X", "default": {}}, "b": {"type": "string"}}}
    theirs = {
        "description": "words",
        "type": "object",
        "properties": {
            "a": {"allOf": [{"$ref": "#/components/schemas/X"}], "default": {}, "description": "words"},
            "b": {"type": "string", "default": ""},
        },
    }
    assert list(compare_nodes("T", ours, theirs)) == ['T.b: default: null, published: ""']


def test_descriptions_are_kept_apart_by_definition_and_field() -> None:
    described: dict[str, Any] = {
        "A": {"description": "An A.", "properties": {"x": {"description": "Its x."}, "y": {"type": "string"}}},
        "B": {"type": "object"},
    }
    assert descriptions(described) == {"A": {"": "An A.", "x": "Its x."}}
