"""Packs the endpoints of a Service into slices: existing slices change as little as possible. Pure functions.

An endpoint stays in its slice. New endpoints fill the slices that change anyway, the fullest first; the rest goes into
one unchanged slice that has room for all others, or into new slices.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.system.service_endpoints.slices import SliceChanges, identity, is_equal

# The most endpoints of one slice.
MOST_ENDPOINTS = 100

Endpoints = dict[Hashable, Object]


class Group(NamedTuple):
    """The desired endpoints with one set of ports, by their identity."""

    ports: list[Object]
    endpoints: Endpoints


def packed(
    existing: list[Object],
    endpoints: Mapping[Hashable, Object],
    labels: Callable[[Object], Object | None],
    new_slice: Callable[[], Object],
) -> SliceChanges:
    """Returns the changes of the slices with one set of ports. `labels` returns the labels of a slice if they must
    change."""
    left = dict(endpoints)
    changed: list[Object] = []
    unchanged: list[Object] = []
    delete: list[Object] = []
    for found in existing:
        kept = [left.pop(key) for each in found.get("endpoints") or () if (key := identity(each)) in left]
        new_labels = labels(found)
        if not _has_same(found, kept):
            if not kept:
                delete.append(found)
                continue
            changed.append(_with_endpoints(found, kept, new_labels))
        elif new_labels is not None:
            changed.append(_with_endpoints(found, kept, new_labels))
        else:
            unchanged.append(found)
    for each in sorted(changed, key=lambda each: -len(each["endpoints"])):
        _fill(each, left)
    create: list[Object] = []
    while left:
        target = _with_room(unchanged, len(left)) if len(left) < MOST_ENDPOINTS else None
        if target is None:
            made = new_slice()
            create.append(made)
        else:
            unchanged.remove(target)
            made = thaw(target)
            made["endpoints"] = made.get("endpoints") or []
            changed.append(made)
        _fill(made, left)
    return SliceChanges(create, changed, delete)


def _has_same(found: Object, kept: list[Object]) -> bool:
    before = found.get("endpoints") or ()
    return len(before) == len(kept) and all(map(is_equal, before, kept))


def _with_endpoints(found: Object, endpoints: list[Object], labels: Object | None) -> Object:
    made: Object = {**found, "metadata": dict(found["metadata"]), "endpoints": endpoints}
    if labels is not None:
        made["metadata"]["labels"] = labels
    return made


def _fill(target: Object, left: Endpoints) -> None:
    while left and len(target["endpoints"]) < MOST_ENDPOINTS:
        target["endpoints"].append(left.pop(next(iter(left))))


def _with_room(slices: list[Object], number: int) -> Object | None:
    """Returns the slice that is fullest with some more endpoints; None if no slice has room for them."""
    fitting = [each for each in slices if len(each.get("endpoints") or ()) + number <= MOST_ENDPOINTS]
    return max(fitting, key=lambda each: len(each.get("endpoints") or ()), default=None)
