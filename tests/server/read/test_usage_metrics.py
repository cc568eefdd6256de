"""The usage of pods and nodes: metrics.k8s.io without nodes, by annotations, and of simulated nodes."""

from typing import Any

import pytest
from tests.server.authorization.cluster import MERGE, Cluster, binding, role, rule
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import BadRequest, NotFound
from setpoint.objects.tree import Object
from setpoint.server.request.context import Context

POD_METRICS, NODE_METRICS = "metrics.k8s.io/v1beta1/PodMetrics", "metrics.k8s.io/v1beta1/NodeMetrics"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCOUNT: Object = {"kind": "ServiceAccount", "metadata": {"name": "default"}}
RUNNING: Object = {"status": {"phase": "Running"}}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "pods.metrics.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://example.com/1"},
    },
    "spec": {
        "group": "metrics.k8s.io",
        "names": {"plural": "pods", "kind": "PodMetrics"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def annotated(name: str, node: str = "", **amounts: str) -> Object:
    found = pod(name)
    given = {f"kwok.x-k8s.io/usage-{each}": value for each, value in amounts.items()}
    spec = {**found["spec"], **({"nodeName": node} if node else {})}
    return {**found, "metadata": {**found["metadata"], "annotations": given}, "spec": spec}


async def run_by_hand(world: testing.World, *names: str) -> None:
    for name in names:
        await world.client.patch_status("v1/Pod", merge({"status": {"phase": "Running"}}), name, "default")


async def test_without_samples_the_lists_are_empty() -> None:
    async with testing.world(objects=[pod("web")]) as world:
        assert (await world.client.list(POD_METRICS, "default")).items == []
        assert (await world.client.list(NODE_METRICS)).items == []
        with pytest.raises(NotFound, match=r'podmetrics.metrics.k8s.io "default/web" not found'):
            await world.client.get(POD_METRICS, "web", "default")
        with pytest.raises(NotFound, match=r'nodemetrics.metrics.k8s.io "node-0" not found'):
            await world.client.get(NODE_METRICS, "node-0")


async def test_without_nodes_annotations_give_the_usage_of_running_pods() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"zone": "x"}}}
    pods = [annotated("web", "a", cpu="250m", memory="64Mi"), annotated("db", "a", cpu="1"), annotated("new", cpu="1")]
    async with testing.world(objects=[node, *pods]) as world:
        await run_by_hand(world, "web", "db")
        [db, web] = (await world.client.list(POD_METRICS, "default")).items
        assert web["containers"] == [{"name": "web", "usage": {"cpu": "250m", "memory": "64Mi"}}]
        assert web["metadata"]["labels"] == pods[0]["metadata"]["labels"]
        assert (web["timestamp"], web["window"]) == ("2030-01-01T00:00:00Z", "15s")
        assert db["containers"] == [{"name": "web", "usage": {"cpu": "1", "memory": "0"}}]
        [found] = (await world.client.list(NODE_METRICS)).items
        assert found["usage"] == {"cpu": "1250m", "memory": "64Mi"}
        assert found["metadata"]["labels"] == {"zone": "x"}
        assert (await world.client.get(NODE_METRICS, "a"))["usage"] == found["usage"]


async def test_simulated_nodes_have_samples_of_every_running_container() -> None:
    async with testing.world(nodes="simulated:2", objects=[pod("web"), annotated("db", cpu="300m")]) as world:
        await world.settle()
        assert (await world.client.get(POD_METRICS, "web", "default"))["containers"] == [
            {"name": "web", "usage": {"cpu": "1m", "memory": "1Mi"}}
        ]
        used = [each["usage"]["cpu"] for each in (await world.client.list(NODE_METRICS)).items]
        assert sorted(used) in (["1m", "300m"], ["0", "301m"])


async def test_metrics_are_selected_by_the_labels_and_names_of_their_pods() -> None:
    other = pod("other")
    other["metadata"]["labels"] = {"app": "other"}
    async with testing.world(nodes="simulated", objects=[pod("web"), other]) as world:
        await world.settle()

        async def names(labels: str = "", fields: str = "") -> list[str]:
            found = (await world.client.list(POD_METRICS, "default", labels=labels, fields=fields)).items
            return [each["metadata"]["name"] for each in found]

        assert await names() == ["other", "web"]
        assert await names(labels="app=other") == ["other"]
        assert await names(fields="metadata.name=web") == ["web"]
        with pytest.raises(BadRequest, match="field label not supported"):
            await names(fields="spec.nodeName=node-0,status.none=1")


async def test_metrics_have_no_past_and_cannot_be_written() -> None:
    cluster = Cluster()
    await cluster.server.start()
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
    answer = await cluster("GET", path, at="1")
    assert (answer.status, "have no past" in answer.message) == (400, True)
    for method, where in (("POST", path), ("DELETE", path), ("PUT", f"{path}/web"), ("DELETE", f"{path}/web")):
        assert (await cluster(method, where, {} if method in ("POST", "PUT") else None)).status == 405
    assert (await cluster("GET", path, watch="true")).status == 405


async def test_the_table_has_the_columns_of_metrics_server() -> None:
    cluster = Cluster()
    await cluster.server.start()
    pods = "/api/v1/namespaces/default/pods"
    tree = annotated("web", "a", cpu="1m", memory="1Mi")
    # The list of containers is shared with other tests.
    tree["spec"]["containers"] = [*tree["spec"]["containers"], {"name": "other", "image": "example.com/other"}]
    assert (await cluster("POST", "/api/v1/namespaces/default/serviceaccounts", ACCOUNT)).status == 201
    assert (await cluster("POST", pods, tree)).status == 201
    assert (await cluster("PATCH", f"{pods}/web/status", RUNNING, kind=MERGE)).status == 200
    assert (await cluster("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": "a"}})).status == 201
    for kind, name in (("pods", "web"), ("nodes", "a")):
        table: Any = (await cluster("GET", f"/apis/metrics.k8s.io/v1beta1/{kind}", accept=TABLE)).body
        assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "cpu", "memory", "Window"]
        assert [each["cells"] for each in table["rows"]] == [[name, "2m", "2Mi", "15s"]]


async def test_a_definition_of_the_same_resource_takes_the_place_of_ours() -> None:
    async with testing.world(nodes="simulated", objects=[pod("web")]) as world:
        await world.create(DEFINITION)
        await world.settle()
        assert (await world.client.list(POD_METRICS, "default")).items == []
        given = {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "PodMetrics",
            "metadata": {"name": "web", "namespace": "default"},
            "containers": [{"name": "web", "usage": {"cpu": "3"}}],
        }
        await world.client.create(given)
        assert (await world.client.get(POD_METRICS, "web", "default"))["containers"] == given["containers"]
        assert len((await world.client.list(NODE_METRICS)).items) == 1
        await world.client.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", "pods.metrics.k8s.io")
        await world.settle()
        [found] = (await world.client.list(POD_METRICS, "default")).items
        assert found["containers"][0]["usage"]["cpu"] == "1m"


async def test_users_who_may_view_a_namespace_may_read_its_metrics_and_others_may_not() -> None:
    cluster = Cluster()
    await cluster.server.start()
    await cluster.made(binding("ann", "ann", to="view", cluster_role=True, namespace="default"), "default")
    await cluster.made(role("pods", rule("get list", "pods")))
    await cluster.made(binding("bob", "bob", to="pods", cluster_role=True))
    path = "/apis/metrics.k8s.io/v1beta1"
    assert (await cluster("GET", f"{path}/namespaces/default/pods", user="ann")).status == 200
    assert (await cluster("GET", f"{path}/pods", user="ann")).status == 403
    # The right to read pods does not include their metrics.
    answer = await cluster("GET", f"{path}/namespaces/default/pods", user="bob")
    assert (answer.status, 'cannot list resource "pods" in API group "metrics.k8s.io"' in answer.message) == (403, True)


async def test_a_list_of_many_pods_lets_other_requests_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[str] = []
    pause = Context.pause

    async def counted(context: Context) -> None:
        pauses.append(context.info.verb)
        await pause(context)

    async with testing.world(objects=[annotated(f"web-{number}", cpu="1m") for number in range(80)]) as world:
        await run_by_hand(world, *(f"web-{number}" for number in range(80)))
        monkeypatch.setattr(Context, "pause", counted)
        assert len((await world.client.list(POD_METRICS, "default")).items) == 80
    assert pauses.count("list") >= 2


async def test_pods_are_read_only_for_nodes_without_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    strangers = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in ("y", "z")]
    async with testing.world(nodes="simulated:2", objects=[pod("web")]) as world:
        await world.settle()
        store = world.plane.services.store
        prefixes: list[str] = []
        read = store.range

        async def counted(prefix: str, *args: Any, **options: Any) -> Any:
            prefixes.append(prefix)
            return await read(prefix, *args, **options)

        def pod_reads() -> int:
            found = len([each for each in prefixes if each.startswith("/core/pods/")])
            prefixes.clear()
            return found

        monkeypatch.setattr(store, "range", counted)
        assert len((await world.client.list(NODE_METRICS)).items) == 2
        await world.client.get(NODE_METRICS, "node-0")
        assert pod_reads() == 0
        await world.create(*strangers)
        prefixes.clear()
        assert len((await world.client.list(NODE_METRICS)).items) == 2
        assert pod_reads() == 1
