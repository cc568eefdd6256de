"""Maps: structs with declared fields, maps with entries of one type, or both.

An atomic map is owned and merged as a whole. In all others, every field and entry has its own owners: a manager owns
the entries that the manager sets, and the map itself only if the manager sets an empty map.
"""

from typing import TypeAlias

from setpoint.merge.equality import equal
from setpoint.merge.fieldset import LEAF, MEMBER, FieldSet, as_member, difference, is_member, nodes_of, union_all
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.objects.tree import Json

_ABSENT = object()

# A field: its path element, its type, and the Python type of its leaf values.
Field: TypeAlias = tuple[str, Type, type | None]


class MapType(Type):
    """A map. `fields` are the declared ones with their elements; `element` is the type of all others, if allowed.

    `fields` and `element` are set after construction, since a type may contain itself.
    """

    __slots__ = ("atomic", "collapsing", "deduced", "element", "fields", "zero")

    def __init__(self, atomic: bool = False) -> None:
        self.atomic = atomic
        self.fields: dict[str, Field] = {}
        self.element: Type | None = None
        # The initial value of this type, before the first write.
        self.zero: dict[str, Json] = {}
        # A map without declared fields and with entries of any type: its ownership is never reconciled.
        self.deduced = False
        self.exact = self.exact_when_valid = True
        self.collapses = True
        # The declared fields that need reconciliation.
        self.collapsing: tuple[Field, ...] = ()

    def declare(self, name: str, kind: Type) -> None:
        """Adds a declared field."""
        self.fields[name] = f"f:{name}", kind, kind.leaf

    def _member(self, name: str) -> Field:
        """Returns an undeclared key as a field."""
        if self.element is None:
            raise Mismatch
        return f"f:{name}", self.element, self.element.leaf

    def _has_leaves_only(self, value: dict[str, Json]) -> bool:
        """Returns True if all entries of a map without declared fields are leaves, as in most such maps."""
        return self.element is not None and {self.element.leaf}.issuperset(map(type, value.values()))

    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        if type(value) is not dict:
            if strict and value is not None:
                raise Mismatch
            return LEAF if self.atomic else None
        if self.atomic and not strict:
            return LEAF
        found: FieldSet = {}
        fields = self.fields
        if not fields and self._has_leaves_only(value):
            found = {f"f:{name}": LEAF for name in value}
            return LEAF if self.atomic else found or None
        find = fields.get
        for name, item in value.items():
            declared = find(name)
            if declared is None:
                element, kind, leaf = self._member(name)
                node = None if type(item) is leaf else kind.field_set(item, strict)
                if node:
                    node[MEMBER] = LEAF
                found[element] = node or LEAF
                continue
            element, kind, leaf = declared
            if type(item) is leaf:
                found[element] = LEAF
                continue
            node = kind.field_set(item, strict)
            if node is not None:
                found[element] = node
            elif item is None or item == {}:
                found[element] = LEAF
        if self.atomic:
            return LEAF
        return found or None

    def paths(self, value: Json) -> FieldSet:
        if type(value) is not dict or not value or self.atomic:
            return LEAF
        found: FieldSet = {MEMBER: LEAF}
        fields = self.fields
        if not fields and self._has_leaves_only(value):
            found.update({f"f:{name}": LEAF for name in value})
            return found
        for name, item in value.items():
            element, kind, leaf = fields.get(name) or self._member(name)
            found[element] = LEAF if type(item) is leaf else kind.paths(item)
        return found

    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        old_map: dict[str, Json] = old if type(old) is dict else LEAF
        new_map: dict[str, Json] = new if type(new) is dict else LEAF
        if self.atomic or not (old_map or new_map):
            if not equal(old, new):
                modified[element] = LEAF
            return
        gone: FieldSet = {}
        changed: FieldSet = {}
        come: FieldSet = {}
        fields = self.fields
        absent = 0
        for name, before in old_map.items():
            after = new_map.get(name, _ABSENT)
            if after is before:
                continue
            step, kind, _ = fields.get(name) or self._member(name)
            if after is _ABSENT:
                absent += 1
                gone[step] = kind.paths(before)
            elif type(before) is str and type(after) is str:
                if before != after:
                    changed[step] = LEAF
            elif not (kind.exact_when_valid and before == after):
                kind.compare(step, before, after, gone, changed, come)
        if len(new_map) > len(old_map) - absent:
            for name, after in new_map.items():
                if name not in old_map:
                    step, kind, leaf = fields.get(name) or self._member(name)
                    come[step] = LEAF if type(after) is leaf else kind.paths(after)
        if gone:
            removed[element] = gone
        if changed:
            modified[element] = changed
        if come:
            added[element] = come

    def merge(self, live: Json, config: Json) -> Json:
        if self.atomic:
            return live if equal(live, config) else config
        if type(config) is not dict or not config:
            # Without a config to merge: a map with entries keeps them, an empty map takes the config's value.
            return live if type(live) is dict and (live or config is not None) else config
        if type(live) is not dict or not live:
            return config
        merged: dict[str, Json] | None = None
        fields = self.fields
        for name, wanted in config.items():
            current = live.get(name, _ABSENT)
            if current is _ABSENT:
                result = wanted
            elif type(wanted) is str and type(current) is str:
                if wanted == current:
                    continue
                result = wanted
            else:
                _, kind, _ = fields.get(name) or self._member(name)
                if wanted == current and (kind.exact or equal(wanted, current)):
                    continue
                result = kind.merge(current, wanted)
                if result is current:
                    continue
            if merged is None:
                merged = live.copy()
            merged[name] = result
        return live if merged is None else merged

    def remove(self, value: Json, fields: FieldSet) -> Json:
        if type(value) is not dict or not value or self.atomic:
            return None
        kept = value.copy()
        for element, node in fields.items():
            name = element[2:]
            if element[0] != "f" or name not in kept:
                continue
            if is_member(node):
                del kept[name]
                continue
            declared = self.fields.get(name)
            kind = self.element if declared is None else declared[1]
            kept[name] = None if kind is None else kind.remove(kept[name], node)
        return kept or None

    def fields_to_remove(
        self, value: Json, last: FieldSet, owners: list[FieldSet], dropped: bool, is_container_removed: bool
    ) -> FieldSet | None:
        if type(value) is not dict or self.atomic or not last:
            return None
        found: FieldSet = {}
        owned = nodes_of(last, owners)
        for element, before in last.items():
            now = owned.get(element, [])
            name = element[2:]
            if name in value and element[0] == "f" and (is_container_removed or before not in now):
                self._add_fields_to_remove(found, element, value[name], before, now, dropped, is_container_removed)
        return found or None

    def _add_fields_to_remove(
        self,
        found: FieldSet,
        element: str,
        item: Json,
        before: FieldSet,
        now: list[FieldSet],
        dropped: bool,
        gone: bool,
    ) -> None:
        """Adds the doomed paths of one field or entry, and of its contents."""
        declared = self.fields.get(element[2:])
        kind = self.element if declared is None else declared[1]
        if kind is None:
            return
        # A declared field is owned together with all paths below, a map entry only by itself.
        if declared is None:
            mine, owned = is_member(before), any(map(is_member, now))
        else:
            mine, owned = True, bool(now) and _remains_set(kind, item, now)
        lost = (dropped or mine) and not owned
        if mine and (gone or lost) and (declared is None or _is_set(kind, item)):
            found[element] = LEAF
        elif before:
            below = kind.fields_to_remove(item, before, now, dropped or mine, gone or lost)
            if below is not None:
                found[element] = below

    def extract(self, value: Json, fields: FieldSet) -> Json:
        if type(value) is not dict or not value or self.atomic:
            return value
        kept: dict[str, Json] = {}
        for name, item in value.items():
            element, kind, _ = self.fields.get(name) or self._member(name)
            node = fields.get(element)
            if node is not None:
                kept[name] = kind.extract(item, node)
        return kept

    def named(self, fields: FieldSet) -> FieldSet:
        found: FieldSet = {}
        for element, node in fields.items():
            if node and element[0] == "f":
                declared = self.fields.get(element[2:])
                if declared is not None:
                    node = as_member(declared[1].named(node))
                elif self.element is not None:
                    node = self.element.named(node)
            found[element] = node
        return found

    def reconcile(self, fields: FieldSet) -> FieldSet:
        if self.deduced or not fields or not self.collapses:
            return fields
        if self.atomic:
            return LEAF
        found = fields
        for element, kind, _ in self.collapsing:
            node = fields.get(element)
            if node and (result := kind.reconcile(node)) is not node:
                found = fields.copy() if found is fields else found
                found[element] = result
        if self.element is not None and self.element.collapses:
            for element, node in fields.items():
                if node and element[2:] not in self.fields and (result := self.element.reconcile(node)) is not node:
                    found = fields.copy() if found is fields else found
                    found[element] = result
        return found


def _is_set(kind: Type, item: Json) -> bool:
    """Returns True if a field with this value counts as set: all do, except empty lists and maps of only those."""
    return item is None or item == {} or kind.field_set(item, False) is not None


def _remains_set(kind: Type, item: Json, now: list[FieldSet]) -> bool:
    """Returns True if an owned field still counts as set after its parts without owners are removed."""
    if type(item) is not dict or [] not in item.values():
        return True
    owned = union_all([kind.named(node) for node in now])
    rest = kind.remove(item, difference(kind.named(kind.field_set(item, False) or LEAF), owned))
    return _is_set(kind, rest)
