"""The life of a definition as its conditions tell it."""

from datetime import UTC, datetime

import pytest
from tests.schema.crd.building import PLAIN, build

from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions
from setpoint.schema.crd.conditions import (
    establish,
    finish_deletion,
    is_served,
    judge_approval,
    mark_for_deletion,
    set_condition,
    update_name_conditions,
)
from setpoint.schema.crd.defaults import prepare_for_create
from setpoint.schema.crd.definition import FINALIZER, CustomResourceDefinition

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def told(tree: Object) -> dict[str, tuple[str, str]]:
    return {found["type"]: (found["status"], found["reason"]) for found in tree["status"]["conditions"] or ()}


def established(clock: ManualClock) -> Object:
    return establish(update_name_conditions(prepare_for_create(PLAIN), [], clock), clock)


def test_a_new_definition_installs_and_is_then_established(clock: ManualClock) -> None:
    installing = update_name_conditions(prepare_for_create(PLAIN), [], clock)
    assert told(installing) == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("False", "Installing")}
    assert not is_served(CustomResourceDefinition.parse(installing))
    done = establish(installing, clock)
    assert told(done)["Established"] == ("True", "InitialNamesAccepted")
    assert is_served(CustomResourceDefinition.parse(done))


def test_establishing_waits_for_the_names(clock: ManualClock) -> None:
    tree = prepare_for_create(PLAIN)
    assert establish(tree, clock) is tree


def test_an_established_definition_stays_so_when_it_loses_a_new_name(clock: ManualClock) -> None:
    tree = established(clock)
    tree["spec"]["names"]["shortNames"] = ["gd"]
    other = {
        "spec": {"group": "ex.com"},
        "status": {"acceptedNames": {"plural": "g", "kind": "G", "shortNames": ["gd"]}},
    }
    lost = update_name_conditions(tree, [other], clock)
    assert told(lost)["NamesAccepted"] == ("False", "ShortNamesConflict")
    assert told(lost)["Established"] == ("True", "InitialNamesAccepted")


def test_a_loser_is_established_when_the_name_is_free(clock: ManualClock) -> None:
    other = {"spec": {"group": "ex.com"}, "status": {"acceptedNames": {"plural": "g", "kind": "Widget"}}}
    lost = update_name_conditions(prepare_for_create(PLAIN), [other], clock)
    assert told(lost)["Established"] == ("False", "NotAccepted")
    free = update_name_conditions(lost, [], clock)
    assert told(free) == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("False", "Installing")}
    assert told(establish(free, clock))["Established"][0] == "True"


def test_a_bad_ca_bundle_keeps_a_definition_from_being_established(clock: ManualClock) -> None:
    webhook = {"clientConfig": {"url": "https://a", "caBundle": "Zm9v"}, "conversionReviewVersions": ["v1"]}
    change = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    tree = update_name_conditions(prepare_for_create(build(PLAIN, change)), [], clock)
    assert told(establish(tree, clock))["Established"] == ("False", "InvalidCABundle")


def test_the_time_of_a_transition_moves_only_with_the_status(clock: ManualClock) -> None:
    tree = update_name_conditions(prepare_for_create(PLAIN), [], clock)
    clock.advance(60)
    again = set_condition(tree, conditions.NOT_ACCEPTED, clock)
    assert again["status"]["conditions"][1]["lastTransitionTime"] == "2026-01-31T12:00:00Z"
    assert again["status"]["conditions"][1]["reason"] == "NotAccepted"
    flipped = set_condition(again, conditions.INITIAL_NAMES_ACCEPTED, clock)
    assert flipped["status"]["conditions"][1]["lastTransitionTime"] == "2026-01-31T12:01:00Z"


def test_a_condition_that_says_the_same_changes_nothing(clock: ManualClock) -> None:
    tree = established(clock)
    clock.advance(60)
    assert set_condition(tree, conditions.INITIAL_NAMES_ACCEPTED, clock) is tree


def test_deletion_begins_with_a_finalizer_and_ends_without_it(clock: ManualClock) -> None:
    going = mark_for_deletion(established(clock), clock)
    assert going["metadata"]["deletionTimestamp"] == "2026-01-31T12:00:00Z"
    assert going["metadata"]["finalizers"] == [FINALIZER]
    assert told(going)["Terminating"] == ("True", "InstanceDeletionPending")
    assert is_served(CustomResourceDefinition.parse(going))
    gone = finish_deletion(going, conditions.DELETION_COMPLETED, clock)
    assert gone["metadata"]["finalizers"] == []
    assert told(gone)["Terminating"] == ("False", "InstanceDeletionCompleted")
    assert not is_served(CustomResourceDefinition.parse(gone))


def test_marking_for_deletion_twice_keeps_the_first_time(clock: ManualClock) -> None:
    going = mark_for_deletion(established(clock), clock)
    clock.advance(60)
    again = mark_for_deletion(going, clock)
    assert again["metadata"]["deletionTimestamp"] == "2026-01-31T12:00:00Z"
    assert again["metadata"]["finalizers"] == [FINALIZER]


@pytest.mark.parametrize(
    ("annotation", "status", "reason"),
    [
        ("https://github.com/x", "True", "ApprovedAnnotation"),
        ("unapproved, a test", "False", "UnapprovedAnnotation"),
        ("bogus", "False", "InvalidAnnotation"),
        ("", "False", "MissingAnnotation"),
    ],
)
def test_the_approval_of_a_protected_group_is_judged(
    annotation: str, status: str, reason: str, clock: ManualClock
) -> None:
    annotations = {"api-approved.kubernetes.io": annotation}
    change = {"spec": {"group": "x.k8s.io"}, "metadata": {"name": "widgets.x.k8s.io", "annotations": annotations}}
    judged = judge_approval(prepare_for_create(build(PLAIN, change)), clock)
    assert told(judged) == {"KubernetesAPIApprovalPolicyConformant": (status, reason)}


def test_other_groups_need_no_approval(clock: ManualClock) -> None:
    tree = prepare_for_create(PLAIN)
    assert judge_approval(tree, clock) is tree
