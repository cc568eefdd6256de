"""The plan of an apply set: the action for each object, and its reason.

A plan is a pure function of the wanted objects, the live objects and the inventory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from setpoint.flow import diff
from setpoint.flow.desired_object import Desired
from setpoint.flow.ignore import drop_ignored_fields
from setpoint.flow.immutable_fields import must_replace
from setpoint.flow.inventory import Identity, Inventory, InventoryEntry
from setpoint.flow.marks import MANAGED_BY, is_kept, set_of
from setpoint.flow.order import rank
from setpoint.flow.policy import Adopt, ApplySetPolicy, How, Mode, Replace
from setpoint.merge.equality import equal
from setpoint.objects import meta, owners
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object


class Action(Enum):
    """The action for an object."""

    CREATE = "create"
    APPLY = "apply"
    UPDATE = "update"
    PATCH = "patch"
    REPLACE = "replace"
    # The object is as wanted.
    KEEP = "keep"
    # The object cannot be written before its deletion is complete.
    WAIT = "wait"
    # The object is not created, because its owner is terminating.
    SKIP = "skip"
    # The object must not be written: another owner has it.
    REFUSE = "refuse"
    PRUNE = "prune"
    # The object is not wanted any more, but stays for now.
    LEAVE = "leave"
    # The object does not belong to the set: only its inventory entry is removed.
    FORGET = "forget"


WRITES = frozenset((Action.CREATE, Action.APPLY, Action.UPDATE, Action.PATCH, Action.REPLACE))
_AS_WANTED = "up to date"
_OF_MODE = {Mode.APPLY: Action.APPLY, Mode.UPDATE: Action.UPDATE, Mode.MERGE: Action.PATCH}


class PlanStep(NamedTuple):
    """The action for one object."""

    action: Action
    identity: Identity
    gvk: GroupVersionKind
    reason: str
    how: How = How()
    # The object to write, and the live one.
    wanted: Object | None = None
    live: Object | None = None
    # The resource version that the write is conditional on; empty: unconditional.
    only_version: str = ""
    # The status to write to the status subresource; None: no status to write.
    status: Object | None = None
    # True if the object is as wanted except for its status.
    status_only: bool = False
    # The inventory entry of an object to prune or leave.
    entry: InventoryEntry | None = None

    def __str__(self) -> str:
        return f"{self.action.value} {self.identity}: {self.reason}"


class PlanInput(NamedTuple):
    """The input of a plan."""

    set_id: str
    manager: str
    owner: Object | None
    policy: ApplySetPolicy
    inventory: Inventory
    # The live objects among the wanted ones and the inventory.
    live: Mapping[Identity, Object]
    now: datetime
    # Kinds of the inventory that the server does not serve at present.
    unserved: frozenset[GroupVersionKind] = frozenset()
    # Returns True if exactly this object was found to be as wanted in exactly that version.
    is_applied: Callable[[Desired, str], bool] = lambda desired, version: False


class Plan(NamedTuple):
    """The actions in order."""

    steps: Sequence[PlanStep]
    manager: str
    # Why no object is pruned although some should be; empty if pruning is not withheld.
    withheld: str = ""
    # The seconds until the grace period of an object ends; None without one.
    again_after: float | None = None

    def of(self, *actions: Action) -> list[PlanStep]:
        return [step for step in self.steps if step.action in actions]

    @property
    def prunes(self) -> list[PlanStep]:
        return self.of(Action.PRUNE)

    @property
    def is_empty(self) -> bool:
        """True if there is no write and no deletion."""
        return not any(step.action in WRITES or step.action is Action.PRUNE for step in self.steps)

    def render(self) -> str:
        """Returns the plan as text: each step except unchanged objects, with the changed fields."""
        lines = []
        for step in self.steps:
            if step.action is Action.KEEP:
                continue
            lines.append(str(step))
            if step.action in WRITES and step.wanted is not None:
                wanted = step.wanted if step.status is None else {**step.wanted, "status": step.status}
                lines += [f"    {change}" for change in diff.changes(wanted, step.live, self.manager)]
        if self.withheld:
            lines.append(self.withheld)
        return "\n".join(lines or ["nothing to do"])


def make(desired: Sequence[Desired], plan_input: PlanInput) -> Plan:
    """Returns the plan for the wanted objects, which are in order, and for those no longer wanted."""
    rest = without([each.identity for each in desired], plan_input)
    return rest._replace(steps=[*(step_for(each, plan_input) for each in desired), *rest.steps])


def without(wanted: Iterable[Identity], plan_input: PlanInput) -> Plan:
    """Returns the plan for the objects that are no longer wanted."""
    known = set(wanted)
    rest = sorted((identity for identity in plan_input.inventory if identity not in known), reverse=True)
    if not rest:
        return Plan([], plan_input.manager)
    rest.sort(key=lambda identity: -rank(identity.group_kind))
    wanted_uids = {meta.uid(plan_input.live[identity]) for identity in known if identity in plan_input.live}
    unwanted = [_unwanted(plan_input.inventory[identity], plan_input, wanted_uids) for identity in rest]
    prunes = sum(step.action is Action.PRUNE for step in unwanted)
    withheld, limit = "", plan_input.policy.prune.limit
    if limit is not None and prunes > limit:
        withheld = f"{prunes} objects would be pruned, more than the limit of {limit}: pruning is withheld"
        unwanted = [
            step._replace(action=Action.LEAVE, reason=withheld) if step.action is Action.PRUNE else step
            for step in unwanted
        ]
    return Plan(unwanted, plan_input.manager, withheld, _again_after(unwanted, plan_input))


def step_for(desired: Desired, plan_input: PlanInput) -> PlanStep:
    """Returns the step for one wanted object."""
    live, how = plan_input.live.get(desired.identity), desired.how
    if live is not None and plan_input.is_applied(desired, meta.resource_version(live)):
        return PlanStep(Action.KEEP, desired.identity, desired.gvk, _AS_WANTED, how, live=live)

    def step(action: Action, reason: str, wanted: Object | None = None, only_version: str = "") -> PlanStep:
        return PlanStep(action, desired.identity, desired.gvk, reason, how, wanted, live, only_version, status)

    status = desired.status

    owner_is_going = plan_input.owner is not None and meta.is_being_deleted(plan_input.owner)
    if live is None:
        if owner_is_going:
            return step(Action.SKIP, "its owner is being deleted")
        return step(Action.CREATE, "does not exist", _with_owner(desired, None, plan_input))
    if foreign := _why_foreign(desired, live, plan_input):
        return step(Action.REFUSE, foreign)
    if meta.is_being_deleted(live):
        return step(Action.WAIT, "being deleted; recreated afterwards")
    wanted, says_live = _without_ignored(_with_owner(desired, live, plan_input), live, desired, plan_input)
    version = meta.resource_version(live)
    if status is not None and _status_is_so(desired, status, live, plan_input.manager):
        status = None
    only = (desired.precondition_version or version) if how.lock else version if says_live else ""
    if _is_so(desired, wanted, live, plan_input.manager):
        if status is None:
            return step(Action.KEEP, _AS_WANTED, wanted)
        reason = "its status differs from the wanted one"
        return step(_OF_MODE[how.mode or Mode.APPLY], reason, wanted, only)._replace(status_only=True)
    if how.replace not in (None, Replace.NEVER) and (field := must_replace(desired.identity.group_kind, wanted, live)):
        return step(Action.REPLACE, f"{field} cannot be changed", wanted)
    return step(_OF_MODE[how.mode or Mode.APPLY], "differs from the wanted object", wanted, only)


def _is_so(desired: Desired, wanted: Object, live: Object, manager: str) -> bool:
    if desired.how.mode is Mode.UPDATE:
        return equal(replaced(wanted, live), live)
    if desired.how.mode is Mode.MERGE:
        return diff.contains(live, merged(wanted, live))
    return diff.is_applied(wanted, live, manager)


def _status_is_so(desired: Desired, status: Object, live: Object, manager: str) -> bool:
    if desired.how.mode is Mode.UPDATE:
        return equal(live.get("status"), status)
    if desired.how.mode is Mode.MERGE:
        return diff.contains(live.get("status") or {}, status)
    return diff.is_status_applied(status, live, manager)


def replaced(wanted: Object, live: Object) -> Object:
    """Returns the body of an update: the wanted object, with the live finalizers, other owners and status."""
    metadata = {**live["metadata"], "labels": {}, "annotations": {}, **merged(wanted, live)["metadata"]}
    for empty in [name for name in ("labels", "annotations") if not metadata[name]]:
        del metadata[empty]
    rest = {"status": live["status"]} if "status" in live else {}
    return {**rest, **wanted, "metadata": metadata}


def merged(wanted: Object, live: Object) -> Object:
    """Returns the body of a merge patch: the wanted object, with the finalizers and owners of others."""
    metadata = dict(wanted["metadata"])
    if "finalizers" in metadata:
        others = [item for item in meta.finalizers(live) if item not in metadata["finalizers"]]
        metadata["finalizers"] = [*others, *metadata["finalizers"]]
    if own := metadata.get("ownerReferences"):
        rest = [item for item in meta.owner_references(live) if not any(owners.same_owner(item, one) for one in own)]
        metadata["ownerReferences"] = [*rest, *own]
    return {**wanted, "metadata": metadata}


def adopts(step: PlanStep, plan_input: PlanInput) -> bool:
    """Returns True if a step adds the reference to the owner of the set to an existing object."""
    if step.live is None or step.wanted is None:
        return False

    def is_owned(tree: Object) -> bool:
        return any(_is_owner(item, plan_input) for item in meta.owner_references(tree))

    return is_owned(step.wanted) and not is_owned(step.live)


def _with_owner(desired: Desired, live: Object | None, plan_input: PlanInput) -> Object:
    """Returns the wanted object with an owner reference, if wanted and permitted.

    The owner becomes the controller, unless the object has another one.
    """
    tree, owner = desired.tree, plan_input.owner
    if owner is None or not desired.how.owner_references:
        return tree
    where = meta.namespace(owner)
    if where and where != desired.identity.namespace:
        return tree
    mine = owners.controller_reference(owner)
    references = [item for item in meta.owner_references(tree) if not owners.same_owner(item, mine)]
    other = owners.controller_of(live or {}) or next((item for item in references if item.get("controller")), None)
    if other is not None and not owners.same_owner(other, mine):
        mine = owners.owner_reference(owner)
    return {**tree, "metadata": {**tree["metadata"], "ownerReferences": [*references, mine]}}


def _without_ignored(wanted: Object, live: Object, desired: Desired, plan_input: PlanInput) -> tuple[Object, bool]:
    """Returns the wanted object without ignored fields, and True if current values were used for some."""
    pointers = plan_input.policy.ignore.get(desired.identity.group_kind, ())
    if not pointers:
        return wanted, False
    wanted, mode = thaw(wanted), desired.how.mode or Mode.APPLY
    fields = (diff.applied_fields(live, plan_input.manager) or {}) if mode is Mode.APPLY else {}
    says = [drop_ignored_fields(pointer, wanted, live, fields, mode) for pointer in pointers]
    return wanted, any(says)


def _is_own(entry: InventoryEntry | None, live: Object, plan_input: PlanInput) -> bool:
    """Returns True if an object belongs to the set: by its label or, without a label, by UID or controller."""
    label = set_of(live)
    if label:
        return label == plan_input.set_id
    if entry is not None and entry.uid and entry.uid == meta.uid(live):
        return True
    return plan_input.owner is not None and owners.is_controlled_by(live, plan_input.owner)


def _why_foreign(desired: Desired, live: Object, plan_input: PlanInput) -> str:
    """Returns why an object must not be adopted by the set; empty if permitted, or already a member."""
    if _is_own(plan_input.inventory.get(desired.identity), live, plan_input) or desired.how.adopt is Adopt.ALWAYS:
        return ""
    if desired.how.adopt is Adopt.NEVER:
        return "already exists outside this set, which does not adopt objects"
    if other := set_of(live):
        return f"belongs to another set, {other}"
    controller = owners.controller_of(live)
    if controller is not None and not _is_owner(controller, plan_input):
        return f"controlled by {controller.get('kind')} {controller.get('name')}"
    tool = meta.labels(live).get(MANAGED_BY, "")
    if tool and tool != meta.labels(desired.tree).get(MANAGED_BY):
        return f"managed by {tool} (label {MANAGED_BY})"
    return ""


def _is_owner(reference: Object, plan_input: PlanInput) -> bool:
    return plan_input.owner is not None and owners.same_owner(reference, owners.owner_reference(plan_input.owner))


def _unwanted(entry: InventoryEntry, plan_input: PlanInput, wanted_uids: set[str]) -> PlanStep:
    """Returns the step for an inventory object that is not wanted."""
    live, prune = plan_input.live.get(entry.identity), plan_input.policy.prune

    def step(action: Action, reason: str) -> PlanStep:
        return PlanStep(action, entry.identity, entry.gvk, reason, live=live, entry=entry)

    if entry.gvk in plan_input.unserved:
        return step(Action.LEAVE, "its kind is not served at present")
    if live is None:
        return step(Action.FORGET, "already deleted")
    if meta.uid(live) in wanted_uids:
        return step(Action.FORGET, "wanted under another kind")
    if not _is_own(entry, live, plan_input):
        return step(Action.FORGET, "does not belong to this set")
    controller = owners.controller_of(live)
    if controller is not None and not _is_owner(controller, plan_input):
        return step(Action.FORGET, f"controlled by {controller.get('kind')} {controller.get('name')}")
    if meta.is_being_deleted(live):
        return step(Action.LEAVE, "being deleted")
    if is_kept(live):
        return step(Action.LEAVE, "marked as not prunable")
    if not prune.enabled:
        return step(Action.LEAVE, "pruning is disabled")
    if prune.grace and _seconds_left(entry, plan_input) > 0:
        return step(Action.LEAVE, f"grace period of {prune.grace:g} s has not passed")
    return step(Action.PRUNE, "no longer wanted")


def _seconds_left(entry: InventoryEntry, plan_input: PlanInput) -> float:
    """Returns the remaining grace period of an object in seconds."""
    since = parse_time(entry.unwanted_since) if entry.unwanted_since else plan_input.now
    return plan_input.policy.prune.grace - (plan_input.now - since).total_seconds()


def _again_after(unwanted: Sequence[PlanStep], plan_input: PlanInput) -> float | None:
    if not plan_input.policy.prune.grace:
        return None
    left = [
        _seconds_left(step.entry, plan_input)
        for step in unwanted
        if step.entry is not None and step.action is Action.LEAVE and step.reason.startswith("grace period")
    ]
    return min(left, default=None)
