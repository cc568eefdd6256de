"""The rest of a strategic merge patch after its merge, which kube-apiserver shows in errors.

kube-apiserver merges in place: a patch loses the nulls and directives that took effect, and an item which the object
lacks becomes part of the object, where later items of the patch with the same key change the item.
"""

from setpoint.merge.failure import BadPatch
from setpoint.merge.strategic.directives import PATCH, REPLACE, scalar_key
from setpoint.merge.strategic.merge import merge_maps
from setpoint.merge.strategic.schema import MergeField, PatchSchema
from setpoint.objects.tree import Json, Object


def remainder(patch: Object, live: Object, schema: PatchSchema) -> Object:
    """Returns the rest of a patch that was merged into an object."""
    if patch.get(PATCH) == REPLACE:
        return {name: value for name, value in patch.items() if name != PATCH}
    return {
        name: _of_field(name, value, live[name], schema) if name in live else _without_nulls(value)
        for name, value in patch.items()
    }


def _of_field(name: str, value: Json, current: Json, schema: PatchSchema) -> Json:
    if type(value) is not type(current):
        return _without_nulls(value)
    if type(value) is not dict and type(value) is not list:
        return value
    try:
        field = schema.field(name)
    except BadPatch:
        return value
    if type(value) is dict:
        return remainder(value, current, field.schema)
    if not field.merges or not field.merge_key:
        return value
    return _of_items(list(value), current, field)


def _of_items(items: list[Json], live: list[Json], field: MergeField) -> list[Json]:
    """Returns the rest of the items of a list with a merge key."""
    name, schema = field.merge_key, field.schema
    if any(type(item) is not dict for item in (*items, *live)) or any(
        PATCH in item or name not in item for item in items
    ):
        return items
    known = {scalar_key(item[name]): item for item in reversed(live) if name in item}
    found: list[Json] = []
    for item in items:
        key = scalar_key(item[name])
        current = known.get(key)
        found.append(item.copy() if current is None else remainder(item, current, schema))
        if current is None:
            known[key] = found[-1]
        else:
            merged = merge_maps(current, item, schema)
            current.clear()
            current.update(merged)
    return found


def _without_nulls(value: Json) -> Json:
    if type(value) is dict:
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if type(value) is list else value
