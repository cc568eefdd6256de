"""The roles and bindings that a cluster has from its first moment, and what becomes of them at later starts."""

from typing import Any

import pytest
from tests.server.authorization.cluster import API, MERGE, Cluster, binding, new_cluster, role, rule, somebody

from setpoint.objects.tree import Object
from setpoint.server.access.authorization.default_policy import default_policy
from setpoint.server.access.authorization.provision import reconciled
from setpoint.server.ports import User
from setpoint.server.requestinfo import request_info
from setpoint.store.memory import MemoryStore

KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
ROLE = f"{API}/clusterroles"
PROTECTION = "rbac.authorization.kubernetes.io/autoupdate"


async def test_every_default_object_is_stored_as_the_api_would_have_stored_it(cluster: Cluster) -> None:
    count = 0
    for plural in KINDS:
        for stored in (await cluster("GET", f"{API}/{plural}")).body["items"]:
            metadata, count = stored["metadata"], count + 1
            where = f"{API}/namespaces/{metadata['namespace']}" if "namespace" in metadata else API
            if "aggregationRule" in stored:
                continue
            kept = {name: metadata[name] for name in ("name", "labels", "annotations")}
            sent = {**stored, "metadata": {**kept, "name": f"{metadata['name']}-again"}}
            answer = await cluster("POST", f"{where}/{plural}", sent, fieldManager="kube-apiserver")
            assert answer.status == 201, answer.message
            made = answer.body
            for name in ("uid", "resourceVersion", "name"):
                made["metadata"].pop(name)
                metadata.pop(name)
            assert {**made, "apiVersion": "", "kind": ""} == {**stored, "apiVersion": "", "kind": ""}
    assert count == len(default_policy()) > 130


async def test_a_default_role_that_gathers_rules_has_them_from_the_start_as_if_they_had_been_gathered(
    cluster: Cluster,
) -> None:
    before = {name: (await cluster("GET", f"{ROLE}/{name}")).body for name in ("admin", "edit", "view")}
    assert [len(before[name]["rules"]) for name in ("admin", "edit", "view")] == [30, 28, 13]
    # Any write of a ClusterRole has all rules gathered again; nothing is found to be wrong.
    await cluster.made(role("other", rule("get", "pods")))
    after = {name: (await cluster("GET", f"{ROLE}/{name}")).body for name in before}
    assert after == before
    # A role like them, made through the API, becomes equal to them in all but its identity.
    sent = {key: value for key, value in before["view"].items() if key != "rules"}
    kept = {name: sent["metadata"][name] for name in ("labels", "annotations")}
    sent["metadata"] = {"name": "view-again", **kept}
    await cluster("POST", ROLE, sent, fieldManager="kube-apiserver")
    again, view = (await cluster("GET", f"{ROLE}/view-again")).body, after["view"]
    for tree in (again, view):
        for name in ("uid", "resourceVersion", "name"):
            tree["metadata"].pop(name)
    assert again["rules"] == view["rules"]
    managers = [(entry["manager"], entry["operation"], entry["fieldsV1"]) for entry in _managed(view)]
    assert [(entry["manager"], entry["operation"], entry["fieldsV1"]) for entry in _managed(again)] == managers


def _managed(tree: Object) -> list[Object]:
    return sorted(tree["metadata"]["managedFields"], key=lambda entry: str(entry["manager"]))


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
JANE = somebody("jane")
ROBOT = User("system:serviceaccount:one:robot", ("system:serviceaccounts", "system:authenticated"))
SCHEDULER = somebody("system:kube-scheduler")
COLLECTOR = somebody("system:serviceaccount:kube-system:generic-garbage-collector")


@pytest.mark.parametrize(
    ("user", "method", "path", "allowed"),
    [
        (ANONYMOUS, "GET", "/version", True),
        (ANONYMOUS, "GET", "/healthz", True),
        (ANONYMOUS, "GET", "/livez", True),
        (ANONYMOUS, "GET", "/readyz", True),
        (ANONYMOUS, "POST", "/readyz", False),
        (ANONYMOUS, "GET", "/metrics", False),
        (ANONYMOUS, "GET", "/api", False),
        (ANONYMOUS, "GET", "/api/v1/pods", False),
        (JANE, "GET", "/version/", True),
        (JANE, "GET", "/api", True),
        (JANE, "GET", "/apis/apps/v1", True),
        (JANE, "GET", "/openapi/v3", True),
        (JANE, "GET", "/metrics", False),
        (JANE, "GET", "/versions", False),
        (JANE, "GET", "/api/v1/namespaces/default/pods", False),
        (JANE, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", True),
        (JANE, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", True),
        (JANE, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", False),
        (JANE, "GET", "/openid/v1/jwks", False),
        (ROBOT, "GET", "/openid/v1/jwks", True),
        (somebody("m", "system:monitoring"), "GET", "/metrics", True),
        (SCHEDULER, "POST", "/api/v1/namespaces/one/pods/p/binding", True),
        (SCHEDULER, "PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x", True),
        (SCHEDULER, "PUT", "/apis/coordination.k8s.io/v1/namespaces/one/leases/x", False),
        (COLLECTOR, "DELETE", "/apis/example.com/v1/namespaces/one/widgets/w", True),
        (COLLECTOR, "POST", "/apis/example.com/v1/namespaces/one/widgets", False),
    ],
)
async def test_what_the_default_roles_let_people_do(
    cluster: Cluster, user: User, method: str, path: str, allowed: bool
) -> None:
    authorizer = cluster.server.services.authorizer
    await authorizer.prepare(user)
    assert authorizer.decide(user, request_info(method, path)).allowed is allowed


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("view", [("list", "pods"), ("get", "configmaps")], [("get", "secrets"), ("create", "pods"), ("get", "roles")]),
        (
            "edit",
            [("get", "secrets"), ("create", "pods"), ("list", "services")],
            [("get", "roles"), ("create", "roles")],
        ),
        ("admin", [("create", "roles"), ("delete", "secrets"), ("list", "pods")], [("update", "resourcequotas")]),
    ],
)
async def test_the_roles_for_people_allow_what_their_names_say_in_the_namespace_they_are_bound_in(
    cluster: Cluster, name: str, allowed: list[tuple[str, str]], refused: list[tuple[str, str]]
) -> None:
    await cluster.made(binding("b", "ann", to=name, cluster_role=True, namespace="default"), "default")

    async def may(verb: str, resource: str, namespace: str) -> bool:
        group = "rbac.authorization.k8s.io" if resource == "roles" else ""
        status = await cluster.may("ann", verb, resource, group=group, namespace=namespace)
        found: bool = status["allowed"]
        return found

    for verb, resource in allowed:
        assert await may(verb, resource, "default")
        assert not await may(verb, resource, "kube-system")
    for verb, resource in refused:
        assert not await may(verb, resource, "default")


async def restarted(change: Any, check: Any) -> None:
    """Changes a cluster, starts another server over its store, and looks at what became of it."""
    store = MemoryStore()
    first = Cluster(store)
    await first.server.start()
    await change(first)
    first.server.close()
    async with new_cluster(store=store) as second:
        await check(second)


async def test_a_start_gives_back_what_default_roles_lack_and_leaves_what_they_have_more() -> None:
    mine = rule("get", "widgets", groups="example.com")

    async def change(cluster: Cluster) -> None:
        discovery = (await cluster("GET", f"{ROLE}/system:basic-user")).body
        rules = [{**discovery["rules"][0], "resources": ["selfsubjectrulesreviews"]}, mine]
        patch: Object = {"rules": rules, "metadata": {"labels": {"mine": "x", "kubernetes.io/bootstrapping": None}}}
        await cluster("PATCH", f"{ROLE}/system:basic-user", patch, kind=MERGE)
        patch = {"subjects": [{"kind": "User", "name": "ann"}]}
        await cluster("PATCH", f"{API}/clusterrolebindings/system:basic-user", patch, kind=MERGE)
        assert (await cluster("DELETE", f"{ROLE}/system:discovery")).status == 200
        await cluster("PATCH", f"{ROLE}/view", {"aggregationRule": None}, kind=MERGE)

    async def check(cluster: Cluster) -> None:
        found = (await cluster("GET", f"{ROLE}/system:basic-user")).body
        assert found["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults", "mine": "x"}
        assert found["rules"][1] == mine
        lacking = {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews"],
        }
        assert lacking in found["rules"]
        found = (await cluster("GET", f"{API}/clusterrolebindings/system:basic-user")).body
        assert [subject["name"] for subject in found["subjects"]] == ["ann", "system:authenticated"]
        assert (await cluster("GET", f"{ROLE}/system:discovery")).status == 200
        assert "aggregationRule" in (await cluster("GET", f"{ROLE}/view")).body

    await restarted(change, check)


async def test_a_start_leaves_alone_what_says_so() -> None:
    async def change(cluster: Cluster) -> None:
        patch = {"rules": [], "metadata": {"annotations": {PROTECTION: "false"}}}
        await cluster("PATCH", f"{ROLE}/system:basic-user", patch, kind=MERGE)

    async def check(cluster: Cluster) -> None:
        found = (await cluster("GET", f"{ROLE}/system:basic-user")).body
        assert not found["rules"]
        assert found["metadata"]["annotations"] == {PROTECTION: "false"}

    await restarted(change, check)


def test_a_default_binding_of_another_role_is_made_anew() -> None:
    default = next(tree for tree in default_policy() if tree["kind"] == "ClusterRoleBinding")
    other = {**default, "roleRef": {**default["roleRef"], "name": "another"}}
    assert reconciled(other, default) is None
    assert reconciled(default, default) == default


async def test_a_start_without_changes_writes_nothing() -> None:
    revisions = []

    async def note(cluster: Cluster) -> None:
        revisions.append(await cluster.store.revision())

    await restarted(note, note)
    assert revisions[0] == revisions[1]


async def test_rules_that_a_newer_version_adds_reach_the_roles_that_gather_them() -> None:
    async def change(cluster: Cluster) -> None:
        path = f"{ROLE}/system:aggregate-to-view"
        rules = (await cluster("GET", path)).body["rules"]
        # As an older version would have had it.
        await cluster("PATCH", path, {"rules": rules[1:]}, kind=MERGE)
        assert not (await view(cluster))["allowed"]

    async def check(cluster: Cluster) -> None:
        assert (await view(cluster))["allowed"]

    async def view(cluster: Cluster) -> Object:
        await cluster("POST", f"{API}/clusterrolebindings", binding("b", "ann", to="view"))
        return await cluster.may("ann", "list", "configmaps", namespace="default")

    await restarted(change, check)
