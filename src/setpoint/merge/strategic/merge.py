"""Applies a strategic merge patch to an object: maps field by field, lists by the strategy of their field.

Pure: neither input changes, and the result shares parts with both. `combining` is for the two halves of a three-way
patch, where the changes are merged into the deletions: nulls and directives are kept for the final application.
"""

from setpoint.merge.failure import BadPatch, PatchFailed
from setpoint.merge.strategic.directives import (
    A_LIST,
    DELETE,
    DELETE_FROM,
    ORDER,
    PATCH,
    REPLACE,
    RETAIN_KEYS,
    bad_format,
    field_of,
    is_deletion,
    item_key,
    no_merge_key,
    scalar_key,
    unknown_patch_type,
    wrong_type,
)
from setpoint.merge.strategic.order import arrange
from setpoint.merge.strategic.schema import MergeField, PatchSchema
from setpoint.objects import codec
from setpoint.objects.errors import BadRequest
from setpoint.objects.goformat import format_v, json_type
from setpoint.objects.tree import Json, Object

_MISSING = object()


def merge(original: Object, patch: Json, schema: PatchSchema) -> Object:
    """Returns the object with the patch applied. Raises APIError with the real server's message."""
    if patch is None:
        return original
    if type(patch) is not dict:
        raise BadRequest(f"json: cannot unmarshal {json_type(patch)} into Go value of type map[string]interface {{}}")
    try:
        return merge_maps(original, patch, schema)
    except RecursionError:
        raise BadRequest(codec.TOO_DEEP) from None


def merge_maps(original: Object, patch: Object, schema: PatchSchema, combining: bool = False) -> Object:
    if PATCH in patch:
        return _directed(patch)
    merged = original.copy()
    for key in patch:
        if key[:1] == "$":
            patch = _follow_directives(merged, patch, schema, combining)
            break
    for key, value in patch.items():
        deletes = False
        if key[:1] == "$" and key.startswith(DELETE_FROM):
            key, deletes = field_of(key, DELETE_FROM), True
        if value is None:
            if combining:
                merged[key] = None
            else:
                merged.pop(key, None)
            continue
        current: Json = merged.get(key)
        kind = type(value)
        if type(current) is not kind:
            if not deletes:
                _set_or_remove(merged, key, value, combining)
        elif kind is dict or kind is list:
            try:
                merged[key] = _merged(current, value, key, schema, combining, deletes)
            except BadPatch as error:
                raise error.within(key) from None
        else:
            merged[key] = value
    return merged


def _merged(current: Json, value: Json, key: str, schema: PatchSchema, combining: bool, deletes: bool) -> Json:
    """Returns the merged value of a map or list that both sides have."""
    if type(value) is dict:
        field = schema.field(key)
        return value if field.replaces else merge_maps(current, value, field.schema, combining)
    field = schema.list_field(key)
    return merge_lists(current, value, field, combining, deletes) if field.merges or deletes else value


def _directed(patch: Object) -> Object:
    """Returns the result for a map with a `$patch` directive."""
    directive = patch[PATCH]
    if directive == REPLACE:
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == DELETE:
        return {}
    raise unknown_patch_type(directive, patch)


def _set_or_remove(merged: Object, key: str, value: Json, keep_nulls: bool) -> None:
    """Sets or removes a field by a value of the patch that has no counterpart to merge with."""
    value = _plain(value, keep_nulls)
    if value is _MISSING:
        merged.pop(key, None)
    else:
        merged[key] = value


def _plain(value: Json, keep_nulls: bool) -> Json:
    """Returns the value without nulls and directive maps; `_MISSING` if the value itself is a directive."""
    if type(value) is dict:
        if PATCH in value and (keep_nulls or value[PATCH] is not None):
            return _MISSING
        found = {key: _plain(item, keep_nulls) for key, item in value.items() if keep_nulls or item is not None}
        return {key: item for key, item in found.items() if item is not _MISSING}
    if type(value) is list:
        return [item for item in (_plain(item, keep_nulls) for item in value) if item is not _MISSING]
    return value


def _follow_directives(merged: Object, patch: Object, schema: PatchSchema, combining: bool) -> Object:
    """Applies `$retainKeys` and `$setElementOrder`, and returns the rest of the patch."""
    rest = patch.copy()
    if RETAIN_KEYS in rest:
        _retain_keys(merged, rest, rest.pop(RETAIN_KEYS), combining)
    for directive, order in patch.items():
        if directive.startswith(ORDER):
            del rest[directive]
            if combining:
                merged[directive] = order
            key = field_of(directive, ORDER)
            try:
                _merge_in_order(merged, rest, key, order, schema, combining)
            except BadPatch as error:
                raise error.within(key) from None
    return rest


def _retain_keys(merged: Object, patch: Object, retained: Json, combining: bool) -> None:
    if combining:
        merged[RETAIN_KEYS] = retained
        return
    if type(retained) is not list:
        raise bad_format("retainKeys")
    kept = {key for key in retained if type(key) is str}
    for key, value in patch.items():
        if value is not None and key not in kept and not key.startswith((DELETE_FROM, ORDER)):
            raise bad_format("retainKeys")
    for key in [key for key in merged if key not in kept]:
        del merged[key]


def _merge_in_order(merged: Object, patch: Object, key: str, order: Json, schema: PatchSchema, combining: bool) -> None:
    """Merges a list with a `$setElementOrder` directive, and removes the list from the patch."""
    if type(order) is not list:
        raise wrong_type(A_LIST, order)
    live, changes = merged.get(key, _MISSING), patch.get(key, _MISSING)
    for value in (live, changes):
        if value is not _MISSING and type(value) is not list:
            raise wrong_type(A_LIST, value)
    field = schema.list_field(key)
    if changes is not _MISSING:
        _check_order(changes, order, field.merge_key)
    if live is _MISSING:
        if changes is _MISSING:
            return
        items, live = _plain(changes, keep_nulls=True), []
    elif changes is _MISSING:
        items = live
    else:
        # The order of the items does not matter yet, unless there are new ones that the directive does not list.
        items = merge_lists(live, changes, field, combining, ordered=not order) if field.merges else changes
        if field.merges and field.merge_key:
            live = _live_order(live, changes, field.merge_key)
    element_type(live, [] if changes is _MISSING else changes)
    merged[key] = arrange(items, order, live, field.merge_key, combining)
    patch.pop(key, None)


def _live_order(live: list[Json], changes: list[Json], merge_key: str) -> list[Json]:
    """Returns the live list for the ordering. The server deletes in place: added items take the freed positions."""
    deleted = {item_key(item, merge_key) for item in changes if is_deletion(item)}
    if not deleted:
        return live
    kept = [item for item in live if item_key(item, merge_key) not in deleted]
    if len(kept) == len(live) or any(item.get(PATCH) == REPLACE for item in changes):
        return kept
    keys = {item_key(item, merge_key) for item in kept}
    added = [item for item in changes if PATCH not in item and item_key(item, merge_key) not in keys]
    return (kept + added)[: len(live)]


def _check_order(changes: list[Json], order: list[Json], merge_key: str) -> None:
    """Checks that the items of the patch occur in the order list, in the same sequence."""
    if not order or not changes:
        return
    items = [item for item in changes if not is_deletion(item)] if merge_key else changes
    position = 0
    for wanted in order:
        # A `$patch: replace` is not an item; but the real server rejects one behind the last item of the order.
        while position < len(items) and type(items[position]) is dict and PATCH in items[position]:
            position += 1
        if position == len(items):
            return
        if item_key(items[position], merge_key) == item_key(wanted, merge_key):
            position += 1
    if position < len(items):
        raise BadPatch(
            f"The order in patch list:\n{format_v(changes)}\n doesn't match {ORDER} list:\n{format_v(order)}\n"
        )


def merge_lists(
    original: list[Json],
    patch: list[Json],
    field: MergeField,
    combining: bool = False,
    deletes: bool = False,
    ordered: bool = True,
) -> list[Json]:
    """Merges two lists: maps by their merge key, scalars as sets. With `deletes`, removes the scalars of the patch."""
    if not original and not patch:
        return original
    if element_type(original, patch) is dict:
        return _merge_lists_of_maps(original, patch, field, combining, ordered)
    patched = {scalar_key(item): item for item in patch}
    if deletes and not combining:
        return [item for item in original if scalar_key(item) not in patched]
    both = {scalar_key(item): item for item in original} | patched
    return arrange(list(both.values()), patch, original, field.merge_key)


def element_type(*lists: list[Json]) -> type:
    """Returns the common type of all items."""
    kind: type | None = None
    for items in lists:
        for item in items:
            if kind is None:
                kind = type(item)
                if kind is list:
                    raise PatchFailed.because("lists of lists are not supported")
            if type(item) is not kind or item is None:
                raise BadPatch(f"list element types are not identical: {format_v(list(lists))}")
    if kind is None:
        raise BadPatch("no elements in any of the given slices")
    return kind


def _merge_lists_of_maps(
    original: list[Json], patch: list[Json], field: MergeField, combining: bool, ordered: bool
) -> list[Json]:
    merge_key = field.merge_key
    if not merge_key:
        raise BadPatch(f"cannot merge lists without merge key for {field.schema.kind}")
    for item in patch:
        if PATCH in item:
            original, patch = _follow_items(original, patch, merge_key)
            break
    positions: dict[Json, int] = {}
    for position, item in enumerate(original):
        if merge_key in item:
            key = item[merge_key]
            positions.setdefault(key if type(key) is str else scalar_key(key), position)
    merged = original.copy()
    # As long as the patch names distinct live items in ascending positions, their order does not change.
    in_place, last = len(positions) == len(original), -1
    for position, item in enumerate(patch):
        if merge_key not in item:
            raise no_merge_key(item, merge_key).within(f"[{position}]")
        found = positions.setdefault(scalar_key(item[merge_key]), len(merged))
        if found == len(merged):
            merged.append(item)
            in_place = False
        else:
            try:
                merged[found] = merge_maps(merged[found], item, field.schema, combining)
            except BadPatch as error:
                raise error.within(f"[{position}]") from None
            in_place = in_place and found > last
            last = found
    return merged if in_place or not ordered else arrange(merged, patch, original, merge_key, combining)


def _follow_items(original: list[Json], patch: list[Json], merge_key: str) -> tuple[list[Json], list[Json]]:
    """Applies the items with a directive; returns the rest of both lists."""
    rest = [item for item in patch if PATCH not in item]
    replaces = False
    deleted = set()
    for item in patch:
        match item.get(PATCH, _MISSING):
            case directive if directive is _MISSING:
                continue
            case "delete":
                deleted.add(item_key(item, merge_key))
            case "replace":
                replaces = True
            case "merge":
                raise BadPatch("merging lists cannot yet be specified in the patch")
            case directive:
                raise unknown_patch_type(directive, item)
    if replaces:
        return rest, []
    return [item for item in original if merge_key not in item or item_key(item, merge_key) not in deleted], rest
