"""Suspension: an object that asks for it is left alone by every controller, whatever that is made of.

`kubectl annotate app shop setpoint.dev/suspend=true`, or the label of the same name, has nothing done for an object any
more: nothing is written, no finalizer comes or goes. That is told by its condition `Suspended`, an event and the
metrics, and it ends when the mark goes. Conditions of built-in kinds are for their own controllers to write.
"""

from typing import Any

from setpoint.cache.entry import Held
from setpoint.client.kinds import KindRef
from setpoint.controller.predicate import annotations_of

# The label or annotation that has an object left alone while it is "true".
SUSPEND = "setpoint.dev/suspend"
SUSPENDED, READY = "Suspended", "Ready"


def asks(held: Held[Any] | None) -> str:
    """Why an object is to be left alone, by its marks; empty: it is not."""
    if held is None:
        return ""
    if (held.meta.labels or {}).get(SUSPEND) == "true":
        return f"the label {SUSPEND} is true"
    return f"the annotation {SUSPEND} is true" if annotations_of(held).get(SUSPEND) == "true" else ""


def is_reported(kind: KindRef | None) -> bool:
    """Whether objects of a kind tell of it: custom ones do."""
    return kind is not None and "." in kind.gvk.group and not kind.gvk.group.endswith(".k8s.io")
