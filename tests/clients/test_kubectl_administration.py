"""What administrators do with kubectl: nodes, certificates, roles, whole directories, a proxy."""

import base64
import json
import re
import threading
import urllib.request
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map, deployment, pod
from tests.clients.serving import SECONDS, Serving

pytestmark = pytest.mark.slow


def test_nodes_are_cordoned_tainted_and_drained(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worn"}})
    placed = pod("placed")
    placed["spec"] |= {"nodeName": "worn", "terminationGracePeriodSeconds": 0}
    kubectl("create", "-f", "-", stdin=placed)
    assert kubectl("cordon", "worn") == "node/worn cordoned\n"
    kubectl("taint", "node", "worn", "tired=yes:NoSchedule")
    node = server.get("/api/v1/nodes/worn")
    assert node["spec"]["unschedulable"] is True
    assert {"key": "tired", "value": "yes", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert "SchedulingDisabled" in kubectl("get", "node", "worn", "--no-headers")
    drained = kubectl("drain", "worn", "--force", "--grace-period=0", "--timeout=20s")
    assert "evicting pod" in drained or "pod/placed evicted" in drained
    assert server.names(f"/api/v1/namespaces/{namespace}/pods") == []
    kubectl("uncordon", "worn")
    kubectl("taint", "node", "worn", "tired-")
    assert "unschedulable" not in server.get("/api/v1/nodes/worn")["spec"]


def test_a_disruption_budget_stops_a_drain(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    placed = pod("kept")
    placed["metadata"]["labels"] = {"app": "kept"}
    placed["spec"]["nodeName"] = "guarded"
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "guarded"}}
    kubectl("create", "-f", "-", stdin=[node, placed, budget])
    running = server.get(f"/api/v1/namespaces/{namespace}/pods/kept")
    ready = {"type": "Ready", "status": "True"}
    running["status"] |= {"phase": "Running", "conditions": [ready]}
    server.ask("PUT", f"/api/v1/namespaces/{namespace}/pods/kept/status", running)
    # As the disruption controller writes it, which runs with nodes only.
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/kept"
    counted = server.get(budgets)
    counted["status"] = {
        "observedGeneration": 1,
        "expectedPods": 1,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "disruptionsAllowed": 0,
    }
    server.ask("PUT", f"{budgets}/status", counted)
    done = kubectl.run("drain", "guarded", "--force", "--timeout=1s")
    assert done.returncode != 0
    assert "Cannot evict pod as it would violate the pod's disruption budget" in done.stderr + done.stdout
    assert server.names(f"/api/v1/namespaces/{namespace}/pods") == ["kept"]


def test_a_certificate_is_requested_and_approved(kubectl: Kubectl, server: Serving) -> None:
    if kubectl.minor < 22:
        pytest.skip(f"kubectl 1.{kubectl.minor} asks for a version that is gone")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    wanted = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    request = base64.b64encode(wanted.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": request, "signerName": "setpoint.example/signer", "usages": ["client auth"]}
    signing = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "somebody"},
        "spec": spec,
    }
    kubectl("create", "-f", "-", stdin=signing)
    assert kubectl("get", "csr", "somebody", "--no-headers").split()[-1] == "Pending"
    kubectl("certificate", "approve", "somebody")
    assert kubectl("get", "csr", "somebody", "--no-headers").split()[-1] == "Approved"
    found = server.get("/apis/certificates.k8s.io/v1/certificatesigningrequests/somebody")
    assert found["spec"]["username"] == "system:admin"
    assert [each["type"] for each in found["status"]["conditions"]] == ["Approved"]


def test_roles_are_reconciled(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": [rule],
    }
    kubectl("auth", "reconcile", "-f", "-", stdin=role)
    role["rules"] = [rule | {"resources": ["configmaps"]}]
    kubectl("auth", "reconcile", "-f", "-", stdin=role)
    found = server.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/reader")
    assert len(found["rules"]) == 2


def test_a_deployment_is_exposed(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    assert kubectl("expose", "deployment", "web", "--port=80", "--target-port=8080") == "service/web exposed\n"
    spec = server.get(f"/api/v1/namespaces/{namespace}/services/web")["spec"]
    assert spec["selector"] == {"app": "web"}
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    assert spec["clusterIP"]


def test_a_directory_and_a_kustomization_are_applied(
    kubectl: Kubectl, server: Serving, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(config_map("one", a="1")))
    (tmp_path / "two.json").write_text(json.dumps(config_map("two", a="2")))
    assert kubectl("apply", "-f", str(tmp_path)).splitlines() == ["configmap/one created", "configmap/two created"]
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump({"resources": ["one.yaml"], "namePrefix": "made-", "commonLabels": {"set": "k"}})
    )
    kubectl("apply", "-k", str(tmp_path))
    found = server.get(f"/api/v1/namespaces/{namespace}/configmaps/made-one")
    assert found["metadata"]["labels"] == {"set": "k"}


def test_a_set_is_applied_and_pruned_by_its_parent(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    if kubectl.minor < 27:
        pytest.skip(f"kubectl 1.{kubectl.minor} knows no sets")
    options = ["apply", "--prune", "--applyset=whole", "-f", "-"]
    kubectl(*options, stdin=[config_map("one"), config_map("two")], KUBECTL_APPLYSET="true")
    said = kubectl(*options, stdin=[config_map("two")], KUBECTL_APPLYSET="true")
    assert "configmap/one pruned" in said
    assert server.names(f"/api/v1/namespaces/{namespace}/configmaps") == ["two"]


def test_wait_follows_any_field(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    if kubectl.minor < 31:
        pytest.skip(f"kubectl 1.{kubectl.minor} waits for conditions and deletion only")
    with kubectl.start("wait", "cm/late", "--for=create", "--timeout=20s") as waiting:
        server.ask("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("late", phase="new"))
        assert waiting.wait(SECONDS) == 0
    with kubectl.start("wait", "cm/late", "--for=jsonpath={.data.phase}=done", "--timeout=20s") as waiting:
        server.ask("PUT", f"/api/v1/namespaces/{namespace}/configmaps/late", config_map("late", phase="done"))
        assert waiting.wait(SECONDS) == 0


def test_subresources_are_read_and_replaced(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    if kubectl.minor < 24:
        pytest.skip(f"kubectl 1.{kubectl.minor} knows no subresources")
    kubectl("create", "-f", "-", stdin=deployment("web"))
    scale = json.loads(kubectl("get", "deploy", "web", "--subresource=scale", "-o", "json"))
    assert scale["kind"] == "Scale"
    [head, row] = kubectl("get", "deploy", "web", "--subresource=scale").splitlines()
    assert (head.split(), row.split()[:3]) == (["NAME", "DESIRED", "AVAILABLE", "AGE"], ["web", "2", "0"])
    found = server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
    found["status"] = {"replicas": 3}
    kubectl("replace", "--subresource=status", "-f", "-", stdin=found)
    assert server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")["status"] == {"replicas": 3}


def test_a_proxy_passes_requests_on(kubectl: Kubectl) -> None:
    with kubectl.start("proxy", "--port=0") as proxy:
        stop = threading.Timer(SECONDS, proxy.kill)
        stop.start()
        try:
            assert proxy.stdout is not None
            found = re.search(r"127\.0\.0\.1:\d+", proxy.stdout.readline())
            assert found
            with urllib.request.urlopen(f"http://{found[0]}/api/v1/namespaces/default", timeout=SECONDS) as answer:
                assert json.load(answer)["metadata"]["name"] == "default"
        finally:
            stop.cancel()
            proxy.kill()


def test_an_ephemeral_container_is_added_to_a_pod(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    if kubectl.minor < 25:
        pytest.skip(f"kubectl 1.{kubectl.minor} debugs in another way")
    kubectl("create", "-f", "-", stdin=pod("one"))
    kubectl("debug", "one", "--image=busybox", "--container=probe", "--attach=false", "--profile=general")
    [added] = server.get(f"/api/v1/namespaces/{namespace}/pods/one")["spec"]["ephemeralContainers"]
    assert (added["name"], added["image"]) == ("probe", "busybox")
