"""The position of a traversal of an updated object: the old value for each new one, and whether the value changed.

Items of lists that are not of type `map` have no old value; the nearest containing value that has one is used instead.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.objects.tree import Json
from setpoint.schema import ratchet
from setpoint.schema.openapi import Schema


class Correlation(NamedTuple):
    """The old and new value at this position, or without an old one, the nearest containing pair."""

    current: ratchet.Correlation | None = None
    nearest: ratchet.Correlation | None = None

    def child(self, name: str) -> "Correlation":
        if self.current is None:
            return self
        if self.nearest is None and name in ("apiVersion", "kind"):
            return Correlation()
        return Correlation(self.current.key(name), self.current)

    def item(self, position: int) -> "Correlation":
        return self if self.current is None else Correlation(self.current.index(position), self.current)

    def unchanged(self) -> bool:
        """Returns True if the value is unchanged, so that an error here existed before."""
        pair = self.current or self.nearest
        try:
            return pair is not None and pair.equal()
        except RecursionError:
            # Too deep for a comparison: reporting an old error is safer than ignoring a new one.
            return False


def old_items(schema: Schema, old: Json) -> Callable[[Any], Json]:
    """Returns a function that finds the old list item with the keys of an item; None if there is none.

    The old list is indexed once, so that the cost is linear in its length.
    """
    if schema.list_type != "map" or not schema.list_map_keys or type(old) is not list:
        return _no_correlation
    known = ratchet.items_by_key(schema, old)
    return lambda item: known.get(ratchet.item_key(schema, item)) if type(item) is dict else None


def _no_correlation(item: Json) -> None:
    return None
