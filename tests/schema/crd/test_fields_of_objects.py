"""What a definition lets others read and set in its objects: selectable fields and the scale."""

from typing import Any

import pytest
from tests.schema.crd.building import PLAIN, build
from tests.schema.crd.tables import steps

from setpoint.objects.errors import Invalid
from setpoint.schema.crd.definition import CustomResourceDefinition, Scale, SelectableField
from setpoint.schema.crd.scale_subresource import Replicas, read_scale, with_replicas
from setpoint.schema.crd.selectable import SelectableFields
from setpoint.schema.crd.warnings import warnings_on_create, warnings_on_update

SCALE = Scale(spec_replicas_path=".spec.n", status_replicas_path=".status.n", label_selector_path=".status.selector")


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({"a": "x", "n": 1, "b": True}, {"spec.a": "x", "spec.n": "1", "spec.b": "true"}),
        ({"a": "x", "n": None, "b": False}, {"spec.a": "x", "spec.n": "", "spec.b": "false"}),
        ({}, {"spec.a": "", "spec.n": "", "spec.b": ""}),
    ],
)
def test_selectable_values_are_text_and_empty_where_absent(spec: Any, values: Any) -> None:
    fields = SelectableFields([SelectableField(json_path=path) for path in (".spec.a", ".spec.n", ".spec.b")])
    assert fields.names == {"spec.a", "spec.n", "spec.b"}
    assert fields.values({"spec": spec}) == values


def test_recorded_selectors_find_their_objects() -> None:
    found = steps("crd-selectable-fields")
    version = CustomResourceDefinition.parse(found[0]["body"]).spec.versions[0]
    fields = SelectableFields(version.selectable_fields)
    objects = [step["body"] for step in found[1:] if step.get("method") == "POST"]
    selected = [
        tree["metadata"]["name"]
        for tree in objects
        if (values := fields.values(tree))["spec.n"] == "1" and values["spec.a"] != "x"
    ]
    assert selected == ["w2"]


def test_a_scale_reads_the_numbers_of_an_object() -> None:
    tree = {"spec": {"n": 3}, "status": {"n": 2, "selector": "app=x"}}
    assert read_scale(tree, SCALE) == Replicas(3, 2, "app=x")
    assert read_scale({"spec": {}}, SCALE) == Replicas(None, 0, "")


def test_a_scale_sets_the_wish_in_a_copy() -> None:
    tree = {"spec": {"n": 3, "a": "x"}}
    assert with_replicas(tree, SCALE, 5) == {"spec": {"n": 5, "a": "x"}}
    assert tree == {"spec": {"n": 3, "a": "x"}}
    assert with_replicas({}, SCALE, 5) == {"spec": {"n": 5}}


@pytest.mark.parametrize(
    ("tree", "where"),
    [
        ({"spec": {"n": "three"}}, ".spec.n"),
        ({"spec": [1]}, ".spec.n"),
        ({"status": {"selector": 1}}, ".status.selector"),
    ],
)
def test_a_scale_says_where_something_else_stands(tree: Any, where: str) -> None:
    with pytest.raises(Invalid, match=f"{where} accessor error"):
        read_scale(tree, SCALE)


def test_a_deprecated_version_warns_in_its_own_words_or_in_ours() -> None:
    crd = CustomResourceDefinition.parse(build(PLAIN, {"version": {"deprecated": True}}))
    assert crd.deprecation_warning("v1") == "ex.com/v1 Widget is deprecated"
    crd = CustomResourceDefinition.parse(build(PLAIN, {"version": {"deprecated": True, "deprecationWarning": "go"}}))
    assert crd.deprecation_warning("v1") == "go"
    assert CustomResourceDefinition.parse(PLAIN).deprecation_warning("v1") is None


def test_served_versions_come_in_the_order_of_discovery() -> None:
    body = steps("crd-versions-order")[0]["body"]
    names = CustomResourceDefinition.parse(body).served_versions()
    assert names == ["v10", "v2", "v1", "v1beta10", "v1beta1", "v1alpha1", "foo1"]


def test_warnings_name_formats_and_sets_that_mean_nothing() -> None:
    items = {"type": "object", "x-kubernetes-map-type": "atomic"}
    fields = {
        "a": {"type": "string", "format": "zork"},
        "s": {"type": "array", "items": items, "x-kubernetes-list-type": "set"},
    }
    tree = build(PLAIN, {"schema": {"properties": fields}})
    warnings = warnings_on_create(tree)
    assert warnings == [
        'unrecognized format "zork"',
        'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL '
        "validation rules",
    ]
    assert warnings_on_update(tree, PLAIN) == warnings
    assert warnings_on_update(tree, tree) == []
