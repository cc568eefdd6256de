"""The graph of relations: among given objects, and of what a server or a cache has."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.flow.relations.graph import Graph, graph
from setpoint.flow.relations.graph_reader import read_graph, read_graph_around
from setpoint.flow.relations.links import Ref, ref_of
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

POD_SPEC = {"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}
TEMPLATE = {"metadata": {"labels": {"app": "blog"}}, "spec": POD_SPEC}
WORKLOAD = {"selector": {"matchLabels": {"app": "blog"}}, "template": TEMPLATE}


def obj(kind: str, name: str, namespace: str = "default", spec: Any = None, **metadata: Any) -> Object:
    api_version, _, kind = kind.rpartition("/")
    named = {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": named, **({"spec": spec} if spec else {})}


def ref(kind: str, name: str, namespace: str = "default") -> Ref:
    return ref_of(obj(kind, name, namespace))


def shop() -> list[Object]:
    deployment = obj("apps/v1/Deployment", "blog", spec=WORKLOAD, uid="d")
    replicas = obj("apps/v1/ReplicaSet", "blog-1", spec=WORKLOAD, uid="r")
    replicas["metadata"]["ownerReferences"] = [controller_reference(deployment)]
    pod = obj("v1/Pod", "blog-1-x", spec=POD_SPEC, uid="p", labels={"app": "blog"})
    pod["metadata"]["ownerReferences"] = [controller_reference(replicas)]
    service = obj("v1/Service", "web", spec={"selector": {"app": "blog"}})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "blog"}
    scaler = obj("autoscaling/v2/HorizontalPodAutoscaler", "scaler", spec={"scaleTargetRef": target})
    return [deployment, replicas, pod, service, scaler]


def said(found: Graph, of: Ref) -> set[str]:
    return {f"{edge.verb} {edge.target}" for edge in found.outgoing(of)}


def test_ownership_goes_from_the_owner_to_what_it_owns() -> None:
    found = graph(shop())
    deployment, replicas = ref("apps/v1/Deployment", "blog"), ref("apps/v1/ReplicaSet", "blog-1")
    assert found.owned(deployment) == [replicas]
    assert found.owners(replicas) == [deployment]
    assert [edge.controller for edge in found.incoming(replicas)] == [True]


def test_what_a_selector_matches_is_related_and_nothing_else() -> None:
    others = [obj("v1/Pod", "other", labels={"app": "x"}), obj("v1/Pod", "away", "elsewhere", labels={"app": "blog"})]
    found = graph([*shop(), *others])
    assert said(found, ref("v1/Service", "web")) == {"selects Pod default/blog-1-x"}


def test_what_is_named_and_is_not_there_is_missing() -> None:
    found = graph(shop())
    settings = ref("v1/ConfigMap", "settings")
    assert found.nodes[settings].missing
    assert {edge.target for edge in found.missing()} == {settings}
    assert not graph([*shop(), obj("v1/ConfigMap", "settings")]).missing()


def test_what_was_not_looked_for_is_not_missing() -> None:
    found = graph(shop(), expected=lambda ref: ref.kind != "ConfigMap")
    assert not found.nodes[ref("v1/ConfigMap", "settings")].missing


def test_an_object_that_only_has_the_name_of_an_owner_does_not_own() -> None:
    deployment, replicas, *_ = shop()
    deployment["metadata"]["uid"] = "another"
    found = graph([deployment, replicas])
    assert found.owned(ref_of(deployment)) == []
    assert found.owners(ref_of(replicas)) == [ref("apps/v1/Deployment", "blog@d")]


def test_an_owner_in_no_namespace_is_found_by_its_uid() -> None:
    cluster = obj("example.com/v1/Fleet", "all", "", uid="f")
    website = obj("example.com/v1/Website", "blog", ownerReferences=[controller_reference(cluster)])
    assert graph([cluster, website]).owned(ref_of(cluster)) == [ref_of(website)]


def test_around_goes_to_what_an_object_goes_to_and_up_to_the_owners() -> None:
    found = graph(shop())
    web, pod, replicas = ref("v1/Service", "web"), ref("v1/Pod", "blog-1-x"), ref("apps/v1/ReplicaSet", "blog-1")
    assert set(found.around(web, 1).nodes) == {web, pod}
    assert set(found.around(web, 2).nodes) == {web, pod, replicas, ref("v1/ConfigMap", "settings")}
    assert ref("apps/v1/Deployment", "blog") in found.around(web, 3).nodes


def test_around_leaves_out_who_only_uses_the_same() -> None:
    account = {"serviceAccountName": "default", "containers": []}
    found = graph(
        [obj("v1/Pod", "a", spec=account), obj("v1/Pod", "b", spec=account), obj("v1/ServiceAccount", "default")]
    )
    assert set(found.around(ref("v1/Pod", "a")).nodes) == {ref("v1/Pod", "a"), ref("v1/ServiceAccount", "default")}
    assert ref("v1/Pod", "b") in found.around(ref("v1/ServiceAccount", "default")).nodes


def test_the_tree_of_a_graph_has_its_edges_by_number() -> None:
    tree = graph([obj("v1/Pod", "a", spec={"volumes": [{"secret": {"secretName": "s"}}]})]).to_json()
    assert [(node["kind"], node["name"], node["missing"]) for node in tree["nodes"]] == [
        ("Pod", "a", False),
        ("Secret", "s", True),
    ]
    assert tree["nodes"][0]["summary"]["state"] == "pending"
    assert tree["edges"] == [{"source": 0, "verb": "uses", "target": 1, "at": "spec.volumes[*].secret"}]


def test_the_text_tells_each_thing_once() -> None:
    assert graph(shop()).render(ref("apps/v1/Deployment", "blog")).splitlines() == [
        "Deployment.apps default/blog: updating [progressing] 0 of 1 replicas are updated",
        "├─ owns ReplicaSet.apps blog-1: scaling [progressing] 0 of 1 replicas are there",
        "│  ├─ owns Pod blog-1-x: pending [progressing] no node has seen the pod yet",
        "│  │  └─ uses ConfigMap settings (not found)",
        "│  ├─ uses ConfigMap settings (not found)",
        "│  └─ selects Pod blog-1-x: pending [progressing] no node has seen the pod yet",
        "├─ uses ConfigMap settings (not found)",
        "├─ selects Pod blog-1-x: pending [progressing] no node has seen the pod yet",
        "└─ targeted by HorizontalPodAutoscaler.autoscaling scaler: pending [progressing] nothing was measured yet",
    ]


def test_a_circle_of_owners_has_an_end() -> None:
    one, two = obj("a.b/v1/X", "one", uid="1"), obj("a.b/v1/X", "two", uid="2")
    one["metadata"]["ownerReferences"] = [controller_reference(two)]
    two["metadata"]["ownerReferences"] = [controller_reference(one)]
    assert len(graph([one, two]).render(ref_of(one), 100).splitlines()) < 6


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with asyncio.timeout(30), ControlPlane() as plane, plane.client() as client:
        yield client


async def fill(client: Client) -> Object:
    made = await client.create(obj("v1/Pod", "blog", spec=POD_SPEC, labels={"app": "blog"}))
    await client.create(obj("v1/Service", "web", spec={"selector": {"app": "blog"}, "ports": [{"port": 80}]}))
    owned = obj("v1/ConfigMap", "notes", ownerReferences=[controller_reference(made)])
    await client.create(owned)
    return made


async def test_the_relations_of_an_object_are_read_from_a_server(client: Client) -> None:
    pod = await fill(client)
    found = await read_graph_around(client, pod)
    assert found.owned(ref_of(pod)) == [ref("v1/ConfigMap", "notes")]
    assert ref("v1/Service", "web") in [edge.source for edge in found.incoming(ref_of(pod))]
    assert found.nodes[ref("v1/ConfigMap", "settings")].missing
    assert not found.unread


async def test_a_cache_is_asked_for_what_it_holds(client: Client) -> None:
    pod = await fill(client)
    async with Cache(client) as cache, cache.use("v1/Pod"), cache.use("v1/Service"):
        found = await read_graph_around(cache, pod)
        assert cache.counts.live == 0
    assert ref("v1/Service", "web") in found.nodes
    assert not found.nodes[ref("v1/ConfigMap", "settings")].missing
    assert ref("v1/ConfigMap", "notes") not in found.nodes


async def test_a_kind_that_cannot_be_read_is_named(client: Client) -> None:
    pod = await fill(client)
    found = await read_graph(client, "default", kinds=["v1/Pod", "example.com/v1/Website"])
    assert [reason.split(":")[0] for reason in found.unread] == ["example.com/v1/Website"]
    assert "not read: example.com/v1/Website" in found.render(ref_of(pod))
