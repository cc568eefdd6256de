"""Bindings with thousands of subjects: the same rights as with few, without work for each subject in the event loop."""

from setpoint.objects.tree import Object

from .cluster import API, Cluster

PODS = "/api/v1/namespaces/default/pods"
BINDINGS = f"{API}/clusterrolebindings"


def _binding(subjects: list[Object], name: str = "many") -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", **subject} for subject in subjects],
    }


async def test_every_subject_of_a_large_binding_has_its_rights_until_the_binding_changes(cluster: Cluster) -> None:
    users: list[Object] = [{"kind": "User", "name": f"user-{number}"} for number in range(1500)]
    groups: list[Object] = [{"kind": "Group", "name": f"group-{number}"} for number in range(10)]

    async def lists(user: str, *belongs: str) -> bool:
        return (await cluster("GET", PODS, user=user, groups=belongs)).status == 200

    assert not await lists("user-7")
    await cluster.made(_binding([*users, *groups]))
    assert await lists("user-0")
    assert await lists("user-1499")
    assert await lists("stranger", "group-9")
    reason = (await cluster.may("user-7", "list", "pods", namespace="default"))["reason"]
    assert reason == 'RBAC: allowed by ClusterRoleBinding "many" of ClusterRole "view" to User "user-7"'
    assert not await lists("user-1500")
    assert not await lists("group-1")
    assert not await lists("stranger", "user-1")
    # Fewer subjects than make a binding large, and then many again.
    for kept in (users[:3], users[:1200]):
        changed = await cluster("PATCH", f"{BINDINGS}/many", _binding(kept), kind="application/merge-patch+json")
        assert changed.status == 200, changed.message
        assert await lists("user-2")
        assert await lists("user-1199") is (len(kept) == 1200)
        assert not await lists("user-1499")
        assert not await lists("stranger", "group-9")
    await cluster("DELETE", f"{BINDINGS}/many")
    assert not await lists("user-2")
