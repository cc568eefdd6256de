"""kubectl's deletions that others finish: namespaces, dependents, and what is left of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map
from tests.clients.serving import Serving, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server"), controllers="*") as served:
        yield served


def family(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    """An owner, and a dependent that blocks its deletion."""
    kubectl("create", "configmap", "owner")
    uid = server.get(f"/api/v1/namespaces/{namespace}/configmaps/owner")["metadata"]["uid"]
    dependent: dict[str, Any] = config_map("dependent")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    dependent["metadata"]["ownerReferences"] = [owner]
    kubectl("create", "-f", "-", stdin=dependent)


def names(kubectl: Kubectl) -> list[str]:
    found = kubectl("get", "configmaps", "--output=name").split()
    return [name.removeprefix("configmap/") for name in found if name != "configmap/kube-root-ca.crt"]


def test_a_namespace_that_is_deleted_is_gone_when_kubectl_returns(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "configmap", "content")
    kubectl("create", "deployment", "web", "--image=nginx:1")
    kubectl("delete", "namespace", namespace)
    assert "not found" in kubectl.refused("get", "namespace", namespace)


def test_dependents_follow_their_owner(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    family(kubectl, server, namespace)
    kubectl("delete", "configmap", "owner")
    if "dependent" in names(kubectl):
        kubectl("wait", "--for=delete", "configmap/dependent", "--timeout=20s")
    assert names(kubectl) == []


def test_a_cascade_in_the_foreground_is_over_when_kubectl_returns(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    family(kubectl, server, namespace)
    kubectl("delete", "configmap", "owner", "--cascade=foreground")
    assert names(kubectl) == []


def test_orphans_stay(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    family(kubectl, server, namespace)
    kubectl("delete", "configmap", "owner", "--cascade=orphan")
    assert names(kubectl) == ["dependent"]
    left = server.get(f"/api/v1/namespaces/{namespace}/configmaps/dependent")
    assert "ownerReferences" not in left["metadata"]
