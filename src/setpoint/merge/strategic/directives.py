"""The directives of a strategic merge patch, and the server's errors about them.

- `$patch: replace | delete` in an object or in an item of a list: replaces or deletes the whole value;
- `$retainKeys: [...]` in an object: the keys that are kept;
- `$setElementOrder/LIST: [...]` beside a list: the order of its items, each by its key or value;
- `$deleteFromPrimitiveList/LIST: [...]` beside a list of scalars: the items to remove.
"""

from typing import Any

from setpoint.merge.failure import BadPatch
from setpoint.objects.errors import BadRequest
from setpoint.objects.goformat import format_s, format_v, type_name
from setpoint.objects.tree import Json, Object

PATCH = "$patch"
REPLACE = "replace"
DELETE = "delete"
RETAIN_KEYS = "$retainKeys"
ORDER = "$setElementOrder"
DELETE_FROM = "$deleteFromPrimitiveList"

# The Go types that the errors name.
A_LIST = "[]interface {}"
A_MAP = "map[string]interface {}"


def no_merge_key(item: Object, merge_key: str) -> BadPatch:
    return BadPatch(f"map: {format_v(item)} does not contain declared merge key: {merge_key}")


def unknown_patch_type(directive: Json, patch: Object) -> BadPatch:
    return BadPatch(f"unknown patch type: {format_s(directive)} in map: {format_v(patch)}")


def wrong_type(expected: str, value: Json) -> BadPatch:
    received = "%!s(<nil>)" if value is None else type_name(value)
    return BadPatch(f"expected a {expected}, but received a {received}")


def bad_format(description: str) -> BadRequest:
    return BadRequest(f"invalid patch format of {description}")


def bad_order() -> BadRequest:
    return bad_format("setElementOrder list")


def field_of(directive: str, prefix: str) -> str:
    """Returns the field of a directive that has a field name."""
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        raise bad_order() if prefix == ORDER else bad_format("primitive list")
    return name


def scalar_key(value: Json) -> Any:
    """Returns a scalar as a dict key, with different keys for true, 1 and 1.0."""
    kind = type(value)
    if kind is str:
        return value
    if kind is dict or kind is list:
        raise BadRequest(f"a merge key cannot be {format_v(value)}: it must be a scalar")
    return kind, value


def item_key(item: Json, merge_key: str) -> Any:
    """Returns the key of a list item: its merge key, or the item itself in a list of scalars."""
    if not merge_key:
        return scalar_key(item)
    if type(item) is not dict:
        raise wrong_type(A_MAP, item)
    if merge_key not in item:
        raise no_merge_key(item, merge_key)
    return scalar_key(item[merge_key])


def item_keys(items: list[Json], merge_key: str) -> list[Any]:
    """Returns the keys of all items of a list."""
    keys = items
    if merge_key:
        try:
            keys = [item[merge_key] for item in items]
        except (KeyError, TypeError):
            return [item_key(item, merge_key) for item in items]
    for key in keys:
        if type(key) is not str:
            return [scalar_key(key) for key in keys]
    return keys


def is_deletion(item: Json) -> bool:
    """Returns True if a list item is a directive that deletes the item with its key."""
    return type(item) is dict and item.get(PATCH) == DELETE
