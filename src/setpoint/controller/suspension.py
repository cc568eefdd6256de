"""Suspension: every controller ignores an object that is marked as suspended.

`kubectl annotate app shop setpoint.dev/suspend=true`, or the label of the same name, suspends an object: controllers
write no changes, and neither add nor remove finalizers. The condition `Suspended`, an event and the metrics report the
suspension, which ends when the mark is removed. Conditions are written for custom kinds only, because those of built-in
kinds belong to their own controllers.
"""

from collections.abc import Callable, Iterable
from typing import Any

from setpoint.cache.entry import CachedObject

# The label or annotation that suspends an object while its value is "true".
SUSPEND = "setpoint.dev/suspend"
SUSPENDED, READY = "Suspended", "Ready"
# The condition of an object with a child that cannot be written.
CHILDREN_APPLIED = "ChildrenApplied"


def suspension_reason(entry: CachedObject[Any] | None, suspend: Callable[[Any], str] | None) -> str:
    """Returns why an object is suspended, by its label or annotation, or by the function `suspend` of a controller;
    empty: not suspended."""
    if entry is None:
        return ""
    if (entry.meta.labels or {}).get(SUSPEND) == "true":
        return f"the label {SUSPEND} is true"
    if entry.annotations.get(SUSPEND) == "true":
        return f"the annotation {SUSPEND} is true"
    return suspend(entry.object) if suspend is not None else ""


def condition_types(obj: Any) -> list[Any]:
    """Returns the types of the conditions in the status of an object, typed or untyped."""
    status = obj.get("status") if isinstance(obj, dict) else getattr(obj, "status", None)
    conditions = status.get("conditions") if isinstance(status, dict) else getattr(status, "conditions", None)
    return [_type(each) for each in conditions] if isinstance(conditions, Iterable) else []


def _type(condition: Any) -> Any:
    return condition.get("type") if isinstance(condition, dict) else getattr(condition, "type", None)
