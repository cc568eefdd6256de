"""The parts of an app as shown in its view: kind and dependencies of each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import PART_LABEL

if TYPE_CHECKING:
    from setpoint.app.model import AppFile

# The kinds of parts.
_PARTS = ("Container", "Executable", "ExecutableReplicaSet", "Task")


class After(NamedTuple):
    """A dependency on another part: that part must be ready or done, or only `started`."""

    name: str
    started: bool = False


class Part(NamedTuple):
    """A service or task. `detail` is additional information, such as an image."""

    name: str
    kind: str = "process"
    detail: str = ""
    after: tuple[After, ...] = ()


def parts_of(app: "AppFile") -> tuple[Part, ...]:
    """Returns the automatically started parts of an app, in start order."""
    from setpoint.app import forms

    automatic = forms.automatic(app)
    found = [
        Part(
            name,
            "task" if name in app.tasks else "container" if forms.is_container(workload) else "process",
            workload.image or ("(built here)" if workload.build else ""),
            tuple(After(wait.name, wait.condition == "Started") for wait in forms.waits(workload, app)),
        )
        for name, workload in forms.everything(app)
        if name in app.services or name in automatic
    ]
    return in_order(found)


def in_order(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Returns the parts sorted so that each comes after its dependencies; otherwise keeps the order."""
    names = {part.name for part in parts}
    left, placed = list(parts), dict[str, Part]()
    while left:
        free = (part for part in left if all(each.name in placed or each.name not in names for each in part.after))
        # Cycles do not occur in app files; any part of one may come first.
        first = next(free, left[0])
        left.remove(first)
        placed[first.name] = first
    return tuple(placed.values())


def part_name(tree: Object) -> str:
    """Returns the name of the part that an object belongs to, or an empty string."""
    return meta.labels(tree).get(PART_LABEL, "")


def part_of(tree: Object) -> Part:
    """Returns the part for an object that the app file does not define."""
    kind, spec = tree["kind"], tree.get("spec") or {}
    word = {"Container": "container", "Task": "task"}.get(kind, "process")
    inner = (spec.get("template") or {}).get("spec") or spec
    after = tuple(
        After(each["name"], each.get("condition") == "Started")
        for each in (spec.get("dependsOn") or inner.get("dependsOn") or ())
        if each["kind"] in _PARTS
    )
    return Part(part_name(tree), word, spec.get("image", ""), after)
