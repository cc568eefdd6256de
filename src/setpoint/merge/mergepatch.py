"""JSON merge patch (RFC 7386): a partial object in which null means removal.

`apply` gives the patched object, `diff` makes the patch from one object to another, `three_way` the one that carries a
change of a configuration over to an object that has changed meanwhile. Nothing is changed in place: the result shares
with its inputs whatever the patch did not touch.

It answers as the real server does. Where that departs from the RFC: a list that takes the place of anything but an
object loses the nulls of the objects in it, where the RFC would keep them.
"""

from operator import is_

from setpoint.merge.equality import identical
from setpoint.objects import codec
from setpoint.objects.errors import BadRequest
from setpoint.objects.goformat import json_type
from setpoint.objects.tree import Json, Object


def apply(target: Object, patch: Json, *, strict: bool = True) -> Json:
    """The target with the patch applied to it.

    Raises BadRequest where the patch is no object. Without `strict` (field validation Ignore) it may also be a list,
    which then is the result: that a list is no object comes out when the result is decoded.
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
    """The value without the null fields of the objects in it; the value itself where there are none."""
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
    """The patch that makes the one object the other, which may not have null fields: a patch cannot make them."""
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
    """The patch that makes `current` what `modified` says, and removes from it what `original` said and `modified` no
    longer does.
    """
    return _combined(_removals(diff(original, modified)), _changes(diff(current, modified)))


def _changes(patch: Object) -> Object:
    """The patch without its removals, and without the objects that held nothing else."""
    kept: Object = {}
    for key, value in patch.items():
        if type(value) is dict and value:
            if inner := _changes(value):
                kept[key] = inner
        elif value is not None:
            kept[key] = value
    return kept


def _removals(patch: Object) -> Object:
    """The removals of the patch alone."""
    kept: Object = {}
    for key, value in patch.items():
        if value is None:
            kept[key] = None
        elif type(value) is dict and (inner := _removals(value)):
            kept[key] = inner
    return kept


def _combined(removals: Object, changes: Object) -> Object:
    """Both in one patch. No field is in both: what is removed `modified` does not say, what is changed it says."""
    combined = removals.copy()
    for key, value in changes.items():
        combined[key] = _combined(combined[key], value) if type(combined.get(key)) is dict else value
    return combined
