"""Makes strategic merge patches: from one object to another, or only the changes, or only the deletions.

The patch equals that of `kubectl`: removed fields become null, removed items of a merging list become `$patch: delete`
(scalars a `$deleteFromPrimitiveList`), a list with changed items or order gets a `$setElementOrder`, and an object with
mutually exclusive fields gets `$retainKeys`.
"""

from typing import NamedTuple

from setpoint.merge.equality import identical
from setpoint.merge.strategic.directives import (
    DELETE,
    DELETE_FROM,
    ORDER,
    PATCH,
    RETAIN_KEYS,
    item_keys,
)
from setpoint.merge.strategic.merge import element_type
from setpoint.merge.strategic.schema import MergeField, PatchSchema
from setpoint.objects.errors import APIError
from setpoint.objects.goformat import format_v
from setpoint.objects.tree import Json, Object


class Parts(NamedTuple):
    """The parts of the difference to include in the patch."""

    changes: bool = True
    deletions: bool = True
    order: bool = True


def diff(original: Object, modified: Object, schema: PatchSchema) -> Object:
    """Returns the patch that changes `original` to `modified`.

    Raises APIError for changes that a patch cannot express: inside a map of objects, or for an item without a merge
    key.
    """
    return diff_maps(original, modified, schema, Parts())


def diff_maps(
    original: Object, modified: Object, schema: PatchSchema, parts: Parts, retains_keys: bool = False
) -> Object:
    patch: Object = {}
    for key, value in modified.items():
        if key not in original:
            if parts.changes:
                patch[key] = value
            continue
        before = original[key]
        if before is value:
            continue
        kind = type(value)
        if kind is type(before) and (kind is dict or kind is list):
            _diff_field(patch, key, before, value, schema, parts)
        elif parts.changes and not identical(before, value):
            patch[key] = value
    if parts.deletions:
        patch.update(dict.fromkeys(key for key in original if key not in modified))
    if retains_keys:
        _retain_keys(patch, original, modified)
    return patch


def _retain_keys(patch: Object, original: Object, modified: Object) -> None:
    """Lists the keys to retain, if there is a change."""
    retained = sorted(key for key, value in modified.items() if value is not None)
    removes = any(value is not None and key not in modified for key, value in original.items())
    if retained and (patch or removes):
        patch[RETAIN_KEYS] = retained


def _diff_field(patch: Object, key: str, before: Json, value: Json, schema: PatchSchema, parts: Parts) -> None:
    try:
        field = schema.field(key) if type(value) is dict else schema.list_field(key)
    except APIError:
        if identical(before, value):
            return
        raise
    if type(value) is dict and not field.replaces:
        if inner := diff_maps(before, value, field.schema, parts, field.retains_keys):
            patch[key] = inner
    elif type(value) is list and field.merges:
        _diff_lists(patch, key, before, value, field, parts)
    elif parts.changes and not identical(before, value):
        patch[key] = value


def _diff_lists(
    patch: Object, key: str, before: list[Json], after: list[Json], field: MergeField, parts: Parts
) -> None:
    if not before:
        if after and parts.changes:
            patch[key] = after
        return
    if element_type(before, after) is dict:
        _diff_lists_of_maps(patch, key, before, after, field, parts)
    else:
        _diff_lists_of_scalars(patch, key, before, after, parts)


def _diff_lists_of_maps(
    patch: Object, key: str, before: list[Json], after: list[Json], field: MergeField, parts: Parts
) -> None:
    merge_key = field.merge_key
    old_keys, new_keys = item_keys(before, merge_key), item_keys(after, merge_key)
    old = dict(zip(old_keys, before, strict=True))
    kept = set(new_keys)
    changed: list[Json] = []
    for item_id, item in zip(new_keys, after, strict=True):
        if item_id not in old:
            if parts.changes:
                changed.append(item)
        elif inner := diff_maps(old[item_id], item, field.schema, parts, field.retains_keys):
            changed.append({**inner, merge_key: item[merge_key]})
    if parts.deletions:
        gone = [item for item_id, item in old.items() if item_id not in kept]
        gone.sort(key=lambda item: format_v(item[merge_key]))
        changed += [{merge_key: item[merge_key], PATCH: DELETE} for item in gone]
    if changed:
        patch[key] = changed
    if parts.order and after and (changed or (parts.changes and old_keys != new_keys)):
        patch[f"{ORDER}/{key}"] = [{merge_key: item[merge_key]} for item in after]


def _diff_lists_of_scalars(patch: Object, key: str, before: list[Json], after: list[Json], parts: Parts) -> None:
    old, new = item_keys(before, ""), item_keys(after, "")
    was, is_now = dict(zip(old, before, strict=True)), dict(zip(new, after, strict=True))
    added = [item for item_id, item in is_now.items() if item_id not in was]
    gone = [item for item_id, item in was.items() if item_id not in is_now]
    if added and parts.changes:
        patch[key] = added
    if gone and parts.deletions:
        patch[f"{DELETE_FROM}/{key}"] = sorted(gone, key=format_v)
    if parts.order and after and ((parts.deletions and gone) or (parts.changes and old != new)):
        patch[f"{ORDER}/{key}"] = after
