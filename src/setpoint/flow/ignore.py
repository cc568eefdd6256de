"""Fields that a set leaves to others once the object is there: replicas to an autoscaler, a bundle to its injector.

With server-side apply it is not enough to leave them out: what the set itself wrote when it made the object would then
be taken away. As long as it is the owner, it says what is there; once another one wrote the field, it says nothing.
"""

from setpoint.flow.diff import find_item
from setpoint.flow.policy import Mode
from setpoint.merge.fieldset import MEMBER, FieldSet
from setpoint.objects.tree import Json, Object

_ANY = "*"


def leave_to_others(pointer: str, wanted: Object, live: Object, fields: FieldSet, mode: Mode) -> bool:
    """Takes the fields that a JSON Pointer means out of what is wanted, or has it say there what is there.

    Whether it says something of what is there, and so must only be written to that version. Raises ValueError.
    """
    if not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} is no field to leave to others: a JSON Pointer begins with a slash")
    path = [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
    return _leave(path, wanted, live, fields, mode)


def _leave(path: list[str], wanted: Json, live: Json, fields: FieldSet, mode: Mode) -> bool:
    if isinstance(wanted, list) and isinstance(live, list):
        return _leave_in_list(path, wanted, live, fields, mode)
    if not isinstance(wanted, dict) or not isinstance(live, dict):
        return False
    says = False
    names = list(wanted) if path[0] == _ANY else [path[0]]
    for name in names:
        owned = fields.get("f:" + name)
        if len(path) > 1:
            says |= name in wanted and _leave(path[1:], wanted[name], live.get(name), owned or {}, mode)
        elif name in live and (mode is Mode.UPDATE or owned is not None):
            wanted[name] = live[name]
            says = True
        else:
            wanted.pop(name, None)
    return says


def _leave_in_list(path: list[str], wanted: list[Json], live: list[Json], fields: FieldSet, mode: Mode) -> bool:
    """The same in the items of a list; those of the two that have the same keys, or else place, are the same."""
    says = False
    for at, item in enumerate(wanted):
        if path[0] not in (_ANY, str(at)) or len(path) == 1:
            continue
        element = next((each for each in fields if each != MEMBER and find_item(each, wanted) == at), None)
        there = at if element is None else find_item(element, live)
        if there is not None and there < len(live):
            says |= _leave(path[1:], item, live[there], fields.get(element, {}) if element else {}, mode)
    return says
