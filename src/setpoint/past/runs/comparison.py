"""The comparison of two runs of an app: first the parts that differ, then the changed fields of the objects.

Differences that every new run has are counted and not shown: UIDs and generated names, times and process ids, and
allocated ports. Secrets are masked. Pure functions.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.past.change import ABSENT, FieldChange
from setpoint.past.difference import fields
from setpoint.past.runs.app_objects import tree_of
from setpoint.past.runs.record import API_VERSION, RunContent, RunObject, RunPart
from setpoint.past.runs.volatile_values import VolatileValues, is_derived, is_of_shell, volatile_values

# The maximum number of objects in a comparison, and of changed fields of one object.
_MOST_OBJECTS: Final = 500
_MOST_FIELDS: Final = 200
# Times to ready differ if they are this much apart, in seconds and as a part of the longer one.
_LEAST_SECONDS: Final = 0.5
_LEAST_PART: Final = 0.2


class PartDifference(Struct, frozen=True, rename="camel"):
    """A part that differs; a side without the part is None."""

    kind: str
    name: str
    before: RunPart | None
    after: RunPart | None
    # The fields that differ, such as `state` and `readySeconds`; empty for a part that is new or missing.
    fields: tuple[str, ...]


class ObjectDifference(Struct, frozen=True):
    """An object that differs: `added`, `removed` or `changed` with its changed fields."""

    resource: str
    kind: str
    namespace: str
    name: str
    type: str
    changes: tuple[FieldChange, ...] = ()

    def to_json(self) -> Object:
        place: Object = {"resource": self.resource, "kind": self.kind, "name": self.name}
        if self.namespace:
            place["namespace"] = self.namespace
        return {"object": place, "type": self.type, "changes": [each.to_json() for each in self.changes]}


class Folded(Struct, frozen=True):
    """The numbers of differences that are not shown: objects with new UIDs or names, and changed fields with times,
    process ids, counts of probes and variables of the shell, or with allocated ports."""

    identities: int = 0
    times: int = 0
    ports: int = 0


class RunDifference(Struct, frozen=True):
    """The difference of two runs."""

    parts: tuple[PartDifference, ...]
    objects: tuple[ObjectDifference, ...]
    folded: Folded
    # The reasons why objects are not compared, and the purged objects.
    notes: tuple[str, ...] = ()
    truncated: bool = False

    def to_json(self) -> Object:
        return {
            "parts": msgspec.to_builtins(self.parts),
            "objects": [each.to_json() for each in self.objects],
            "folded": msgspec.to_builtins(self.folded),
            "notes": list(self.notes),
            "truncated": self.truncated,
        }


def difference_of(before: RunContent, after: RunContent) -> Object:
    """Returns the difference of two runs in the form of the API."""
    sides: Object = {"from": before.record.number, "to": after.record.number}
    return {"kind": "RunDifference", "apiVersion": API_VERSION, **sides, **compare_runs(before, after).to_json()}


def compare_runs(before: RunContent, after: RunContent) -> RunDifference:
    """Returns the difference of two runs."""
    parts = tuple(_part_differences(before.record.parts, after.record.parts))
    notes = [f"run {run.record.number}: {run.record.omitted}" for run in (before, after) if run.record.omitted]
    if notes:
        return RunDifference(parts, (), Folded(), tuple(notes))
    purged = sorted({each.key for run in (before, after) for each in run.objects if each.purged})
    notes = [f"purged and not compared: {key.split('/', 2)[2]}" for key in purged]
    found = _Objects(before.objects, after.objects, frozenset(purged))
    objects = found.differences()
    shown = tuple(objects[:_MOST_OBJECTS])
    is_cut = len(objects) > len(shown) or any(len(each.changes) > _MOST_FIELDS for each in shown)
    cut = tuple(msgspec.structs.replace(each, changes=each.changes[:_MOST_FIELDS]) for each in shown)
    folded = Folded(found.identities, found.times, found.ports)
    return RunDifference(parts, cut, folded, tuple(notes), is_cut)


def _part_differences(before: Iterable[RunPart], after: Iterable[RunPart]) -> Iterable[PartDifference]:
    old = {(part.kind, part.name): part for part in before}
    new = {(part.kind, part.name): part for part in after}
    for kind, name in sorted(old.keys() | new.keys(), key=lambda each: each[::-1]):
        first, last = old.get((kind, name)), new.get((kind, name))
        if first is None or last is None:
            yield PartDifference(kind, name, first, last, ())
        elif not (first.purged or last.purged) and (names := _differing(first, last)):
            yield PartDifference(kind, name, first, last, names)


def _differing(first: RunPart, last: RunPart) -> tuple[str, ...]:
    names = {"state": "state", "reason": "reason", "restarts": "restarts", "exit_code": "exitCode", "wanted": "wanted"}
    found = [shown for field, shown in names.items() if getattr(first, field) != getattr(last, field)]
    if first.ready != last.ready and "wanted" not in found:
        found.append("ready")
    if _is_apart(first.ready_seconds, last.ready_seconds):
        found.append("readySeconds")
    return tuple(found)


def _is_apart(first: float | None, last: float | None) -> bool:
    if first is None or last is None:
        return first is not last
    return abs(first - last) >= max(_LEAST_SECONDS, _LEAST_PART * max(first, last))


class _Objects:
    """The objects of two runs, and the counts of the folded differences."""

    def __init__(self, before: Sequence[RunObject], after: Sequence[RunObject], purged: frozenset[str]) -> None:
        self.identities = self.times = self.ports = 0
        self._old, self._new = (_Side(objects, purged) for objects in (before, after))

    def differences(self) -> list[ObjectDifference]:
        found = []
        for place in sorted(self._old.trees.keys() | self._new.trees.keys()):
            old, new = self._old.trees.get(place), self._new.trees.get(place)
            resource, namespace, name = place
            kind = str((old or new or {}).get("kind", ""))
            if old is None or new is None:
                type_ = "added" if old is None else "removed"
                found.append(ObjectDifference(resource, kind, namespace, name, type_))
                continue
            if self._old.uids[place] != self._new.uids[place]:
                self.identities += 1
            if changes := self._significant(kind, fields(old, new), old, new):
                found.append(ObjectDifference(resource, kind, namespace, name, "changed", changes))
        return found

    def _significant(
        self, kind: str, changes: Iterable[FieldChange], old: Object, new: Object
    ) -> tuple[FieldChange, ...]:
        """Returns the changes that do not follow from the restart, and counts the others."""
        found = []
        for change in changes:
            if change.noise or is_of_shell(change.path) or self._is_time(kind, change):
                self.times += 1
            elif self._is_port(kind, change):
                self.ports += 1
            else:
                found.append(change)
        return tuple(found)

    def _is_time(self, kind: str, change: FieldChange) -> bool:
        if change.old is ABSENT or change.new is ABSENT or not is_derived(kind, change.path):
            return False
        return bool(self._old.volatile.without_times(change.old) == self._new.volatile.without_times(change.new))

    def _is_port(self, kind: str, change: FieldChange) -> bool:
        if change.old is ABSENT or change.new is ABSENT or not is_derived(kind, change.path):
            return False
        return bool(self._old.volatile.without_ports(change.old) == self._new.volatile.without_ports(change.new))


class _Side:
    """The objects of one run by resource, namespace and name, with stable names."""

    def __init__(self, objects: Sequence[RunObject], purged: frozenset[str]) -> None:
        kept = [(each, tree_of(each)) for each in objects if each.key not in purged]
        self.volatile: VolatileValues = volatile_values(tree for _, tree in kept)
        self.trees: dict[tuple[str, str, str], Object] = {}
        self.uids: dict[tuple[str, str, str], str] = {}
        for each, tree in kept:
            stable = self.volatile.with_stable_identities(tree)
            place = str(each.group_resource), meta.namespace(stable), meta.name(stable)
            self.trees[place] = stable
            self.uids[place] = meta.uid(tree)
