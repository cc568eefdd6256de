"""ClusterRoles that gather the rules of others."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from tests.server.authorization.cluster import API, MERGE, Cluster, binding, role, rule

from setpoint.objects.tree import Object
from setpoint.server.access.authorization.aggregation import aggregate

ROLES = f"{API}/clusterroles"
PODS, SECRETS, NODES = rule("get", "pods"), rule("get", "secrets"), rule("get", "nodes")


def gathers(**labels: str) -> Object:
    return {"clusterRoleSelectors": [{"matchLabels": {name: value}} for name, value in labels.items()]}


async def rules(cluster: Cluster, name: str) -> Any:
    return (await cluster("GET", f"{ROLES}/{name}")).body["rules"]


async def test_the_rules_of_a_role_follow_those_it_gathers_at_once(cluster: Cluster) -> None:
    await cluster.made(role("all", aggregationRule=gathers(a="1", b="1")))
    assert not await rules(cluster, "all")
    await cluster.made(role("z", PODS, labels={"a": "1"}))
    await cluster.made(role("y", SECRETS, PODS, labels={"b": "1", "a": "1"}))
    assert await rules(cluster, "all") == [SECRETS, PODS]
    await cluster("PATCH", f"{ROLES}/y", {"rules": [NODES]}, kind=MERGE)
    assert await rules(cluster, "all") == [NODES, PODS]
    await cluster("PATCH", f"{ROLES}/z", {"metadata": {"labels": None}}, kind=MERGE)
    assert await rules(cluster, "all") == [NODES]
    await cluster("DELETE", f"{ROLES}/y")
    assert not await rules(cluster, "all")


async def test_what_is_written_into_a_role_that_gathers_does_not_stay(cluster: Cluster) -> None:
    await cluster.made(role("all", aggregationRule=gathers(a="1")))
    await cluster.made(role("one", PODS, labels={"a": "1"}))
    answer = await cluster("PATCH", f"{ROLES}/all", {"rules": [SECRETS]}, kind=MERGE)
    assert answer.status == 200
    assert await rules(cluster, "all") == [PODS]


async def test_rules_pass_through_several_roles_and_reach_those_who_are_bound(cluster: Cluster) -> None:
    await cluster.made(role("a", aggregationRule=gathers(to="a")))
    await cluster.made(role("b", labels={"to": "a"}, aggregationRule=gathers(to="b")))
    await cluster.made(role("c", labels={"to": "b"}, aggregationRule=gathers(to="c")))
    await cluster.made(binding("x", "ann", to="a"))
    await cluster.made(role("source", SECRETS, labels={"to": "c"}))
    assert await rules(cluster, "a") == [SECRETS]
    assert (await cluster.may("ann", "get", "secrets"))["allowed"] is True
    await cluster("DELETE", f"{ROLES}/source")
    assert (await cluster.may("ann", "get", "secrets"))["allowed"] is False


async def test_the_gathered_rules_belong_to_the_one_who_gathers(cluster: Cluster) -> None:
    await cluster.made(role("all", aggregationRule=gathers(a="1")))
    await cluster.made(role("one", PODS, labels={"a": "1"}))
    found = (await cluster("GET", f"{ROLES}/all")).body["metadata"]["managedFields"]
    owners = {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in found}
    assert owners["clusterrole-aggregation-controller", "Apply"] == {"f:rules": {}}
    assert "f:rules" not in owners["test", "Update"]
    history = await cluster("GET", "/apis/setpoint.dev/v1/clusterroles.rbac.authorization.k8s.io/all/history")
    assert history.body["items"][0]["actor"]["user"].endswith(":clusterrole-aggregation-controller")


async def test_a_role_that_finds_nothing_to_gather_keeps_what_it_was_given_until_it_does(cluster: Cluster) -> None:
    # It selects itself, which is no other.
    made = await cluster.made(role("self", NODES, labels={"a": "1"}, aggregationRule=gathers(a="1")))
    await cluster.made(role("over", aggregationRule=gathers(a="1")))
    assert (await cluster("GET", f"{ROLES}/self")).body == made
    assert await rules(cluster, "over") == [NODES]
    await cluster.made(role("one", PODS, labels={"a": "1"}))
    assert await rules(cluster, "self") == [PODS]
    assert await rules(cluster, "over") == [PODS]
    await cluster("DELETE", f"{ROLES}/one")
    assert not await rules(cluster, "self")


LABELS = st.dictionaries(st.sampled_from("xyz"), st.just("1"), max_size=2)
SOME_RULES = st.lists(st.sampled_from([PODS, SECRETS, NODES]), max_size=2)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(LABELS, SOME_RULES), max_size=4),
    st.lists(st.tuples(LABELS, SOME_RULES, st.lists(st.sampled_from("xyz"), min_size=1, max_size=2)), max_size=4),
)
def test_roles_that_gather_each_other_come_to_rest(plain: list[Any], gathering: list[Any]) -> None:
    roles = [role(f"p{number}", *rules, labels=labels) for number, (labels, rules) in enumerate(plain)]
    for number, (labels, rules, selected) in enumerate(gathering):
        aggregation = gathers(**dict.fromkeys(selected, "1"))
        roles.append(role(f"g{number}", *rules, labels=labels, aggregationRule=aggregation))
    settled = {tree["metadata"]["name"]: tree for tree in roles}
    settled |= {tree["metadata"]["name"]: tree for tree in aggregate(roles)}
    assert aggregate(settled.values()) == []
    for number, (_, _, selected) in enumerate(gathering):
        members = [
            tree
            for name, tree in settled.items()
            if name != f"g{number}" and set(selected) & set(tree["metadata"].get("labels") or ())
        ]
        found = {tuple(one["resources"]) for one in settled[f"g{number}"]["rules"]}
        wanted = {tuple(one["resources"]) for member in members for one in member["rules"]}
        assert found == wanted or (not wanted and settled[f"g{number}"] in roles)


async def test_a_rule_that_is_gone_does_not_live_on_in_roles_that_gather_each_other(cluster: Cluster) -> None:
    await cluster.made(role("a", labels={"to": "b"}, aggregationRule=gathers(to="a")))
    await cluster.made(role("b", labels={"to": "a"}, aggregationRule=gathers(to="b")))
    await cluster.made(role("source", SECRETS, labels={"to": "a"}))
    assert await rules(cluster, "b") == [SECRETS]
    await cluster("DELETE", f"{ROLES}/source")
    assert not await rules(cluster, "a")
    assert not await rules(cluster, "b")


def test_roles_that_gather_each_other_keep_no_rules_from_nowhere() -> None:
    """A role that has nothing to gather at first, and later does, has passed nothing on."""
    roles = [
        role("g0", SECRETS, labels={"y": "1"}, aggregationRule=gathers(x="1")),
        role("g1", labels={"y": "1"}, aggregationRule=gathers(y="1")),
        role("g2", labels={"y": "1"}, aggregationRule=gathers(y="1")),
        role("g3", PODS, labels={"x": "1"}, aggregationRule=gathers(x="1")),
    ]
    found = {tree["metadata"]["name"]: tree["rules"] for tree in aggregate(roles)}
    assert found == {"g0": [PODS], "g1": [PODS], "g2": [PODS]}
