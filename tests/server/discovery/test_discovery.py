"""Discovery tells what is served, in both forms, in the order that decides what a short name means."""

import pytest
from tests.server.nonresource.asking import DEFINITIONS, Asking, Tree, asking, definition, header

from setpoint.server.publish.discovery.aggregated import CONTENT_TYPE

APPROVED = "api-approved.kubernetes.io"
AGGREGATED = f"{CONTENT_TYPE},application/json"


async def group_names(server: Asking) -> list[str]:
    return [group["name"] for group in (await server.get("/apis"))["groups"]]


async def aggregated_resources(server: Asking, group: str) -> dict[str, list[Tree]]:
    """The resources of a group by version, from the aggregated form."""
    items = (await server.get("/apis", accept=AGGREGATED))["items"]
    (found,) = (item for item in items if item["metadata"]["name"] == group)
    return {version["version"]: version["resources"] for version in found["versions"]}


async def test_built_in_groups_come_first_and_then_those_of_definitions_by_name() -> None:
    async with asking() as server:
        builtin = await group_names(server)
        await server.define(group="b.com")
        await server.define(group="a.com")
        assert await group_names(server) == [*builtin, "a.com", "b.com"]
        assert builtin[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]


async def test_both_forms_name_the_same_groups_in_the_same_order() -> None:
    async with asking() as server:
        await server.define()
        items = (await server.get("/apis", accept=AGGREGATED))["items"]
        assert [item["metadata"]["name"] for item in items] == await group_names(server)


async def test_the_preferred_version_comes_first() -> None:
    async with asking() as server:
        await server.define(versions=("v1alpha1", "v1", "foo", "v2beta1", "v10"))
        found = await server.get("/apis/ex.com")
        versions = [version["version"] for version in found["versions"]]
        assert versions == ["v10", "v1", "v2beta1", "v1alpha1", "foo"]
        assert found["preferredVersion"] == {"groupVersion": "ex.com/v10", "version": "v10"}
        assert list(await aggregated_resources(server, "ex.com")) == versions


async def test_the_newer_autoscaler_is_preferred() -> None:
    async with asking() as server:
        found = await server.get("/apis/autoscaling")
        assert [version["version"] for version in found["versions"]] == ["v2", "v1"]


async def test_a_definition_adds_its_version_to_a_built_in_group_behind_the_own_ones() -> None:
    async with asking() as server:
        await server.define(
            group="networking.k8s.io", versions=("v2",), annotations={APPROVED: "https://example.com/1"}
        )
        found = await server.get("/apis/networking.k8s.io")
        assert [version["version"] for version in found["versions"]] == ["v1", "v2"]
        assert (await group_names(server)).count("networking.k8s.io") == 1


async def test_a_resource_is_listed_with_its_names_and_subresources() -> None:
    async with asking() as server:
        await server.define(
            names={"shortNames": ["wd"], "categories": ["all"]},
            subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
        )
        found = (await server.get("/apis/ex.com/v1"))["resources"]
        verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        few = ["get", "patch", "update"]
        hidden = found[0].pop("storageVersionHash")
        assert len(hidden) == 12
        assert found == [
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": verbs,
                "shortNames": ["wd"],
                "categories": ["all"],
            },
            {"name": "widgets/status", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": few},
            {
                "name": "widgets/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": few,
            },
        ]


async def test_the_aggregated_form_names_the_kind_of_a_custom_resource_in_full() -> None:
    async with asking() as server:
        await server.define(subresources={"status": {}})
        (found,) = (await aggregated_resources(server, "ex.com"))["v1"]
        kind = {"group": "ex.com", "version": "v1", "kind": "Widget"}
        assert found["responseKind"] == kind
        assert found["subresources"] == [
            {"subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"]}
        ]


async def test_the_hash_of_the_storage_version_is_the_known_one() -> None:
    async with asking() as server:
        found = (await server.get("/api/v1"))["resources"]
        hashes = {entry["name"]: entry.get("storageVersionHash") for entry in found}
        assert hashes["configmaps"] == "qFsyl6wFWjQ="
        assert hashes["bindings"] is None


async def test_what_is_stored_in_a_version_that_is_not_served_has_no_hash() -> None:
    async with asking() as server:
        tree = definition(versions=("v1", "v2"))
        tree["spec"]["versions"][0]["served"] = False
        assert (await server.ask(DEFINITIONS, method="POST", body=tree)).status == 201
        (found,) = (await server.get("/apis/ex.com/v2"))["resources"]
        assert "storageVersionHash" not in found


async def test_a_definition_on_its_way_out_takes_nothing_new() -> None:
    async with asking() as server:
        await server.define()
        body = {"apiVersion": "ex.com/v1", "kind": "Widget", "metadata": {"name": "a", "finalizers": ["ex.com/stay"]}}
        widgets = "/apis/ex.com/v1/namespaces/default/widgets"
        assert (await server.ask(widgets, method="POST", body=body)).status == 201
        assert (await server.ask(f"{DEFINITIONS}/widgets.ex.com", method="DELETE")).status == 200
        wanted = ["delete", "deletecollection", "get", "list", "watch"]
        (found,) = (await server.get("/apis/ex.com/v1"))["resources"]
        assert found["verbs"] == wanted
        (found,) = (await aggregated_resources(server, "ex.com"))["v1"]
        assert found["verbs"] == wanted


async def test_discovery_is_right_at_once_after_a_definition_comes_and_goes() -> None:
    async with asking() as server:
        before = await server.ask("/apis", accept=AGGREGATED)
        await server.define()
        between = await server.ask("/apis", accept=AGGREGATED)
        assert header(between, "ETag") != header(before, "ETag")
        assert (await server.ask("/apis/ex.com/v1")).status == 200
        assert (await server.ask(f"{DEFINITIONS}/widgets.ex.com", method="DELETE")).status == 200
        after = await server.ask("/apis", accept=AGGREGATED)
        assert header(after, "ETag") == header(before, "ETag")
        assert (await server.ask("/apis/ex.com/v1")).status == 404


async def test_who_has_the_aggregated_form_already_is_only_told_so() -> None:
    async with asking() as server:
        first = await server.ask("/api", accept=AGGREGATED)
        assert first.content_type == CONTENT_TYPE
        assert header(first, "Vary") == "Accept"
        again = await server.ask("/api", accept=AGGREGATED, if_none_match=header(first, "ETag"))
        assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        ("", False),
        ("application/json", False),
        ("application/json,*/*", False),
        (CONTENT_TYPE, True),
        (f"{CONTENT_TYPE},application/json", True),
        (f"application/json,{CONTENT_TYPE}", False),
        (f"application/json;q=0.5,{CONTENT_TYPE}", True),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", False),
        ("application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", None),
        ("text/html", None),
    ],
)
async def test_the_form_is_the_first_that_the_client_names_and_the_server_has(
    accept: str, aggregated: bool | None
) -> None:
    async with asking() as server:
        for path in ("/api", "/apis", "/apis/"):
            response = await server.ask(path, accept=accept)
            if aggregated is None:
                assert response.status == 406
            else:
                assert response.status == 200
                assert (response.content_type == CONTENT_TYPE) is aggregated


async def test_without_the_aggregated_form_who_prefers_it_gets_the_other() -> None:
    async with asking(aggregated_discovery=False) as server:
        for path in ("/api", "/apis"):
            assert (await server.ask(path, accept=AGGREGATED)).content_type == "application/json"
            assert (await server.ask(path, accept=CONTENT_TYPE)).status == 406


async def test_the_core_group_says_where_the_server_was_reached() -> None:
    async with asking() as server:
        found = await server.get("/api", host="here:6443")
        assert found["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "here:6443"}]


@pytest.mark.parametrize("path", ["/api", "/apis/apps/v1", "/api/v1"])
async def test_the_resources_of_a_version_can_only_be_read(path: str) -> None:
    async with asking() as server:
        for method in ("POST", "HEAD", "DELETE"):
            assert (await server.ask(path, method=method)).status == 405


@pytest.mark.parametrize("path", ["/apis", "/apis/apps"])
async def test_groups_answer_every_method_as_on_kube_apiserver(path: str) -> None:
    async with asking() as server:
        wanted = await server.ask(path)
        for method in ("POST", "HEAD", "DELETE", "FOO"):
            found = await server.ask(path, method=method)
            assert (found.status, found.body) == (200, wanted.body)


@pytest.mark.parametrize("path", ["/apis/apps", "/apis/apps/v1", "/api/v1"])
async def test_a_discovery_document_has_no_other_form(path: str) -> None:
    async with asking() as server:
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        assert (await server.ask(path, accept=table)).status == 406
        assert (await server.ask(path, accept=f"{table},application/json")).status == 200


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/api/v2", "application/json"),
        ("/apis/apps/v9", "application/json"),
        ("/apis/nobody.example.com", "text/plain; charset=utf-8"),
        ("/apis/nobody.example.com/v1", "text/plain; charset=utf-8"),
    ],
)
async def test_unknown_versions_of_built_in_groups_are_told_with_a_status(path: str, content_type: str) -> None:
    async with asking() as server:
        response = await server.ask(path)
        assert (response.status, response.content_type) == (404, content_type)
