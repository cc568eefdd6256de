"""The official Python client as its users call it: typed, dynamic, watching, electing, and asynchronous."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import kubernetes.aio.client
import kubernetes.aio.config
import kubernetes.aio.watch
import kubernetes.dynamic
import pytest
from kubernetes import client, config, utils, watch
from kubernetes.dynamic import exceptions as dynamic_exceptions
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from tests.clients.manifests import GROUP, config_map, custom, definition, deployment
from tests.clients.serving import SECONDS, Serving

# Runs a client of another project.
pytestmark = pytest.mark.slow


@pytest.fixture
def api(server: Serving) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as made:
        yield made


@pytest.fixture
def defined(api: Any) -> None:
    definitions = client.ApiextensionsV1Api(api)
    try:
        definitions.create_custom_resource_definition(definition("widgets", "Widget"))
    except client.ApiException as error:
        if error.status != 409:
            raise


def test_typed_objects_are_created_read_replaced_and_deleted(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    metadata = client.V1ObjectMeta(name="one", labels={"tier": "a"})
    made = core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata=metadata, data={"a": "1"}))
    assert made.metadata.uid
    made.data = {"a": "2"}
    replaced = core.replace_namespaced_config_map("one", namespace, made)
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    assert [
        each.metadata.name for each in core.list_namespaced_config_map(namespace, label_selector="tier=a").items
    ] == ["one"]
    answer = core.delete_namespaced_config_map("one", namespace)
    assert answer["status"] == "Success"
    assert core.list_namespaced_config_map(namespace).items == []


def test_refusals_carry_their_status_and_reason(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    with pytest.raises(client.ApiException) as refusal:
        core.read_namespaced_config_map("none", namespace)
    assert (refusal.value.status, '"reason":"NotFound"' in refusal.value.body) == (404, True)
    stale = core.create_namespaced_config_map(namespace, config_map("one"))
    core.patch_namespaced_config_map("one", namespace, {"data": {"a": "1"}})
    with pytest.raises(client.ApiException) as refusal:
        core.replace_namespaced_config_map("one", namespace, stale)
    assert refusal.value.status == 409
    with pytest.raises(client.ApiException) as refusal:
        core.create_namespaced_config_map(namespace, config_map("Not A Name"))
    assert refusal.value.status == 422


def test_workloads_have_their_defaults_status_and_scale(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    made = apps.create_namespaced_deployment(namespace, deployment("web"))
    assert made.spec.strategy.type == "RollingUpdate"
    scaled = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 5}})
    assert scaled.spec.replicas == 5
    made = apps.patch_namespaced_deployment_status("web", namespace, {"status": {"readyReplicas": 1, "replicas": 1}})
    assert (made.status.ready_replicas, made.spec.replicas) == (1, 5)


def test_every_patch_is_sent_as_what_it_is(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment("web"))
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    merged = apps.patch_namespaced_deployment("web", namespace, side)
    assert len(merged.spec.template.spec.containers) == 2
    by_operations = [{"op": "replace", "path": "/spec/replicas", "value": 9}]
    assert apps.patch_namespaced_deployment("web", namespace, by_operations).spec.replicas == 9


def test_lists_come_in_pages(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    for number in range(7):
        core.create_namespaced_config_map(namespace, config_map(f"c{number}"))
    found: list[str] = []
    following = None
    while True:
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=following)
        found += [each.metadata.name for each in page.items]
        following = page.metadata._continue
        if not following:
            break
        assert page.metadata.remaining_item_count == 7 - len(found)
    assert found == [f"c{number}" for number in range(7)]


def test_a_watch_sees_every_change_and_ends_in_time(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, config_map("one"))
    seen: list[tuple[str, str]] = []
    watching = watch.Watch()
    for event in watching.stream(core.list_namespaced_config_map, namespace, timeout_seconds=SECONDS):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            core.create_namespaced_config_map(namespace, config_map("two"))
        elif len(seen) == 2:
            core.delete_namespaced_config_map("one", namespace)
        else:
            watching.stop()
    assert seen == [("ADDED", "one"), ("ADDED", "two"), ("DELETED", "one")]
    started = time.monotonic()
    assert list(watch.Watch().stream(core.list_namespaced_secret, namespace, timeout_seconds=1)) == []
    assert time.monotonic() - started < SECONDS


def test_an_informer_keeps_a_copy(api: Any, namespace: str) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, config_map("one"))
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace)
    reached = {each: threading.Event() for each in (ADDED, MODIFIED, DELETED)}
    for kind, event in reached.items():
        informer.add_event_handler(kind, lambda _, event=event: event.set())
    informer.start()
    try:
        assert reached[ADDED].wait(SECONDS)
        core.patch_namespaced_config_map("one", namespace, {"data": {"a": "1"}})
        assert reached[MODIFIED].wait(SECONDS)
        assert informer.cache.get_by_key(f"{namespace}/one").data == {"a": "1"}
        core.delete_namespaced_config_map("one", namespace)
        assert reached[DELETED].wait(SECONDS)
        assert informer.cache.list() == []
    finally:
        stopping = threading.Thread(target=informer.stop)
        stopping.start()
        core.create_namespaced_config_map(namespace, config_map("last"))  # it stops at the next event
        stopping.join()


def test_a_lease_elects_one_leader(api: Any, server: Serving, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.configuration.Configuration, "_default", api.configuration)
    leads = threading.Event()
    lock = LeaseLock("leader", namespace, "the-one")
    terms = electionconfig.Config(lock, 5, 4, 1, onstarted_leading=leads.set, onstopped_leading=lambda: None)
    election = leaderelection.LeaderElection(terms)
    assert election.try_acquire_or_renew()
    assert (
        server.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/leader")["spec"]["holderIdentity"]
        == "the-one"
    )
    other = LeaseLock("leader", namespace, "another")
    rival = leaderelection.LeaderElection(
        electionconfig.Config(other, 5, 4, 1, onstarted_leading=leads.set, onstopped_leading=lambda: None)
    )
    assert not rival.try_acquire_or_renew()
    assert election.try_acquire_or_renew()


def test_custom_objects_are_plain_dictionaries(api: Any, defined: None, namespace: str) -> None:
    things = client.CustomObjectsApi(api)
    where = (GROUP, "v1", namespace, "widgets")
    made = things.create_namespaced_custom_object(*where, custom("Widget", "one", size=1))
    assert made["spec"]["colour"] == "grey"
    patched = things.patch_namespaced_custom_object(*where, "one", {"spec": {"size": 2}})
    assert patched["metadata"]["generation"] == 2
    status = things.patch_namespaced_custom_object_status(*where, "one", {"status": {"size": 2}})
    assert status["status"] == {"size": 2}
    with pytest.raises(client.ApiException) as refusal:
        things.create_namespaced_custom_object(*where, custom("Widget", "two", size=0))
    assert refusal.value.status == 422
    things.delete_namespaced_custom_object(*where, "one")
    assert things.list_namespaced_custom_object(*where)["items"] == []


def test_the_dynamic_client_discovers_and_applies(api: Any, defined: None, namespace: str) -> None:
    dynamic = kubernetes.dynamic.DynamicClient(api)
    widgets = dynamic.resources.get(api_version=f"{GROUP}/v1", kind="Widget")
    applied = widgets.server_side_apply(body=custom("Widget", "one", size=1), namespace=namespace, field_manager="a")
    assert applied.spec.colour == "grey"
    with pytest.raises(dynamic_exceptions.ConflictError):
        widgets.server_side_apply(body=custom("Widget", "one", size=2), namespace=namespace, field_manager="b")
    forced = widgets.server_side_apply(
        body=custom("Widget", "one", size=2), namespace=namespace, field_manager="b", force_conflicts=True
    )
    assert forced.spec.size == 2
    with pytest.raises(dynamic_exceptions.NotFoundError):
        widgets.get(name="none", namespace=namespace)
    deployments = dynamic.resources.get(api_version="apps/v1", kind="Deployment")
    deployments.create(body=deployment("web"), namespace=namespace)
    assert deployments.scale.get(name="web", namespace=namespace).spec.replicas == 2


def test_objects_are_created_from_dictionaries_of_any_kind(api: Any, server: Serving, namespace: str) -> None:
    utils.create_from_dict(api, deployment("web"), namespace=namespace)
    assert server.names(f"/apis/apps/v1/namespaces/{namespace}/deployments") == ["web"]


def test_who_is_asking_may_be_asked(api: Any) -> None:
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="create", resource="pods", namespace="default")
        )
    )
    assert client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed
    assert client.VersionApi(api).get_code().major == "1"


def test_the_asynchronous_form_does_the_same(server: Serving, namespace: str) -> None:
    async def run() -> list[tuple[str, str]]:
        made = await kubernetes.aio.config.new_client_from_config(str(server.kubeconfig))
        async with made as api:
            core = kubernetes.aio.client.CoreV1Api(api)
            await core.create_namespaced_config_map(namespace, config_map("one"))
            with pytest.raises(kubernetes.aio.client.ApiException) as refusal:
                await core.read_namespaced_config_map("none", namespace)
            assert refusal.value.status == 404
            apps = kubernetes.aio.client.AppsV1Api(api)
            await apps.create_namespaced_deployment(namespace, deployment("web"))
            patched = await apps.patch_namespaced_deployment("web", namespace, {"spec": {"replicas": 4}})
            assert patched.spec.replicas == 4
            seen: list[tuple[str, str]] = []
            async with kubernetes.aio.watch.Watch() as watching:
                async for event in watching.stream(core.list_namespaced_config_map, namespace):
                    seen.append((event["type"], event["object"].metadata.name))
                    if len(seen) == 1:
                        await core.delete_namespaced_config_map("one", namespace)
                    else:
                        break
            return seen

    assert asyncio.run(run()) == [("ADDED", "one"), ("DELETED", "one")]
