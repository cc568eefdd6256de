"""Which old value belongs to a new one, and whether it is the same: what ratcheting and `oldSelf` rest on.

Objects and maps correlate by key, lists of the type `map` by their keys; items of other lists do not correlate, and the
nearest value above them that does counts instead.
"""

from typing import Any, NamedTuple

from setpoint.objects.tree import Json
from setpoint.schema.cel.values import ABSENT
from setpoint.schema.openapi import Schema


class Pair(NamedTuple):
    """A value with its old value, under the schema of both."""

    value: Json
    old: Json
    schema: Schema

    def child(self, name: str) -> "Pair | None":
        """The pair under a key, or None if the key does not correlate."""
        value, old = self.value, self.old
        if not isinstance(value, dict) or not isinstance(old, dict) or name not in value or name not in old:
            return None
        schema = self.schema.properties.get(name)
        if schema is None:
            values = self.schema.additional_properties
            schema = values if isinstance(values, Schema) else None
        return None if schema is None else Pair(value[name], old[name], schema)

    def item(self, value: Json) -> "Pair | None":
        """The pair of an item of this list, or None if it does not correlate."""
        if not isinstance(self.old, list) or not isinstance(self.schema.items, Schema):
            return None
        old = find_item(self.schema, self.old, value)
        return None if old is ABSENT or old is None else Pair(value, old, self.schema.items)


class Correlation(NamedTuple):
    """Where a walk over an updated object stands: the pair here, or if there is none, the nearest one above."""

    current: Pair | None = None
    nearest: Pair | None = None

    def child(self, name: str) -> "Correlation":
        if self.current is None:
            return self
        if self.nearest is None and name in ("apiVersion", "kind"):
            return Correlation()
        return Correlation(self.current.child(name), self.current)

    def item(self, value: Json) -> "Correlation":
        return self if self.current is None else Correlation(self.current.item(value), self.current)

    def unchanged(self) -> bool:
        """Whether an error here was there before."""
        pair = self.current or self.nearest
        try:
            return pair is not None and _same(pair)
        except RecursionError:
            # Deeper than anyone looks: an error too many does less harm than one too few.
            return False


def _same(pair: Pair) -> bool:
    value, old = pair.value, pair.old
    if isinstance(value, dict) and isinstance(old, dict):
        if len(value) != len(old):
            return False
        pairs = [pair.child(name) for name in value]
        return all(found is not None and _same(found) for found in pairs)
    if isinstance(value, list) and isinstance(old, list):
        if len(value) != len(old):
            return False
        if pair.schema.list_type != "map":
            return identical(value, old)
        pairs = [pair.item(item) for item in value]
        return all(found is not None and _same(found) for found in pairs)
    return identical(value, old)


def identical(a: Json, b: Json) -> bool:
    """Whether two trees are the same; Python's own equality would take true for 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(identical(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(identical, a, b))
    return type(a) is type(b) and bool(a == b)


def find_item(schema: Schema, old: Json, value: Json) -> Any:
    """The item of the old list with the same keys, or ABSENT; only lists of the type `map` have any."""
    if schema.list_type != "map" or not schema.list_map_keys or not isinstance(old, list):
        return ABSENT
    wanted = _key(schema, value)
    if wanted is None:
        return ABSENT
    return next((item for item in old if _key(schema, item) == wanted), ABSENT)


def _key(schema: Schema, value: Json) -> tuple[tuple[type, Any], ...] | None:
    if not isinstance(value, dict):
        return None
    parts: list[tuple[type, Any]] = []
    for name in schema.list_map_keys:
        part = value.get(name)
        if not isinstance(part, bool | int | float | str):
            return None
        parts.append((type(part), part))
    return tuple(parts)
