"""Lists: atomic lists, sets of scalars, and lists with keyed items.

An atomic list is owned and merged as a whole. In the other two every item has its own owners, under a path element made
from its value or its keys; a missing key has its default. A duplicate item is owned as a whole.
"""

from operator import is_
from typing import NamedTuple

from setpoint.merge.equality import equal
from setpoint.merge.fieldset import LEAF, MEMBER, FieldSet, is_member, nodes_of
from setpoint.merge.pathelement import value_json
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.objects.tree import Json

_ABSENT = object()


class ListKey(NamedTuple):
    """A key of a list: its name, its prefix in a path element, and its default for items without the key."""

    name: str
    prefix: str
    default: Json = None


class ListType(Type):
    """A list. `keys` are sorted by name; an associative list without keys is a set.

    `element` and `keys` are set after construction, since a type may contain itself.
    """

    __slots__ = ("atomic", "element", "key_names", "keys")

    def __init__(self, element: Type, *, atomic: bool) -> None:
        self.atomic = atomic
        self.element = element
        self.keys: tuple[ListKey, ...] = ()
        # The names of the keys in the order of the schema.
        self.key_names: tuple[str, ...] = ()
        self.exact = self.exact_when_valid = True
        self.collapses = True

    def item_element(self, item: Json) -> str:
        """Returns the path element of an item of an associative list."""
        if not self.keys:
            kind = type(item)
            if kind is dict or kind is list or item is None:
                raise Mismatch
            return f"v:{value_json(item)}"
        if type(item) is not dict:
            raise Mismatch
        if len(self.keys) == 1:
            name, prefix, default = self.keys[0]
            value = item.get(name, default)
            if value is not None:
                return "k:{" + prefix + value_json(value) + "}"
        found = [
            f"{prefix}{value_json(value)}"
            for name, prefix, default in self.keys
            if (value := item.get(name, _ABSENT)) is not _ABSENT or (value := default) is not None
        ]
        if not found:
            raise Mismatch
        return "k:{" + ",".join(found) + "}"

    def _is_item(self, value: Json) -> bool:
        try:
            self.item_element(value)
        except Mismatch:
            return False
        return True

    def _index(self, items: list[Json]) -> tuple[dict[str, Json], dict[str, list[Json]]]:
        """Returns the unique items by element, and separately the items with a duplicate element."""
        if len(items) == 1:
            return {self.item_element(items[0]): items[0]}, {}
        elements = list(map(self.item_element, items))
        single = dict(zip(elements, items, strict=True))
        if len(single) == len(items):
            return single, {}
        several: dict[str, list[Json]] = {}
        for element, item in zip(elements, items, strict=True):
            several.setdefault(element, []).append(item)
        several = {element: found for element, found in several.items() if len(found) > 1}
        for element in several:
            del single[element]
        return single, several

    def field_set(self, value: Json, strict: bool) -> FieldSet | None:
        if type(value) is not list:
            if strict and value is not None:
                raise Mismatch
            return LEAF if self.atomic else None
        kind = self.element
        if self.atomic:
            if strict and not kind.opaque and not {kind.leaf}.issuperset(map(type, value)):
                for item in value:
                    kind.field_set(item, strict)
            return LEAF
        try:
            single, several = self._index(value)
        except Mismatch:
            if strict:
                raise
            # An item that pruning emptied, or whose keys pruning removed, is no longer an item.
            single, several = self._index(list(filter(self._is_item, value)))
        if strict and several:
            raise Mismatch
        found: FieldSet = {}
        for element, item in single.items():
            node = kind.field_set(item, strict)
            if node:
                node[MEMBER] = LEAF
            found[element] = node or LEAF
        for element in several:
            found[element] = LEAF
        return found or None

    def paths(self, value: Json) -> FieldSet:
        if type(value) is not list or not value or self.atomic:
            return LEAF
        single, several = self._index(value)
        found: FieldSet = {MEMBER: LEAF}
        for element, item in single.items():
            found[element] = self.element.paths(item)
        for element in several:
            found[element] = LEAF
        return found

    def compare(
        self, element: str, old: Json, new: Json, removed: FieldSet, modified: FieldSet, added: FieldSet
    ) -> None:
        old_list: list[Json] = old if type(old) is list else []
        new_list: list[Json] = new if type(new) is list else []
        if self.atomic or not (old_list or new_list):
            if not equal(old, new):
                modified[element] = LEAF
            return
        gone: FieldSet = {}
        changed: FieldSet = {}
        come: FieldSet = {}
        kind = self.element
        old_items, old_several = self._index(old_list)
        new_items, new_several = self._index(new_list)
        for step, before in old_items.items():
            after = new_items.get(step, _ABSENT)
            if after is _ABSENT:
                gone[step] = kind.paths(before)
            elif after is not before and not (kind.exact_when_valid and before == after):
                kind.compare(step, before, after, gone, changed, come)
        for step, after in new_items.items():
            if step not in old_items:
                come[step] = kind.paths(after)
        for step, befores in old_several.items():
            afters = new_several.get(step)
            if afters is None:
                gone[step] = LEAF
            elif not equal(befores, afters):
                changed[step] = LEAF
        for step in new_several:
            if step not in old_several:
                come[step] = LEAF
        if gone:
            removed[element] = gone
        if changed:
            modified[element] = changed
        if come:
            added[element] = come

    def merge(self, live: Json, config: Json) -> Json:
        if self.atomic:
            return live if equal(live, config) else config
        if type(config) is not list or not config:
            return live if type(live) is list and (live or config is not None) else config
        if type(live) is not list or not live:
            return config
        merged = self._merge_items(live, config)
        if len(merged) == len(live) and all(map(is_, merged, live)):
            return live
        return merged

    def _merge_items(self, live: list[Json], config: list[Json]) -> list[Json]:
        """Returns the items of both: those of the config in its order, and the others at their live positions."""
        live_elements = list(map(self.item_element, live))
        config_elements = list(map(self.item_element, config))
        live_items: dict[str, Json] = {}
        for element, item in zip(live_elements, live, strict=True):
            # A duplicate item cannot be merged: the config's item replaces all of them.
            live_items[element] = None if element in live_items else item
        wanted = dict(zip(config_elements, config, strict=True))
        shared = iter([element for element in config_elements if element in live_items])
        next_shared = next(shared, None)
        done: set[str] = set()
        merged: list[Json] = []
        left, right = 0, 0
        while left < len(live) or right < len(config):
            if left < len(live):
                element = live_elements[left]
                if right < len(config):
                    if element == config_elements[right]:
                        merged.append(self._merge_item(live_items[element], config[right]))
                        done.add(element)
                        left += 1
                        right += 1
                        next_shared = next(shared, None)
                        continue
                    if element in wanted and next_shared is not None and next_shared != element:
                        left += 1
                        continue
                if element not in wanted:
                    merged.append(live[left])
                    left += 1
                    continue
                if element in done:
                    left += 1
            if right < len(config):
                element = config_elements[right]
                merged.append(self._merge_item(live_items.get(element), config[right]))
                done.add(element)
                right += 1
                if element == next_shared:
                    next_shared = next(shared, None)
        return merged

    def _merge_item(self, live: Json, config: Json) -> Json:
        return config if live is None else self.element.merge(live, config)

    def remove(self, value: Json, fields: FieldSet) -> Json:
        if type(value) is not list or not value or self.atomic:
            return None
        kept = []
        for item in value:
            node = fields.get(self.item_element(item))
            if node is None:
                kept.append(item)
            elif not is_member(node):
                kept.append(self.element.remove(item, node))
        return kept or None

    def fields_to_remove(
        self, value: Json, last: FieldSet, owners: list[FieldSet], dropped: bool, is_container_removed: bool
    ) -> FieldSet | None:
        if type(value) is not list or self.atomic or not last:
            return None
        single, several = self._index(value)
        found: FieldSet = {}
        owned = nodes_of(last, owners)
        for element, before in last.items():
            if element not in single and element not in several:
                continue
            now = owned.get(element, [])
            if not is_container_removed and before in now:
                continue
            mine = is_member(before)
            lost = (dropped or mine) and not any(map(is_member, now))
            if mine and (is_container_removed or lost):
                found[element] = LEAF
            elif before and element in single:
                below = self.element.fields_to_remove(
                    single[element], before, now, dropped or mine, is_container_removed or lost
                )
                if below is not None:
                    found[element] = below
        return found or None

    def extract(self, value: Json, fields: FieldSet) -> Json:
        if type(value) is not list or not value or self.atomic:
            return value
        kept = []
        for item in value:
            node = fields.get(self.item_element(item))
            if node is not None:
                kept.append(self._extract_item(item, node))
        return kept

    def _extract_item(self, item: Json, node: FieldSet) -> Json:
        """Returns the fields of an item together with its keys, which identify the item."""
        if not node or not self.keys:
            return item
        keys = {key.name: item[key.name] for key in self.keys if key.name in item}
        return {**keys, **self.element.extract(item, node)}

    def named(self, fields: FieldSet) -> FieldSet:
        kind = self.element
        return {element: kind.named(node) if node and element[0] == "k" else node for element, node in fields.items()}

    def reconcile(self, fields: FieldSet) -> FieldSet:
        if not fields or self.atomic:
            return LEAF
        kind = self.element
        if not kind.collapses:
            return fields
        found: FieldSet | None = None
        for element, node in fields.items():
            if node and (result := kind.reconcile(node)) is not node:
                if found is None:
                    found = fields.copy()
                found[element] = result
        return fields if found is None else found
