"""Summaries: what they say of every kind, of custom resources, and of anything else there is."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from setpoint.api.apps.v1 import Deployment, DeploymentSpec
from setpoint.api.core.v1 import PodTemplateSpec
from setpoint.api.meta.v1 import LabelSelector
from setpoint.flow.summary.summary import Summary, summarize
from setpoint.flow.summary.summary_rules import RuleError, SummaryRules, builtin
from setpoint.objects.frozen import FrozenDict
from setpoint.objects.tree import Object

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CASES: dict[str, list[Object]] = yaml.safe_load((Path(__file__).parent.parent / "cases/summaries.yaml").read_text())
EACH = [pytest.param(kind, case, id=f"{kind}: {case['case']}") for kind, cases in CASES.items() for case in cases]
WORDS = (
    "metadata spec status conditions type reason message phase True False Ready Stalled replicas ownerReferences Pod"
)
KINDS = [*CASES, "v1/Secret", "a/b/c/D", "x"]
json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS.split()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS.split()), inner, max_size=5),
    max_leaves=25,
)


def made(kind: str, case: Object) -> Object:
    """The object of a case."""
    api_version, _, name = kind.rpartition("/")
    status = dict(case.get("status", {}))
    for type_, text in case.get("conditions", {}).items():
        words = dict(zip(("status", "reason", "message"), text.split(" ", 2), strict=False))
        status["conditions"] = [*status.get("conditions", []), {"type": type_, **words}]
    tree = {"metadata": case.get("metadata", {}), "spec": case.get("spec", {}), "status": status}
    return {"apiVersion": api_version, "kind": name, **with_times(tree)}


def with_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: with_times(item) for key, item in value.items()}
    return "2026-01-01T12:00:00Z" if value == "T" else value


def summary_of(kind: str, case: Object) -> Summary:
    return summarize(made(kind, case), now=NOON + timedelta(seconds=case.get("late", 0)))


@pytest.mark.feature("E72")
@pytest.mark.parametrize(("kind", "case"), EACH)
def test_a_summary_says_how_an_object_is(kind: str, case: Object) -> None:
    found = summary_of(kind, case)
    assert not (found.ready and found.transitioning)
    assert " ".join(filter(None, (found.verdict, found.state, found.reason))) == case["is"]
    if "message" in case:
        assert found.message == case["message"]


def test_every_rule_of_the_table_has_a_case_that_it_decides() -> None:
    rules = builtin()
    table = {rule.name for part in (rules.first, rules.last, *rules.kinds.values()) for rule in part}
    table |= {listed.name for listed in rules.conditions}
    deciding = {summary_of(kind, case).rule for kind, cases in CASES.items() for case in cases}
    assert table - deciding == set()


def test_what_is_removed_for_too_long_has_failed_and_is_still_transitioning() -> None:
    tree = {"metadata": {"deletionTimestamp": "2026-01-01T12:00:00Z", "finalizers": ["a/b"]}}
    found = summarize(tree, now=NOON + timedelta(hours=1))
    assert (found.error, found.transitioning, found.ready) == (True, True, False)


def test_without_a_time_nothing_is_late() -> None:
    tree = {"metadata": {"deletionTimestamp": "2020-01-01T12:00:00Z", "finalizers": ["a/b"]}}
    assert summarize(tree).verdict == "progressing"


@pytest.mark.feature("E70")
def test_a_kind_that_always_reports_its_generation_is_unseen_before_it_does() -> None:
    tree = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"generation": 1}}
    assert summarize(tree).ready
    assert summarize(tree, observes_generation=True).reason == "NotObserved"
    assert summarize({**tree, "status": {"observedGeneration": 1}}, observes_generation=True).ready


def test_typed_and_frozen_objects_are_summarized_like_trees() -> None:
    template = PodTemplateSpec()
    typed = Deployment(spec=DeploymentSpec(replicas=2, selector=LabelSelector(), template=template))
    tree = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}}
    assert summarize(typed) == summarize(tree) == summarize(FrozenDict(tree))


def test_a_summary_reads_as_a_line() -> None:
    assert str(summarize({"apiVersion": "v1", "kind": "ConfigMap"})) == "active"
    assert str(summarize(made("apps/v1/Deployment", {}))) == "updating [progressing] 0 of 1 replicas are updated"
    assert summarize(made("v1/Pod", {"status": {"phase": "Failed"}})).to_json() == {
        "state": "failed",
        "ready": False,
        "transitioning": False,
        "error": True,
        "reason": "PodFailed",
        "message": "the pod ended with an error",
    }


class TestExtending:
    table = """
    kinds:
      Website.example.com:
        - when: [status.url missing, "spec.hosts[*] exists"]
          is: progressing
          state: publishing
          reason: NoURL
          message: waiting for {spec.hosts[*]}
    conditions:
      - types: {Frobbed: frobbing}
        "False": failed
    """

    def test_a_rule_of_ones_own_decides_for_its_kind(self) -> None:
        rules = builtin().extended(self.table)
        website = {"apiVersion": "example.com/v1", "kind": "Website", "spec": {"hosts": ["a", "b"]}}
        found = summarize(website, rules=rules)
        assert (found.state, found.reason, found.message) == ("publishing", "NoURL", "waiting for a, b")
        assert found.rule == "Website.example.com[0]"
        assert summarize({**website, "status": {"url": "x"}}, rules=rules).ready
        assert summarize({**website, "kind": "Other"}, rules=rules).ready

    def test_a_condition_of_ones_own_has_the_meaning_one_gives_it(self) -> None:
        tree = {"status": {"conditions": [{"type": "Frobbed", "status": "False", "message": "no"}]}}
        assert summarize(tree, rules=builtin().extended(self.table)).state == "frobbing"
        assert summarize(tree).ready

    def test_it_comes_before_the_rules_there_are_and_changes_no_other_table(self) -> None:
        rules = builtin().extended({"kinds": {"Deployment.apps": [{"is": "ready", "state": "ours"}]}})
        tree = {"apiVersion": "apps/v1", "kind": "Deployment"}
        assert summarize(tree, rules=rules).state == "ours"
        assert summarize(tree).state == "updating"

    def test_what_holds_for_every_object_still_comes_first(self) -> None:
        rules = builtin().extended({"kinds": {"Deployment.apps": [{"is": "ready"}]}})
        tree = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"deletionTimestamp": "2026-01-01T12:00:00Z"},
        }
        assert summarize(tree, rules=rules).state == "removing"

    @pytest.mark.parametrize(
        ("table", "says"),
        [
            (
                "kinds: {A.b: [{is: ready}, {is: ready, when: status.x ~ 3}]}",
                r"A\.b\[1\]: invalid comparison 'status.x ~ 3'",
            ),
            ("kinds: {A.b: [{is: fine}]}", "Invalid enum value 'fine'"),
            ("kinds: {A.b: [{is: ready, whem: a}]}", "unknown field `whem`"),
            ("first: [{is: ready, after: 5m}]", r"first\[0\]: `after` and `since` must be given together"),
            ("first: [{is: ready, after: soon, since: metadata.x}]", r"first\[0\]: .*soon"),
            ("last: [{is: ready, when: status.a!b exists}]", r"last\[0\]: invalid path 'status.a!b'"),
            ("conditions: [{types: {A: b}}]", r"conditions\[0\]: specify `types`"),
            ("conditions: [{reason: X}]", r"conditions\[0\]: `reason` and `is` must be given together"),
            ("a: [", "invalid table"),
            ("[]", "invalid table"),
        ],
    )
    def test_a_mistake_is_named_with_its_place(self, table: str, says: str) -> None:
        with pytest.raises(RuleError, match=says):
            builtin().extended(table)


@given(kind=st.sampled_from(KINDS), tree=json_trees, now=st.none() | st.just(NOON))
def test_any_json_has_a_summary(kind: str, tree: Any, now: datetime | None) -> None:
    if isinstance(tree, dict):
        api_version, _, name = kind.rpartition("/")
        tree = {**tree, "apiVersion": api_version, "kind": name}
    found = summarize(tree, now=now)
    assert found.state == found.state.lower() != ""
    assert [found.ready, found.error, found.verdict == "progressing"].count(True) == 1
    assert not (found.ready and found.transitioning)
    assert found == summarize(tree, now=now)


@given(tree=json_trees)
def test_an_empty_table_finds_everything_active(tree: Any) -> None:
    if isinstance(tree, dict) and not isinstance(tree.get("status"), dict):
        assert summarize(tree, rules=SummaryRules()) == Summary("ready", "active")


@pytest.mark.parametrize("broken", [None, "Ready", 5, [], {}, {"status": "False"}, {"type": 5, "status": "False"}])
def test_a_broken_condition_does_not_count(broken: Any) -> None:
    found = {"apiVersion": "example.com/v1", "kind": "Toy", "status": {"conditions": [broken]}}
    without = summarize({**found, "status": {"conditions": []}})
    assert summarize(found) == without
    failing = {"type": "Ready", "status": "False", "reason": "Broken"}
    assert not summarize({**found, "status": {"conditions": [broken, failing]}}).ready
