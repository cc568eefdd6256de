"""What kubectl shows and does for people who are no administrators."""

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map
from tests.clients.serving import Serving

pytestmark = pytest.mark.slow


def token(server: Serving, namespace: str, name: str) -> str:
    """The token of a new service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.ask("POST", path, {"metadata": {"name": name}})
    issued: str = server.ask("POST", f"{path}/{name}/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    return issued


def test_somebody_may_do_what_the_roles_say_and_is_told_so(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=configmaps", "--resource-name=shown")
    kubectl("create", "rolebinding", "readers", "--role=reader", f"--serviceaccount={namespace}:robot")
    robot = f"--token={token(server, namespace, 'robot')}"
    for name in ("shown", "hidden"):
        kubectl("create", "-f", "-", stdin=config_map(name))
    assert kubectl("get", "configmap", "shown", "-o", "name", robot) == "configmap/shown\n"
    refused = kubectl.refused("get", "configmap", "hidden", robot)
    user = f"system:serviceaccount:{namespace}:robot"
    assert f'configmaps "hidden" is forbidden: User "{user}" cannot get resource "configmaps"' in refused
    assert "forbidden" in kubectl.refused("get", "configmaps", robot)
    assert "forbidden" in kubectl.refused("delete", "configmap", "shown", robot)
    assert kubectl("auth", "can-i", "get", "configmaps/shown", robot) == "yes\n"
    assert kubectl.run("auth", "can-i", "get", "configmaps/hidden", robot).stdout.startswith("no")
    listed = kubectl("auth", "can-i", "--list", robot)
    [row] = [line.split() for line in listed.splitlines() if line.startswith("configmaps")]
    assert row == ["configmaps", "[]", "[shown]", "[get", "list]"]
    # The rules that everybody has are listed as well.
    assert "selfsubjectaccessreviews.authorization.k8s.io" in listed
    assert "/openapi" in listed


def test_a_default_role_is_bound_in_one_namespace(kubectl: Kubectl, namespace: str) -> None:
    ann = ("--as=ann", "--as-group=team")
    assert kubectl.run("auth", "can-i", "create", "deployments.apps", *ann).stdout.startswith("no")
    kubectl("create", "rolebinding", "team", "--clusterrole=edit", "--group=team")
    assert kubectl("auth", "can-i", "create", "deployments.apps", *ann) == "yes\n"
    kubectl("create", "configmap", "made", "--from-literal=a=b", *ann)
    kubectl("create", "deployment", "web", "--image=nginx", *ann)
    kubectl("scale", "deployment", "web", "--replicas=2", *ann)
    assert "made" in kubectl("get", "configmaps,deployments", "-o", "name", *ann)
    assert "forbidden" in kubectl.refused("get", "pods", "--namespace=kube-system", *ann)
    assert "forbidden" in kubectl.refused("get", "nodes", *ann)
    assert "forbidden" in kubectl.refused("get", "roles", *ann)


def test_roles_are_reconciled_by_who_has_their_rights_and_by_nobody_else(kubectl: Kubectl, namespace: str) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "wanted", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "wanted", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "wanted"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    }
    writes = (
        "--verb=get,create,update",
        "--resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io",
    )
    kubectl("create", "role", "writer", *writes)
    kubectl("create", "rolebinding", "writer", "--role=writer", "--user=ann")
    # It asks whether the namespace is there, too.
    kubectl("create", "clusterrole", f"sees-{namespace}", "--verb=get,create", "--resource=namespaces")
    kubectl("create", "clusterrolebinding", f"sees-{namespace}", f"--clusterrole=sees-{namespace}", "--user=ann")
    # The role alone: kubectl 1.37 panics at a binding whose role it could not make.
    refused = kubectl.refused("auth", "reconcile", "--as=ann", "-f", "-", stdin=[role])
    assert "is attempting to grant RBAC permissions not currently held" in refused
    assert '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}' in refused
    kubectl("create", "rolebinding", "editor", "--clusterrole=edit", "--user=ann")
    done = kubectl("auth", "reconcile", "--as=ann", "-f", "-", stdin=[role, binding])
    assert "wanted reconciled" in done
    assert kubectl("auth", "can-i", "get", "secrets", "--as=ann") == "yes\n"


def test_somebody_learns_who_they_are(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    if kubectl.minor < 27:
        pytest.skip(f"kubectl 1.{kubectl.minor} does not ask")
    robot = f"--token={token(server, namespace, 'robot')}"
    told = kubectl("auth", "whoami", robot)
    assert f"system:serviceaccount:{namespace}:robot" in told
    assert f"system:serviceaccounts:{namespace}" in told
    told = kubectl("auth", "whoami", "--as=ann", "--as-group=team")
    assert "ann" in told
    assert "system:authenticated" in told
