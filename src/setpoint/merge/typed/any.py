"""Values of any form: the type is deduced from each value.

If two values have different forms, each is treated by its own type: the paths of the old value are removed, the paths
of the new one are added, and a value that is a leaf on either side counts as modified.
"""

from setpoint.merge.fieldset import LEAF, MEMBER, FieldSet
from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Type
from setpoint.merge.typed.scalar import UNTYPED
from setpoint.objects.tree import Json


class AnyType(Type):
    """A scalar, a list or a map, the last two by `as_list` and `as_map`; both are set after construction."""

    __slots__ = ("as_list", "as_map", "opaque")

    leaf = str

    as_list: ListType
    as_map: MapType

    def __init__(self, *, int_or_string: bool = False) -> None:
        self.exact = False
        self.exact_when_valid = int_or_string
        self.opaque = False
        self.collapses = True

    def _deduce(self, value: Json) -> Type:
        """Returns the type of a value; null is a map without entries."""
        kind = type(value)
        if kind is dict or value is None:
            return self.as_map
        return self.as_list if kind is list else UNTYPED

    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        kind = type(value)
        if self.opaque or (kind is not dict and kind is not list and value is not None):
            return LEAF
        return self._deduce(value).field_set(value, strict)

    def paths(self, value: Json) -> FieldSet:
        return self._deduce(value).paths(value)

    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        before, after = self._deduce(old), self._deduce(new)
        before.compare(element, old, new, removed, modified, added)
        if after is not before:
            after.compare(element, old, new, removed, modified, added)

    def merge(self, live: Json, config: Json) -> Json:
        return self._deduce(config).merge(live, config)

    def remove(self, value: Json, fields: FieldSet) -> Json:
        return self._deduce(value).remove(value, fields)

    def fields_to_remove(
        self, value: Json, last: FieldSet, owners: list[FieldSet], dropped: bool, is_container_removed: bool
    ) -> FieldSet | None:
        return self._deduce(value).fields_to_remove(value, last, owners, dropped, is_container_removed)

    def extract(self, value: Json, fields: FieldSet) -> Json:
        return self._deduce(value).extract(value, fields)

    def named(self, fields: FieldSet) -> FieldSet:
        elements = iter(fields)
        first = next(elements, "")
        if first == MEMBER:
            first = next(elements, "")
        return self.as_list.named(fields) if first[:1] == "k" else self.as_map.named(fields)

    def reconcile(self, fields: FieldSet) -> FieldSet:
        return self.as_map.reconcile(fields)


def _untyped() -> AnyType:
    """Returns the type of any value that is owned and merged as a whole."""
    kind = AnyType()
    kind.opaque = True
    kind.as_list = ListType(kind, atomic=True)
    kind.as_map = MapType(atomic=True)
    kind.as_map.element = kind
    for container in (kind.as_list, kind.as_map):
        container.exact = container.exact_when_valid = False
    return kind


def _deduced() -> AnyType:
    """Returns the type of any value with maps merged by entry and lists as a whole."""
    kind = AnyType()
    kind.as_list = ListType(ATOMIC, atomic=True)
    kind.as_map = MapType()
    kind.as_map.element = kind
    kind.as_map.deduced = True
    for container in (kind.as_list, kind.as_map):
        container.exact = container.exact_when_valid = False
    return kind


ATOMIC = _untyped()
DEDUCED = _deduced()
