"""lightkube, as charm authors use it: typed models, generic resources, apply, watches, its errors."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig, codecs
from lightkube.core.exceptions import ConditionError
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.apps_v1 import DeploymentStatus
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node
from lightkube.types import PatchType
from tests.clients.manifests import GROUP, config_map, custom, definition, deployment
from tests.clients.serving import SECONDS, Serving

# Runs a client of another project.
pytestmark = pytest.mark.slow

Widget = create_namespaced_resource(GROUP, "v1", "Widget", "widgets")


@pytest.fixture
def client(server: Serving, namespace: str) -> Iterator[Any]:
    configuration = KubeConfig.from_file(server.kubeconfig)
    with Client(config=configuration, namespace=namespace, field_manager="lightkube-tests") as made:
        yield made


def test_typed_objects_are_created_read_replaced_and_deleted(client: Any) -> None:
    made = client.create(ConfigMap(metadata=ObjectMeta(name="one", labels={"tier": "a"}), data={"a": "1"}))
    assert made.metadata.uid
    made.data["a"] = "2"
    assert client.replace(made).data == {"a": "2"}
    assert [each.metadata.name for each in client.list(ConfigMap, labels={"tier": "a"})] == ["one"]
    assert [each.metadata.name for each in client.list(ConfigMap, fields={"metadata.name": "none"})] == []
    client.delete(ConfigMap, "one")
    with pytest.raises(ApiError) as refusal:
        client.get(ConfigMap, "one")
    assert (refusal.value.status.code, refusal.value.status.reason) == (404, "NotFound")
    assert list(client.list(Node)) == []


def test_lists_come_in_chunks(client: Any) -> None:
    for number in range(5):
        client.create(ConfigMap(metadata=ObjectMeta(name=f"c{number}")))
    assert [each.metadata.name for each in client.list(ConfigMap, chunk_size=2)] == [f"c{n}" for n in range(5)]


def test_every_kind_of_patch_and_apply_works(client: Any) -> None:
    web = codecs.from_dict(deployment("web"))
    client.apply(web)
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    assert len(client.patch(Deployment, "web", side).spec.template.spec.containers) == 2
    merged = client.patch(Deployment, "web", side, patch_type=PatchType.MERGE)
    assert [each.name for each in merged.spec.template.spec.containers] == ["side"]
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 6}]
    assert client.patch(Deployment, "web", operations, patch_type=PatchType.JSON).spec.replicas == 6
    with pytest.raises(ApiError) as refusal:
        client.apply(codecs.from_dict(deployment("web", replicas=1)), field_manager="another")
    assert refusal.value.status.reason == "Conflict"
    assert {cause.reason for cause in refusal.value.status.details.causes} == {"FieldManagerConflict"}
    assert (
        client.apply(codecs.from_dict(deployment("web", replicas=1)), field_manager="another", force=True).spec.replicas
        == 1
    )
    ready = client.get(Deployment.Status, "web")
    ready.status = DeploymentStatus(replicas=1, readyReplicas=1)
    assert client.replace(ready, "web").status.readyReplicas == 1


def test_a_watch_and_a_wait_see_changes(client: Any) -> None:
    client.create(ConfigMap(metadata=ObjectMeta(name="one")))
    seen = []
    for kind, found in client.watch(ConfigMap, server_timeout=SECONDS):
        seen.append((kind, found.metadata.name))
        if len(seen) == 1:
            client.delete(ConfigMap, "one")
        else:
            break
    assert seen == [("ADDED", "one"), ("DELETED", "one")]
    client.create(codecs.from_dict(deployment("web")))
    condition = {"type": "Available", "status": "True", "reason": "Ready", "message": ""}
    client.patch(Deployment.Status, "web", {"status": {"conditions": [condition]}})
    assert client.wait(Deployment, "web", for_conditions=["Available"]).metadata.name == "web"
    with pytest.raises(ConditionError):
        client.wait(Deployment, "web", for_conditions=["Progressing"], raise_for_conditions=["Available"])


def test_custom_kinds_are_generic_resources(client: Any) -> None:
    client.apply(codecs.from_dict(definition("widgets", "Widget")), field_manager="definitions")
    load_in_cluster_generic_resources(client)
    made = client.create(Widget.from_dict(custom("Widget", "one", size=1)))
    assert made["spec"] == {"size": 1, "colour": "grey"}
    applied = client.apply(Widget.from_dict(custom("Widget", "two", size=2)))
    assert applied["spec"]["size"] == 2
    assert client.patch(Widget.Status, "one", {"status": {"size": 1}}, patch_type=PatchType.MERGE)["status"] == {
        "size": 1
    }
    with pytest.raises(ApiError) as refusal:
        client.create(Widget.from_dict(custom("Widget", "three", size=0)))
    assert (refusal.value.status.code, refusal.value.status.details.causes[0].field) == (422, "spec.size")
    client.deletecollection(Widget)
    assert list(client.list(Widget)) == []
    assert client.get(CustomResourceDefinition, f"widgets.{GROUP}").spec.names.kind == "Widget"


def test_the_asynchronous_form_does_the_same(server: Serving, namespace: str) -> None:
    async def run() -> list[str]:
        configuration = KubeConfig.from_file(server.kubeconfig)
        async with AsyncClient(config=configuration, namespace=namespace) as client:
            await client.create(codecs.from_dict(config_map("one")))
            names = [each.metadata.name async for each in client.list(ConfigMap)]
            await client.delete(ConfigMap, "one")
            return names

    assert asyncio.run(run()) == ["one"]
