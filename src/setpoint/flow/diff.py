"""Computes the changes of a write without the server: from the wanted object, the live one and its managed fields.

`is_applied` has no false positives: in uncertain cases (a default inside an atomic value, or missing managed fields)
the result is False, and the write is sent.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import msgspec

from setpoint.merge.equality import equal
from setpoint.merge.fieldset import MEMBER, FieldSet
from setpoint.objects import meta
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object

_HIDDEN = "(hidden)"
_SECRETS = ("data", "stringData")


class FieldChange(NamedTuple):
    """One field that would change; None stands for a missing field."""

    path: str
    before: Json
    after: Json

    def __str__(self) -> str:
        sign = "+" if self.before is None else "-" if self.after is None else "~"
        values = " -> ".join(_text(value) for value in (self.before, self.after) if value is not None)
        return f"{sign} {self.path}: {values}"


def applied_fields(live: Object, manager: str, subresource: str = "") -> FieldSet | None:
    """Returns the fields that a manager has applied, in the object's own version; None if not recorded."""
    for entry in meta.managed_fields(live):
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and (entry.get("subresource") or "") == subresource
            and entry.get("apiVersion") == live.get("apiVersion")
        ):
            fields: FieldSet = entry.get("fieldsV1") or {}
            return fields
    return None


def is_applied(wanted: Object, live: Object, manager: str) -> bool:
    """Returns True if server-side apply would have no effect.

    That is the case if all values match, and the manager owns exactly these fields.
    """
    fields = applied_fields(live, manager)
    if fields is None or wanted.get("apiVersion") != live.get("apiVersion"):
        return False
    return _is_same(fields, _without_name(wanted), live)


def is_status_applied(status: Object, live: Object, manager: str) -> bool:
    """Returns True if server-side apply of a status would have no effect."""
    fields = applied_fields(live, manager, "status")
    return fields is not None and _is_same(fields, {"status": status}, live)


def _without_name(wanted: Object) -> Object:
    """Returns the parts of an object that a manager can own, without its name and namespace."""
    metadata = {name: value for name, value in wanted["metadata"].items() if name not in ("name", "namespace")}
    found = {name: value for name, value in wanted.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**found, "metadata": metadata} if metadata else found


def _is_same(fields: FieldSet, wanted: Json, live: Json) -> bool:
    if not fields:
        return equal(wanted, thaw(live))
    size = len(fields) - (MEMBER in fields)
    if isinstance(wanted, dict):
        if not isinstance(live, dict) or len(wanted) != size:
            return False
        for name, value in wanted.items():
            node = fields.get("f:" + name)
            if node is None or name not in live or not _is_same(node, value, live[name]):
                return False
        return True
    if isinstance(wanted, list):
        return isinstance(live, list) and len(wanted) == size and _is_same_list(fields, wanted, live)
    return False


def _is_same_list(fields: FieldSet, wanted: list[Json], live: list[Json]) -> bool:
    places: list[tuple[int, int]] = []
    for element, node in fields.items():
        if element != MEMBER:
            here, there = find_item(element, wanted), find_item(element, live)
            if here is None or there is None:
                return False
            if element[0] == "k" and not _is_same_item(element, node, wanted[here], live[there]):
                return False
            places.append((here, there))
    # Every item is matched once, and the items are in the wanted order.
    places.sort()
    return len({here for here, _ in places}) == len(wanted) and all(one[1] < two[1] for one, two in pairwise(places))


def _is_same_item(element: str, node: FieldSet, wanted: Json, live: Json) -> bool:
    """Compares an item of a keyed list. A key with a default value is owned even if not given."""
    keys = _element_value(element)
    filled = {**{name: value for name, value in keys.items() if f"f:{name}" in node}, **wanted}
    return _is_same(node, filled, live)


def find_item(element: str, items: Sequence[Json]) -> int | None:
    """Returns the index of the item that a path element selects; None if there is none, or several."""
    value = _element_value(element)
    if element[0] == "i":
        return value if isinstance(value, int) and value < len(items) else None
    if element[0] == "v":
        found = [at for at, item in enumerate(items) if equal(item, value)]
    else:
        found = [at for at, item in enumerate(items) if isinstance(item, dict) and _agrees(item, value)]
        if len(found) > 1:
            # An item with all keys explicitly set takes precedence over one with defaulted keys.
            found = [at for at in found if all(name in items[at] for name in value)]
    return found[0] if len(found) == 1 else None


def _agrees(item: Object, keys: Object) -> bool:
    """Returns True if an item has some of the keys, and none with another value."""
    present = [name for name in keys if name in item]
    return bool(present) and all(equal(item[name], keys[name]) for name in present)


@lru_cache(maxsize=4096)
def _element_value(element: str) -> Json:
    return msgspec.json.decode(element[2:])


def contains(live: Json, wanted: Json) -> bool:
    """Returns True if a value contains the wanted one: maps may have more keys, lists not. Null means missing."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            contains(live[name], value) if name in live else value is None for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(contains(one, other) for one, other in zip(live, wanted, strict=True))
        )
    return equal(live, wanted)


def changes(wanted: Object, live: Object | None, manager: str) -> list[FieldChange]:
    """Returns the visible changes: values, not owners. Values of Secrets are hidden."""
    if live is None:
        found = [FieldChange("", None, {name: wanted[name] for name in wanted if name not in ("apiVersion", "kind")})]
    else:
        fields = applied_fields(live, manager) or {}
        found = list(_changes("", fields, _without_name(wanted), live))
    return [_hidden(change) for change in found] if wanted.get("kind") == "Secret" else found


def _changes(path: str, fields: FieldSet, wanted: Json, live: Json) -> Iterator[FieldChange]:
    if isinstance(wanted, dict) and isinstance(live, dict):
        for name, value in wanted.items():
            below = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in live:
                yield FieldChange(below, None, value)
            else:
                yield from _changes(below, fields.get("f:" + name, {}), value, live[name])
        for element in fields:
            name = element[2:]
            if element.startswith("f:") and name not in wanted and name in live:
                yield FieldChange(f"{path}/{name.replace('~', '~0').replace('/', '~1')}", live[name], None)
    elif isinstance(wanted, list) and isinstance(live, list) and any(element[0] in "kv" for element in fields):
        yield from _list_changes(path, fields, wanted, live)
    elif not contains(live, wanted):
        yield FieldChange(path, live, wanted)


def _list_changes(path: str, fields: FieldSet, wanted: list[Json], live: list[Json]) -> Iterator[FieldChange]:
    """Yields the changes of a keyed list: of items that the manager owned, and new ones."""
    old = set()
    for element, node in fields.items():
        if element == MEMBER:
            continue
        here, there = find_item(element, wanted), find_item(element, live)
        below = f"{path}/{element[2:] if there is None else there}"
        if here is not None:
            old.add(here)
        if here is not None and there is not None:
            yield from _changes(below, node, wanted[here], live[there])
        elif here is not None or there is not None:
            before = None if there is None else live[there]
            yield FieldChange(below, before, None if here is None else wanted[here])
    for at, item in enumerate(wanted):
        if at not in old and not any(contains(other, item) for other in live):
            yield FieldChange(f"{path}/-", None, item)


def _hidden(change: FieldChange) -> FieldChange:
    """Returns a change of a Secret without the values."""
    top = change.path.split("/")[1] if change.path else ""
    if top in _SECRETS:
        return FieldChange(change.path, *(None if value is None else _HIDDEN for value in change[1:]))
    if not change.path and isinstance(change.after, dict):
        after = {
            name: dict.fromkeys(value, _HIDDEN) if name in _SECRETS and isinstance(value, dict) else value
            for name, value in change.after.items()
        }
        return FieldChange("", change.before, after)
    return change


def _text(value: Json) -> str:
    return msgspec.json.encode(value).decode()
