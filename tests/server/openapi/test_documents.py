"""The OpenAPI documents: what kubectl looks for in them, their addresses, and that they follow definitions at once."""

from typing import Any

import pytest
from tests.server.nonresource.asking import DEFINITIONS, Asking, Tree, asking, header
from tests.server.openapi import gnostic_reader, gnostic_v3_reader
from tests.server.openapi.published import operations, references

from setpoint.objects.gvk import GroupVersion
from setpoint.server.publish.openapi import protobuf_wire
from setpoint.server.publish.openapi.definition_names import operation_id, tag
from setpoint.server.publish.openapi.documents import OpenAPI

GVK = "x-kubernetes-group-version-kind"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
# Everything that version 2 can say of a field.
EVERYTHING: Tree = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "maxProperties": 300,
            "minProperties": 1,
            "properties": {
                "size": {
                    "type": "number",
                    "format": "double",
                    "minimum": -2.5,
                    "exclusiveMinimum": True,
                    "maximum": 9.5,
                    "exclusiveMaximum": True,
                    "multipleOf": 0.5,
                    "title": "Size",
                    "description": "How large, in \u00fc.",
                },
                "name": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^a", "enum": ["a", "ab"]},
                "list": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 7,
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "told": {
                    "type": "string",
                    "example": {"a": [1]},
                    "externalDocs": {"description": "More", "url": "https://example.com"},
                },
            },
        }
    },
}
ONLY_IN_V3: Tree = {
    "type": "object",
    "nullable": True,
    "properties": {
        "yes": {"type": "boolean", "default": False},
        "number": {"type": "number", "default": 0, "not": {"enum": [5]}},
        "either": {"type": "string", "default": "", "oneOf": [{"minLength": 2}, {"pattern": "^$"}]},
        "all": {"type": "string", "default": "ab", "allOf": [{"minLength": 2}], "anyOf": [{"maxLength": 3}]},
        "large": {"type": "object", "default": {"a": 1}, "additionalProperties": {"type": "integer"}},
    },
}
SUBRESOURCES = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}


async def addresses(server: Asking) -> dict[str, str]:
    """The addresses of the documents of version 3, by path."""
    found = await server.get("/openapi/v3")
    return {path: entry["serverRelativeURL"] for path, entry in found["paths"].items()}


async def test_every_group_and_version_has_a_document_at_the_address_in_the_index() -> None:
    async with asking() as server:
        await server.define()
        found = await addresses(server)
        assert {"api/v1", "apis/apps/v1", "apis/ex.com/v1", "version"} <= found.keys()
        for address in found.values():
            document = await server.get(address)
            assert document["openapi"] == "3.0.0"
            assert document["paths"]


async def test_no_reference_leads_nowhere() -> None:
    async with asking() as server:
        await server.define(subresources=SUBRESOURCES)
        await server.define(group="other.com")
        for address in (await addresses(server)).values():
            document = await server.get(address)
            known = {f"#/components/schemas/{name}" for name in document["components"].get("schemas", ())}
            assert set(references(document)) <= known
        document = await server.get("/openapi/v2")
        known = {f"#/definitions/{name}" for name in document["definitions"]}
        known |= {f"#/parameters/{name}" for name in document["parameters"]}
        assert set(references(document)) <= known


async def test_operation_ids_are_unique_in_the_document_of_everything() -> None:
    async with asking() as server:
        await server.define()
        await server.define(plural="gadgets", versions=("v1", "v2"))
        ids = [operation["operationId"] for _, _, operation in operations(await server.get("/openapi/v2"))]
        assert len(ids) == len(set(ids))


async def test_kubectl_finds_that_a_patch_can_be_validated_and_tried_out() -> None:
    async with asking() as server:
        await server.define(subresources=SUBRESOURCES)
        for path, kind in (
            ("api/v1", {"group": "", "kind": "Pod", "version": "v1"}),
            ("apis/apps/v1", {"group": "apps", "kind": "Deployment", "version": "v1"}),
            ("apis/ex.com/v1", {"group": "ex.com", "kind": "Widget", "version": "v1"}),
        ):
            document = await server.get(f"/openapi/v3/{path}")
            patches = [found for _, method, found in operations(document) if method == "patch" and found[GVK] == kind]
            assert patches
            for patch in patches:
                inline = {(parameter.get("name"), parameter.get("in")) for parameter in patch["parameters"]}
                assert {("dryRun", "query"), ("fieldValidation", "query"), ("force", "query")} <= inline


async def test_only_built_in_kinds_take_strategic_merge_patches() -> None:
    async with asking() as server:
        await server.define()
        strategic = "application/strategic-merge-patch+json"
        for path, takes in (("api/v1", True), ("apis/ex.com/v1", False)):
            document = await server.get(f"/openapi/v3/{path}")
            for _, method, found in operations(document):
                if method == "patch" and found["x-kubernetes-action"] == "patch":
                    assert (strategic in found["requestBody"]["content"]) is takes


async def test_built_in_resources_have_the_old_paths_of_watches_too() -> None:
    async with asking() as server:
        document = await server.get("/openapi/v3/apis/rbac.authorization.k8s.io/v1")
        found = {
            path: (operation["operationId"], operation["x-kubernetes-action"])
            for path, _, operation in operations(document)
            if "/watch/" in path and "bindings" not in path
        }
        root, word = "/apis/rbac.authorization.k8s.io/v1/watch", "watchRbacAuthorizationV1"
        assert found == {
            f"{root}/clusterroles": (f"{word}ClusterRoleList", "watchlist"),
            f"{root}/clusterroles/{{name}}": (f"{word}ClusterRole", "watch"),
            f"{root}/roles": (f"{word}RoleListForAllNamespaces", "watchlist"),
            f"{root}/namespaces/{{namespace}}/roles": (f"{word}NamespacedRoleList", "watchlist"),
            f"{root}/namespaces/{{namespace}}/roles/{{name}}": (f"{word}NamespacedRole", "watch"),
        }


async def test_a_custom_resource_has_all_its_paths() -> None:
    async with asking() as server:
        await server.define(subresources=SUBRESOURCES)
        document = await server.get("/openapi/v3/apis/ex.com/v1")
        found = {(path, method): op["operationId"] for path, method, op in operations(document)}
        root, widgets = "/apis/ex.com/v1", "/apis/ex.com/v1/namespaces/{namespace}/widgets"
        scale = f"{widgets}/{{name}}/scale"
        status = f"{widgets}/{{name}}/status"
        assert found == {
            (f"{root}/widgets", "get"): "listExComV1WidgetForAllNamespaces",
            (widgets, "get"): "listExComV1NamespacedWidget",
            (widgets, "post"): "createExComV1NamespacedWidget",
            (widgets, "delete"): "deleteExComV1CollectionNamespacedWidget",
            (f"{widgets}/{{name}}", "get"): "readExComV1NamespacedWidget",
            (f"{widgets}/{{name}}", "put"): "replaceExComV1NamespacedWidget",
            (f"{widgets}/{{name}}", "patch"): "patchExComV1NamespacedWidget",
            (f"{widgets}/{{name}}", "delete"): "deleteExComV1NamespacedWidget",
            (status, "get"): "readExComV1NamespacedWidgetStatus",
            (status, "put"): "replaceExComV1NamespacedWidgetStatus",
            (status, "patch"): "patchExComV1NamespacedWidgetStatus",
            (scale, "get"): "readExComV1NamespacedWidgetScale",
            (scale, "put"): "replaceExComV1NamespacedWidgetScale",
            (scale, "patch"): "patchExComV1NamespacedWidgetScale",
        }


@pytest.mark.parametrize(
    ("group", "version", "wanted", "wanted_tag"),
    [
        ("", "v1", "listCoreV1Thing", "core_v1"),
        ("apps", "v1", "listAppsV1Thing", "apps_v1"),
        ("rbac.authorization.k8s.io", "v1", "listRbacAuthorizationV1Thing", "rbacAuthorization_v1"),
        ("stable.my-shop.com", "v1beta1", "listStableMyShopComV1beta1Thing", "stableMyShopCom_v1beta1"),
    ],
)
def test_operations_are_named_by_group_and_version(group: str, version: str, wanted: str, wanted_tag: str) -> None:
    gv = GroupVersion(group, version)
    assert operation_id(gv, "list", "Thing") == wanted
    assert tag(gv) == wanted_tag


async def test_built_in_kinds_are_described() -> None:
    async with asking() as server:
        schemas = (await server.get("/openapi/v3/api/v1"))["components"]["schemas"]
        container = schemas["io.k8s.api.core.v1.Container"]
        assert "application container" in container["description"]
        assert container["properties"]["name"]["description"]
        resources = container["properties"]["resources"]
        assert resources["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}]
        assert resources["default"] == {}
        assert resources["description"]


async def test_types_with_their_own_json_are_published_in_the_words_of_each_version() -> None:
    async with asking() as server:
        v3 = (await server.get("/openapi/v3/api/v1"))["components"]["schemas"]
        v2 = (await server.get("/openapi/v2"))["definitions"]
        quantity, port = (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        )
        assert v3[quantity]["oneOf"] == [{"type": "string"}, {"type": "number"}]
        assert v2[quantity]["type"] == "string"
        assert v3[port]["oneOf"] == [{"type": "integer"}, {"type": "string"}]
        assert v2[port]["type"] == "string"
        fields = v3["io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"]
        assert fields.keys() == {"description", "type"}


async def test_the_options_of_a_delete_are_named_for_the_group_alone() -> None:
    async with asking() as server:
        schemas = (await server.get("/openapi/v3/apis/apps/v1"))["components"]["schemas"]
        found = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"][GVK]
        assert [(kind["group"], kind["version"]) for kind in found] == [("", "v1"), ("apps", "v1")]


async def test_a_document_with_the_right_hash_may_be_kept_for_good() -> None:
    async with asking() as server:
        address = (await addresses(server))["apis/apps/v1"]
        response = await server.ask(address)
        assert header(response, "Cache-Control") == "public, immutable"
        assert header(response, "Expires") == "Fri, 01 Jan 2027 00:00:00 GMT"
        assert header(response, "ETag") == f'"{address.partition("hash=")[2]}"'


async def test_a_wrong_hash_leads_to_the_right_one() -> None:
    async with asking() as server:
        response = await server.ask("/openapi/v3/apis/apps/v1?hash=ABC")
        assert response.status == 301
        assert header(response, "Location") == (await addresses(server))["apis/apps/v1"]


async def test_without_a_hash_a_document_must_be_asked_for_again() -> None:
    async with asking() as server:
        response = await server.ask("/openapi/v3/apis/apps/v1")
        assert response.status == 200
        assert header(response, "Cache-Control") == "no-cache, private"


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/version", "/openapi/v2"])
async def test_who_has_a_document_already_is_only_told_so(path: str) -> None:
    async with asking() as server:
        etag = header(await server.ask(path), "ETag")
        again = await server.ask(path, if_none_match=f'"other", W/{etag}')
        assert (again.status, again.body) == (304, b"")
        assert (await server.ask(path, if_none_match='"other"')).status == 200
        assert (await server.ask(path, if_none_match="*")).status == 304


async def test_only_the_documents_that_a_definition_is_in_change_with_it() -> None:
    async with asking() as server:
        await server.define(plural="gadgets", group="other.com")
        before = await addresses(server)
        await server.define()
        after = await addresses(server)
        new = after.pop("apis/ex.com/v1")
        assert after == before
        body = {"spec": {"versions": [_version("number")]}}
        patched = await server.ask(
            f"{DEFINITIONS}/widgets.ex.com", method="PATCH", body=body, content_type="application/merge-patch+json"
        )
        assert patched.status == 200, patched.body
        assert (await addresses(server))["apis/ex.com/v1"] != new
        schemas = (await server.get("/openapi/v3/apis/ex.com/v1"))["components"]["schemas"]
        assert schemas["com.ex.v1.Widget"]["properties"]["size"] == {"type": "number"}
        assert (await server.get("/openapi/v2"))["definitions"]["com.ex.v1.Widget"]["properties"]["size"] == {
            "type": "number"
        }
        assert (await server.ask(f"{DEFINITIONS}/widgets.ex.com", method="DELETE")).status == 200
        assert await addresses(server) == before
        assert (await server.ask("/openapi/v3/apis/ex.com/v1")).status == 404
        assert "com.ex.v1.Widget" not in (await server.get("/openapi/v2"))["definitions"]


def _version(kind: str) -> Tree:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": kind}}}}
    return {"name": "v1", "served": True, "storage": True, "schema": schema}


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/openapi/v3/api/v1", "application/json", 200),
        ("/openapi/v3/api/v1", "*/*", 200),
        ("/openapi/v3/api/v1", "text/html", 406),
        ("/openapi/v3/api/v1", PROTOBUF, 406),
        ("/openapi/v3/api/v1", V3_PROTOBUF, 200),
        ("/openapi/v2", PROTOBUF, 200),
        ("/openapi/v2", f"{PROTOBUF},application/json", 200),
        ("/openapi/v2", "application/*", 200),
        ("/openapi/v2", "text/html", 406),
        ("/openapi/v3/apis/nobody.example.com/v1", "application/json", 404),
        ("/openapi/v1", "application/json", 404),
    ],
)
async def test_documents_come_in_the_types_that_clients_ask_for(path: str, accept: str, status: int) -> None:
    async with asking() as server:
        assert (await server.ask(path, accept=accept)).status == status


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v3/api/v1", "/openapi/v2"])
async def test_documents_can_only_be_read(path: str) -> None:
    async with asking() as server:
        assert (await server.ask(path, method="POST")).status == 405


async def test_the_protobuf_form_says_the_same_as_the_json() -> None:
    async with asking() as server:
        await server.define(schema=EVERYTHING)
        response = await server.ask("/openapi/v2", accept=PROTOBUF)
        assert response.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        assert isinstance(response.body, bytes)
        tree = await server.get("/openapi/v2")
        assert tree["definitions"]["com.ex.v1.Widget"]["properties"]["spec"] == EVERYTHING["properties"]["spec"]
        assert gnostic_reader.document(response.body) == tree


@pytest.mark.parametrize("path", ["api/v1", "apis/ex.com/v1", "apis/apps", "version", "openid/v1/jwks"])
async def test_the_protobuf_form_of_version_3_says_the_same_as_the_json(path: str) -> None:
    schema = {**EVERYTHING, "properties": {**EVERYTHING["properties"], "v3": ONLY_IN_V3}}
    async with asking() as server:
        await server.define(schema=schema, subresources=SUBRESOURCES)
        response = await server.ask(f"/openapi/v3/{path}", accept=V3_PROTOBUF)
        assert response.content_type == "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
        assert isinstance(response.body, bytes)
        tree = await server.get(f"/openapi/v3/{path}")
        assert gnostic_v3_reader.document(response.body) == without_large_defaults(tree)
        assert header(response, "ETag") == header(await server.ask(f"/openapi/v3/{path}"), "ETag")


def without_large_defaults(node: Any) -> Any:
    """A document without the defaults that protobuf does not have, lists and objects."""
    if isinstance(node, list):
        return [without_large_defaults(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    found: Tree = {}
    for name, value in node.items():
        if name == "properties" and isinstance(value, dict):
            # One of the fields may be called "default".
            found[name] = {field: without_large_defaults(child) for field, child in value.items()}
        else:
            found[name] = without_large_defaults(value)
    if isinstance(node.get("default"), (dict, list)):
        found["default"] = None
    return found


async def test_old_kubectl_finds_the_dry_run_of_a_patch_in_the_protobuf_form() -> None:
    async with asking() as server:
        response = await server.ask("/openapi/v2", accept=PROTOBUF)
        assert isinstance(response.body, bytes)
        patch = gnostic_reader.document(response.body)["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
        assert patch[GVK] == {"group": "", "kind": "Pod", "version": "v1"}
        assert ("query", "dryRun") in {(found.get("in"), found.get("name")) for found in patch["parameters"]}


async def test_version_2_knows_no_defaults() -> None:
    async with asking() as server:
        for name, schema in (await server.get("/openapi/v2"))["definitions"].items():
            for field in schema.get("properties", {}).values():
                assert not isinstance(field, dict) or "default" not in field, name


async def test_documents_of_the_past_are_not_kept() -> None:
    async with asking() as server:
        (openapi,) = (found for found in server.server.pipeline._plain if isinstance(found, OpenAPI))
        for number in range(3):
            await server.define(plural=f"widget{number}s", versions=("v1",))
            await server.get("/openapi/v3/apis/ex.com/v1")
            await server.get("/openapi/v3/version")
        assert len(openapi._documents) == 2


@pytest.mark.parametrize(("number", "wanted"), [(5, b"\x08\x05"), (300, b"\x08\xac\x02"), (0, b"")])
def test_numbers_take_as_many_bytes_as_they_need(number: int, wanted: bytes) -> None:
    assert protobuf_wire.integer(1, number) == wanted


def test_a_negative_number_takes_ten_bytes() -> None:
    assert protobuf_wire.integer(1, -1) == b"\x08" + b"\xff" * 9 + b"\x01"
