"""Types made from OpenAPI: what each schema says about owning and merging the values it describes."""

from typing import Any

import pytest

from setpoint.merge import types
from setpoint.merge.fieldset import LEAF, from_paths
from setpoint.merge.typed import validate
from setpoint.merge.typed.any import ATOMIC, DEDUCED, AnyType
from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Type
from setpoint.merge.typed.scalar import ScalarType
from setpoint.merge.types import FIELDS, OBJECT_META, Types
from setpoint.objects.tree import Object
from setpoint.schema.builtin import definition, definitions

DEFINITIONS: dict[str, Object] = {
    OBJECT_META: {"type": "object", "properties": {"name": {"type": "string"}}},
    "Tree": {
        "type": "object",
        "properties": {
            "value": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
            "whole": {"$ref": "#/definitions/Tree", "x-kubernetes-map-type": "atomic"},
        },
    },
    "Whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
    "Anything": {},
}


def described(kind: Type, depth: int = 3) -> Any:
    """A type in a form to compare: its kind with what it is made of."""
    if isinstance(kind, ScalarType):
        return kind.kind
    if depth == 0:
        return "..."
    if isinstance(kind, ListType):
        how: Any = "atomic" if kind.atomic else [key.name for key in kind.keys] or "set"
        return ("list", how, described(kind.element, depth - 1))
    if isinstance(kind, MapType):
        fields = {name: described(member, depth - 1) for name, (_, member, _) in kind.fields.items()}
        rest = None if kind.element is None else described(kind.element, depth - 1)
        return ("map", "atomic" if kind.atomic else "separable", fields, rest)
    assert isinstance(kind, AnyType)
    return ("any", "atomic" if kind.as_map.atomic else "separable")


def made(schema: Object) -> Any:
    """The description of a field's type in a custom resource."""
    types = Types(DEFINITIONS.__getitem__)
    root = types.custom_resource({"type": "object", "properties": {"field": schema}})
    assert isinstance(root, MapType)
    return described(root.fields["field"][1])


TEXT = {"type": "string"}
FREE = ("any", "separable")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "byte"}, "string"),
        ({"type": "string", "format": "date-time"}, "untyped"),
        ({"type": "string", "format": "int-or-string"}, "untyped"),
        ({"type": "integer"}, "numeric"),
        ({"type": "number", "format": "double"}, "numeric"),
        ({"type": "boolean"}, "boolean"),
        ({"x-kubernetes-int-or-string": True}, FREE),
        ({}, FREE),
        ({"x-kubernetes-preserve-unknown-fields": True}, FREE),
        ({"type": "object"}, ("map", "separable", {}, FREE)),
        ({"type": "object", "additionalProperties": TEXT}, ("map", "separable", {}, "string")),
        ({"type": "object", "additionalProperties": True}, ("map", "separable", {}, FREE)),
        ({"type": "object", "additionalProperties": False}, ("map", "separable", {}, None)),
        ({"type": "object", "properties": {"a": TEXT}}, ("map", "separable", {"a": "string"}, None)),
        (
            {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-preserve-unknown-fields": True},
            ("map", "separable", {"a": "string"}, FREE),
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-map-type": "atomic"},
            ("map", "atomic", {"a": "string"}, None),
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-map-type": "granular"},
            ("map", "separable", {"a": "string"}, None),
        ),
        ({"type": "array", "items": TEXT}, ("list", "atomic", "string")),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"}, ("list", "atomic", "string")),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ("list", "set", "string")),
        (
            {"type": "array", "items": {}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]},
            ("list", ["a", "b"], FREE),
        ),
        ({"type": "array", "items": TEXT, "x-kubernetes-patch-strategy": "merge"}, ("list", "set", "string")),
        (
            {"type": "array", "items": {}, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "k"},
            ("list", ["k"], FREE),
        ),
        ({"type": "array", "items": TEXT, "x-kubernetes-patch-strategy": "retainKeys"}, ("list", "atomic", "string")),
        ({"type": "array"}, ("list", "atomic", ("any", "atomic"))),
        ({"$ref": "#/definitions/Whole"}, ("map", "atomic", {"a": "string"}, None)),
        ({"allOf": [{"$ref": "#/definitions/Whole"}], "default": {}}, ("map", "atomic", {"a": "string"}, None)),
        (
            {"$ref": "#/definitions/Whole", "x-kubernetes-map-type": "granular"},
            ("map", "separable", {"a": "string"}, None),
        ),
        ({"$ref": "#/definitions/Anything", "x-kubernetes-map-type": "atomic"}, ("any", "atomic")),
        ({"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"}, "untyped"),
        ({"$ref": "#/definitions/io.k8s.apimachinery.pkg.runtime.RawExtension"}, ("any", "atomic")),
    ],
    ids=str,
)
def test_a_schema_says_how_its_values_are_owned(schema: Object, expected: Any) -> None:
    assert made(schema) == expected


def test_unknown_fields_are_kept_in_everything_inside_an_open_schema() -> None:
    inner = {"type": "object", "properties": {"a": TEXT}}
    _, _, fields, _ = made(
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"inner": inner}}
    )
    assert fields["inner"] == ("map", "separable", {"a": "string"}, FREE)


def test_every_object_has_its_version_kind_and_metadata() -> None:
    types = Types(DEFINITIONS.__getitem__)
    metadata = ("map", "separable", {"name": "string"}, None)
    expected = {"apiVersion": "string", "kind": "string", "metadata": metadata}
    # Whatever the schema itself says about them.
    root = types.custom_resource({"type": "object", "properties": {"metadata": {"type": "object"}}})
    assert described(root)[2] == expected
    embedded = types.custom_resource(
        {"type": "object", "properties": {"e": {"type": "object", "x-kubernetes-embedded-resource": True}}}
    )
    assert described(embedded)[2]["e"][2] == {"apiVersion": "string", "kind": "string", "metadata": metadata}


def test_an_object_without_a_schema_is_deduced_from_its_values() -> None:
    root = Types(DEFINITIONS.__getitem__).custom_resource(None)
    value = {"spec": {"a": [1, {"b": 2}], "c": {"d": None}}}
    assert root.field_set(value, True) == {
        "f:spec": {".": {}, "f:a": {}, "f:c": {".": {}, "f:d": {}}},
    }


def test_recursive_definitions_make_recursive_types_and_an_override_is_for_its_field_alone() -> None:
    kind = Types(DEFINITIONS.__getitem__).definition("Tree")
    assert isinstance(kind, MapType)
    whole = kind.fields["whole"][1]
    assert isinstance(whole, MapType)
    assert (kind.atomic, whole.atomic) == (False, True)
    assert whole.fields is kind.fields
    value = {"value": "a", "children": [{"value": "b", "children": [{"value": "c"}]}], "whole": {"whole": {}}}
    assert kind.field_set(value, True) == from_paths(("f:value",), ("f:children",), ("f:whole",))
    wrong = {"children": [{"children": [{"value": 1}]}]}
    assert [problem.path for problem in validate.problems(kind, wrong)] == [".children[0].children[0].value"]


def test_the_levels_of_a_schema_are_settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Type] = []
    parts = types._parts

    def counted(kind: MapType | ListType) -> list[Type]:
        looked.append(kind)
        return parts(kind)

    monkeypatch.setattr(types, "_parts", counted)
    schema: Object = {"type": "object", "x-kubernetes-map-type": "atomic"}
    for _ in range(60):
        schema = {"type": "object", "properties": {"in": schema}}
    Types(definition).custom_resource(schema)
    # One pass, and one more that changes nothing.
    assert len(looked) == 2 * len({id(kind) for kind in looked})


def test_the_types_of_every_built_in_definition_can_be_made() -> None:
    types = Types(definition)
    for name in definitions.names():
        assert isinstance(types.definition(name), Type)


def test_built_in_kinds_are_owned_as_their_definitions_say() -> None:
    pod = Types(definition).definition("io.k8s.api.core.v1.Pod")
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "args": ["a"], "env": [{"name": "E"}]}
    spec = {"containers": [container], "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k"}]}
    metadata = {"finalizers": ["x/y"], "ownerReferences": [{"uid": "u", "name": "n"}], "labels": {"l": "1"}}
    assert pod.field_set({"spec": spec, "metadata": metadata}, True) == {
        "f:spec": {
            "f:containers": {
                'k:{"name":"c"}': {
                    ".": {},
                    "f:name": {},
                    "f:image": {},
                    "f:args": {},
                    "f:env": {'k:{"name":"E"}': {".": {}, "f:name": {}}},
                    "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                }
            },
            "f:nodeSelector": {},
            "f:tolerations": {},
        },
        "f:metadata": {
            "f:finalizers": {'v:"x/y"': {}},
            "f:ownerReferences": {'k:{"uid":"u"}': {}},
            "f:labels": {"f:l": {}},
        },
    }


def test_a_built_in_object_starts_with_its_structs_and_with_nothing_that_may_be_left_out() -> None:
    deployment = Types(definition).definition("io.k8s.api.apps.v1.Deployment")
    assert isinstance(deployment, MapType)
    assert deployment.zero["spec"]["strategy"] == {}
    assert deployment.zero["spec"]["template"]["spec"] == {"containers": None}
    assert "replicas" not in deployment.zero["spec"]
    binding = Types(definition).definition("io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding")
    assert isinstance(binding, MapType)
    assert binding.zero["spec"] == {}


def test_what_is_taken_out_of_a_list_keeps_its_keys() -> None:
    items = {"type": "object", "properties": dict.fromkeys(("name", "value", "other"), TEXT)}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": items}
    root = Types(DEFINITIONS.__getitem__).custom_resource({"type": "object", "properties": {"list": keyed}})
    value = {"list": [{"name": "a", "value": "1", "other": "2"}, {"name": "b", "value": "3"}]}
    fields = from_paths(("f:list", 'k:{"name":"a"}', "f:value"))
    assert root.extract(value, fields) == {"list": [{"name": "a", "value": "1"}]}


def test_fields_below_a_value_that_is_owned_as_a_whole_become_the_value() -> None:
    below = from_paths(("f:a", "f:b"), ("f:c",))
    for kind in (ATOMIC, FIELDS):
        assert kind.reconcile(below) is LEAF
    assert DEDUCED.reconcile(below) is below


def test_a_deduced_value_is_owned_by_the_entries_of_its_maps_and_by_whole_lists() -> None:
    value: Object = {"a": {"b": 1, "c": [1, {"d": 2}]}, "e": None, "f": "x"}
    assert DEDUCED.field_set(value, False) == {"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:e": {}, "f:f": {}}
    assert ATOMIC.field_set(value, False) is LEAF
    assert DEDUCED.merge({"a": {"b": 1}, "x": 1}, {"a": {"c": 2}}) == {"a": {"b": 1, "c": 2}, "x": 1}
    assert DEDUCED.merge({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}
    assert ATOMIC.merge({"a": {"b": 1}}, {"a": {"c": 2}}) == {"a": {"c": 2}}
