"""Links: whom an object names, by the rules there are and by those that are added."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from setpoint.flow.relations.graph import graph
from setpoint.flow.relations.link_rules import RuleError, relation_rules
from setpoint.flow.relations.links import Link, links_of, ref_of
from setpoint.objects.tree import Object

CASES: dict[str, list[Object]] = yaml.safe_load((Path(__file__).parent.parent / "cases/links.yaml").read_text())
EACH = [pytest.param(kind, case, id=f"{kind}: {case['case']}") for kind, cases in CASES.items() for case in cases]
WORDS = [
    "metadata",
    "spec",
    "template",
    "selector",
    "volumes",
    "configMap",
    "name",
    "kind",
    "apiVersion",
    "ownerReferences",
    "uid",
    "labels",
    "secret",
    "containers",
    "env",
    "valueFrom",
    "secretKeyRef",
    "subjects",
    "roleRef",
    "claimRef",
    "namespace",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
]
json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


def made(kind: str, case: Object) -> Object:
    api_version, _, name = kind.rpartition("/")
    metadata = {"name": "me", **({} if case.get("cluster") else {"namespace": "home"}), **case.get("metadata", {})}
    tree = {"apiVersion": api_version, "kind": name, "metadata": metadata, "spec": case.get("spec", {})}
    return {**tree, **case.get("top", {})}


def shown(link: Link) -> str:
    selected = f" [{link.selector}]" if link.selector is not None else ""
    return f"{link.verb} {link.target}{selected}"


@pytest.mark.parametrize(("kind", "case"), EACH)
def test_an_object_names_others(kind: str, case: Object) -> None:
    assert sorted(map(shown, links_of(made(kind, case)))) == sorted(case["links"])


def test_a_kind_of_ones_own_names_others_as_its_rules_say() -> None:
    rules = relation_rules().extended(
        """
        shapes:
          PodSpec: {Worker.example.com: spec.pod}
        cluster: [Zone.example.com]
        links:
          - {of: Worker.example.com, at: spec.zone, to: example.com/v1/Zone, as: lives in}
          - {of: PodSpec, at: schedulerName, to: example.com/v1/Scheduler, as: uses}
        """
    )
    worker = {"spec": {"zone": "north", "pod": {"serviceAccountName": "s", "schedulerName": "x"}}}
    assert sorted(map(shown, links_of(made("example.com/v1/Worker", worker), rules))) == [
        "lives in Zone.example.com north",
        "uses Scheduler.example.com home/x",
        "uses ServiceAccount home/s",
    ]
    pod = made("v1/Pod", {"spec": {"schedulerName": "x"}})
    assert [shown(link) for link in links_of(pod, rules)] == ["uses Scheduler.example.com home/x"]
    assert links_of(pod) == []


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("links: [{of: A, at: spec.x, as: uses}]", r"links\[0\]: specify the target"),
        ("links: [{of: A, at: spec.x, as: uses, to: Secret}]", r"links\[0\]: invalid kind 'Secret'"),
        ("links: [{of: A, at: spec..x, as: uses, to: v1/Secret}]", r"links\[0\]: invalid path 'spec..x'"),
        ("links: [{of: A, at: spec.x, to: v1/Secret}]", "missing required field `as`"),
        ("link: []", "unknown field `link`"),
    ],
)
def test_a_mistake_is_named_with_its_place(table: str, says: str) -> None:
    with pytest.raises(RuleError, match=says):
        relation_rules().extended(table)


@given(kind=st.sampled_from([*CASES, "x"]), trees=st.lists(json_trees, max_size=3))
def test_any_json_has_links_and_relations(kind: str, trees: list[Any]) -> None:
    api_version, _, name = kind.rpartition("/")
    given_ = [{**tree, "apiVersion": api_version, "kind": name} if isinstance(tree, dict) else tree for tree in trees]
    found = graph(given_)
    for tree in given_:
        ref = ref_of(tree)
        assert ref in found.nodes
        assert found.render(ref)
        assert set(found.around(ref).nodes) <= set(found.nodes)
    for edge in found.edges:
        assert {edge.source, edge.target} <= set(found.nodes)
