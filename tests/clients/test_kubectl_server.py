"""What kubectl asks about the server itself: its resources, their fields, its version, who is asking, what happened."""

import json

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map
from tests.clients.serving import Serving

pytestmark = pytest.mark.slow


def test_api_resources_are_listed_and_narrowed(kubectl: Kubectl) -> None:
    head, *rows = kubectl("api-resources").splitlines()
    assert head.split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert found["configmaps"] == ["cm", "v1", "true", "ConfigMap"]
    assert found["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert found["namespaces"] == ["ns", "v1", "false", "Namespace"]
    names = kubectl("api-resources", "--namespaced=false", "--verbs=list,watch", "-o", "name").split()
    assert "nodes" in names
    assert "pods" not in names
    assert "tokenreviews.authentication.k8s.io" not in names


def test_api_versions_name_every_group(kubectl: Kubectl) -> None:
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2", "events.k8s.io/v1"} <= {*versions}


def test_explain_walks_down_the_fields(kubectl: Kubectl) -> None:
    told = kubectl("explain", "deployment.spec.strategy.rollingUpdate")
    assert "maxSurge" in told
    assert "maxUnavailable" in told
    assert "initContainers" in kubectl("explain", "pods", "--recursive")
    assert 'field "nothing" does not exist' in kubectl.refused("explain", "pods.spec.nothing")
    assert "VERSION:" in kubectl("explain", "hpa", "--api-version=autoscaling/v1")


def test_version_names_the_server(kubectl: Kubectl) -> None:
    told = json.loads(kubectl("version", "--output=json"))
    assert told["serverVersion"]["major"] == "1"
    assert int(told["serverVersion"]["minor"].rstrip("+")) >= 37


def test_auth_can_i_asks_the_server(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "deployments.apps") == "yes\n"
    assert kubectl("auth", "can-i", "*", "*") == "yes\n"
    assert kubectl("auth", "can-i", "--list").splitlines()[0].split()[0] == "Resources"


def test_auth_whoami_names_the_user(kubectl: Kubectl) -> None:
    if kubectl.minor < 28:
        pytest.skip(f"kubectl 1.{kubectl.minor} asks for a version that is gone")
    assert "system:masters" in kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}")


def test_create_token_gives_one_that_is_the_service_account(kubectl: Kubectl) -> None:
    if kubectl.minor < 28:
        pytest.skip(f"kubectl 1.{kubectl.minor} creates no tokens, or asks for a version that is gone")
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=20m").strip()
    user = kubectl("auth", "whoami", f"--token={token}", "-o", "jsonpath={.status.userInfo.username}")
    assert user.endswith(":robot")
    assert user.startswith("system:serviceaccount:")
    other = kubectl("create", "token", "robot", "--audience=vault").strip()
    assert "must be logged in" in kubectl.refused("get", "cm", f"--token={other}")


def test_a_token_that_cannot_be_had_is_refused_in_words(kubectl: Kubectl) -> None:
    if kubectl.minor < 24:
        pytest.skip(f"kubectl 1.{kubectl.minor} creates no tokens")
    kubectl("create", "serviceaccount", "robot")
    bound = ("--bound-object-kind=Secret", "--bound-object-name=none")
    assert 'secrets "none" not found' in kubectl.refused("create", "token", "robot", *bound)
    said = kubectl.refused("create", "token", "robot", "--duration=1m")
    assert "may not specify a duration less than 10 minutes" in said
    assert 'serviceaccounts "nobody" not found' in kubectl.refused("create", "token", "nobody")


def test_raw_paths_are_read_written_and_deleted(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert "[+]ping ok" in kubectl("get", "--raw", "/livez?verbose")
    assert "# TYPE " in kubectl("get", "--raw", "/metrics")
    made = json.loads(kubectl("create", "--raw", collection, "-f", "-", stdin=json.dumps(config_map("raw", a="1"))))
    assert made["metadata"]["uid"]
    assert json.loads(kubectl("get", "--raw", f"{collection}/raw"))["data"] == {"a": "1"}
    kubectl("delete", "--raw", f"{collection}/raw")
    assert server.names(collection) == []
    assert "NotFound" in kubectl.refused("get", "--raw", f"{collection}/raw")


def test_events_are_shown_with_what_they_are_about(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=config_map("one"))
    about = server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")
    event = {
        "metadata": {"name": "one.1", "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "one",
            "namespace": namespace,
            "uid": about["metadata"]["uid"],
        },
        "type": "Warning",
        "reason": "Spoilt",
        "message": "it went off",
        "firstTimestamp": about["metadata"]["creationTimestamp"],
        "lastTimestamp": about["metadata"]["creationTimestamp"],
        "count": 2,
        "source": {"component": "kitchen"},
    }
    server.ask("POST", f"/api/v1/namespaces/{namespace}/events", event)
    row = kubectl("get", "events", "--no-headers", "--field-selector=involvedObject.name=one")
    assert row.split()[1:] == ["Warning", "Spoilt", "configmap/one", "it", "went", "off"]
    assert kubectl("get", "events.v1.events.k8s.io", "-o", "jsonpath={.items[*].note}") == "it went off"
    assert "it went off" in kubectl("describe", "cm", "one")
    if kubectl.minor >= 26:
        assert "it went off" in kubectl("events", "--for=configmap/one")


def test_cluster_info_and_contexts_work(kubectl: Kubectl, server: Serving) -> None:
    assert server.url in kubectl("cluster-info")
    assert kubectl("config", "current-context") != ""


def test_a_wrong_token_is_refused(kubectl: Kubectl) -> None:
    said = kubectl.refused("get", "cm", "--token=another")
    assert "You must be logged in to the server" in said


def test_several_objects_go_into_one_namespace_that_is_made_with_them(kubectl: Kubectl, server: Serving) -> None:
    inside = config_map("inside")
    inside["metadata"]["namespace"] = "made-with-them"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made-with-them"}}
    kubectl_anywhere = kubectl._replace(namespace="made-with-them")
    kubectl_anywhere("apply", "-f", "-", stdin=[space, inside])
    assert "inside" in server.names("/api/v1/namespaces/made-with-them/configmaps")
    said = kubectl._replace(namespace="nowhere").refused("create", "configmap", "one")
    assert 'namespaces "nowhere" not found' in said
