"""kubectl apply and diff, on its own side and on the server's: what is merged, what conflicts, what is pruned."""

import json

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map, deployment, service
from tests.clients.serving import Serving

# Runs a client of another project.
pytestmark = pytest.mark.slow

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    assert kubectl("apply", "-f", "-", stdin=[deployment("web"), service("web")]).splitlines() == [
        "deployment.apps/web created",
        "service/web created",
    ]
    assert kubectl("apply", "-f", "-", stdin=[deployment("web"), service("web")]).splitlines() == [
        "deployment.apps/web unchanged",
        "service/web unchanged",
    ]
    before = server.get(path)
    assert kubectl("apply", "-f", "-", stdin=deployment("web", image="nginx:2")) == "deployment.apps/web configured\n"
    after = server.get(path)
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert json.loads(after["metadata"]["annotations"][LAST_APPLIED])["spec"]["replicas"] == 2


def test_apply_removes_what_is_no_longer_there_and_keeps_what_others_set(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    kubectl("apply", "-f", "-", stdin=config_map("one", mine="1", gone="soon"))
    kubectl("patch", "cm", "one", "-p", '{"data":{"theirs":"2"}}')
    kubectl("apply", "-f", "-", stdin=config_map("one", mine="3"))
    assert server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")["data"] == {"mine": "3", "theirs": "2"}


def test_apply_prunes_what_is_no_longer_among_the_documents(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    labels = {"set": "pruned"}
    # Older ones look for kinds by default that no server has any more.
    kinds = "--prune-allowlist" if kubectl.minor >= 26 else "--prune-whitelist"
    options = ["apply", "--prune", f"{kinds}=core/v1/ConfigMap", "-l", "set=pruned", "-f", "-"]
    kubectl(*options, stdin=[config_map("one", labels=labels), config_map("two", labels=labels)])
    server.ask("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("never-applied", labels=labels))
    said = kubectl(*options, stdin=[config_map("one", labels=labels)])
    assert "configmap/two pruned" in said
    assert server.names(f"/api/v1/namespaces/{namespace}/configmaps") == ["never-applied", "one"]


def test_diff_shows_what_apply_would_change_and_changes_nothing(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    kubectl("apply", "-f", "-", stdin=deployment("web"))
    assert kubectl("diff", "-f", "-", stdin=deployment("web")) == ""
    differs = kubectl.run("diff", "-f", "-", stdin=deployment("web", image="nginx:2"))
    assert differs.returncode == 1
    assert "-      - image: nginx:1\n+      - image: nginx:2\n" in differs.stdout
    new = kubectl.run("diff", "-f", "-", stdin=config_map("new", a="1"))
    assert new.returncode == 1
    assert '+  a: "1"' in new.stdout
    found = server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    assert server.names(f"/api/v1/namespaces/{namespace}/configmaps") == []


def test_server_side_apply_tells_conflicts_and_takes_fields_by_force(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/one"
    options = ["apply", "--server-side", "-f", "-", "--field-manager"]
    assert kubectl(*options, "first", stdin=config_map("one", a="1", b="1")) == "configmap/one serverside-applied\n"
    said = kubectl.refused(*options, "second", stdin=config_map("one", a="2"))
    assert 'conflict with "first"' in said
    assert ".data.a" in said
    assert server.get(path)["data"] == {"a": "1", "b": "1"}
    kubectl(*options, "second", "--force-conflicts", stdin=config_map("one", a="2"))
    assert server.get(path)["data"] == {"a": "2", "b": "1"}
    kubectl(*options, "first", stdin=config_map("one"))
    found = server.get(path)
    assert found["data"] == {"a": "2"}
    owners = {each["manager"]: each["operation"] for each in found["metadata"]["managedFields"]}
    assert owners["second"] == "Apply"


def test_server_side_apply_takes_over_what_was_applied_by_the_client(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    if kubectl.minor < 26:
        pytest.skip(f"kubectl 1.{kubectl.minor} does not migrate the fields it owned")
    kubectl("apply", "-f", "-", stdin=config_map("one", a="1", b="1"))
    kubectl("apply", "--server-side", "-f", "-", stdin=config_map("one", a="2"))
    found = server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")
    assert found["data"] == {"a": "2"}
    owners = {each["manager"]: each["operation"] for each in found["metadata"]["managedFields"]}
    assert owners == {"kubectl": "Apply", "kubectl-last-applied": "Apply"}


def test_a_mistyped_field_is_refused_by_name(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    wrong = deployment("web")
    wrong["spec"]["replica"] = wrong["spec"].pop("replicas")
    if kubectl.minor < 25:  # the client judges by the server's OpenAPI document
        assert 'unknown field "replica" in io.k8s.api.apps.v1.DeploymentSpec' in kubectl.refused(
            "apply", "-f", "-", stdin=wrong
        )
    else:
        said = kubectl.refused("apply", "-f", "-", stdin=wrong)
        assert 'strict decoding error: unknown field "spec.replica"' in said
        loose = kubectl.run("apply", "--validate=warn", "-f", "-", stdin=wrong)
        assert loose.returncode == 0
        assert 'unknown field "spec.replica"' in loose.stderr
        assert server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")["spec"]["replicas"] == 1


def test_what_is_invalid_is_told_field_by_field(kubectl: Kubectl) -> None:
    wrong = deployment("web", replicas=-1)
    wrong["spec"]["selector"]["matchLabels"] = {"app": "other"}
    said = kubectl.refused("apply", "-f", "-", stdin=wrong)
    assert 'The Deployment "web" is invalid' in said
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in said
    assert "`selector` does not match template `labels`" in said
