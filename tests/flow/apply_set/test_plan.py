"""The plan of a set: the action and the reason for each object, without a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from setpoint.flow.desired_object import Desired, Marks, UserObject
from setpoint.flow.inventory import Identity, Inventory, InventoryEntry
from setpoint.flow.marks import MANAGED_BY, PRUNE_MARK, SET_LABEL
from setpoint.flow.plan import Action, Plan, PlanInput, PlanStep, make, merged, replaced, step_for, without
from setpoint.flow.policy import DEFAULT, Adopt, ApplySetPolicy, How, Mode, Prune, Replace
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.owners import controller_reference, owner_reference
from setpoint.objects.tree import Object

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SET, MANAGER = "main", "teams"
OWNER: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "boss", "namespace": "default", "uid": "boss-uid"},
}
OTHER: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "uid": "other-uid"}}
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def config_map(name: str = "a", data: Any = None, **metadata: Any) -> Object:
    where = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": where, "data": data or {"x": "1"}}


def live(name: str = "a", data: Any = None, **metadata: Any) -> Object:
    """An object of the set, as stored by a server."""
    labels = metadata.pop("labels", {SET_LABEL: SET, MANAGED_BY: MANAGER})
    return config_map(name, data, **{"uid": f"{name}-uid", "resourceVersion": "7", "labels": labels, **metadata})


def wanted(tree: Object | None = None, has_status: bool = False, **how: Any) -> Desired:
    source = UserObject.of(tree or config_map())
    return Desired(source, source.identity, How(**how).over(DEFAULT), Marks(SET, MANAGER, ""), has_status=has_status)


def entry(name: str = "a", **more: Any) -> InventoryEntry:
    return InventoryEntry(Identity("", "ConfigMap", "default", name), "v1", **{"uid": f"{name}-uid", **more})


def given(*objects: Object, entries: Any = (), owner: Object | None = None, **more: Any) -> PlanInput:
    policy = ApplySetPolicy(prune=more.pop("prune", Prune()), ignore=more.pop("ignore", {}))
    found = {Identity.of(tree): tree for tree in objects}
    return PlanInput(SET, MANAGER, owner, policy, Inventory(entries), found, NOON, **more)


def said(step: PlanStep) -> tuple[Action, str]:
    return step.action, step.reason


# Wanted objects

DIFFERS, AS_WANTED = "differs from the wanted object", "up to date"
UPDATE: dict[str, Any] = {"mode": Mode.UPDATE}
MERGE: dict[str, Any] = {"mode": Mode.MERGE}


@pytest.mark.parametrize(
    ("found", "how", "action", "reason"),
    [
        (None, {}, Action.CREATE, "does not exist"),
        (live(data={"x": "2"}), {}, Action.APPLY, DIFFERS),
        (live(), {}, Action.APPLY, DIFFERS),  # without managed fields the set cannot know
        (live(data={"x": "2"}), UPDATE, Action.UPDATE, DIFFERS),
        (live(data={"x": "1", "y": "2"}), UPDATE, Action.UPDATE, DIFFERS),
        (live(), UPDATE, Action.KEEP, AS_WANTED),
        (live(data={"x": "2"}), MERGE, Action.PATCH, DIFFERS),
        (live(data={"x": "1", "y": "2"}), MERGE, Action.KEEP, AS_WANTED),
        (live(**GOING), {}, Action.WAIT, "being deleted; recreated afterwards"),
    ],
)
def test_an_object_is_written_as_its_mode_says(found: Object | None, how: Any, action: Action, reason: str) -> None:
    assert said(step_for(wanted(**how), given(*filter(None, [found])))) == (action, reason)


def test_nothing_is_created_for_an_owner_that_is_being_deleted() -> None:
    going = {**OWNER, "metadata": {**OWNER["metadata"], **GOING}}
    assert said(step_for(wanted(), given(owner=going))) == (Action.SKIP, "its owner is being deleted")
    assert step_for(wanted(), given(live(), owner=going)).action is Action.APPLY, "an existing object is still written"
    assert step_for(wanted(), given(owner=OWNER)).action is Action.CREATE


def test_an_object_that_is_known_to_be_as_wanted_is_not_compared() -> None:
    asked: list[str] = []

    def is_applied(desired: Desired, version: str) -> bool:
        asked.append(version)
        return version == "7"

    step = step_for(wanted(), given(live(data={"x": "2"}), is_applied=is_applied))
    assert (*said(step), step.wanted) == (Action.KEEP, AS_WANTED, None)
    step = step_for(wanted(), given(live(data={"x": "2"}, resourceVersion="8"), is_applied=is_applied))
    assert step.action is Action.APPLY
    assert asked == ["7", "8"]


FOREIGN: dict[str, str] = {}
HELM, OTHER_SET = {MANAGED_BY: "helm"}, {SET_LABEL: "else"}
THEIRS: dict[str, Any] = {"ownerReferences": [controller_reference(OTHER)]}
NEVER = "already exists outside this set, which does not adopt objects"


@pytest.mark.parametrize(
    ("metadata", "adopt", "reason"),
    [
        ({"labels": FOREIGN}, Adopt.IF_UNMANAGED, ""),
        ({"labels": FOREIGN}, Adopt.NEVER, NEVER),
        ({"labels": OTHER_SET}, Adopt.IF_UNMANAGED, "belongs to another set, else"),
        ({"labels": OTHER_SET}, Adopt.NEVER, NEVER),
        ({"labels": OTHER_SET}, Adopt.ALWAYS, ""),
        ({"labels": HELM}, Adopt.IF_UNMANAGED, f"managed by helm (label {MANAGED_BY})"),
        ({"labels": HELM}, Adopt.ALWAYS, ""),
        ({"labels": {MANAGED_BY: MANAGER}}, Adopt.IF_UNMANAGED, ""),
        ({"labels": FOREIGN, **THEIRS}, Adopt.IF_UNMANAGED, "controlled by Deployment web"),
        ({"labels": FOREIGN, **THEIRS}, Adopt.ALWAYS, ""),
        ({"labels": FOREIGN, "ownerReferences": [owner_reference(OTHER)]}, Adopt.IF_UNMANAGED, ""),
        ({"labels": FOREIGN, "ownerReferences": [controller_reference(OWNER)]}, Adopt.NEVER, ""),
        ({}, Adopt.NEVER, ""),
    ],
)
def test_an_object_of_another_owner_is_refused_by_policy(metadata: Any, adopt: Adopt, reason: str) -> None:
    step = step_for(wanted(adopt=adopt), given(live(**metadata), owner=OWNER))
    assert said(step) == ((Action.REFUSE, reason) if reason else (Action.APPLY, DIFFERS))


@pytest.mark.parametrize(
    ("recorded", "labels", "action"),
    [
        (entry(), FOREIGN, Action.APPLY),
        (entry(uid="b-uid"), FOREIGN, Action.REFUSE),
        (entry(uid=""), FOREIGN, Action.REFUSE),
        (entry(), OTHER_SET, Action.REFUSE),
    ],
    ids=["recorded", "another uid", "intent", "label of another set"],
)
def test_an_object_without_a_label_belongs_to_the_set_by_its_uid(
    recorded: InventoryEntry, labels: Any, action: Action
) -> None:
    plan_input = given(live(labels=labels), entries=[recorded])
    assert step_for(wanted(adopt=Adopt.NEVER), plan_input).action is action


@pytest.mark.parametrize(
    ("policy", "version", "only"),
    [({}, "", ""), ({"lock": True}, "", "7"), ({"lock": True}, "5", "5"), ({"lock": False}, "5", "")],
    ids=["no lock", "lock", "lock on the given version", "given version without lock"],
)
def test_a_lock_is_on_the_given_version_or_else_on_the_live_one(policy: Any, version: str, only: str) -> None:
    tree = config_map(**({"resourceVersion": version} if version else {}))
    step = step_for(wanted(tree, **policy), given(live(data={"x": "2"})))
    assert (step.action, step.only_version) == (Action.APPLY, only)


def test_ignored_fields_are_current_ones_and_the_write_is_conditional() -> None:
    ignore = {GroupKind("", "ConfigMap"): ["/data/x"]}
    step = step_for(
        wanted(config_map(data={"x": "1", "y": "1"}), **UPDATE), given(live(data={"x": "9"}), ignore=ignore)
    )
    assert step.wanted is not None
    assert (step.wanted["data"], step.only_version) == ({"x": "9", "y": "1"}, "7")
    step = step_for(wanted(**UPDATE), given(live(data={"x": "9"}), ignore=ignore))
    assert step.action is Action.KEEP
    step = step_for(wanted(**MERGE), given(live(data={"x": "9"}), ignore=ignore))
    assert (step.action, step.only_version) == (Action.KEEP, "")
    other = {GroupKind("", "Secret"): ["/data/x"]}
    assert step_for(wanted(**UPDATE), given(live(data={"x": "9"}), ignore=other)).action is Action.UPDATE


SEALED = {**live(data={"x": "2"}), "immutable": True}


@pytest.mark.parametrize(
    ("replace", "expected"),
    [
        (Replace.NEVER, (Action.APPLY, DIFFERS)),
        (Replace.LATER, (Action.REPLACE, "data cannot be changed")),
        (Replace.WAIT_GONE, (Action.REPLACE, "data cannot be changed")),
    ],
)
def test_an_immutable_object_is_replaced_by_policy(replace: Replace, expected: tuple[Action, str]) -> None:
    assert said(step_for(wanted(replace=replace), given(SEALED))) == expected
    assert step_for(wanted(replace=replace), given(live(data={"x": "2"}))).action is Action.APPLY


@pytest.mark.parametrize("mode", [Mode.UPDATE, Mode.MERGE])
def test_a_status_is_written_alone_if_only_the_status_differs(mode: Mode) -> None:
    tree = {**config_map(), "status": {"phase": "Ready"}}
    found = {**live(), "status": {"phase": "Ready"}}
    assert step_for(wanted(tree, True, mode=mode), given(found)).action is Action.KEEP
    step = step_for(wanted(tree, True, mode=mode), given({**found, "status": {"phase": "New"}}))
    assert (step.reason, step.status_only, step.status) == (
        "its status differs from the wanted one",
        True,
        tree["status"],
    )
    step = step_for(wanted(tree, True, mode=mode), given({**live(data={"x": "2"}), "status": {"phase": "Ready"}}))
    assert (step.reason, step.status_only, step.status) == (DIFFERS, False, None)
    more = {**live(), "status": {"phase": "Ready", "more": 1}}
    step = step_for(wanted(tree, True, mode=mode), given(more))
    assert step.action is (Action.KEEP if mode is Mode.MERGE else Action.UPDATE)


# Owner references


@pytest.mark.parametrize(
    ("owner", "policy", "references"),
    [
        (None, {}, None),
        (OWNER, {}, [controller_reference(OWNER)]),
        (OWNER, {"owner_references": False}, None),
        ({**OWNER, "metadata": {**OWNER["metadata"], "namespace": "far"}}, {}, None),
        (OTHER, {}, [controller_reference(OTHER)]),  # cluster-scoped
    ],
)
def test_an_object_references_its_owner_where_permitted(owner: Object | None, policy: Any, references: Any) -> None:
    step = step_for(wanted(**policy), given(owner=owner))
    assert step.wanted is not None
    assert step.wanted["metadata"].get("ownerReferences") == references


def test_the_owner_is_the_controller_unless_there_is_another_one() -> None:
    tree = config_map(ownerReferences=[controller_reference(OTHER)])
    step = step_for(wanted(tree), given(owner=OWNER))
    assert step.wanted is not None
    assert step.wanted["metadata"]["ownerReferences"] == [controller_reference(OTHER), owner_reference(OWNER)]
    theirs = live(ownerReferences=[controller_reference(OTHER)])
    step = step_for(wanted(adopt=Adopt.ALWAYS), given(theirs, owner=OWNER))
    assert step.wanted is not None
    assert step.wanted["metadata"]["ownerReferences"] == [owner_reference(OWNER)]
    again = config_map(ownerReferences=[owner_reference(OWNER), owner_reference(OTHER)])
    step = step_for(wanted(again), given(owner=OWNER))
    assert step.wanted is not None
    assert step.wanted["metadata"]["ownerReferences"] == [owner_reference(OTHER), controller_reference(OWNER)]


def test_a_write_keeps_finalizers_and_owners_of_others() -> None:
    theirs = live(finalizers=["theirs", "ours"], ownerReferences=[owner_reference(OTHER), owner_reference(OWNER)])
    tree = config_map(finalizers=["ours"], ownerReferences=[controller_reference(OWNER)])
    metadata = merged(tree, theirs)["metadata"]
    assert metadata["finalizers"] == ["theirs", "ours"]
    assert metadata["ownerReferences"] == [owner_reference(OTHER), controller_reference(OWNER)]
    assert merged(config_map(), theirs) == config_map()


def test_an_update_replaces_labels_and_keeps_the_status() -> None:
    found = {**live(annotations={"y": "1"}, generation=3), "status": {"phase": "Ready"}}
    body = replaced({**config_map(labels={"x": "1"}), "data": {"n": "1"}}, found)
    assert body["metadata"]["labels"] == {"x": "1"}
    assert "annotations" not in body["metadata"]
    assert (body["metadata"]["uid"], body["metadata"]["generation"]) == ("a-uid", 3)
    assert (body["status"], body["data"]) == ({"phase": "Ready"}, {"n": "1"})
    body = replaced(config_map(annotations={"z": "1"}), live())
    assert "labels" not in body["metadata"]
    assert body["metadata"]["annotations"] == {"z": "1"}
    assert "status" not in body


# Objects that are not wanted any more

WITHHELD = "2 objects would be pruned, more than the limit of 1: pruning is withheld"


def ago(seconds: int) -> str:
    return (NOON - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("found", "recorded", "more", "expected"),
    [
        (live(), entry(), {}, (Action.PRUNE, "no longer wanted")),
        (None, entry(), {}, (Action.FORGET, "already deleted")),
        (
            None,
            entry(),
            {"unserved": frozenset({GroupVersionKind("", "v1", "ConfigMap")})},
            (Action.LEAVE, "its kind is not served at present"),
        ),
        (live(labels=OTHER_SET), entry(), {}, (Action.FORGET, "does not belong to this set")),
        (live(labels=FOREIGN), entry(uid=""), {}, (Action.FORGET, "does not belong to this set")),
        (live(labels=FOREIGN), entry(), {}, (Action.PRUNE, "no longer wanted")),
        (live(**THEIRS), entry(), {}, (Action.FORGET, "controlled by Deployment web")),
        (
            live(ownerReferences=[controller_reference(OWNER)]),
            entry(),
            {"owner": OWNER},
            (Action.PRUNE, "no longer wanted"),
        ),
        (live(**GOING), entry(), {}, (Action.LEAVE, "being deleted")),
        (live(annotations={PRUNE_MARK: "false"}), entry(), {}, (Action.LEAVE, "marked as not prunable")),
        (live(), entry(), {"prune": Prune(enabled=False)}, (Action.LEAVE, "pruning is disabled")),
        (live(), entry(), {"prune": Prune(grace=60)}, (Action.LEAVE, "grace period of 60 s has not passed")),
        (
            live(),
            entry(unwanted_since=ago(59)),
            {"prune": Prune(grace=60)},
            (Action.LEAVE, "grace period of 60 s has not passed"),
        ),
        (live(), entry(unwanted_since=ago(60)), {"prune": Prune(grace=60)}, (Action.PRUNE, "no longer wanted")),
    ],
)
def test_an_unwanted_object_is_pruned_if_it_is_of_the_set_and_may_go(
    found: Object | None, recorded: InventoryEntry, more: Any, expected: tuple[Action, str]
) -> None:
    [step] = without([], given(*filter(None, [found]), entries=[recorded], **more)).steps
    assert said(step) == expected
    assert (step.entry, step.live) == (recorded, found)


def test_a_plan_is_made_again_when_the_first_grace_period_ends() -> None:
    entries = [entry("a", unwanted_since=ago(20)), entry("b", unwanted_since=ago(50)), entry("c")]
    objects = [live(name) for name in "abc"]
    assert without([], given(*objects, entries=entries, prune=Prune(grace=60))).again_after == 10
    assert without([], given(*objects, entries=entries)).again_after is None
    kept = [live(name, annotations={PRUNE_MARK: "false"}) for name in "abc"]
    assert without([], given(*kept, entries=entries, prune=Prune(grace=60))).again_after is None


@pytest.mark.parametrize("limit", [None, 2, 1])
def test_more_than_the_limit_is_withheld(limit: int | None) -> None:
    objects = [live("a"), live("b"), live("c", **GOING)]
    plan = without([], given(*objects, entries=map(entry, "abc"), prune=Prune(limit=limit)))
    assert plan.withheld == (WITHHELD if limit == 1 else "")
    assert [step.identity.name for step in plan.prunes] == ([] if limit == 1 else ["b", "a"])
    if limit == 1:
        assert [said(step) for step in plan.steps] == [
            (Action.LEAVE, "being deleted"),
            (Action.LEAVE, WITHHELD),
            (Action.LEAVE, WITHHELD),
        ]


def test_unwanted_objects_go_in_reverse_order_of_their_kinds_and_names() -> None:
    role = InventoryEntry(Identity("rbac.authorization.k8s.io", "Role", "default", "r"), "v1")
    service = InventoryEntry(Identity("", "Service", "default", "s"), "v1")
    plan = without([], given(entries=[role, entry("a"), service, entry("b")]))
    assert [step.identity.name for step in plan.steps] == ["s", "b", "a", "r"]
    assert without([], given()) == Plan([], MANAGER)


def test_an_object_that_is_wanted_under_another_kind_is_forgotten() -> None:
    moved = {**live(), "apiVersion": "extensions/v1", "kind": "Settings"}
    old = InventoryEntry(Identity("extensions", "Settings", "default", "a"), "v1", "a-uid")
    plan = make([wanted()], given(live(), moved, entries=[entry(), old]))
    assert [step.action for step in plan.steps] == [Action.APPLY, Action.FORGET]
    assert plan.steps[-1].reason == "wanted under another kind"


# The whole plan


def test_a_plan_shows_every_change_and_no_unchanged_object() -> None:
    objects = [live("a"), live("b", data={"x": "2"}), live("d")]
    desired = [wanted(config_map(name), **MERGE) for name in "abc"]
    plan = make(desired, given(*objects, entries=[entry("d")]))
    assert [said(step) for step in plan.steps] == [
        (Action.KEEP, AS_WANTED),
        (Action.PATCH, DIFFERS),
        (Action.CREATE, "does not exist"),
        (Action.PRUNE, "no longer wanted"),
    ]
    lines = plan.render().splitlines()
    assert lines[0] == "patch ConfigMap default/b: differs from the wanted object"
    assert lines[1] == '    ~ /data/x: "2" -> "1"'
    assert lines[2] == "create ConfigMap default/c: does not exist"
    assert lines[3].startswith("    + ")
    assert lines[4:] == ["prune ConfigMap default/d: no longer wanted"]
    assert not plan.is_empty
    assert [step.identity.name for step in plan.of(Action.KEEP, Action.CREATE)] == ["a", "c"]


def test_a_plan_without_changes_is_empty() -> None:
    plan = make([wanted(**MERGE)], given(live(), live("b", **GOING), entries=[entry("b")]))
    assert plan.is_empty
    assert plan.render() == "leave ConfigMap default/b: being deleted"
    assert make([], given()).render() == "nothing to do"
    assert not make([], given(live(), entries=[entry()])).is_empty
    withheld = make([], given(live(), entries=[entry()], prune=Prune(limit=0)))
    reason = "1 objects would be pruned, more than the limit of 0: pruning is withheld"
    assert withheld.render().splitlines() == [f"leave ConfigMap default/a: {reason}", reason]


def test_a_plan_shows_the_status() -> None:
    tree = {**config_map(), "status": {"phase": "Ready"}}
    plan = make([wanted(tree, True, **MERGE)], given({**live(), "status": {"phase": "New"}}))
    assert plan.render().splitlines() == [
        "patch ConfigMap default/a: its status differs from the wanted one",
        '    ~ /status/phase: "New" -> "Ready"',
    ]
