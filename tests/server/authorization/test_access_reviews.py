"""May I, may somebody else, what may I do: the reviews, and what is wrong with some of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.authorization.cluster import REVIEWS, Cluster, binding, new_cluster, review, role, rule

from setpoint.server.access.authorization.modes import AlwaysAllow, AlwaysDeny, authorizer_of

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "wrong_reviews.yaml").read_text())
SELF = f"{REVIEWS}/selfsubjectaccessreviews"
RULES = f"{REVIEWS}/selfsubjectrulesreviews"


def path_of(kind: str) -> str:
    where = f"{REVIEWS}/namespaces/default" if kind == "LocalSubjectAccessReview" else REVIEWS
    return f"{where}/{kind.lower()}s"


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
async def test_a_question_that_is_none_is_told_why(cluster: Cluster, case: Any) -> None:
    tree = review(case["kind"], case["spec"], **case.get("metadata", {}))
    answer = await cluster("POST", path_of(case["kind"]), tree)
    assert answer.status == 422
    causes = [(cause["field"], cause["message"]) for cause in answer.body["details"]["causes"]]
    assert sorted(causes) == sorted((field, message) for field, message in case["causes"].items())


async def test_the_reason_names_the_binding_the_role_and_whom_it_is_for(cluster: Cluster) -> None:
    await cluster.grant("ann", rule("get", "pods"))
    await cluster.made(role("local", rule("list", "pods"), namespace="default"), "default")
    subjects = [
        {"kind": "Group", "name": "system:serviceaccounts"},
        {"kind": "ServiceAccount", "name": "robot"},
        {"kind": "User", "name": "ann"},
    ]
    await cluster.made(binding("b", to="local", namespace="default", subjects=subjects), "default")
    assert await cluster.may("ann", "get", "pods") == {
        "allowed": True,
        "reason": 'RBAC: allowed by ClusterRoleBinding "anns" of ClusterRole "anns" to User "ann"',
    }
    assert await cluster.may("ann", "list", "pods", namespace="default") == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "b/default" of Role "local" to User "ann"',
    }
    robot = "system:serviceaccount:default:robot"
    assert await cluster.may(robot, "list", "pods", namespace="default") == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "b/default" of Role "local" to ServiceAccount "robot/default"',
    }
    assert await cluster.may("ann", "watch", "pods", namespace="default") == {"allowed": False}


async def test_bindings_to_roles_that_are_not_there_are_named_in_a_refusal(cluster: Cluster) -> None:
    await cluster.made(binding("b", "ann", to="x"))
    one = 'clusterrole.rbac.authorization.k8s.io "x" not found'
    assert await cluster.may("ann", "get", "pods") == {"allowed": False, "reason": f"RBAC: {one}"}
    await cluster.made(binding("c", "ann", to="y", namespace="default"), "default")
    two = 'role.rbac.authorization.k8s.io "y" not found'
    answer = await cluster("GET", "/api/v1/namespaces/default/pods", user="ann")
    assert answer.status == 403
    assert answer.message == (
        'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "default": '
        f"RBAC: [{one}, {two}]"
    )
    spec = {"namespace": "default"}
    answer = await cluster("POST", RULES, review("SelfSubjectRulesReview", spec), user="ann")
    assert answer.body["status"]["evaluationError"] == f"[{one}, {two}]"
    assert answer.body["status"]["incomplete"] is False


async def test_one_asks_for_oneself_as_whom_one_is(cluster: Cluster) -> None:
    await cluster.made(role("dev", rule("create", "pods"), rule("get", urls="/metrics")))
    await cluster.made(binding("dev", subjects=[{"kind": "Group", "name": "dev"}]))
    asked = review("SelfSubjectAccessReview", {"resourceAttributes": {"verb": "create", "resource": "pods"}})
    for groups, allowed in ((["dev"], True), ([], False)):
        answer = await cluster("POST", SELF, asked, user="ann", groups=groups)
        assert answer.body["status"]["allowed"] is allowed
    asked = review("SelfSubjectAccessReview", {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}})
    answer = await cluster("POST", SELF, asked, user="ann", groups=["dev"])
    assert answer.body["status"]["reason"].endswith('of ClusterRole "dev" to Group "dev"')


async def test_who_asks_about_others_needs_the_right_to(cluster: Cluster) -> None:
    spec = {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
    kinds = ("SubjectAccessReview", "LocalSubjectAccessReview")
    for kind in kinds:
        assert (await cluster("POST", path_of(kind), review(kind, spec), user="ann")).status == 403
    await cluster.made(binding("a", "ann", to="admin", cluster_role=True, namespace="default"), "default")
    statuses = [(await cluster("POST", path_of(kind), review(kind, spec), user="ann")).status for kind in kinds]
    assert statuses == [403, 201]


async def test_all_rules_of_somebody_are_told_as_they_were_written(cluster: Cluster) -> None:
    mine = rule("get", "pods", names="a")
    await cluster.grant("ann", mine, rule("get", urls="/metrics"))
    await cluster.grant("ann", rule("list", "pods"), namespace="default")
    for namespace, count in (("default", 1), ("kube-system", 0)):
        answer = await cluster("POST", RULES, review("SelfSubjectRulesReview", {"namespace": namespace}), user="ann")
        assert {name: answer.body[name] for name in ("metadata", "spec")} == {"metadata": {}, "spec": {}}
        status = answer.body["status"]
        assert mine in status["resourceRules"]
        assert status["resourceRules"].count(rule("list", "pods")) == count
        assert rule("get", urls="/metrics") in status["nonResourceRules"]
    answer = await cluster("POST", RULES, review("SelfSubjectRulesReview", {"namespace": "default"}))
    assert answer.body["status"]["resourceRules"][0] == rule("*", "*", groups="*")


@pytest.mark.parametrize(
    ("selectors", "error"),
    [
        ({"fieldSelector": {"rawSelector": "metadata.name=a"}, "labelSelector": {"rawSelector": "a in (b)"}}, None),
        ({"fieldSelector": {"rawSelector": "nonsense"}}, "fieldSelector ignored"),
        ({"labelSelector": {"rawSelector": "a b c"}}, "labelSelector ignored"),
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}, None),
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "Newer"}]}}, "labelSelector ignored"),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}, "fieldSelector ignored"),
        (
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "a", "operator": "In", "values": ["b", "c"]},
                    ]
                }
            },
            "fieldSelector partially ignored",
        ),
    ],
)
async def test_selectors_that_cannot_be_read_are_named_and_change_nothing(
    cluster: Cluster, selectors: Any, error: str | None
) -> None:
    await cluster.grant("ann", rule("list", "pods"))
    status = await cluster.may("ann", "list", "pods", **selectors)
    assert status["allowed"] is True
    assert status.get("evaluationError") == (error and f"spec.resourceAttributes.{error} due to parse error")


async def test_a_server_may_allow_or_deny_everything() -> None:
    async def allowing(cluster: Cluster) -> None:
        assert (await cluster("GET", "/api/v1/secrets", user="ann")).status == 200
        assert (await cluster.may("ann", "delete", "nodes"))["allowed"] is True
        answer = await cluster("POST", RULES, review("SelfSubjectRulesReview", {"namespace": "default"}), user="ann")
        assert answer.body["status"]["resourceRules"] == [rule("*", "*", groups="*")]

    async def denying(cluster: Cluster) -> None:
        answer = await cluster("GET", "/api/v1/secrets", user="ann")
        assert answer.status == 403
        assert answer.message.endswith("at the cluster scope: Everything is forbidden.")
        assert (await cluster("GET", "/api/v1/secrets")).status == 200

    async with new_cluster(authorizer=AlwaysAllow()) as cluster:
        await allowing(cluster)
    async with new_cluster(authorizer=AlwaysDeny()) as cluster:
        await denying(cluster)
    with pytest.raises(ValueError, match="'Sometimes' is not an authorization mode: use one of RBAC, AlwaysAllow"):
        authorizer_of("Sometimes")
