"""How the schemas of definitions are published."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.nonresource.asking import Tree, definition
from tests.server.openapi.protobuf_reader import named, read

from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.apiextensions.custom_resources import resources_of
from setpoint.server.publish.openapi import custom_schema, gnostic
from setpoint.server.registry.resource import Resource

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "custom_schemas.yaml").read_text())
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
FIELDS = ("apiVersion", "kind", "metadata")
WIDGET, WIDGET_LIST = "com.ex.v1.Widget", "com.ex.v1.WidgetList"


def served(schema: Any, **changes: Any) -> Resource:
    """The resource that a definition with that schema serves."""
    tree = definition(schema=schema)
    tree["status"] = {"acceptedNames": tree["spec"]["names"]}
    tree["spec"]["versions"][0].update(changes)
    (found,) = resources_of(CustomResourceDefinition.parse(tree), 0)
    return found


def without_texts(node: Any) -> Any:
    """A schema without the descriptions of the fields that every object has: their wording is not ours."""
    if isinstance(node, list):
        return [without_texts(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    found = {keyword: without_texts(value) for keyword, value in node.items()}
    fields = found.get("properties", {})
    if all(name in fields for name in FIELDS):
        for name in FIELDS:
            assert fields[name].pop("description")
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
@pytest.mark.parametrize("version", ["v3", "v2"])
def test_a_schema_is_published_as_upstream_publishes_it(case: Tree, version: str) -> None:
    v2 = version == "v2"
    found = without_texts(custom_schema.definitions(served(case["schema"]), v2=v2)[WIDGET])
    assert found.pop("x-kubernetes-group-version-kind") == [{"group": "ex.com", "kind": "Widget", "version": "v1"}]
    if not (v2 and case.get("bare")):
        ref = {"$ref": f"#/definitions/{OBJECT_META}" if v2 else f"#/components/schemas/{OBJECT_META}"}
        fields = found["properties"]
        common = {name: fields.pop(name) for name in FIELDS}
        string = {"type": "string"}
        assert common == {"apiVersion": string, "kind": string, "metadata": ref if v2 else {"allOf": [ref]}}
        if not fields:
            del found["properties"]
    assert found == case[version]


def test_a_list_refers_to_its_items() -> None:
    found = custom_schema.definitions(served({"type": "object"}))[WIDGET_LIST]
    assert found["properties"]["items"]["items"] == {"$ref": f"#/components/schemas/{WIDGET}"}
    assert found["required"] == ["items"]
    assert found["x-kubernetes-group-version-kind"] == [{"group": "ex.com", "kind": "WidgetList", "version": "v1"}]


def test_selectable_fields_are_told() -> None:
    resource = served({"type": "object"}, selectableFields=[{"jsonPath": ".spec.color"}])
    for found in custom_schema.definitions(resource).values():
        assert found["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.color"}]


def test_publishing_leaves_the_definition_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True, "nullable": True}}}
    resource = served(schema)
    for v2 in (False, True):
        first = custom_schema.definitions(resource, v2=v2)
        assert custom_schema.definitions(resource, v2=v2) == first


def test_a_schema_as_deep_as_bodies_may_be_is_published_whole() -> None:
    schema: Tree = {"type": "string", "description": "the bottom"}
    for _ in range(120):
        schema = {"type": "object", "properties": {"a": schema}}
    found = custom_schema.definitions(served(schema), v2=True)[WIDGET]
    assert "the bottom" in str(custom_schema.definitions(served(schema))[WIDGET])
    assert b"the bottom" in gnostic.named_schema(WIDGET, found)


@pytest.mark.parametrize("v2", [False, True])
def test_a_schema_too_deep_to_walk_is_any_object(v2: bool) -> None:
    schema: Tree = {"type": "object"}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"a": schema}}
    resource = served({"type": "object"})
    assert resource.crd is not None
    assert resource.crd.spec.versions[0].schema is not None
    resource.crd.spec.versions[0].schema.open_apiv3_schema = schema
    assert custom_schema.definitions(resource, v2=v2)[WIDGET]["type"] == "object"
    assert "properties" not in custom_schema.definitions(resource, v2=v2)[WIDGET]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"maxLength": "many"}}},
        {"type": "object", "properties": {"a": {"required": 5}}},
        {"type": ["object"], "enum": 3},
        {"type": "integer", "maximum": 10**400},
    ],
)
def test_nothing_that_a_definition_says_breaks_the_document_of_all(schema: Tree) -> None:
    assert gnostic.named_schema("com.ex.v1.Odd", schema)


@pytest.mark.parametrize("allowed", [True, False])
def test_whether_further_fields_are_allowed_is_told_either_way(allowed: bool) -> None:
    written = read(gnostic.named_schema("A", {"additionalProperties": allowed}))
    assert named(written[1])["A"] == {21: [b"\x10\x01" if allowed else b"\x10\x00"]}
