"""The order of a merged list.

The items that a patch names stand in the order in which it names them, the others in the order they had. Between the
two the live list decides: an item that only the server has goes before the next one of the patch if it stood before it.
"""

from operator import itemgetter
from typing import Any

from setpoint.merge.failure import BadPatch
from setpoint.merge.strategic.directives import is_deletion, item_keys
from setpoint.objects.tree import Json

_SHORT = 20

# A position, the key that has it, and the item.
Entry = tuple[int, Any, Json]
_position = itemgetter(0)


def arrange(
    merged: list[Json], order: list[Json], live: list[Json], merge_key: str, combining: bool = False
) -> list[Json]:
    """The merged items, of which those in `order` follow it, and the others follow `live`."""
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
    """Where each key first stands."""
    found = dict(zip(keys, range(len(keys)), strict=True))
    if len(found) < len(keys):
        for position in range(len(keys) - 1, -1, -1):
            found[keys[position]] = position
    return found


def _sorted(items: list[Entry]) -> list[Entry]:
    """The items by their position."""
    if any(position < 0 for position, _, _ in items):
        return _sorted_around_strangers(items)
    items.sort(key=_position)
    return items


def _deletions_last(items: list[Entry]) -> list[Entry]:
    """The items by their position, but those that only say that an item goes at the end."""
    kept = [entry for entry in items if not is_deletion(entry[2])]
    return _sorted(kept) + [entry for entry in items if is_deletion(entry[2])]


def _sorted_around_strangers(items: list[Entry]) -> list[Entry]:
    """The order when some items have no position, as an empty `$setElementOrder` beside new items makes it.

    To the real server such an item is both before and after every other; where that leaves it follows from how the
    server sorts, which is by insertion for short lists. (In a long list such items simply come last here.)
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
    """Both lists in one. An item of `others` waits for those of `named` that it did not stand before."""
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
