"""Which names a definition gets beside the others of its group, and the conditions that follow."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schema.crd.building import PLAIN, build
from tests.schema.crd.tables import named, steps, table

from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.schema.crd.conditions import establish, update_name_conditions
from setpoint.schema.crd.defaults import prepare_for_create
from setpoint.schema.crd.definition import CustomResourceDefinition, Names
from setpoint.schema.crd.names import accept_names, name_rule

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def holder(names: Object, group: str) -> CustomResourceDefinition:
    return CustomResourceDefinition.parse({"spec": {"group": group}, "status": {"acceptedNames": names}})


@pytest.mark.parametrize("case", named(table("names")))
def test_names_beside_others(case: Any) -> None:
    change = {"spec": {"names": case.get("want", {})}, "status": {"acceptedNames": case.get("mine", {})}}
    crd = CustomResourceDefinition.parse(build(PLAIN, change))
    others = [holder(names, case.get("group", "ex.com")) for names in case["held"]]
    accepted = accept_names(crd, others)
    gets = {"plural": "", "kind": ""} | case["gets"]
    assert accepted.names == Names(
        plural=gets["plural"],
        singular=gets.get("singular", ""),
        short_names=gets.get("shortNames", []),
        kind=gets["kind"],
        list_kind=gets.get("listKind", ""),
        categories=gets.get("categories", []),
    )
    assert (accepted.reason, accepted.message) == (case.get("reason", ""), case.get("message", ""))


def test_recorded_conflicts_give_the_same_status() -> None:
    clock = ManualClock(NOW)
    known: dict[str, Object] = {}
    compared = 0
    for step in steps("crd-names-conflict"):
        body = step.get("body")
        if isinstance(body, dict) and body.get("kind") == "CustomResourceDefinition":
            tree = prepare_for_create(body)
            known[body["metadata"]["name"]] = establish(update_name_conditions(tree, known.values(), clock), clock)
        elif step.get("method") == "GET" and "status" in (step["expect"].get("body") or {}):
            tree = known[step["path"].rpartition("/")[2]]
            recorded = step["expect"]["body"]["status"]
            if "True" in str(recorded["conditions"]):
                continue
            for condition in recorded["conditions"]:
                condition["lastTransitionTime"] = "2026-01-31T12:00:00Z"
            found = tree["status"]
            assert sorted(found["conditions"], key=lambda item: item["type"]) == recorded["conditions"]
            assert found["acceptedNames"] == recorded["acceptedNames"]
            assert found["storedVersions"] == recorded["storedVersions"]
            compared += 1
    assert compared >= 2


@given(st.lists(st.sampled_from(["widgets", "widget", "wd", "gadgets"]), max_size=4))
def test_settling_names_twice_changes_nothing(short_names: list[str]) -> None:
    clock = ManualClock(NOW)
    other = {"spec": {"group": "ex.com"}, "status": {"acceptedNames": {"plural": "gadgets", "kind": "Gadget"}}}
    tree = prepare_for_create(build(PLAIN, {"spec": {"names": {"shortNames": short_names}}}))
    once = update_name_conditions(tree, [other], clock)
    clock.advance(60)
    assert update_name_conditions(once, [other], clock) is once


def test_the_name_rule_speaks_of_plural_and_group() -> None:
    rule = name_rule(CustomResourceDefinition.parse(PLAIN).spec)
    assert rule("widgets.ex.com", False) == ()
    assert rule("gadgets.ex.com", False) == ('must be spec.names.plural+"."+spec.group',)
    assert len(rule("Gadgets", False)) == 2
