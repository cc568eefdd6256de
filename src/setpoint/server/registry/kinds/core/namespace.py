"""The rules of Namespaces, which are removed only when all objects in them are deleted."""

from collections.abc import Sequence
from typing import ClassVar

from setpoint.objects.clock import Clock
from setpoint.objects.field import FieldError, index, invalid
from setpoint.objects.names import dns1123_label
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import field, selectable
from setpoint.server.registry.kinds.printers.columns import AGE, NAME
from setpoint.server.registry.kinds.validation.values import qualified
from setpoint.server.registry.strategy import Column, Strategy

_LABEL = "kubernetes.io/metadata.name"
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


class NamespaceStrategy(Strategy):
    name_on_update = "before"
    has_named_fields = True
    returns_deleted_object = True
    reset_fields: ClassVar = {**Strategy.reset_fields, "finalize": ("status",)}
    selectable_fields: ClassVar = {"status.phase": selectable("status", "phase")}
    precondition_text = "Precondition failed"
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Status", field("status", "phase")),
        AGE,
    )

    def name_errors(self, name: str, prefix: bool) -> Sequence[str]:
        return dns1123_label(name, prefix)

    def default(self, tree: Object) -> None:
        _label_with_name(tree)
        tree.setdefault("spec", {})
        tree.setdefault("status", {}).setdefault("phase", "Active")

    def prepare_for_create(self, tree: Object) -> None:
        tree["status"] = {"phase": "Active"}
        finalizers = tree["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        if subresource == "finalize":
            tree["status"] = old.get("status") or {}
        elif not subresource:
            stored = old.get("spec") or {}
            if "finalizers" in stored:
                tree["spec"]["finalizers"] = stored["finalizers"]
            else:
                tree["spec"].pop("finalizers", None)

    def validate(self, tree: Object) -> list[FieldError]:
        return [error for name in tree["spec"].get("finalizers") or () for error in _finalizer(name, "spec.finalizers")]

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "finalize":
            names = enumerate(tree["spec"].get("finalizers") or ())
            return [error for at, name in names for error in _finalizer(name, index("spec.finalizers", at))]
        if subresource == "status":
            return _validate_phase(tree)
        return []

    def complete_named(self, tree: Object) -> None:
        _label_with_name(tree)

    def own_finalizers(self, tree: Object) -> Sequence[str]:
        return (tree.get("spec") or {}).get("finalizers") or ()

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        tree["metadata"]["deletionTimestamp"] = format_time(clock.now())
        tree.setdefault("status", {})["phase"] = "Terminating"
        return tree


def _label_with_name(tree: Object) -> None:
    name = tree["metadata"].get("name")
    if name:
        tree["metadata"].setdefault("labels", {})[_LABEL] = name


def _finalizer(name: str, path: str) -> list[FieldError]:
    found = qualified(name, path)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        found.append(invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
    return found


def _validate_phase(tree: Object) -> list[FieldError]:
    phase = (tree.get("status") or {}).get("phase") or ""
    deleting = "deletionTimestamp" in tree["metadata"]
    wanted, when = ("Terminating", "not empty") if deleting else ("Active", "empty")
    if phase == wanted:
        return []
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {when}")]
