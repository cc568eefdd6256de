"""JSON merge patch (RFC 7386): a partial object in which null means removal.

`apply` returns the patched object, `diff` makes the patch from one object to another, and `three_way` the patch that
transfers a change of a configuration to an object that has changed meanwhile. Inputs are not changed: the result shares
unchanged parts with them.

The behavior is that of the real server, which departs from the RFC in one place: a list that replaces a value other
than an object loses the nulls of its objects, which the RFC would keep.
"""

from operator import is_

from setpoint.merge.equality import identical
from setpoint.objects import codec
from setpoint.objects.errors import BadRequest
from setpoint.objects.goformat import json_type
from setpoint.objects.sorted_json import in_order
from setpoint.objects.tree import Json, Object


def apply(target: Object, patch: Json, *, strict: bool = True) -> Json:
    """Returns the target with the patch applied.

    Raises BadRequest if the patch is not an object. Without `strict` (field validation Ignore), the patch may also be a
    list, which is then the result; decoding the result rejects the list.
    """
    if type(patch) is not dict:
        if patch is None or (not strict and type(patch) is not list):
            raise BadRequest("Invalid JSON Patch")
        if strict:
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {json_type(patch)} "
                "into Go value of type map[string]interface {}"
            )
    try:
        return _merge(target, patch) if type(patch) is dict else _without_nulls(patch)
    except RecursionError:
        raise BadRequest(codec.TOO_DEEP) from None


def apply_in_order(target: Object, patch: Json, *, strict: bool = True) -> Json:
    """Returns the target with the patch applied, and with the keys in the order in which the real server writes them:
    sorted in the objects that the patch changes and in the values of the patch, unchanged in all others."""
    return _in_order(apply(target, patch, strict=strict), patch)


def _in_order(merged: Json, patch: Json) -> Json:
    if type(patch) is not dict or type(merged) is not dict:
        return in_order(merged)
    return {name: _in_order(merged[name], patch[name]) if name in patch else merged[name] for name in sorted(merged)}


def _merge(target: Object, patch: Object) -> Object:
    merged = target.copy()
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if type(value) is str:
            merged[key] = value
        elif type(current) is not dict:
            merged[key] = _without_nulls(value)
        elif type(value) is dict:
            merged[key] = _merge(current, value)
        else:
            merged[key] = value
    return merged


def _without_nulls(value: Json) -> Json:
    """Returns the value without the null fields of its objects; the value itself if there are none."""
    if type(value) is dict:
        kept = {
            key: item if type(item) is str else _without_nulls(item) for key, item in value.items() if item is not None
        }
        return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept
    if type(value) is list:
        items = [_without_nulls(item) for item in value]
        return value if all(map(is_, items, value)) else items
    return value


def diff(old: Object, new: Object) -> Object:
    """Returns the patch that changes `old` to `new`, which must not have null fields: a patch cannot create them."""
    found: Object = {}
    for key, value in new.items():
        if key not in old:
            found[key] = value
            continue
        before = old[key]
        if before is value:
            continue
        if type(value) is dict and type(before) is dict:
            if inner := diff(before, value):
                found[key] = inner
        elif not identical(before, value):
            found[key] = value
    for key in old:
        if key not in new:
            found[key] = None
    return found


def three_way(original: Object, modified: Object, current: Object) -> Object:
    """Returns the patch that sets the fields of `modified` on `current`, and removes the fields of `original` that
    `modified` no longer has.
    """
    return _combined(_removals(diff(original, modified)), _changes(diff(current, modified)))


def _changes(patch: Object) -> Object:
    """Returns the patch without its removals, and without the objects that contained only removals."""
    kept: Object = {}
    for key, value in patch.items():
        if type(value) is dict and value:
            if inner := _changes(value):
                kept[key] = inner
        elif value is not None:
            kept[key] = value
    return kept


def _removals(patch: Object) -> Object:
    """Returns only the removals of the patch."""
    kept: Object = {}
    for key, value in patch.items():
        if value is None:
            kept[key] = None
        elif type(value) is dict and (inner := _removals(value)):
            kept[key] = inner
    return kept


def _combined(removals: Object, changes: Object) -> Object:
    """Combines both in one patch. No field is in both: removed fields are not in `modified`, changed ones are."""
    combined = removals.copy()
    for key, value in changes.items():
        combined[key] = _combined(combined[key], value) if type(combined.get(key)) is dict else value
    return combined
