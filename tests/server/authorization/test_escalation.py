"""Nobody gives what they do not have, whichever way they write it."""

from typing import Any

import pytest
from tests.server.authorization.cluster import API, APPLY, MERGE, Cluster, binding, new_cluster, role, rule

from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

ROLES = f"{API}/namespaces/default/roles"
BINDINGS = f"{API}/namespaces/default/rolebindings"
CLUSTER_ROLES = f"{API}/clusterroles"
EVERY_VERB = rule("*", "roles rolebindings clusterroles clusterrolebindings", groups="rbac.authorization.k8s.io")
# To write roles is not yet to escalate: `*` as a verb would be.
WRITER = rule(
    "get create update patch delete",
    "roles rolebindings clusterroles clusterrolebindings",
    groups="rbac.authorization.k8s.io",
)
READ_PODS = rule("get list", "pods")
READ_SECRETS = rule("get list", "secrets")
HELD = 'user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'


async def writes(cluster: Cluster, how: str, name: str, tree: Any, **options: Any) -> Any:
    """Writes a role of a namespace in one of several ways."""
    tree = {**tree, "metadata": {**tree["metadata"], "name": name}}
    if how == "POST":
        return await cluster("POST", ROLES, tree, user="ann", **options)
    if how == "PUT":
        return await cluster("PUT", f"{ROLES}/{name}", tree, user="ann", **options)
    if how == "merge patch":
        return await cluster("PATCH", f"{ROLES}/{name}", {"rules": tree["rules"]}, user="ann", kind=MERGE, **options)
    if how == "JSON patch":
        patch = [{"op": "replace", "path": "/rules", "value": tree["rules"]}]
        kind = "application/json-patch+json"
        return await cluster("PATCH", f"{ROLES}/{name}", patch, user="ann", kind=kind, **options)
    query = {"fieldManager": "ann", "force": "true", **options}
    return await cluster("PATCH", f"{ROLES}/{name}", tree, user="ann", kind=APPLY, **query)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("how", "exists"),
    [
        ("POST", False),
        ("PUT", False),
        ("PUT", True),
        ("merge patch", True),
        ("JSON patch", True),
        ("apply", False),
        ("apply", True),
    ],
)
async def test_a_role_with_more_rights_than_its_author_is_refused_however_it_is_written(
    cluster: Cluster, how: str, exists: bool, dry_run: bool
) -> None:
    await cluster.grant("ann", WRITER, READ_PODS)
    if exists:
        await cluster.made(role("x", READ_PODS, namespace="default"), "default")
    options = {"dryRun": "All"} if dry_run else {}
    answer = await writes(cluster, how, "x", role("x", READ_PODS, READ_SECRETS, namespace="default"), **options)
    assert answer.status == 403
    missing = '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    assert answer.message == f'roles.rbac.authorization.k8s.io "x" is forbidden: {HELD}{missing}'
    assert answer.body["details"] == {"name": "x", "group": "rbac.authorization.k8s.io", "kind": "roles"}
    answer = await writes(cluster, how, "x", role("x", rule("get", "pods"), namespace="default"), **options)
    assert answer.status in (200, 201), answer.message


@pytest.mark.parametrize(
    ("held", "given", "missing"),
    [
        (rule("get", "pods"), rule("get", "pods/log"), '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}'),
        (rule("get", "*/scale"), rule("get", "deployments/scale"), ""),
        (
            rule("get", "*/scale"),
            rule("get", "deployments"),
            '{APIGroups:[""], Resources:["deployments"], Verbs:["get"]}',
        ),
        (rule("get", "*"), rule("get", "pods pods/log */scale *"), ""),
        (rule("get", "pods", names="a b"), rule("get", "pods", names="a"), ""),
        (
            rule("get", "pods", names="a"),
            rule("get", "pods", names="a b"),
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
        ),
        (rule("get", "pods", names="a"), rule("get", "pods"), '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
        (rule("get", "pods"), rule("get", "pods", names="a"), ""),
        (rule("get list", "pods"), rule("*", "pods"), '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'),
        (rule("*", "pods", groups="*"), rule("get fly", "pods", groups="- apps"), ""),
        (
            rule("get", "pods"),
            rule("get list", "pods nodes", groups="- apps"),
            '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n'
            '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
            '{APIGroups:["apps"], Resources:["nodes"], Verbs:["get" "list"]}\n'
            '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
        ),
        (rule("get", urls="/healthz/*"), rule("get", urls="/healthz/etcd /healthz/*"), ""),
        (
            rule("get", urls="/healthz/*"),
            rule("get head", urls="/healthz/etcd /metrics"),
            '{NonResourceURLs:["/healthz/etcd"], Verbs:["head"]}\n'
            '{NonResourceURLs:["/metrics"], Verbs:["get"]}\n'
            '{NonResourceURLs:["/metrics"], Verbs:["head"]}',
        ),
        (rule("get", urls="*"), rule("get", urls="/a /b/*"), ""),
    ],
)
async def test_what_one_rule_covers_of_another(cluster: Cluster, held: Any, given: Any, missing: str) -> None:
    await cluster.grant("ann", WRITER, held)
    answer = await cluster("POST", CLUSTER_ROLES, role("x", given), user="ann")
    if missing:
        assert answer.message == f'clusterroles.rbac.authorization.k8s.io "x" is forbidden: {HELD}{missing}'
    else:
        assert answer.status == 201, answer.message


async def test_rights_in_a_namespace_cover_roles_of_that_namespace_alone(cluster: Cluster) -> None:
    await cluster.grant("ann", WRITER)
    await cluster.grant("ann", READ_PODS, namespace="default")
    answer = await cluster("POST", ROLES, role("x", READ_PODS, namespace="default"), user="ann")
    assert answer.status == 201
    other = f"{API}/namespaces/kube-public/roles"
    for path, tree in ((other, role("x", READ_PODS, namespace="n")), (CLUSTER_ROLES, role("x", READ_PODS))):
        answer = await cluster("POST", path, tree, user="ann")
        assert answer.status == 403


async def test_who_may_escalate_a_role_by_name_may_put_anything_into_it(cluster: Cluster) -> None:
    escalate = rule("escalate", "roles", groups="rbac.authorization.k8s.io", names="x")
    await cluster.grant("ann", WRITER, escalate)
    tree = role("x", READ_SECRETS, namespace="default")
    # A new object has no name in the request, as far as the authorizer can see.
    assert (await writes(cluster, "POST", "x", tree)).status == 403
    assert (await writes(cluster, "PUT", "x", tree)).status == 201
    assert (await writes(cluster, "PUT", "y", tree)).status == 403


async def test_who_may_bind_a_role_may_bind_what_they_do_not_have(cluster: Cluster) -> None:
    bind = rule("bind", "clusterroles", groups="rbac.authorization.k8s.io", names="view")
    await cluster.grant("ann", WRITER, namespace="default")
    await cluster.grant("ann", bind, namespace="default", name="binds")
    for name, status in (("view", 201), ("edit", 403)):
        tree = binding(name, "bob", cluster_role=True, namespace="default")
        assert (await cluster("POST", BINDINGS, tree, user="ann")).status == status
    assert (await cluster.may("bob", "list", "pods", namespace="default"))["allowed"] is True


@pytest.mark.parametrize("dry_run", ["", "All"])
async def test_a_binding_cannot_be_widened_either(cluster: Cluster, dry_run: str) -> None:
    await cluster.grant("ann", WRITER, READ_PODS, namespace="default")
    await cluster.made(binding("x", "bob", to="view", cluster_role=True, namespace="default"), "default")
    patch: Any = {"subjects": [{"kind": "User", "name": "ann"}]}
    options = {"dryRun": dry_run} if dry_run else {}
    answer = await cluster("PATCH", f"{BINDINGS}/x", patch, user="ann", kind=MERGE, **options)
    assert answer.status == 403
    assert answer.message.startswith(f'rolebindings.rbac.authorization.k8s.io "x" is forbidden: {HELD}')
    # What the garbage collector changes is not the author's doing.
    patch = {"metadata": {"finalizers": ["example.com/x"]}}
    assert (await cluster("PATCH", f"{BINDINGS}/x", patch, user="ann", kind=MERGE, **options)).status == 200
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert (await cluster("PATCH", f"{BINDINGS}/x", patch, user="ann", kind=MERGE, **options)).status == 403


async def test_a_binding_to_a_role_that_is_not_there_needs_the_right_to_bind_it(cluster: Cluster) -> None:
    await cluster.grant("ann", WRITER)
    tree = binding("x", "ann", to="missing", namespace="default")
    answer = await cluster("POST", BINDINGS, tree, user="ann")
    assert (answer.status, answer.message) == (404, 'rolebindings.rbac.authorization.k8s.io "missing" not found')
    assert (await cluster("POST", BINDINGS, tree)).status == 201
    # When the role comes later, it counts.
    await cluster.made(role("missing", READ_PODS, namespace="default"), "default")
    assert (await cluster.may("ann", "get", "pods", namespace="default"))["allowed"] is True


async def test_roles_of_the_author_that_are_missing_are_named(cluster: Cluster) -> None:
    await cluster.grant("ann", WRITER)
    for name in ("gone", "lost"):
        await cluster.made(binding(name, "ann"))
    answer = await cluster("POST", CLUSTER_ROLES, role("x", rule("get", "pods")), user="ann")
    assert answer.message.endswith(
        '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}; resolution errors: '
        '[[clusterroles.rbac.authorization.k8s.io "gone" not found, '
        'clusterroles.rbac.authorization.k8s.io "lost" not found]]'
    )


async def test_only_who_may_do_everything_can_gather_the_rules_of_others(cluster: Cluster) -> None:
    privileges = "must have cluster-admin privileges to use the aggregationRule"
    why = f'clusterroles.rbac.authorization.k8s.io "x" is forbidden: {privileges}'
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    await cluster.grant("ann", WRITER, READ_PODS)
    answer = await cluster("POST", CLUSTER_ROLES, role("x", aggregationRule=gathers), user="ann")
    assert (answer.status, answer.message) == (403, why)
    await cluster.made(role("x", aggregationRule=gathers))
    for patch in ({"aggregationRule": None}, {"metadata": {"labels": {"c": "d"}}}):
        answer = await cluster("PATCH", f"{CLUSTER_ROLES}/x", patch, user="ann", kind=MERGE)
        assert (answer.status, answer.message) == (403, why)
    everything = [rule("*", "*", groups="*"), rule("*", urls="*")]
    await cluster.grant("ann", *everything, name="all")
    answer = await cluster("PATCH", f"{CLUSTER_ROLES}/x", {"aggregationRule": None}, user="ann", kind=MERGE)
    assert answer.status == 200


async def test_nobody_climbs_through_a_role_that_gathers_the_rules_of_others(cluster: Cluster) -> None:
    await cluster.grant("ann", WRITER, READ_PODS)
    await cluster.made(binding("admins", "ann", to="view"))
    # A role that `view`, `edit` and `admin` would gather, whose members would then have its rules.
    for into in ("admin", "edit", "view"):
        labels = {f"rbac.authorization.k8s.io/aggregate-to-{into}": "true"}
        answer = await cluster("POST", CLUSTER_ROLES, role("x", READ_SECRETS, labels=labels), user="ann")
        assert answer.status == 403
    # Nor by a label on a role that is there already: who changes it must have its rules.
    await cluster.made(role("secrets", READ_SECRETS))
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    patch = {"metadata": {"labels": labels}}
    answer = await cluster("PATCH", f"{CLUSTER_ROLES}/secrets", patch, user="ann", kind=MERGE)
    assert answer.status == 403
    assert (await cluster.may("ann", "get", "secrets", namespace="default"))["allowed"] is False
    # What one has may be passed on.
    answer = await cluster("POST", CLUSTER_ROLES, role("mine", READ_PODS, labels=labels), user="ann")
    assert answer.status == 201


async def test_a_rule_that_admission_puts_into_a_role_is_judged_too() -> None:
    class Adds(Plugin):
        async def mutate(self, context: Context, operation: Operation) -> None:
            if operation.object is not None and operation.object["kind"] == "Role":
                operation.object["rules"] = [READ_SECRETS]

    async with new_cluster(admission=[Adds()]) as cluster:
        await cluster.grant("ann", WRITER, READ_PODS)
        answer = await cluster("POST", ROLES, role("x", READ_PODS, namespace="default"), user="ann")
        assert answer.status == 403
        assert "secrets" in answer.message


async def test_the_verb_of_all_verbs_lets_its_holder_escalate(cluster: Cluster) -> None:
    await cluster.grant("ann", EVERY_VERB)
    assert (await writes(cluster, "POST", "x", role("x", READ_SECRETS, namespace="default"))).status == 201


async def test_more_rights_than_can_be_compared_are_refused_at_once(cluster: Cluster) -> None:
    words = [f"w{number}" for number in range(400)]
    huge = {"verbs": words, "apiGroups": words, "resources": words, "resourceNames": words}
    await cluster.grant("ann", WRITER)
    answer = await cluster("POST", CLUSTER_ROLES, role("x", huge), user="ann")
    assert answer.status == 403
    assert "split them into several roles" in answer.message
    assert (await cluster("POST", CLUSTER_ROLES, role("x", huge))).status == 201
