"""The base of most strategies: the same rules apply to new and changed objects, plus rules for immutable fields."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from setpoint.merge.equality import identical
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gotext import RawJson, compact_json
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import lookup
from setpoint.server.registry.kinds.validation.values import IMMUTABLE
from setpoint.server.registry.strategy import Strategy

# The fields that an apply never owns, for kinds whose /status does not change the metadata.
STATUS_ALONE: Mapping[str, Sequence[str]] = {"": ("status",), "status": ("spec", "metadata")}


_MAPS = ("labels", "annotations", "matchLabels", "nodeSelector")


class ValidatingStrategy(Strategy):
    """A strategy with one set of rules (`check`) for new and changed objects, and one for the status."""

    # The paths of immutable fields.
    immutable: ClassVar[Sequence[str]] = ()
    # The Go types of those fields that are structs, as `struct_value` takes them, or `""` for texts.
    shown_as: ClassVar[Mapping[str, str]] = {}
    # True if an update reports changes of immutable fields before other errors.
    reports_changes_first: ClassVar[bool] = False
    # The same, for fields whose error does not show the rejected value (the API takes the rule from the type).
    immutable_unshown: ClassVar[Sequence[str]] = ()

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        """Returns the errors of an object; `old` is the stored object, None on create."""
        return []

    def declared(self, tree: Object, old: Object | None) -> list[FieldError]:
        """Returns the errors of the rules that the API declares with its types, which come last."""
        return []

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        """Returns the errors of an object that is written through /status."""
        return []

    def validate(self, tree: Object) -> list[FieldError]:
        return self.check(tree, None) + self.declared(tree, None)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return self.check_status(tree, old)
        checked, changed = self.check(tree, old), self.changes(tree, old)
        found = changed + checked if self.reports_changes_first else checked + changed
        return found + self.declared(tree, old)

    def changes(self, tree: Object, old: Object) -> list[FieldError]:
        """Returns the errors for changes of immutable fields."""
        found: list[FieldError] = []
        for path in self.immutable:
            value, before = lookup(tree, *path.split(".")), lookup(old, *path.split("."))
            found += immutable(value, before, path, self.shown_as.get(path))
        for path in self.immutable_unshown:
            found += immutable_unshown(tree, old, path)
        return found


def drop_disabled(tree: Object, old: Object | None, *paths: str) -> None:
    """Removes, in place, fields of features that are off, unless the stored object has them."""
    for path in paths:
        *parents, name = path.split(".")
        parent = lookup(tree, *parents)
        if parent and name in parent and (old is None or lookup(old, *parents, name) is None):
            del parent[name]


def immutable(value: Json, old: Json, path: str, shown_as: str | None = None) -> list[FieldError]:
    """Returns an error if a field changed. An empty value equals an absent one, except for a struct behind a pointer.
    `shown_as`: see `struct_value`."""
    is_pointer = shown_as is not None and shown_as.startswith("*")
    if not differ(value, old) and not (is_pointer and (value is None) is not (old is None)):
        return []
    return [invalid(path, value if shown_as is None else struct_value(shown_as, value), IMMUTABLE)]


def immutable_unshown(tree: Object, old: Object, path: str) -> list[FieldError]:
    """Returns an error without the rejected value if a field changed."""
    names = path.split(".")
    return [invalid(path, None, IMMUTABLE)] if differ(lookup(tree, *names), lookup(old, *names)) else []


def differ(value: Json, old: Json) -> bool:
    """Returns True if two values differ. An empty list or map equals an absent one."""
    if identical(value, old) or (_is_empty(value) and _is_empty(old)):
        return False
    return not identical(_without_empty_lists(value), _without_empty_lists(old))


def _without_empty_lists(value: Json) -> Json:
    """Returns a value without empty lists, nulls and empty labels inside, which equal absent ones. Other empty objects
    are structs."""
    if type(value) is dict:
        return {
            name: _without_empty_lists(inner)
            for name, inner in value.items()
            if inner is not None and inner != [] and not (inner == {} and name in _MAPS)
        }
    return [_without_empty_lists(inner) for inner in value] if type(value) is list else value


def _is_empty(value: Json) -> bool:
    return value is None or value == "" or value == [] or value == {}


def struct_text(**fields: Json) -> RawJson:
    """Returns a value in the form of the API's internal struct, with its field order, as errors show the value."""
    return RawJson("{" + ",".join(f'"{name}":{_json(value)}' for name, value in fields.items()) + "}")


def _json(value: Json) -> str:
    return value if type(value) is RawJson else compact_json(value)
