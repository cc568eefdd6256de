"""The served kinds: each listable kind once, and the versions of servers that do not respond."""

from typing import Any

import msgspec
import pytest

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call
from setpoint.flow.chain.served_kinds import Served, served
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object

AGGREGATED = {"content-type": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
ALL_VERBS = ["get", "list", "watch"]


class Documents:
    """A transport that answers with documents by path, and with an error for a number."""

    def __init__(self, headers: dict[str, str], documents: dict[str, Object | int]) -> None:
        self._headers = headers
        self._documents = documents

    async def send(self, call: Call) -> Answer:
        found = self._documents.get(call.path, 404)
        if isinstance(found, int):
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": found, "message": "no answer"}
            return Answer(found, {"content-type": "application/json"}, msgspec.json.encode(status))
        return Answer(200, self._headers, msgspec.json.encode(found))

    def stream(self, call: Call) -> Any:
        raise AssertionError("discovery opens no stream")

    async def close(self) -> None: ...


async def discovered(headers: dict[str, str], documents: dict[str, Object | int]) -> Served:
    return await served(Client(Documents(headers, documents)))


def names(found: Served) -> list[str]:
    return sorted(f"{resource.gvk.api_version}/{resource.gvk.kind}" for resource in found.resources.values())


def aggregated(group: str, **versions: list[Object]) -> Object:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [{"version": version, "resources": resources} for version, resources in versions.items()],
    }


def resource(kind: str, group: str = "", verbs: list[str] | None = None) -> Object:
    return {
        "resource": f"{kind.lower()}s",
        "responseKind": {"group": group, "version": "", "kind": kind},
        "scope": "Namespaced",
        "verbs": ALL_VERBS if verbs is None else verbs,
    }


async def test_a_kind_is_served_if_it_can_be_listed_in_its_own_group() -> None:
    pods = [resource("Pod"), resource("Binding", verbs=["create"]), resource("Scale", "autoscaling")]
    found = await discovered(
        AGGREGATED, {"/api": {"items": [aggregated("", v1=pods)]}, "/apis": {"items": [aggregated("apps")]}}
    )
    assert names(found) == ["v1/Pod"]
    assert found.unknown == frozenset()


async def test_a_kind_is_served_in_the_preferred_version_and_others_in_the_one_that_has_them() -> None:
    shop = aggregated("shop", v2=[resource("Order")], v1=[resource("Order"), resource("Invoice")])
    found = await discovered(AGGREGATED, {"/api": {"items": []}, "/apis": {"items": [shop]}})
    assert names(found) == ["shop/v1/Invoice", "shop/v2/Order"]


async def test_a_version_without_resources_is_unknown_and_hides_no_other() -> None:
    items = [aggregated("shop", v2=[], v1=[resource("Order")]), aggregated("silent", v1=[])]
    found = await discovered(AGGREGATED, {"/api": {"items": []}, "/apis": {"items": items}})
    assert names(found) == ["shop/v1/Order"]
    assert found.unknown == {GroupVersion("shop", "v2"), GroupVersion("silent", "v1")}


def listed(*kinds: str) -> Object:
    return {
        "kind": "APIResourceList",
        "resources": [
            {"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": ALL_VERBS} for kind in kinds
        ],
    }


def group_of(name: str, *versions: str) -> Object:
    return {"name": name, "versions": [{"version": version} for version in versions]}


async def test_a_server_without_aggregated_documents_is_asked_for_each_version() -> None:
    groups = [group_of("shop", "v2", "v1", "v0"), group_of("silent", "v1")]
    found = await discovered(
        {"content-type": "application/json"},
        {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/api/v1": listed("Pod"),
            "/apis": {"kind": "APIGroupList", "groups": groups},
            "/apis/shop/v2": listed("Order"),
            "/apis/shop/v1": listed("Order", "Invoice"),
            "/apis/silent/v1": 503,
        },
    )
    assert names(found) == ["shop/v1/Invoice", "shop/v2/Order", "v1/Pod"]
    assert found.unknown == {GroupVersion("silent", "v1")}, "v0 was removed meanwhile"


async def test_a_server_that_does_not_respond_is_an_error() -> None:
    with pytest.raises(APIError, match="no answer"):
        await discovered(AGGREGATED, {"/api": {"items": []}, "/apis": 503})
