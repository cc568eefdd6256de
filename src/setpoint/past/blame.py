"""Finds the writer of each field of an object: every line of its YAML with the revision, the time and the actor.

For a server without history, `managedFields` supply the owner of a field and the time, but not the revision. Has no
side effects.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from setpoint.merge.equality import identical
from setpoint.objects import yamltext
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Json, Object
from setpoint.past.difference import without_records
from setpoint.past.revision import Revision
from setpoint.past.secret_mask import masked

# Ends the path of a line that only contains other lines.
_HOLDS = "/:"


class Setter(NamedTuple):
    """The writer of a field. Revision 0 means that the revision is unknown."""

    revision: int
    time: datetime
    actor: Actor
    cause: Cause | None = None


class BlameLine(NamedTuple):
    """A line of the YAML, and the writer of its value; None for a line that only contains other lines."""

    text: str
    path: str
    setter: Setter | None


def blame(found: Sequence[Revision]) -> list[BlameLine]:
    """Returns the lines of an object at the last of its revisions, which are given oldest first."""
    setters: dict[str, Setter] = {}
    tree: Object = {}
    known: dict[str, Json] = {}
    for revision in found:
        by = Setter(revision.number, revision.time, revision.actor, revision.cause)
        tree = revision.raw or {}
        now = dict(_values(without_records(tree), ""))
        setters = {
            path: setters[path] if path in known and identical(known[path], value) else by
            for path, value in now.items()
        }
        known = now
    return _blamed(tree, setters)


def blame_by_managers(tree: Object) -> list[BlameLine]:
    """Returns the lines of an object by `managedFields`, for servers without history."""
    setters: dict[str, Setter] = {}
    entries = (tree.get("metadata") or {}).get("managedFields") or ()
    for entry in entries:
        time = entry.get("time")
        if time is not None:
            actor = Actor(entry.get("manager", ""), field_manager=entry.get("manager", ""))
            owned = _owned(entry.get("fieldsV1") or {}, without_records(tree), "")
            for path in owned:
                setters[path] = Setter(0, parse_time(time), actor)
    return _blamed(tree, setters)


def _blamed(tree: Object, setters: dict[str, Setter]) -> list[BlameLine]:
    # Real values are compared and masked values are shown: both have the same lines.
    shown = _lines(masked(without_records(tree)))
    return [line._replace(setter=setters.get(line.path)) for line in shown]


def _lines(tree: Object) -> list[BlameLine]:
    """Returns the lines of the YAML, each with its path. A line that contains other lines has no value."""
    return list(_mapping(tree, "", 0))


def _values(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yields every value that is on a line of its own, by the path of that line."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _values(below, f"{path}/{key}")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _values(item, f"{path}/{_name(item, index)}")
    else:
        yield path, value


def _mapping(value: Object, path: str, depth: int) -> Iterator[BlameLine]:
    for key in sorted(value):
        below = f"{path}/{key}"
        yield from _entry(f"{'  ' * depth}{_scalar(key)}:", value[key], below, depth)


def _entry(head: str, value: Json, path: str, depth: int) -> Iterator[BlameLine]:
    if isinstance(value, dict) and value:
        yield BlameLine(head, f"{path}{_HOLDS}", None)
        yield from _mapping(value, path, depth + 1)
    elif isinstance(value, list) and value:
        yield BlameLine(head, f"{path}{_HOLDS}", None)
        for index, item in enumerate(value):
            yield from _item(item, f"{path}/{_name(item, index)}", depth)
    else:
        yield BlameLine(f"{head} {_scalar(value)}", path, None)


def _item(item: Json, path: str, depth: int) -> Iterator[BlameLine]:
    """Yields the lines of a list item, the first one with the dash."""
    indent = "  " * depth
    if isinstance(item, dict) and item:
        lines = list(_mapping(item, path, depth + 1))
        yield lines[0]._replace(text=f"{indent}- {lines[0].text[len(indent) + 2 :]}")
        yield from lines[1:]
    else:
        yield BlameLine(f"{indent}- {_scalar(item)}", path, None)


def _name(item: Json, index: int) -> str:
    """Returns the name of a list item. Named items stay the same item at any position."""
    for field in ("name", "type", "probeName", "key"):
        if isinstance(item, dict) and isinstance(item.get(field), str):
            return f"{field}={item[field]}"
    return str(index)


def _scalar(value: Json) -> str:
    if isinstance(value, str) and "\n" in value:
        return repr(value)
    return (
        yamltext.dump(value).strip()
        if not isinstance(value, dict | list)
        else "{}"
        if isinstance(value, dict)
        else "[]"
    )


def _owned(fields: Object, value: Json, path: str) -> Iterator[str]:
    """Yields the paths of the leaves in a field set."""
    for key, below in fields.items():
        if key.startswith("f:") and isinstance(value, dict) and key[2:] in value:
            yield from _owned_below(below, value[key[2:]], f"{path}/{key[2:]}")
        elif key.startswith("k:") and isinstance(value, list):
            wanted: Object = yamltext.load(key[2:]).tree or {}
            for index, item in enumerate(value):
                if isinstance(item, dict) and wanted.items() <= item.items():
                    yield from _owned_below(below, item, f"{path}/{_name(item, index)}")


def _owned_below(fields: Object, value: Json, path: str) -> Iterator[str]:
    if {key for key in fields if key != "."} and isinstance(value, dict | list):
        yield from _owned(fields, value, path)
        return
    yield path
    if isinstance(value, dict | list) and value:
        yield from (below for below, _ in _values(value, path))
