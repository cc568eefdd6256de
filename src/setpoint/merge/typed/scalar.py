"""Scalars: strings, numbers, booleans, and values that may be any of them. A scalar is owned and merged as a whole."""

from setpoint.merge.equality import equal
from setpoint.merge.fieldset import LEAF, FieldSet
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.objects.tree import Json

_ACCEPTED: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "numeric": (int, float),
    "boolean": (bool,),
    "untyped": (str, int, float, bool),
}
_LEAVES: dict[str, type | None] = {"string": str, "numeric": int, "boolean": bool, "untyped": str}


class ScalarType(Type):
    """A scalar of one kind: `string`, `numeric`, `boolean` or `untyped`."""

    __slots__ = ("accepted", "kind", "leaf")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.accepted = _ACCEPTED[kind]
        self.leaf = _LEAVES[kind]
        self.exact = kind != "untyped"
        self.exact_when_valid = True
        self.collapses = False

    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        if strict and value is not None and type(value) not in self.accepted:
            raise Mismatch
        return LEAF

    def paths(self, value: Json) -> FieldSet:
        return LEAF

    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        if not equal(old, new):
            modified[element] = LEAF

    def merge(self, live: Json, config: Json) -> Json:
        return live if equal(live, config) else config

    def remove(self, value: Json, fields: FieldSet) -> Json:
        return value

    def extract(self, value: Json, fields: FieldSet) -> Json:
        return value


STRING = ScalarType("string")
NUMERIC = ScalarType("numeric")
BOOLEAN = ScalarType("boolean")
UNTYPED = ScalarType("untyped")
