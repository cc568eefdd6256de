"""Update and apply: the effect of a write on the object and on the ownership of its fields.

Both compare the object before and after, for each manager in the version of its last write. A plain update takes
ownership of the fields that it changed from all other managers. An apply merges its configuration, removes the fields
of its previous configuration that are no longer present (unless another manager owns them too), and raises a conflict
for changes of other managers' fields unless forced.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from setpoint.merge import fieldset
from setpoint.merge.conflicts import Conflicts
from setpoint.merge.equality import equal
from setpoint.merge.fieldset import EMPTY, FieldSet
from setpoint.merge.managedfields import Identifier, Managed, Managers
from setpoint.merge.typed.node import Type, compare
from setpoint.objects.tree import Object

Convert: TypeAlias = Callable[[Object, str, str], Object]


class VersionNotServed(Exception):  # noqa: N818 - a signal: what was owned in that version is forgotten
    """A version is no longer served. Raised by a converter."""


def same_version(tree: Object, from_version: str, to_version: str) -> Object:
    """Converts between versions that differ only in their name."""
    return {**tree, "apiVersion": to_version}


class FieldSetChange(NamedTuple):
    """The differences between two objects in one version: the fields that a writer takes over, and the removed ones."""

    changed: FieldSet
    removed: FieldSet


class Updater:
    """Holds the types of every version, the conversion between them, and the fields that a write cannot change."""

    def __init__(self, types: Mapping[str, Type], convert: Convert, reset_fields: Mapping[str, FieldSet]) -> None:
        self.types = types
        self._convert = convert
        self._reset_fields = reset_fields

    def in_version(self, tree: Object, version: str) -> Object:
        """Returns the object in another version. Raises `VersionNotServed`."""
        current = tree.get("apiVersion", "")
        if current == version:
            return tree
        if version not in self.types:
            raise VersionNotServed(version)
        return self._convert(tree, current, version)

    def update(
        self, live: Object, new: Object, version: str, managers: Managers, me: Identifier
    ) -> tuple[FieldSet, Managers]:
        """Returns the changed fields, which the writer will own, and the managers with their remaining fields."""
        managers = self._reconcile(managers)
        change, managers = self._transfer_ownership(live, new, version, managers, me, force=True)
        mine = managers.get(me)
        if mine is not None and change.removed:
            rest = fieldset.difference(mine.fields, change.removed)
            if rest:
                managers[me] = mine.with_fields(rest)
            else:
                del managers[me]
        return change.changed, managers

    def apply(
        self,
        live: Object,
        config: Object,
        fields: FieldSet,
        version: str,
        managers: Managers,
        me: Identifier,
        force: bool,
    ) -> tuple[Object, Managers]:
        """Returns the object with the configuration applied, which sets `fields`, and the managers after that.

        Returns the same object if unchanged. Raises `Conflicts`.
        """
        managers = self._reconcile(managers)
        last = managers.get(me)
        fields = self.without_reset(fields, version)
        managers[me] = Managed(fields, version, applied=True)
        new = self.types[version].merge(live, config)
        if last is not None and last.fields:
            new = self._prune(new, managers, me, last)
            if new is not live and equal(new, live):
                new = live
        if len(managers) > 1:  # otherwise there is no other manager to take fields from
            _, managers = self._transfer_ownership(live, new, version, managers, me, force)
        return new, managers

    def without_reset(self, fields: FieldSet, version: str) -> FieldSet:
        """Returns the fields that a write can change."""
        reset = self._reset_fields.get(version)
        return fieldset.recursive_difference(fields, reset) if reset else fields

    def _reconcile(self, managers: Managers) -> Managers:
        """Returns the managers converted to the current types, without those of versions that are no longer served."""
        found = {}
        for identifier, managed in managers.items():
            kind = self.types.get(managed.api_version)
            if kind is not None:
                found[identifier] = managed.with_fields(kind.reconcile(managed.fields))
        return found

    def _change(self, live: Object, new: Object, version: str) -> FieldSetChange:
        before, after = self.in_version(live, version), self.in_version(new, version)
        removed, modified, added = compare(self.types[version], before, after)
        return FieldSetChange(
            self.without_reset(fieldset.union(modified, added), version), self.without_reset(removed, version)
        )

    def _transfer_ownership(
        self, live: Object, new: Object, version: str, managers: Managers, me: Identifier, force: bool
    ) -> tuple[FieldSetChange, Managers]:
        """Takes the changed fields from all other managers. Without force, their ownership is a conflict."""
        change = self._change(live, new, version)
        by_version: dict[str, FieldSetChange | None] = {version: change}
        conflicts: dict[Identifier, FieldSet] = {}
        found: Managers = {}
        for identifier, managed in managers.items():
            theirs = managed.fields
            if identifier != me:
                if managed.api_version not in by_version:
                    try:
                        by_version[managed.api_version] = self._change(live, new, managed.api_version)
                    except VersionNotServed:
                        by_version[managed.api_version] = None
                seen = by_version[managed.api_version]
                if seen is None:
                    continue
                taken = fieldset.intersection(theirs, seen.changed)
                if taken:
                    conflicts[identifier] = taken
                    theirs = fieldset.difference(theirs, taken)
                theirs = fieldset.difference(theirs, seen.removed)
            if theirs:
                found[identifier] = managed.with_fields(theirs)
        if conflicts and not force:
            raise Conflicts(conflicts)
        return change, found

    def _prune(self, merged: Object, managers: Managers, me: Identifier, last: Managed) -> Object:
        """Removes the fields that the manager applied last time, does not apply now, and no other manager owns."""
        mine = managers[me]
        version = last.api_version
        if version == mine.api_version:
            if fieldset.is_subset(last.fields, mine.fields):
                return merged
            if all(managed.api_version == version for managed in managers.values()):
                owners = [mine.fields, *(managed.fields for managed in managers.values() if managed is not mine)]
                doomed = self.types[version].fields_to_remove(
                    merged, last.fields, owners, dropped=False, is_container_removed=False
                )
                rest: Object = merged if doomed is None else self.types[version].remove(merged, doomed)
                return rest
        return self._prune_versions(merged, managers, mine, last)

    def _prune_versions(self, merged: Object, managers: Managers, mine: Managed, last: Managed) -> Object:
        """Prunes with owners in several versions, by converting to each of them."""
        try:
            return self._pruned_by_version(merged, managers, mine, last)
        except VersionNotServed:
            return merged

    def _pruned_by_version(self, merged: Object, managers: Managers, mine: Managed, last: Managed) -> Object:
        version = last.api_version
        before = self.in_version(merged, version)
        kind = self.types[version]
        named_last = kind.named(last.fields)
        kept: Object = kind.remove(before, named_last)
        kept = self._add_back_owned(before, kept, version, managers)
        kept = self._in_version_or_empty(kept, version)
        there = kind.named(kind.field_set(before, False) or EMPTY)
        still = kind.named(kind.field_set(kept, False) or EMPTY)
        gone = fieldset.intersection(fieldset.difference(there, still), named_last)
        pruned: Object = kind.remove(before, gone) if gone else before
        return merged if pruned is before else self._in_version_or_empty(pruned, mine.api_version)

    def _add_back_owned(self, merged: Object, pruned: Object, version: str, managers: Managers) -> Object:
        """Restores all owned fields, in the version of their owner; the current version first."""
        owned: dict[str, list[FieldSet]] = {version: []}
        for managed in managers.values():
            owned.setdefault(managed.api_version, []).append(managed.fields)
        for at, sets in owned.items():
            fields = fieldset.union_all(sets)
            if not fields:
                continue
            try:
                merged, pruned = self.in_version(merged, at), self._in_version_or_empty(pruned, at)
            except VersionNotServed:
                continue
            kind = self.types[at]
            there = kind.named(kind.field_set(merged, False) or EMPTY)
            still = kind.named(kind.field_set(pruned, False) or EMPTY)
            gone = fieldset.difference(there, fieldset.union(still, kind.named(fields)))
            pruned = kind.remove(merged, gone)
        return pruned

    def _in_version_or_empty(self, tree: Object | None, version: str) -> Object:
        return {} if tree is None else self.in_version(tree, version)
