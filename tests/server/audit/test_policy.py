"""Which rule of a policy counts, and which mistakes of a policy file are named."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.typedyaml import Mistakes
from setpoint.server.access.audit.policy import AuditPolicy, Decision, load_policy
from setpoint.server.ports import User
from setpoint.server.requestinfo import RequestInfo, request_info

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "policies.yaml").read_text())


@pytest.mark.parametrize("case", CASES["mistakes"], ids=lambda case: str(case["name"]))
def test_a_mistake_is_named_with_its_line(case: dict[str, Any]) -> None:
    with pytest.raises(Mistakes) as refusal:
        load_policy(case["text"], "policy.yaml")
    assert [str(each) for each in refusal.value.found] == case["found"]


@pytest.mark.parametrize("case", CASES["decisions"], ids=lambda case: str(case["name"]))
def test_the_first_rule_that_matches_decides(case: dict[str, Any]) -> None:
    header = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
    policy = load_policy(header + yaml.safe_dump({"rules": case["rules"]}), "policy.yaml")
    for asked, level in case["levels"].items():
        method, path, *user = asked.split(" ")
        name, *groups = user or ["jane"]
        decision = policy.decide(User(name, groups), request_info(method, path))
        assert decision.level == level, asked


# The naive evaluator: what the documentation of policies says, one condition after the other.


def naive(tree: dict[str, Any], user: User, info: RequestInfo) -> tuple[str, set[str], bool]:
    for rule in tree["rules"]:
        if all(holds(rule, user, info) for holds in (by_user, by_group, by_verb, by_place)):
            own = rule.get("omitManagedFields")
            stages = set(tree.get("omitStages", [])) | set(rule.get("omitStages", []))
            return rule["level"], stages, tree.get("omitManagedFields", False) if own is None else own
    return "None", set(tree.get("omitStages", [])), tree.get("omitManagedFields", False)


def by_user(rule: dict[str, Any], user: User, info: RequestInfo) -> bool:
    return user.name in (rule.get("users") or [user.name])


def by_group(rule: dict[str, Any], user: User, info: RequestInfo) -> bool:
    wanted = rule.get("userGroups") or []
    return not wanted or len(set(wanted) & set(user.groups)) > 0


def by_verb(rule: dict[str, Any], user: User, info: RequestInfo) -> bool:
    return info.verb in (rule.get("verbs") or [info.verb])


def by_place(rule: dict[str, Any], user: User, info: RequestInfo) -> bool:
    resources, namespaces = rule.get("resources") or [], rule.get("namespaces") or []
    urls = rule.get("nonResourceURLs") or []
    if resources or namespaces:
        inside = not namespaces or info.namespace in namespaces
        return info.is_resource and inside and (not resources or any(has(each, info) for each in resources))
    if urls:
        return not info.is_resource and any(
            url == "*" or info.path == url or (url[-1] == "*" and info.path[: len(url) - 1] == url[:-1]) for url in urls
        )
    return True


def has(each: dict[str, Any], info: RequestInfo) -> bool:
    if each.get("group", "") != "*" and each.get("group", "") != info.group:
        return False
    if not each.get("resources"):
        return True
    if each.get("resourceNames") and info.name not in each["resourceNames"]:
        return False
    for pattern in each["resources"]:
        main, slash, sub = pattern.partition("/")
        if pattern == "*":
            return True
        if not slash and not info.subresource and main == info.resource:
            return True
        if slash and main == "*" and sub and sub == info.subresource:
            return True
        if slash and main == info.resource and (sub == "*" or (sub == info.subresource and sub)):
            return True
    return False


def some(*values: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), max_size=2)


STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
RESOURCES = st.fixed_dictionaries(
    {"resources": st.lists(st.sampled_from(["*", "pods", "pods/log", "pods/*", "*/log", "secrets"]), min_size=1)},
    optional={"group": st.sampled_from(["", "apps", "*"]), "resourceNames": some("a", "b")},
) | st.fixed_dictionaries({}, optional={"group": st.sampled_from(["", "apps", "*"])})
WHO = {
    "users": some("jane", "joe"),
    "userGroups": some("dev", "ops"),
    "verbs": some("get", "list", "create"),
    "omitStages": some(*STAGES),
    "omitManagedFields": st.booleans(),
}
LEVELS = st.sampled_from(["None", "Metadata", "Request", "RequestResponse"])
RULES = st.fixed_dictionaries(
    {"level": LEVELS},
    optional=WHO | {"resources": st.lists(RESOURCES, max_size=2), "namespaces": some("", "default")},
) | st.fixed_dictionaries(
    {"level": LEVELS}, optional=WHO | {"nonResourceURLs": some("*", "/healthz", "/api*", "/healthz/*")}
)
POLICIES = st.fixed_dictionaries(
    {
        "apiVersion": st.just("audit.k8s.io/v1"),
        "kind": st.just("Policy"),
        "rules": st.lists(RULES, min_size=1, max_size=5),
    },
    optional={"omitStages": some(*STAGES), "omitManagedFields": st.booleans()},
)
PATHS = (
    *("/healthz", "/healthz/ping", "/api", "/apis/apps", "/version"),
    *("/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a"),
    *("/api/v1/namespaces/default/pods/a/log", "/api/v1/namespaces/default/pods/b/exec", "/api/v1/nodes/a"),
    *("/apis/apps/v1/namespaces/other/deployments/b", "/api/v1/namespaces/default/secrets/b"),
)
USERS = st.builds(User, st.sampled_from(["jane", "joe", "jim"]), some("dev", "ops", "qa").map(tuple))
REQUESTS = st.builds(request_info, st.sampled_from(["GET", "POST", "DELETE"]), st.sampled_from(PATHS))


@given(POLICIES, st.lists(st.tuples(USERS, REQUESTS), min_size=1, max_size=20))
def test_the_level_of_a_request_is_what_a_naive_evaluator_says(
    tree: dict[str, Any], asked: list[tuple[User, RequestInfo]]
) -> None:
    policy: AuditPolicy = load_policy(msgspec.json.encode(tree).decode(), "policy.yaml")
    for user, info in asked:
        decision: Decision = policy.decide(user, info)
        found = (decision.level, set(decision.omit_stages), decision.omit_managed_fields)
        assert found == naive(tree, user, info)
