"""The order of a merged list.

The items of a patch keep the order of the patch, the other items their live order. The two are interleaved by the live
list: an item that only the server has comes before the next item of the patch if the live order has them so.
"""

from operator import itemgetter
from typing import Any

from setpoint.merge.failure import BadPatch
from setpoint.merge.strategic.directives import is_deletion, item_keys
from setpoint.objects.tree import Json

_SHORT = 20

# A position, the key at that position, and the item.
Entry = tuple[int, Any, Json]
_position = itemgetter(0)


def arrange(
    merged: list[Json], order: list[Json], live: list[Json], merge_key: str, combining: bool = False
) -> list[Json]:
    """Returns the merged items: those in `order` in that order, and the others in the order of `live`."""
    keys = item_keys(merged, merge_key)
    if merge_key and keys:
        for position, item in enumerate(order):
            if type(item) is not dict:
                raise BadPatch(f"value for key {position} is not a map")
    wanted = _positions(item_keys(order, merge_key))
    before = _positions(item_keys(live, merge_key))
    named: list[Entry] = []
    others: list[Entry] = []
    for key, item in zip(keys, merged, strict=True):
        position = wanted.get(key, -1)
        if position < 0:
            others.append((before.get(key, -1), key, item))
        else:
            named.append((position, key, item))
    if combining:
        return _interleave(_deletions_last(others), _deletions_last(named), before)
    return _interleave(_sorted(others), _sorted(named), before)


def _positions(keys: list[Any]) -> dict[Any, int]:
    """Returns the first position of each key."""
    found = dict(zip(keys, range(len(keys)), strict=True))
    if len(found) < len(keys):
        for position in range(len(keys) - 1, -1, -1):
            found[keys[position]] = position
    return found


def _sorted(items: list[Entry]) -> list[Entry]:
    """Sorts the items by position."""
    if any(position < 0 for position, _, _ in items):
        return _sorted_with_unpositioned(items)
    items.sort(key=_position)
    return items


def _deletions_last(items: list[Entry]) -> list[Entry]:
    """Sorts the items by position, with deletion directives at the end."""
    kept = [entry for entry in items if not is_deletion(entry[2])]
    return _sorted(kept) + [entry for entry in items if is_deletion(entry[2])]


def _sorted_with_unpositioned(items: list[Entry]) -> list[Entry]:
    """Sorts items of which some have no position, as caused by an empty `$setElementOrder` with new items.

    For the real server such an item is both before and after every other; its final position depends on the sorting
    algorithm, which is insertion sort for short lists. (In a long list such items come last here.)
    """
    if len(items) > _SHORT:
        return sorted(items, key=lambda entry: (entry[0] < 0, entry[0]))
    found: list[Entry] = []
    for entry in items:
        position = len(found)
        while position and not 0 <= found[position - 1][0] <= entry[0]:
            position -= 1
        found.insert(position, entry)
    return found


def _interleave(others: list[Entry], named: list[Entry], before: dict[Any, int]) -> list[Json]:
    """Interleaves both lists. An item of `others` follows the items of `named` unless it comes first in the live
    order."""
    if not others:
        return [item for _, _, item in named]
    merged: list[Json] = []
    next_named = 0
    for _, key, item in others:
        position = before.get(key)
        while next_named < len(named):
            ahead = None if position is None else before.get(named[next_named][1])
            if ahead is not None and position is not None and position < ahead:
                break
            merged.append(named[next_named][2])
            next_named += 1
        merged.append(item)
    merged += [item for _, _, item in named[next_named:]]
    return merged
