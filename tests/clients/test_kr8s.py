"""kr8s, as its users script with it: objects with methods, discovery of any kind, waits and watches."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import kr8s
import kr8s.asyncio
import kr8s.asyncio.objects
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, Pod, new_class
from tests.clients.manifests import GROUP, config_map, custom, definition, deployment, pod
from tests.clients.serving import Serving

# It warns of servers that are newer than itself.
pytestmark = [pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning"), pytest.mark.slow]


@pytest.fixture
def api(server: Serving, namespace: str) -> Iterator[Any]:
    made: Any = kr8s.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
    yield made
    # It has no way of its own to close its connections.
    as_sync_func(made._session.aclose)()


def test_objects_are_created_changed_and_deleted(api: Any, server: Serving, namespace: str) -> None:
    one = ConfigMap(config_map("one", a="1"), api=api)
    one.create()
    assert one.exists()
    one.patch({"data": {"a": "2"}})
    one.label({"tier": "a"})
    one.annotate({"note": "hello"})
    assert [each.name for each in api.get("configmaps", label_selector="tier=a")] == ["one"]
    found = server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")
    assert (found["data"], found["metadata"]["annotations"]) == ({"a": "2"}, {"note": "hello"})
    one.delete()
    assert not one.exists()
    with pytest.raises(kr8s.NotFoundError):
        ConfigMap.get("one", api=api)


def test_refusals_carry_the_words_of_the_server(api: Any) -> None:
    ConfigMap(config_map("one"), api=api).create()
    with pytest.raises(kr8s.ServerError, match='configmaps "one" already exists') as refusal:
        ConfigMap(config_map("one"), api=api).create()
    status: Any = refusal.value.status
    assert status["reason"] == "AlreadyExists"


def test_workloads_are_scaled_and_waited_for(api: Any, server: Serving, namespace: str) -> None:
    web = Deployment(deployment("web"), api=api)
    web.create()
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    web.patch({"spec": {"replicas": 5}}, subresource="scale")
    assert server.get(path)["spec"]["replicas"] == 5
    found = server.get(path)
    found["status"] = {"conditions": [{"type": "Available", "status": "True", "reason": "", "message": ""}]}
    server.ask("PUT", f"{path}/status", found)
    web.wait("condition=Available", timeout=10)
    web.delete(propagation_policy="Background")
    web.wait("delete", timeout=10)


def test_pods_are_made_from_scratch(api: Any) -> None:
    one = Pod(pod("one"), api=api)
    one.create()
    one.refresh()
    assert one.status.phase == "Pending"
    assert not one.ready()
    one.delete()


def test_new_kinds_are_classes(api: Any) -> None:
    CustomResourceDefinition(definition("widgets", "Widget"), api=api).create()
    widget_class: Any = new_class(kind="Widget", version=f"{GROUP}/v1", namespaced=True)
    one = widget_class(custom("Widget", "one", size=1), api=api)
    one.create()
    assert one.spec.colour == "grey"
    one.patch({"status": {"size": 1}}, subresource="status")
    assert one.status.size == 1
    assert [each.name for each in api.get(f"widgets.{GROUP}")] == ["one"]
    with pytest.raises(kr8s.ServerError, match=r"spec\.size"):
        widget_class(custom("Widget", "two", size=0), api=api).create()


def test_what_the_server_has_is_discovered(api: Any) -> None:
    kinds = {each["kind"] for each in api.api_resources()}
    assert {"Pod", "Deployment", "Lease", "CustomResourceDefinition"} <= kinds
    assert "apps/v1" in set(api.api_versions())
    assert api.version()["major"] == "1"
    assert api.whoami() == "system:admin"


def test_a_watch_sees_changes_in_the_asynchronous_form(server: Serving, namespace: str) -> None:
    async def run() -> list[tuple[str, str]]:
        api: Any = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
        one = await kr8s.asyncio.objects.ConfigMap(config_map("one"), api=api)
        await one.create()
        seen: list[tuple[str, str]] = []
        async with aclosing(api.watch("configmaps")) as events:
            async for kind, found in events:
                seen.append((kind, found.name))
                if len(seen) == 1:
                    await one.delete()
                else:
                    break
        await api._session.aclose()
        return seen

    assert asyncio.run(run()) == [("ADDED", "one"), ("DELETED", "one")]
