"""The shape most kinds' rules have: what holds for a new object holds for a changed one, beside what may not change."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gotext import RawJson, compact_json
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.validation.values import IMMUTABLE
from setpoint.server.registry.strategy import Strategy

# What an apply never owns, for kinds whose /status leaves the metadata alone.
STATUS_ALONE: Mapping[str, Sequence[str]] = {"": ("status",), "status": ("spec", "metadata")}


class Rules(Strategy):
    """A strategy with one set of rules (`check`) for new and changed objects, and one for statuses."""

    # The paths of fields that never change.
    immutable: ClassVar[Sequence[str]] = ()
    # The same where the API does not show the value that was refused (it takes the rule from the type, not from code).
    immutable_unshown: ClassVar[Sequence[str]] = ()

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        """What is wrong with an object; `old` is what it was, None for a new one."""
        return []

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        """What is wrong with an object that was written through /status."""
        return []

    def validate(self, tree: Object) -> list[FieldError]:
        return self.check(tree, None)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return self.check_status(tree, old)
        return self.check(tree, old) + self.changes(tree, old)

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        """What changed that may not."""
        found: list[FieldError] = []
        for path in self.immutable:
            found += immutable(lookup(tree, *path.split(".")), lookup(old, *path.split(".")), path)
        for path in self.immutable_unshown:
            if _differ(lookup(tree, *path.split(".")), lookup(old, *path.split("."))):
                found.append(invalid(path, None, IMMUTABLE))
        return found


def immutable(value: Json, old: Json, path: str) -> list[FieldError]:
    """An error if a field changed. What is empty is as good as missing."""
    return [invalid(path, value, IMMUTABLE)] if _differ(value, old) else []


def _differ(value: Json, old: Json) -> bool:
    return value != old and not (_is_empty(value) and _is_empty(old))


def _is_empty(value: Json) -> bool:
    return value is None or value == "" or value == [] or value == {}


def struct_text(**fields: Json) -> RawJson:
    """A value as the API's own struct has it, its fields in their order: what a refusal of the whole shows."""
    return RawJson("{" + ",".join(f'"{name}":{_json(value)}' for name, value in fields.items()) + "}")


def _json(value: Json) -> str:
    return value if type(value) is RawJson else compact_json(value)
