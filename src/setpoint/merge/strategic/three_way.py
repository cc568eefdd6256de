"""The patch that transfers a change of a configuration to a live object, as `kubectl apply` makes the patch.

`original` is the last applied configuration, `modified` the new one, `current` the live object.
"""

from typing import Any

from setpoint.merge.equality import identical
from setpoint.merge.failure import PatchConflictError
from setpoint.merge.strategic.diff import Parts, diff_maps
from setpoint.merge.strategic.directives import DELETE_FROM, PATCH, RETAIN_KEYS, item_keys, scalar_key
from setpoint.merge.strategic.merge import element_type, merge_maps
from setpoint.merge.strategic.schema import PatchSchema
from setpoint.objects.tree import Json, Object


def three_way(
    original: Object, modified: Object, current: Object, schema: PatchSchema, *, overwrite: bool = True
) -> Object:
    """Returns the patch that sets the fields of `modified` on `current`, and deletes the fields of `original` that
    `modified` no longer has. Fields that only `current` has are kept.

    Without `overwrite`, raises PatchConflictError if the patch would overwrite changes in `current`.
    """
    changes = diff_maps(current, modified, schema, Parts(deletions=False))
    deletions = diff_maps(original, modified, schema, Parts(changes=False))
    patch = merge_maps(deletions, changes, schema, combining=True)
    if not overwrite:
        changed = diff_maps(original, current, schema, Parts(order=False))
        if _maps_conflict(patch, changed, schema):
            from setpoint.objects import yamltext

            raise PatchConflictError(
                f"patch:\n{yamltext.dump(patch)}\n"
                f"conflicts with changes made from original to current:\n{yamltext.dump(changed)}\n"
            )
    return patch


def _maps_conflict(left: Object, right: Object, schema: PatchSchema) -> bool:
    """Returns True if two patches of one object set a field to different values."""
    if left.get(PATCH) != right.get(PATCH) or (PATCH in left) != (PATCH in right):
        return True
    return any(
        _fields_conflict(key, value, right[key], schema)
        for key, value in left.items()
        # Deletions from lists of scalars never conflict.
        if key in right and key not in (PATCH, RETAIN_KEYS) and not key.startswith(DELETE_FROM)
    )


def _fields_conflict(key: str, left: Json, right: Json, schema: PatchSchema) -> bool:
    if type(left) is not type(right):
        return True
    if type(left) is dict:
        field = schema.field(key)
        return not field.replaces and _maps_conflict(left, right, field.schema)
    if type(left) is list:
        field = schema.list_field(key)
        if not field.merges:
            return _lists_conflict(left, right)
        if element_type(left, right) is not dict:
            return False
        others = dict(zip(item_keys(right, field.merge_key), right, strict=True))
        return any(
            item_key in others and _maps_conflict(item, others[item_key], field.schema)
            for item_key, item in zip(item_keys(left, field.merge_key), left, strict=True)
        )
    return not identical(left, right)


def _lists_conflict(left: list[Json], right: list[Json]) -> bool:
    """Returns True if two lists that are replaced as a whole differ; scalars are compared in any order."""
    if element_type(left, right) is dict:
        return not identical(left, right)
    return len(left) != len(right) or _as_set(left) != _as_set(right)


def _as_set(items: list[Json]) -> set[Any]:
    return {scalar_key(item) for item in items}
