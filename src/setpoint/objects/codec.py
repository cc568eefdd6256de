"""Decodes bytes to JSON trees and encodes them: all bodies from outside are decoded here.

`decode` guarantees that a tree is at most `MAX_DEPTH` deep, and contains only 64-bit integers, finite floats (a larger
integer becomes a float, as on the real server) and strings that can be encoded again (malformed Unicode is repaired, as
on the real server). Other bodies raise BadRequest, with Go's message if Go has one, in bounded time and memory.
`check_tree` enforces the same guarantees for a tree that was built in this process.

The limit is 256 and not upstream's 10 000 because the functions that merge, prune, validate and copy trees are
recursive, with up to three Python frames per level, and Python allows a thousand frames. Real objects stay below 100
levels (the deepest are CustomResourceDefinitions); a library must not raise the recursion limit of the whole process.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from setpoint.objects import jsonfault, pieces, unicode_repair
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge, duplicate_field, unknown_field
from setpoint.objects.field import child
from setpoint.objects.gotext import INT64_MAX, INT64_MIN
from setpoint.objects.tree import Json

MAX_DEPTH = 256
MAX_BODY = 3 * 1024 * 1024
MAX_STRICT_ERRORS = 100
# An object with more objects and lists cannot be stored, because they take more bytes than a stored object may have.
# Reading more of them would block all other requests for too long.
MAX_CONTAINERS = 400_000

TOO_DEEP = f"exceeded max depth: JSON may be nested at most {MAX_DEPTH} levels deep"

_TOO_LARGE = "a number is out of the range of a 64-bit float"
_HALF_PAIR = "a string or a key has half of a surrogate pair, which UTF-8 cannot hold"
# Finding the exact fault of a malformed text means scanning the text in Python; larger texts get a shorter message.
_EXPLAINED = 256 * 1024
_MAX_PATH = 1000
_BLANK = b" \t\r\n"
# The checks of a text beside its values, in one pass. Every digit becomes a 0: a run of 19 zeros then shows that a
# number may exceed 64 bits. Lists and objects get the same opening bracket, because they are counted together.
_SKETCH = bytes.maketrans(b"123456789[", b"000000000{")
_LONG_NUMBER = b"0" * 19
# Also matches an unterminated string, so that the text is scanned once.
_STRING = re.compile(rb'"(?:[^"\\]+|\\.?)*+(?:"|\Z)', re.DOTALL)

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def decode(data: bytes, limit: int = MAX_BODY, *, repairs: bool = True) -> Json:
    """Decodes a JSON body to a tree; without `repairs`, malformed Unicode is a fault. Raises RequestEntityTooLarge or
    BadRequest."""
    if len(data) > limit:
        raise RequestEntityTooLarge.body(limit)
    # A container has two bytes at least, so that small bodies need not be counted.
    if len(data) > 2 * MAX_CONTAINERS and _containers(data) > MAX_CONTAINERS:
        raise RequestEntityTooLarge.containers(MAX_CONTAINERS)
    try:
        tree = _read(data, repairs)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None
    sketch = data.translate(_SKETCH)
    if sketch.count(b"{") > MAX_DEPTH and is_too_deep(tree):
        raise BadRequest(TOO_DEEP)
    if _LONG_NUMBER in sketch:
        return _narrow(tree)
    return tree


def _read(data: bytes, repairs: bool) -> Json:
    try:
        return _read_exactly(data)
    except (UnicodeDecodeError, msgspec.MsgspecError) as error:
        repaired = unicode_repair.repaired(data) if repairs else data
        if repaired == data:
            raise BadRequest(_explain(data, str(error))) from None
    try:
        return _read_exactly(repaired)
    except msgspec.MsgspecError as error:
        raise BadRequest(_explain(data, str(error))) from None


def _read_exactly(data: bytes) -> Json:
    return _decode(data) if len(data) < pieces.SMALL else pieces.decode(data)


def _containers(data: bytes) -> int:
    """Returns the number of objects and lists, or an upper bound that is not above the limit."""
    found = _brackets(data)
    return found if found <= MAX_CONTAINERS else found - _brackets_in_strings(data)


def _brackets(data: bytes) -> int:
    return data.count(b"{") + data.count(b"[")


def _brackets_in_strings(data: bytes) -> int:
    return sum(_brackets(found.group()) for found in _STRING.finditer(data))


def _explain(data: bytes, message: str) -> str:
    if len(data) > _EXPLAINED:
        return message
    # A well-formed text is refused for a number that no float can represent.
    return jsonfault.describe(data) or _TOO_LARGE


def is_too_deep(tree: Json) -> bool:
    """Returns True if a container of the tree is nested deeper than `decode` allows."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for node in level
            for item in (node.values() if type(node) is dict else node)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True


def _narrow(tree: Json) -> Json:
    """Returns the tree with integers beyond 64 bits as floats."""
    if type(tree) is dict:
        return {key: _narrow(value) for key, value in tree.items()}
    if type(tree) is list:
        return [_narrow(value) for value in tree]
    if type(tree) is int and not INT64_MIN <= tree <= INT64_MAX:
        try:
            return float(tree)
        except OverflowError:
            raise BadRequest(_TOO_LARGE) from None
    return tree


def duplicate_fields(data: bytes, tree: Json) -> list[str]:
    """Returns the messages for all duplicate fields of a body, in order; `tree` is the decoded body.

    A body that equals the encoded tree has no duplicates, which avoids the exact check for most bodies.
    """
    if encode(tree) == data.strip(_BLANK):
        return []
    repeats = False

    def pairs(items: list[tuple[str, Any]]) -> Any:
        nonlocal repeats
        found = dict(items)
        if len(found) == len(items):
            return found
        repeats = True
        return _Pairs(items)

    exact = json.loads(_text(data), object_pairs_hook=pairs, parse_int=str, parse_float=str)
    if not repeats:
        return []
    found: dict[str, None] = {}
    _find_duplicates(exact, [], found)
    return list(found)


def _text(data: bytes) -> str:
    """Returns the text of a body that `decode` accepted."""
    return unicode_repair.repaired(data).decode()


def merge_duplicates(data: bytes) -> Json:
    """Decodes a body that has duplicate fields as Go decodes them into a struct: a later value is merged into the
    earlier one, item by item in a list, and a null leaves an earlier value."""

    def pairs(items: list[tuple[str, Json]]) -> Json:
        found: dict[str, Json] = {}
        for name, value in items:
            found[name] = _merged(found[name], value) if name in found else value
        return found

    return _narrow(json.loads(_text(data), object_pairs_hook=pairs))


def _merged(before: Json, value: Json) -> Json:
    if type(before) is dict and type(value) is dict:
        return before | {
            name: _merged(before[name], inner) if name in before else inner for name, inner in value.items()
        }
    if type(before) is list and type(value) is list:
        kept = [_merged(one, other) for one, other in zip(before, value, strict=False)]
        return kept + value[len(before) :]
    return before if value is None and type(before) is not list else value


class _Pairs(list[tuple[str, Any]]):
    """An object with a duplicate key."""


def in_document_order(data: bytes, texts: Sequence[str]) -> list[str]:
    """Returns the messages for duplicate and unknown fields of a body in the order of these fields in the body, and
    those for other fields at the end."""
    wanted, found = frozenset(texts), dict[str, None]()
    exact = json.loads(_text(data), object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    _find_in_order(exact, [], wanted, found)
    return [*found, *(text for text in texts if text not in found)]


def _find_in_order(value: Any, steps: list[str | int], wanted: frozenset[str], found: dict[str, None]) -> None:
    children: Any = enumerate(value) if type(value) is list else value if type(value) is _Pairs else ()
    seen: set[str | int] = set()
    for step, item in children:
        if len(found) == len(wanted):
            return
        steps.append(step)
        if type(step) is str:
            path = _path(steps)
            for text in ([duplicate_field(path)] if step in seen else []) + [unknown_field(path)]:
                if text in wanted:
                    found[text] = None
        seen.add(step)
        _find_in_order(item, steps, wanted, found)
        steps.pop()


def _find_duplicates(value: Any, steps: list[str | int], found: dict[str, None]) -> None:
    """Collects the duplicates of a decoded value. Paths are formatted only when needed: they can be long."""
    if type(value) is list:
        children: Any = enumerate(value)
    elif type(value) is dict:
        children = value.items()
    elif type(value) is _Pairs:
        children = value
    else:
        return
    seen: set[str | int] = set()
    for step, item in children:
        if len(found) >= MAX_STRICT_ERRORS:
            return
        steps.append(step)
        if step in seen:
            found[duplicate_field(_path(steps))] = None
        seen.add(step)
        _find_duplicates(item, steps, found)
        steps.pop()


def _path(steps: Iterable[str | int]) -> str:
    """Returns the path of these steps, truncated to a readable length."""
    path = ""
    for step in steps:
        path = child(path, step[:_MAX_PATH]) if isinstance(step, str) else f"{path}[{step}]"
        if len(path) > _MAX_PATH:
            return f"{path[:_MAX_PATH]}..."
    return path


def check_tree(tree: Json) -> None:
    """Checks that a tree built in this process could be a result of `decode`. Raises BadRequest."""
    try:
        # In a list, so that one function can check the items of containers.
        _check_items([tree], -1, set())
    except _UnfitError as unfit:
        # The outermost step is the list above.
        where = _path(unfit.steps[-2::-1])
        raise BadRequest(f"{where}: {unfit}" if where else str(unfit)) from None


class _UnfitError(Exception):
    """A value that JSON cannot represent; `steps` is its path, innermost first, filled while the error propagates."""

    def __init__(self, why: str, *steps: Any) -> None:
        super().__init__(why)
        self.steps = list(steps)


def _check_items(container: Json, depth: int, above: set[int]) -> None:
    is_dict = type(container) is dict
    above.add(id(container))
    for key, item in container.items() if is_dict else enumerate(container):
        kind = type(item)
        if is_dict and (type(key) is not str or not (key.isascii() or _is_text(key))):
            raise _UnfitError(_HALF_PAIR if type(key) is str else f"keys must be strings, not {type(key).__name__}")
        if kind is str:
            if item.isascii() or _is_text(item):
                continue
            why = _HALF_PAIR
        elif kind is dict or kind is list:
            if id(item) in above:
                why = "the object contains itself"
            elif depth + 1 >= MAX_DEPTH:
                why = TOO_DEEP
            else:
                try:
                    _check_items(item, depth + 1, above)
                except _UnfitError as unfit:
                    unfit.steps.append(key)
                    raise
                continue
        elif kind is int:
            if INT64_MIN <= item <= INT64_MAX:
                continue
            why = "integers must fit into 64 bits"
        elif kind is float:
            if item - item == 0:
                continue
            why = "numbers must be finite"
        elif item is None or kind is bool:
            continue
        else:
            why = f"must be made of JSON values (dict, list, str, int, float, bool, None), not {kind.__name__}"
        raise _UnfitError(why, key)
    above.remove(id(container))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
