"""Fields that a set leaves to other managers: replicas to an autoscaler, a CA bundle to its injector.

With server-side apply, omitting such fields is not enough: fields that the set wrote at the creation would be removed.
While the set owns a field, the current value is sent; once another manager wrote the field, the field is omitted.
"""

from setpoint.flow.diff import find_item
from setpoint.flow.policy import Mode
from setpoint.merge.fieldset import MEMBER, FieldSet
from setpoint.objects.tree import Json, Object

_ANY = "*"


def drop_ignored_fields(pointer: str, wanted: Object, live: Object, fields: FieldSet, mode: Mode) -> bool:
    """Removes the fields of a JSON Pointer from the wanted object, or sets them to their current values.

    Returns True if current values were used, so that the write must be conditional on that version. Raises ValueError.
    """
    if not pointer.startswith("/"):
        raise ValueError(f"invalid JSON Pointer {pointer!r}: must begin with a slash")
    path = [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
    return _drop(path, wanted, live, fields, mode)


def _drop(path: list[str], wanted: Json, live: Json, fields: FieldSet, mode: Mode) -> bool:
    if isinstance(wanted, list) and isinstance(live, list):
        return _drop_in_list(path, wanted, live, fields, mode)
    if not isinstance(wanted, dict) or not isinstance(live, dict):
        return False
    says = False
    names = list(wanted) if path[0] == _ANY else [path[0]]
    for name in names:
        owned = fields.get("f:" + name)
        if len(path) > 1:
            says |= name in wanted and _drop(path[1:], wanted[name], live.get(name), owned or {}, mode)
        elif name in live and (mode is Mode.UPDATE or owned is not None):
            wanted[name] = live[name]
            says = True
        else:
            wanted.pop(name, None)
    return says


def _drop_in_list(path: list[str], wanted: list[Json], live: list[Json], fields: FieldSet, mode: Mode) -> bool:
    """Applies a pointer to the items of a list. Items are matched by their keys, or else by index."""
    says = False
    for at, item in enumerate(wanted):
        if path[0] not in (_ANY, str(at)) or len(path) == 1:
            continue
        element = next((each for each in fields if each != MEMBER and find_item(each, wanted) == at), None)
        there = at if element is None else find_item(element, live)
        if there is not None and there < len(live):
            says |= _drop(path[1:], item, live[there], fields.get(element, {}) if element else {}, mode)
    return says
