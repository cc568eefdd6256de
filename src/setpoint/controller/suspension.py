"""Suspension: every controller ignores an object that is marked as suspended.

`kubectl annotate app shop setpoint.dev/suspend=true`, or the label of the same name, suspends an object: controllers
write no changes, and neither add nor remove finalizers. The condition `Suspended`, an event and the metrics report the
suspension, which ends when the mark is removed. Conditions are written for custom kinds only, because those of built-in
kinds belong to their own controllers.
"""

from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import KindRef
from setpoint.controller.predicate import annotations_of

# The label or annotation that suspends an object while its value is "true".
SUSPEND = "setpoint.dev/suspend"
SUSPENDED, READY = "Suspended", "Ready"


def asks(held: CachedObject[Any] | None) -> str:
    """Returns why an object is suspended, by its label or annotation; empty: not suspended."""
    if held is None:
        return ""
    if (held.meta.labels or {}).get(SUSPEND) == "true":
        return f"the label {SUSPEND} is true"
    return f"the annotation {SUSPEND} is true" if annotations_of(held).get(SUSPEND) == "true" else ""


def is_reported(kind: KindRef | None) -> bool:
    """Returns True if the suspension is reported in the status of objects of a kind: custom kinds only."""
    return kind is not None and "." in kind.gvk.group and not kind.gvk.group.endswith(".k8s.io")
