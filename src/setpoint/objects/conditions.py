"""Conditions: the list of `type`, `status`, `reason`, `message` in the status of an object.

`lastTransitionTime` changes only when the status changes, and an unchanged condition is not written, so that a
controller that reports the same state again does not make a new revision.
"""

from collections.abc import Sequence

from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def find(conditions: list[Object], type_: str) -> Object | None:
    """Returns the condition of that type, or None."""
    return next((condition for condition in conditions if condition.get("type") == type_), None)


def of(tree: Object, *types: str) -> Object:
    """Returns the object's condition of the first of these types that is present; an empty object if none is."""
    listed = [each for each in (tree.get("status") or {}).get("conditions") or () if isinstance(each, dict)]
    return next((found for type_ in types if (found := find(listed, type_)) is not None), {})


def is_true(conditions: list[Object], type_: str) -> bool:
    return (find(conditions, type_) or {}).get("status") == TRUE


def is_false(conditions: list[Object], type_: str) -> bool:
    return (find(conditions, type_) or {}).get("status") == FALSE


def set_condition(
    conditions: list[Object],
    clock: Clock,
    *,
    type: str,  # noqa: A002 - the field's own name
    status: str,
    reason: str,
    message: str = "",
    observed_generation: int = 0,
) -> bool:
    """Adds or updates a condition in the list; returns True if the list changed."""
    wanted: Object = {"type": type, "status": status}
    if observed_generation:
        wanted["observedGeneration"] = observed_generation
    current = find(conditions, type)
    flips = current is None or current.get("status") != status or not current.get("lastTransitionTime")
    wanted["lastTransitionTime"] = (
        format_time(clock.now()) if flips or current is None else current["lastTransitionTime"]
    )
    wanted |= {"reason": reason, "message": message}
    if current is None:
        conditions.append(wanted)
        return True
    if current == wanted:
        return False
    current.clear()
    current.update(wanted)
    return True


def rebase(theirs: Sequence[Object], before: Sequence[Object], after: Sequence[Object]) -> list[Object]:
    """Applies the changes from `before` to `after` to a list that other writers have changed meanwhile: conditions that
    the changes do not touch stay as in `theirs`."""
    was, now = ({each.get("type"): each for each in listed} for listed in (before, after))
    ours = {kind for kind in {*was, *now} if was.get(kind) != now.get(kind)}
    found = [now.get(each.get("type")) if each.get("type") in ours else each for each in theirs]
    known = {each.get("type") for each in theirs}
    found += [each for each in after if each.get("type") in ours - known]
    return [each for each in found if each is not None]


def remove(conditions: list[Object], type_: str) -> bool:
    """Removes the condition of that type from the list; returns True if there was one."""
    kept = [condition for condition in conditions if condition.get("type") != type_]
    changed = len(kept) != len(conditions)
    conditions[:] = kept
    return changed
