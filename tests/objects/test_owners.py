"""Owner references and conditions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import conditions, owners
from setpoint.objects.clock import ManualClock

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "d", "uid": "u-1"}}
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-1"}
CONTROLLER = REFERENCE | {"controller": True, "blockOwnerDeletion": True}


def dependent(**meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "namespace": "d"} | meta}


def test_a_reference_names_its_owner_by_kind_name_and_uid() -> None:
    assert owners.owner_reference(OWNER) == REFERENCE
    assert owners.controller_reference(OWNER) == CONTROLLER
    with pytest.raises(ValueError, match="must have a uid"):
        owners.owner_reference({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})


def test_an_object_has_at_most_one_controller() -> None:
    pod = dependent()
    assert owners.controller_of(pod) is None
    assert owners.set_controller(OWNER, pod)
    assert not owners.set_controller(OWNER, pod)
    assert owners.controller_of(pod) == CONTROLLER
    assert owners.is_controlled_by(pod, OWNER)
    other = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "o", "namespace": "d", "uid": "u-2"}}
    assert not owners.is_controlled_by(pod, other)
    with pytest.raises(ValueError, match="already controlled by Deployment web"):
        owners.set_controller(other, pod)


def test_a_controller_that_was_made_anew_takes_its_place_again() -> None:
    pod = dependent(ownerReferences=[CONTROLLER | {"uid": "u-0", "apiVersion": "apps/v1beta1"}])
    assert owners.set_controller(OWNER, pod)
    assert pod["metadata"]["ownerReferences"] == [CONTROLLER]


@pytest.mark.parametrize(
    ("owner", "here", "allowed"),
    [("", "d", True), ("d", "d", True), ("", "", True), ("d", "e", False), ("d", "", False)],
)
def test_an_owner_is_in_the_same_namespace_or_in_none(owner: str, here: str, allowed: bool) -> None:
    pair = {"metadata": {"namespace": owner}}, {"metadata": {"namespace": here}}
    if allowed:
        owners.check_namespaces(*pair)
    else:
        with pytest.raises(ValueError, match="owner's namespace d"):
            owners.check_namespaces(*pair)


def test_references_are_the_same_owner_whatever_the_version() -> None:
    assert owners.same_owner(REFERENCE, REFERENCE | {"apiVersion": "apps/v2", "uid": "other"})
    assert not owners.same_owner(REFERENCE, REFERENCE | {"apiVersion": "v1"})
    assert not owners.same_owner(REFERENCE, REFERENCE | {"name": "other"})
    assert not owners.same_owner(REFERENCE, REFERENCE | {"apiVersion": "a/b/c"})


def test_references_that_stand_twice_are_removed_with_a_warning() -> None:
    second = REFERENCE | {"uid": "u-2"}
    meta = {"ownerReferences": [REFERENCE, second, dict(REFERENCE), CONTROLLER, dict(second)]}
    assert owners.remove_duplicates(meta) == (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u-1, u-2"
    )
    assert meta == {"ownerReferences": [REFERENCE, second, CONTROLLER]}
    assert owners.remove_duplicates(meta) is None
    assert owners.remove_duplicates({}) is None
    twice = {"ownerReferences": [REFERENCE, REFERENCE]}
    warning = owners.remove_duplicates(twice, after_admission=True)
    assert warning is not None
    assert warning.startswith(
        ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API"
    )


START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.feature("E68")
def test_the_time_of_a_condition_moves_only_when_its_status_flips() -> None:
    clock = ManualClock(START)
    found: list[dict[str, Any]] = []

    def set_ready(status: str, **fields: Any) -> bool:
        clock.advance(60)
        return conditions.set_condition(found, clock, type="Ready", status=status, **({"reason": "R"} | fields))

    assert set_ready("False")
    assert found == [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:01:00Z", "reason": "R", "message": ""}
    ]
    assert not set_ready("False")
    assert set_ready("False", message="waiting", observed_generation=2)
    assert found[0]["lastTransitionTime"] == "2026-01-01T00:01:00Z"
    assert found[0]["observedGeneration"] == 2
    assert set_ready("True")
    assert found[0]["lastTransitionTime"] == "2026-01-01T00:04:00Z"
    assert len(found) == 1


@pytest.mark.feature("E68")
def test_conditions_are_found_and_removed_by_type() -> None:
    clock = ManualClock(START)
    found: list[dict[str, Any]] = []
    conditions.set_condition(found, clock, type="Ready", status=conditions.TRUE, reason="R")
    conditions.set_condition(found, clock, type="Stalled", status=conditions.FALSE, reason="R")
    assert [conditions.is_true(found, "Ready"), conditions.is_false(found, "Ready")] == [True, False]
    assert [conditions.is_true(found, "Stalled"), conditions.is_false(found, "Stalled")] == [False, True]
    assert [conditions.is_true(found, "None"), conditions.is_false(found, "None")] == [False, False]
    assert [conditions.remove(found, "Ready"), conditions.remove(found, "Ready")] == [True, False]
    assert conditions.find(found, "Ready") is None
    assert [condition["type"] for condition in found] == ["Stalled"]


_TYPES = st.sampled_from("ABCD")
_LISTS = st.dictionaries(_TYPES, st.sampled_from(["True", "False"])).map(
    lambda found: [{"type": kind, "status": status} for kind, status in found.items()]
)


@given(_LISTS, _LISTS, _LISTS)
def test_a_change_of_conditions_can_be_done_to_what_others_made_of_them(
    theirs: list[Any], before: list[Any], after: list[Any]
) -> None:
    was, now, others, found = (
        {each["type"]: each for each in listed}
        for listed in (before, after, theirs, conditions.rebase(theirs, before, after))
    )
    for kind in "ABCD":
        assert found.get(kind) == (others.get(kind) if was.get(kind) == now.get(kind) else now.get(kind))
