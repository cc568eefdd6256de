"""The conditions of a namespace on its way out."""

from collections import Counter

from setpoint.system.namespace_conditions import Outcome, judged

NOW, LATER = "2026-01-31T12:00:00Z", "2026-01-31T12:00:09Z"


def test_all_five_say_that_all_is_well_where_nothing_is_left() -> None:
    found = judged([], Outcome(), NOW)
    assert [(each["type"], each["status"], each["reason"]) for each in found] == [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "False", "ContentRemoved"),
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"),
    ]


def test_what_remains_is_counted_in_alphabetical_order() -> None:
    outcome = Outcome(remaining=Counter({"widgets.example.com": 2, "pods.": 1}), finalizers=Counter({"x.io/f": 3}))
    messages = {each["type"]: each["message"] for each in judged([], outcome, NOW)}
    assert messages["NamespaceContentRemaining"] == (
        "Some resources are remaining: pods. has 1 resource instances, widgets.example.com has 2 resource instances"
    )
    assert messages["NamespaceFinalizersRemaining"] == (
        "Some content in the namespace has finalizers remaining: x.io/f in 3 resource instances"
    )


def test_every_failure_has_its_say() -> None:
    outcome = Outcome(discovery_failure="no answer", failures=["second", "first"])
    messages = {each["type"]: (each["reason"], each["message"]) for each in judged([], outcome, NOW)}
    assert messages["NamespaceDeletionDiscoveryFailure"] == ("DiscoveryFailed", "no answer")
    assert messages["NamespaceDeletionContentFailure"] == (
        "ContentDeletionFailed",
        "Failed to delete all resource types, 2 remaining: first, second",
    )


def test_only_a_change_of_the_status_counts_as_a_transition() -> None:
    first = judged([], Outcome(remaining=Counter({"pods.": 2})), NOW)
    second = judged(first, Outcome(remaining=Counter({"pods.": 1})), LATER)
    by_type = {each["type"]: each for each in second}
    assert by_type["NamespaceContentRemaining"]["message"].endswith("pods. has 1 resource instances")
    assert by_type["NamespaceContentRemaining"]["lastTransitionTime"] == NOW
    third = {each["type"]: each for each in judged(second, Outcome(), LATER)}
    assert third["NamespaceContentRemaining"]["lastTransitionTime"] == LATER
    assert third["NamespaceFinalizersRemaining"]["lastTransitionTime"] == NOW


def test_what_others_have_set_stays() -> None:
    other = {"type": "example.com/Checked", "status": "True"}
    assert judged([other], Outcome(), NOW)[0] == other
    assert judged(judged([other], Outcome(), NOW), Outcome(), LATER) == judged([other], Outcome(), NOW)
