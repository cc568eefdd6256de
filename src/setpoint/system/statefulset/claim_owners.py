"""The owners of the claims of a stateful set, by which the garbage collector keeps to the retention policy.

A claim that must disappear with its set has the set as its controller. A claim that must disappear after scaling down
has its pod as its controller as soon as the pod is beyond the desired number.
"""

from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.statefulset.identity import is_in_range


def _policy(stateful_set: Object) -> tuple[bool, bool]:
    """Returns True for the deletion of claims with the set, and True for their deletion after scaling down."""
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenDeleted") == "Delete", policy.get("whenScaled") == "Delete"


def deletes_when_scaled(stateful_set: Object) -> bool:
    """Returns True if scaling down deletes claims."""
    return _policy(stateful_set)[1]


def _wanted(stateful_set: Object, pod: Object) -> tuple[bool, bool]:
    """Returns True if the set must own a claim, and True if the pod must."""
    with_set, when_scaled = _policy(stateful_set)
    pod_owns = when_scaled and not is_in_range(stateful_set, pod)
    return with_set and not pod_owns, pod_owns


def _references(claim: Object) -> list[Object]:
    return list(claim["metadata"].get("ownerReferences") or ())


def _names(reference: Object, owner: Object) -> bool:
    """Returns True if a reference has the kind and the name of an owner, whatever the uid."""
    kind = reference["apiVersion"], reference["kind"], reference["name"]
    return kind == (owner["apiVersion"], owner["kind"], owner["metadata"]["name"])


def _uid(owner: Object) -> str:
    found: str = owner["metadata"].get("uid", "")
    return found


def _is_owned(claim: Object, owner: Object) -> bool:
    return any(each["uid"] == _uid(owner) for each in _references(claim))


def is_stale(claim: Object, owner: Object) -> bool:
    """Returns True if an earlier object with the name of the owner owns the claim."""
    return any(_names(each, owner) and each["uid"] != _uid(owner) for each in _references(claim))


def has_foreign_controller(claim: Object, stateful_set: Object, pod: Object) -> bool:
    """Returns True if another object controls a claim to which a policy applies."""
    if not any(_policy(stateful_set)):
        return False
    if is_stale(claim, stateful_set) or is_stale(claim, pod):
        return True
    own = {_uid(stateful_set), _uid(pod)}
    return any(each.get("controller") and each["uid"] not in own for each in _references(claim))


def is_up_to_date(claim: Object, stateful_set: Object, pod: Object) -> bool:
    """Returns True if the owners of a claim are those of the policy, or cannot be changed."""
    if is_stale(claim, stateful_set) or is_stale(claim, pod):
        return True
    found = _is_owned(claim, stateful_set), _is_owned(claim, pod)
    if has_foreign_controller(claim, stateful_set, pod):
        return not any(found)
    own = {_uid(stateful_set), _uid(pod)}
    if any(each["uid"] in own and not each.get("controller") for each in _references(claim)):
        return False
    return found == _wanted(stateful_set, pod)


def new_owners(claim: Object, stateful_set: Object, pod: Object) -> list[Object]:
    """Returns the owners of a claim by the policy; foreign ones stay."""
    kept = [each for each in _references(claim) if not _names(each, stateful_set) and not _names(each, pod)]
    if has_foreign_controller(claim, stateful_set, pod):
        return kept
    wanted = zip(_wanted(stateful_set, pod), (stateful_set, pod), strict=True)
    return kept + [controller_reference(owner) for owns, owner in wanted if owns]
