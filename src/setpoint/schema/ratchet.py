"""Ratcheting validation: values that an update left unchanged need not be valid under the current schema.

A `Correlation` follows a new value together with its old one through objects, maps and lists of type `map` (whose items
are matched by key). Items of other lists have no old value: such a list is compared as a whole.
"""

from typing import Any

from setpoint.objects.tree import Json, Object
from setpoint.schema.openapi import Schema
from setpoint.schema.references import View, plain_view


class Correlation:
    """A new value, the corresponding old value, and the schema of both."""

    __slots__ = ("_equal", "_old_items", "old", "schema", "value", "view")

    def __init__(self, schema: Schema, value: Json, old: Json, view: View = plain_view) -> None:
        self.schema = view(schema)
        self.value = value
        self.old = old
        self.view = view
        self._equal: bool | None = None
        self._old_items: dict[Any, Object] | None = None

    def key(self, name: str) -> "Correlation | None":
        """Returns the field or map entry of that name with its old value; None if one, or its schema, is missing."""
        value, old = self.value, self.old
        if type(value) is not dict or type(old) is not dict or name not in value or name not in old:
            return None
        schema = self.schema.properties.get(name)
        if schema is None:
            extra = self.schema.additional_properties
            if not isinstance(extra, Schema):
                return None
            schema = extra
        return Correlation(schema, value[name], old[name], self.view)

    def index(self, position: int) -> "Correlation | None":
        """Returns the item at a position with the old item of the same key; None without one, or without keys."""
        value = self.value
        if type(value) is not list or type(self.old) is not list or self.schema.list_type != "map":
            return None
        if self._old_items is None:
            self._old_items = items_by_key(self.schema, self.old)
        item, items = value[position], self.schema.items
        old = self._old_items.get(item_key(self.schema, item)) if type(item) is dict else None
        if old is None or not isinstance(items, Schema):
            return None
        return Correlation(items, item, old, self.view)

    def equal(self) -> bool:
        """Returns True if the value is unchanged. Content without a schema counts as changed, as on the real server."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if type(value) is not type(old):
            return False
        if type(value) is dict:
            children = (self.key(name) for name in value)
            return len(value) == len(old) and all(child is not None and child.equal() for child in children)
        if type(value) is list:
            if len(value) != len(old):
                return False
            if self.schema.list_type != "map":
                return same(value, old)
            items = (self.index(position) for position in range(len(value)))
            return all(item is not None and item.equal() for item in items)
        return bool(value == old)


def correlate(schema: Schema, value: Json, old: Json, view: View = plain_view) -> Correlation:
    """Correlates the old and new value of one node. `view` resolves references, if any."""
    return Correlation(schema, value, old, view)


def item_key(schema: Schema, item: Object) -> Any:
    """Returns the key of an item of a `map` list: hashable, and None for an item that lacks one of its keys."""
    found = []
    for name in schema.list_map_keys:
        value = item.get(name)
        if value is None or type(value) in (dict, list):
            return None
        # Distinguishes 1 from true and from 1.0.
        found.append((type(value), value))
    return tuple(found)


def items_by_key(schema: Schema, items: list[Json]) -> dict[Any, Object]:
    """Returns the items of a `map` list by key. Items without a key are omitted; the first of duplicates is used."""
    found: dict[Any, Object] = {}
    for item in items:
        if type(item) is dict and (key := item_key(schema, item)) is not None:
            found.setdefault(key, item)
    return found


def same(value: Json, other: Json) -> bool:
    """Returns True if two trees are equal, types included: 1, 1.0 and true are three different values."""
    if type(value) is not type(other):
        return False
    if type(value) is dict:
        return len(value) == len(other) and all(
            name in other and same(item, other[name]) for name, item in value.items()
        )
    if type(value) is list:
        return len(value) == len(other) and all(map(same, value, other))
    return bool(value == other)
