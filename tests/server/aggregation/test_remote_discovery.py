"""The versions of extension API servers in discovery and OpenAPI, and their effect on other parts of the server."""

import asyncio
import json

import pytest
from tests.server.aggregation.extended_plane import extended
from tests.server.aggregation.extension import (
    AGGREGATED,
    API_SERVICE,
    API_SERVICES,
    GROUP,
    NOTES,
    ROOT,
    api_service,
    ask,
    has_reason,
    note,
    respond,
    until,
)

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.aggregation.remote_documents import from_resource_list
from setpoint.server.publish.discovery.remote_groups import with_remote
from setpoint.server.registry.remote_version import RemoteServer, RemoteVersion

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def discovered(plane: ControlPlane, group: str = GROUP) -> Object:
    """Returns the group in aggregated discovery."""
    response = await respond(plane, "GET", "/apis", None, accept=AGGREGATED)
    assert isinstance(response.body, bytes)
    groups = {each["metadata"]["name"]: each for each in json.loads(response.body)["items"]}
    return dict(groups[group])


@pytest.mark.parametrize("aggregated", [True, False])
async def test_discovery_lists_the_resources_of_the_extension_server(aggregated: bool) -> None:
    async with extended(aggregated=aggregated) as (plane, extension):
        (version,) = (await discovered(plane))["versions"]
        assert (version["version"], version["freshness"]) == ("v1", "Current")
        (resource,) = version["resources"]
        assert (resource["resource"], resource["scope"]) == ("notes", "Namespaced")
        assert resource["responseKind"]["kind"] == "Note"
        _, groups = await ask(plane, "GET", "/apis")
        (found,) = [each for each in groups["groups"] if each["name"] == GROUP]
        assert found["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
        assert groups["groups"][-1] == found  # the lowest priority
        assert (await ask(plane, "GET", f"/apis/{GROUP}"))[1]["versions"] == found["versions"]
        status, listed = await ask(plane, "GET", ROOT)
        assert (status, listed["kind"]) == (200, "APIResourceList")
        assert extension.received[-1].user == "system:admin"
        assert (await ask(plane, "GET", "/apis/notes.example.dev/v2"))[0] == 404


async def test_a_client_finds_the_kind_and_loses_it_with_the_api_service() -> None:
    async with extended() as (plane, extension):
        client = plane.client()
        extension.notes["first"] = note("first")
        assert (await client.get(f"{GROUP}/v1/Note", "first", "default"))["metadata"]["name"] == "first"
        assert (await ask(plane, "DELETE", API_SERVICE))[0] == 200
        assert (await ask(plane, "GET", NOTES))[0] == 404
        with pytest.raises(KeyError):
            await discovered(plane)


async def test_a_version_is_stale_while_its_server_is_unavailable() -> None:
    async with extended() as (plane, extension):
        extension.status = 500
        await ask(plane, "DELETE", API_SERVICE)
        await ask(plane, "POST", API_SERVICES, api_service())
        await until(has_reason("FailedDiscoveryCheck"), plane)
        assert (await discovered(plane))["versions"] == [{"version": "v1", "freshness": "Stale"}]
        _, groups = await ask(plane, "GET", "/apis")
        assert GROUP in [each["name"] for each in groups["groups"]]


async def test_a_namespace_is_not_deleted_while_a_version_is_unavailable() -> None:
    async with extended(system=True) as (plane, extension):
        await ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        await plane.settle()
        extension.status = 500
        await ask(plane, "DELETE", API_SERVICE)
        await ask(plane, "POST", API_SERVICES, api_service())
        await until(has_reason("FailedDiscoveryCheck"), plane)
        await ask(plane, "DELETE", "/api/v1/namespaces/shop")
        await plane.settle()
        _, found = await ask(plane, "GET", "/api/v1/namespaces/shop")
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        failure = conditions["NamespaceDeletionDiscoveryFailure"]
        assert (failure["status"], failure["reason"]) == ("True", "DiscoveryFailed")
        assert f"{GROUP}/v1" in failure["message"]
        await ask(plane, "DELETE", API_SERVICE)
        while (await ask(plane, "GET", "/api/v1/namespaces/shop"))[0] != 404:
            await plane.settle()


async def test_the_objects_of_a_deleted_namespace_are_deleted_on_the_extension_server() -> None:
    async with extended(system=True) as (plane, extension):
        await ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        await plane.settle()
        path = f"{ROOT}/namespaces/shop/notes"
        items = {"kind": "NoteList", "metadata": {}, "items": [note("first")]}
        extension.pages[path] = (200, "application/json", json.dumps(items).encode())
        await ask(plane, "DELETE", "/api/v1/namespaces/shop")
        while not [each for each in extension.received if (each.method, each.path) == ("DELETE", path)]:
            await plane.settle()
        deleting = next(each for each in extension.received if each.method == "DELETE")
        assert deleting.user == "system:serviceaccount:kube-system:namespace-controller"


async def test_openapi_lists_the_document_of_the_extension_server() -> None:
    async with extended() as (plane, extension):
        url = f"/openapi/v3/apis/{GROUP}/v1?hash=AB"
        paths = {f"apis/{GROUP}/v1": {"serverRelativeURL": url}, "apis/apps/v1": {"serverRelativeURL": "/wrong"}}
        extension.pages["/openapi/v3"] = (200, "application/json", json.dumps({"paths": paths}).encode())
        extension.pages[f"/openapi/v3/apis/{GROUP}/v1"] = (200, "application/json", b'{"openapi":"3.0.0"}')
        await ask(plane, "DELETE", API_SERVICE)
        await ask(plane, "POST", API_SERVICES, api_service())
        await until(has_reason("Passed"), plane)
        response = await respond(plane, "GET", "/openapi/v3")
        assert isinstance(response.body, bytes)
        found = json.loads(response.body)["paths"]
        assert found[f"apis/{GROUP}/v1"] == {"serverRelativeURL": url}
        assert found["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")
        assert await ask(plane, "GET", url) == (200, {"openapi": "3.0.0"})
        assert extension.received[-1].query == "hash=AB"


SWAGGER: Object = {
    "swagger": "2.0",
    "paths": {
        f"{ROOT}/notes": {
            "get": {
                "description": "list notes",
                "operationId": "listNotes",
                "tags": ["notes"],
                "produces": ["application/json"],
                "parameters": [{"$ref": "#/parameters/size"}],
                "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/dev.Note"}}},
            }
        },
        "/apis/apps/v1/wrong": {"get": {"description": "of another version"}},
    },
    "definitions": {
        "dev.Note": {"type": "object", "properties": {"part": {"$ref": "#/definitions/dev.Part"}}},
        "dev.Part": {"type": "object", "properties": {"whole": {"$ref": "#/definitions/dev.Note"}}},
        "dev.Unused": {"type": "object"},
    },
    "parameters": {"size": {"name": "size", "in": "query", "type": "integer"}},
}


async def test_openapi_version_2_contains_the_paths_of_the_extension_server() -> None:
    async with extended() as (plane, extension):

        async def declare(document: bytes) -> None:
            extension.pages["/openapi/v2"] = (200, "application/json", document)
            await ask(plane, "DELETE", API_SERVICE)
            await ask(plane, "POST", API_SERVICES, api_service())
            await until(has_reason("Passed"), plane)

        _, before = await ask(plane, "GET", "/openapi/v2")
        await declare(json.dumps(SWAGGER).encode())
        _, found = await ask(plane, "GET", "/openapi/v2")
        assert set(found["paths"]) - set(before["paths"]) == {f"{ROOT}/notes"}
        assert set(found["definitions"]) - set(before["definitions"]) == {"dev.Note", "dev.Part"}
        assert set(found["parameters"]) - set(before["parameters"]) == {"size"}
        protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
        response = await respond(plane, "GET", "/openapi/v2", None, accept=protobuf)
        assert isinstance(response.body, bytes)
        assert b"listNotes" in response.body
        # A document of an unexpected form has no effect on the others.
        for damaged in (b'{"paths": 5}', b"[" * 100_000, json.dumps({"paths": {f"{ROOT}/a": {"get": 1}}}).encode()):
            await declare(damaged)
            response = await respond(plane, "GET", "/openapi/v2", None, accept=protobuf)
            assert response.status == 200


async def test_a_built_in_version_is_never_forwarded() -> None:
    async with extended() as (plane, extension):
        _, own = await ask(plane, "GET", f"{API_SERVICES}/v1.apps")
        own["spec"] |= {"service": api_service()["spec"]["service"], "caBundle": api_service()["spec"]["caBundle"]}
        assert (await ask(plane, "PUT", f"{API_SERVICES}/v1.apps", own))[0] == 200
        before = [each for each in extension.received if each.path.startswith("/apis/apps/v1/")]
        assert (await ask(plane, "GET", "/apis/apps/v1/deployments"))[1]["kind"] == "DeploymentList"
        assert [each for each in extension.received if each.path.startswith("/apis/apps/v1/")] == before


async def test_metrics_are_forwarded_once_their_server_is_available() -> None:
    async with extended() as (plane, extension):
        path = "/apis/metrics.k8s.io/v1beta1"
        listed = json.dumps({"kind": "APIResourceList", "resources": []}).encode()
        nodes = json.dumps({"kind": "NodeMetricsList", "metadata": {"selfLink": "remote"}, "items": []}).encode()
        extension.pages |= {path: (200, "application/json", listed), f"{path}/nodes": (200, "application/json", nodes)}
        tree = api_service(group="metrics.k8s.io", version="v1beta1")
        tree["metadata"]["name"] = "v1beta1.metrics.k8s.io"
        plane.webhook_services.remove("extensions", "notes")
        assert (await ask(plane, "POST", API_SERVICES, tree))[0] == 201
        place = f"{API_SERVICES}/v1beta1.metrics.k8s.io"
        while "status" not in (found := (await ask(plane, "GET", place))[1]) or not found["status"].get("conditions"):
            await asyncio.sleep(0.01)
        assert "selfLink" not in (await ask(plane, "GET", f"{path}/nodes"))[1]["metadata"]
        plane.webhook_services.put("extensions", "notes", "127.0.0.1", extension.port)
        await ask(plane, "DELETE", place)
        assert (await ask(plane, "POST", API_SERVICES, tree))[0] == 201
        while (await ask(plane, "GET", f"{path}/nodes"))[1]["metadata"] != {"selfLink": "remote"}:
            await asyncio.sleep(0.01)


async def test_an_api_service_takes_precedence_over_a_definition() -> None:
    async with extended() as (plane, extension):
        names = {"plural": "notes", "kind": "Note"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        versions = [{"name": name, "served": True, "storage": name == "v2", "schema": schema} for name in ("v1", "v2")]
        spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}
        assert (await ask(plane, "POST", DEFINITIONS, {"metadata": {"name": f"notes.{GROUP}"}, "spec": spec}))[0] == 201
        assert (await ask(plane, "POST", NOTES, note("remote")))[0] == 200
        assert list(extension.notes) == ["remote"]
        assert (await ask(plane, "GET", NOTES.replace("/v1/", "/v2/")))[1]["items"] == []
        versions = (await discovered(plane))["versions"]
        assert [each["version"] for each in versions] == ["v2", "v1"]  # by the priorities 100 and 10
        await ask(plane, "DELETE", API_SERVICE)
        assert (await ask(plane, "GET", NOTES))[1]["items"] == []


def test_groups_are_in_the_order_of_their_priorities() -> None:
    local = {name: [GroupVersion(name, "v1")] for name in ("apiregistration.k8s.io", "apps", "batch", "a.dev", "c.dev")}
    priorities = {"first.dev": 20_000, "second.dev": 17_500, "b.dev": 1000, "last.dev": 1}
    server = RemoteServer("n", "s", 443)
    remote = {GroupVersion(name, "v1"): RemoteVersion(server, each, 5, True) for name, each in priorities.items()}
    remote[GroupVersion("a.dev", "v2")] = RemoteVersion(server, 5, 500, True)
    found = with_remote(local, remote)
    expected = ["apiregistration.k8s.io", "first.dev", "apps", "second.dev", "batch", "a.dev", "b.dev", "c.dev"]
    assert list(found) == [*expected, "last.dev"]
    assert [gv.version for gv in found["a.dev"]] == ["v2", "v1"]


def test_a_resource_list_becomes_an_aggregated_document() -> None:
    gv = GroupVersion("x.dev", "v1")
    listed: Object = {
        "resources": [
            {"name": "a/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": ["get"]},
            {"name": "a", "kind": "A", "namespaced": True, "verbs": ["get"], "categories": ["all"]},
            "no resource",
        ]
    }
    (found,) = from_resource_list(listed, gv)
    assert found["responseKind"] == {"group": "x.dev", "version": "v1", "kind": "A"}
    assert found["subresources"][0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (found["scope"], found["categories"]) == ("Namespaced", ["all"])
