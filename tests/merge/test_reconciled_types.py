"""Owned fields are reconciled with a type in which some values have become owned as a whole."""

from typing import Any

import pytest

from setpoint.merge.fieldset import from_paths
from setpoint.merge.typed.map import MapType
from setpoint.merge.types import Types
from setpoint.objects.tree import Object
from setpoint.schema.builtin import definition

ATOMIC: Object = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
}
BELOW = (("f:a",), ("f:b",))


def nested(schema: Object, *names: str) -> Object:
    for name in reversed(names):
        schema = {"type": "object", "properties": {name: schema, "other": {"type": "string"}}}
    return schema


def reconciled(schema: Object, *paths: tuple[str, ...]) -> Any:
    kind = Types(definition).custom_resource(nested(schema, "spec"))
    return kind.reconcile(from_paths(*paths))


@pytest.mark.parametrize("names", [(), ("x",), ("x", "y"), ("x", "y", "z")])
def test_fields_below_an_atomic_map_become_the_map_at_any_depth(names: tuple[str, ...]) -> None:
    at = ("f:spec", *(f"f:{name}" for name in names))
    other = ("f:spec", *([f"f:{names[0]}"] if names else []), "f:other")
    found = reconciled(nested(ATOMIC, *names), *((*at, *below) for below in BELOW), ("f:metadata", "f:labels", "f:l"))
    assert found == from_paths(at, ("f:metadata", "f:labels", "f:l"))
    if len(names) > 1:
        assert reconciled(nested(ATOMIC, *names), (*at, "f:a"), other) == from_paths(at, other)


def test_fields_of_a_map_and_items_of_a_list_are_reconciled() -> None:
    entries: Object = {"type": "object", "additionalProperties": ATOMIC}
    assert reconciled(entries, ("f:spec", "f:k", "f:a")) == from_paths(("f:spec", "f:k"))
    items: Object = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n"],
        "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": ATOMIC}},
    }
    item = 'k:{"n":"1"}'
    assert reconciled(items, ("f:spec", item, "f:v", "f:a"), ("f:spec", item, "f:n")) == from_paths(
        ("f:spec", item, "f:v"), ("f:spec", item, "f:n")
    )
    atomic_list: Object = {"type": "array", "items": {"type": "object"}}
    assert reconciled(atomic_list, ("f:spec", item, "f:v")) == from_paths(("f:spec",))


def test_a_set_without_atomic_values_stays_the_same() -> None:
    plain: Object = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "object"}}}
    kind = Types(definition).custom_resource(nested(plain, "spec"))
    fields = from_paths(("f:spec", "f:a"), ("f:spec", "f:b"))
    assert kind.reconcile(fields) is fields


@pytest.mark.parametrize(
    ("schema", "deduced"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": {}}, True),
        ({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}, True),
        ({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "object", "additionalProperties": {"type": "object"}}, False),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {}}, False),
        ({"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}, False),
    ],
)
def test_the_fields_of_a_map_of_any_values_are_never_reconciled(schema: Object, deduced: bool) -> None:
    kind = Types(definition).custom_resource(nested(schema, "spec"))
    assert isinstance(kind, MapType)
    found = kind.fields["spec"][1]
    assert isinstance(found, MapType)
    assert found.deduced is deduced
