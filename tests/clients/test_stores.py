"""Clients find the same server over every store: here over SQLite and over etcd, elsewhere over memory."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.informer import ADDED, SharedInformer
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map, custom, definition, deployment, service
from tests.clients.serving import SECONDS, Serving, serving
from tests.store.etcd_server import etcd, require_etcd

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("server")
    if request.param == "sqlite":
        with serving(directory, f"sqlite:{directory / 'data.db'}") as served:
            yield served
    else:
        require_etcd()
        with etcd() as [member], serving(directory, f"etcd:http://{member.endpoint}") as served:
            yield served


def test_kubectl_applies_changes_and_deletes(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    documents = [config_map("one", a="1"), deployment("web"), service("web")]
    assert kubectl("apply", "-f", "-", stdin=documents).count("created") == 3
    assert kubectl("apply", "-f", "-", stdin=documents).count("unchanged") == 3
    assert "configured" in kubectl("apply", "-f", "-", stdin=config_map("one", a="2"))
    kubectl("scale", "deploy", "web", "--replicas=7")
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "7"
    kubectl("patch", "svc", "web", "-p", '{"spec":{"type":"NodePort"}}')
    assert kubectl("get", "svc", "web", "-o", "jsonpath={.spec.ports[0].nodePort}").isdigit()
    for number in range(12):
        kubectl("create", "configmap", f"many-{number:02}")
    listed = kubectl("get", "configmaps", "--chunk-size=5", "-o", "name").split()
    assert listed == [*(f"configmap/many-{number:02}" for number in range(12)), "configmap/one"]
    kubectl("delete", "-f", "-", stdin=documents)
    assert server.names(f"/apis/apps/v1/namespaces/{namespace}/deployments") == []


def test_kubectl_defines_a_kind_and_uses_it(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=definition("stones", "Stone"))
    kubectl("create", "-f", "-", stdin=custom("Stone", "small", size=1))
    assert kubectl("get", "stones").splitlines()[1].split()[:2] == ["small", "1"]
    kubectl("delete", "crd", "stones.clients.setpoint.example")
    # What kubectl discovered it believes for a while.
    assert "could not find the requested resource" in kubectl.refused("get", "stones")


def test_a_watch_sees_every_change(server: Serving, namespace: str) -> None:
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        core = client.CoreV1Api(api)
        core.create_namespaced_config_map(namespace, config_map("one"))
        seen: list[tuple[str, str]] = []
        watching = watch.Watch()
        for event in watching.stream(core.list_namespaced_config_map, namespace, timeout_seconds=SECONDS):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 1:
                core.patch_namespaced_config_map("one", namespace, {"data": {"a": "1"}})
            elif len(seen) == 2:
                core.delete_namespaced_config_map("one", namespace)
            else:
                watching.stop()
        assert seen == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]


def test_an_informer_misses_nothing_when_the_server_starts_anew(tmp_path: Path) -> None:
    """It goes on from the revision that it had: nothing is lost, and nothing comes twice."""
    store, seen, known = f"sqlite:{tmp_path / 'data.db'}", [], threading.Condition()

    def see(tree: Any) -> None:
        with known:
            seen.append(tree.metadata.name)
            known.notify()

    def wait_for(count: int) -> None:
        with known:
            assert known.wait_for(lambda: len(seen) >= count, SECONDS), seen

    informer: Any = None
    listen = "127.0.0.1:0"
    path = "/api/v1/namespaces/default/configmaps"
    for life in range(3):
        with serving(tmp_path, store, listen) as served:
            if informer is None:
                listen = served.url.removeprefix("https://")
                server_of_informer = config.new_client_from_config(str(served.kubeconfig))
                core = client.CoreV1Api(server_of_informer)
                informer = SharedInformer(core.list_namespaced_config_map, namespace="default")
                informer.add_event_handler(ADDED, see)
                informer.start()
            for number in range(5):
                served.ask("POST", path, config_map(f"life-{life}-{number}"))
            # What is written last need not have arrived when the server stops.
            wait_for(life * 5 + 3)
            if life == 2:
                wait_for(15)
                stopping = threading.Thread(target=informer.stop)
                stopping.start()
                served.ask("POST", path, config_map("the-last"))  # it stops at the next event
                stopping.join()
                server_of_informer.close()
    assert seen[:15] == [f"life-{life}-{number}" for life in range(3) for number in range(5)]
