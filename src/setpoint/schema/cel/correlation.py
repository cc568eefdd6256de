"""Where a walk over an updated object stands: which old value belongs to the new one, and whether anything changed.

Items of lists that are not of type `map` have no old value; the nearest value above them that has one counts instead.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.objects.tree import Json
from setpoint.schema import ratchet
from setpoint.schema.openapi import Schema


class Correlation(NamedTuple):
    """The old and new value here, or if there is no old one, the nearest above that have both."""

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
        """Whether an error here was there before."""
        pair = self.current or self.nearest
        try:
            return pair is not None and pair.equal()
        except RecursionError:
            # Deeper than anyone looks: an error too many does less harm than one too few.
            return False


def old_items(schema: Schema, old: Json) -> Callable[[Any], Json]:
    """Finds, for an item of a list, the old item of the same keys; None where there is none.

    The old list is looked through once, so that a long list costs no more than its length.
    """
    if schema.list_type != "map" or not schema.list_map_keys or type(old) is not list:
        return _nothing
    known = ratchet.items_by_key(schema, old)
    return lambda item: known.get(ratchet.item_key(schema, item)) if type(item) is dict else None


def _nothing(item: Json) -> None:
    return None
