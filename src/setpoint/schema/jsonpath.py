"""JSONPath in the dialect of kubectl templates, as used by printer columns and selectable fields.

`.a.b`, `['k']`, `[0]`, `[1:3]`, `[0,2]`, `[*]`, `.*`, `..name` and filters (`[?(@.type=="Ready")].status`). A path is
parsed once into steps; each step converts a list of values to the next one. Missing fields give no result; a step that
does not apply to a value (an index into text) raises `JSONPathError`, as does an invalid path.

Two features of the original are omitted deliberately: `range` loops, which have no meaning in a column, and its random
order over the fields of an object (here they are sorted).
"""

import operator
import re
from collections.abc import Callable
from typing import TypeAlias

from setpoint.objects.tree import Json

_Values: TypeAlias = list[Json]
_Step: TypeAlias = Callable[[_Values], _Values]

_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")
_DICT_KEY = re.compile(r"'([^']*)'\Z")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?\Z")
# The lookahead refuses a line break once, and not once for each length of the operator.
_COMPARISON = re.compile(r"([^!<>=]++)(?=.*+\Z)([!<>=]+)(.+)\Z")
_NUMBER = re.compile(r"[+-]?[\d.]*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_PLAIN_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_OPERATORS: dict[str, Callable[[Json, Json], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPathError(ValueError):
    """The text is not a path, or the path does not apply to the value. `values` is the input of the failing step."""

    def __init__(self, message: str, values: _Values | None = None) -> None:
        super().__init__(message)
        self.values = values or []


class JSONPath:
    """A parsed path. `find` returns all selected values of an object, `first` the first of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        # The closing brace may be inside the text ("{.a}{.b}"): another path, or plain text, follows.
        self._actions = _parse("{" + text + "}")

    def find(self, value: Json) -> list[Json]:
        """Returns all selected values; for several paths in one text, those of the first path."""
        results = [_run(steps, [value]) for steps in self._actions]
        return results[0] if results else []

    def first(self, value: Json, default: Json = None) -> Json:
        found = self.find(value)
        return found[0] if found else default


def _run(steps: list[_Step], values: _Values) -> _Values:
    for step in steps:
        values = step(values)
    return values


def _parse(text: str) -> list[list[_Step]]:
    actions: list[list[_Step]] = []
    position = 0
    while position < len(text):
        if text[position] == "{":
            steps, position = _parse_action(text, position + 1)
            actions.append(steps)
        else:
            end = text.find("{", position)
            end = len(text) if end < 0 else end
            actions.append([_literal(text[position:end])])
            position = end
    return actions


def _parse_action(text: str, at: int) -> tuple[list[_Step], int]:
    """Returns the steps from `at` to the closing brace, and the position after the brace."""
    steps: list[_Step] = []
    recursive = False
    while True:
        char = text[at] if at < len(text) else ""
        was_recursive, recursive = recursive, False
        if char == "}":
            return steps, at + 1
        if text.startswith("[?(", at):
            step, at = _parse_filter(text, at + 3)
            steps.append(step)
        elif text.startswith("..", at):
            if was_recursive:
                raise JSONPathError("invalid multiple recursive descent")
            steps.append(_descendants)
            recursive = True
            at += 2
            if at < len(text) and (text[at] == "_" or text[at].isalnum()):
                recursive = False
                step, at = _parse_field(text, at)
                steps.append(step)
        elif char in ("", "\r", "\n"):
            raise JSONPathError("unclosed action")
        elif char in " @$":
            recursive = was_recursive
            at += 1
        elif char == "[":
            found, at = _parse_brackets(text, at)
            steps.extend(found)
        elif char in "\"'":
            step, at = _parse_quoted(text, at)
            steps.append(step)
        elif char == ".":
            step, at = _parse_field(text, at + 1)
            steps.append(step)
        elif char in "+-" or char.isdigit():
            step, at = _parse_number(text, at)
            steps.append(step)
        elif char == "_" or char.isalnum():
            step, at = _parse_identifier(text, at)
            steps.append(step)
        else:
            raise JSONPathError(f"unrecognized character in action: U+{ord(char):04X} '{char}'")


def _word_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in _TERMINATORS:
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def _parse_field(text: str, at: int) -> tuple[_Step, int]:
    end = _word_end(text, at)
    name = text[at:end]
    return (_children if name == "*" else _field(name.replace("\\", ""))), end


def _parse_identifier(text: str, at: int) -> tuple[_Step, int]:
    end = at
    while end < len(text) and text[end] not in _TERMINATORS:
        end += 1
    word = text[at:end]
    return (_literal(word == "true") if word in ("true", "false") else _unknown_word(word)), end


def _parse_number(text: str, at: int) -> tuple[_Step, int]:
    found = _NUMBER.match(text, at)
    word = found.group() if found else ""
    try:
        return _constant(float(word) if "." in word else int(word)), at + len(word)
    except ValueError:
        raise JSONPathError(f"cannot parse number {word}") from None


def _parse_quoted(text: str, at: int) -> tuple[_Step, int]:
    end = at + 1
    while True:
        if end >= len(text) or text[end] == "\n":
            raise JSONPathError("unterminated quoted string")
        if text[end] == text[at] and text[end - 1] != "\\":
            return _literal(_unquote(text[at + 1 : end], text[at])), end + 1
        end += 1


def _unquote(text: str, quote: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found.group(1)
        if code in _PLAIN_ESCAPES:
            return _PLAIN_ESCAPES[code]
        if code == quote:
            return quote
        try:
            return chr(int(code[1:], 16) if code[0] in "xuU" and len(code) > 1 else int(code, 8))
        except (ValueError, OverflowError):
            raise JSONPathError(f"unquote string {quote}{text}{quote} error invalid syntax") from None

    return _ESCAPE.sub(character, text)


def _parse_brackets(text: str, at: int) -> tuple[list[_Step], int]:
    end = at
    while end < len(text) and text[end] not in "]\n":
        end += 1
    if end == len(text) or text[end] == "\n":
        raise JSONPathError("unterminated array")
    inside = text[at + 1 : end]
    parts = (":" if inside == "*" else inside).split(",")
    if len(parts) > 1:
        return [_union([_parse_part(part.strip(" ")) for part in parts])], end + 1
    return _parse_part(parts[0]), end + 1


def _parse_part(text: str) -> list[_Step]:
    """Parses the text in brackets, without commas: a quoted key, an index or a slice."""
    if text == "*":
        text = ":"
    if key := _DICT_KEY.match(text):
        return _parse_action("{." + key.group(1) + "}", 1)[0]
    found = _SLICE.match(text)
    if found is None:
        raise JSONPathError(f"invalid array index {text}")
    start, stop, step = (_bound(part) for part in found.groups())
    if found.group(2) is None:
        # One index. An empty index means the first item, as in the original.
        return [_item(start or 0)]
    return [_slice(start, stop, step)]


def _bound(text: str | None) -> int | None:
    digits = (text or "").removeprefix(":")
    if not digits:
        return None
    try:
        return int(digits)
    except ValueError:
        raise JSONPathError(f"array index {digits} is not a number") from None


def _parse_filter(text: str, at: int) -> tuple[_Step, int]:
    end = at
    opened = closed = False
    quote = ""
    while True:
        char = text[end] if end < len(text) else "\n"
        if char == "\n":
            raise JSONPathError("unterminated filter")
        if char in "\"'":
            if not opened:
                opened, quote = True, char
            elif char == quote and text[end - 1] != "\\":
                closed = True
        elif char == ")" and opened == closed:
            break
        end += 1
    if text[end + 1 : end + 2] != "]":
        raise JSONPathError("unclosed array expect ]")
    inside = text[at:end]
    comparison = _COMPARISON.match(inside)
    if comparison is None:
        return _exists(_parse_action("{" + inside + "}", 1)[0]), end + 2
    left, symbol, right = comparison.groups()
    return _filter(_parse_action("{" + left + "}", 1)[0], symbol, _parse_action("{" + right + "}", 1)[0]), end + 2


def _literal(value: Json) -> _Step:
    return (lambda values: [value for _ in values]) if type(value) is bool else (lambda values: [value])


def _constant(value: int | float) -> _Step:
    return lambda values: [value for _ in values]


def _unknown_word(word: str) -> _Step:
    def step(values: _Values) -> _Values:
        raise JSONPathError(f"unrecognized identifier {word}", values)

    return step


def _field(name: str) -> _Step:
    return lambda values: [value[name] for value in values if type(value) is dict and name in value]


def _children(values: _Values) -> _Values:
    return [item for value in values for item in _items(value)]


def _items(value: Json) -> list[Json]:
    if type(value) is dict:
        return [value[name] for name in sorted(value)]
    return value if type(value) is list else []


def _descendants(values: _Values) -> _Values:
    """Returns the values and all values inside, parents before children; only values that are not empty."""
    found: _Values = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if items := _items(value):
            found.append(value)
            waiting.extend(reversed(items))
    return found


def _lists(values: _Values) -> list[list[Json]]:
    for value in values:
        if value is not None and type(value) is not list:
            raise JSONPathError(f"{type(value).__name__} is not array or slice", values)
    return [value for value in values if value is not None]


def _item(position: int) -> _Step:
    def step(values: _Values) -> _Values:
        found = []
        for value in _lists(values):
            if not -len(value) <= position < len(value):
                where = position if position >= 0 else position + len(value)
                raise JSONPathError(f"array index out of bounds: index {where}, length {len(value)}", values)
            found.append(value[position])
        return found

    return step


def _slice(start: int | None, stop: int | None, stride: int | None) -> _Step:
    def step(values: _Values) -> _Values:
        found: _Values = []
        for value in _lists(values):
            length = len(value)
            low = 0 if start is None else start + length if start < 0 else start
            high = length if stop is None else stop + length if stop < 0 else stop
            if low == high:
                return found
            if not (0 <= low < length and 0 <= high <= length and low < high):
                raise JSONPathError(f"array index out of bounds: index {low}, length {length}", values)
            if stride is not None and stride <= 0:
                raise JSONPathError("step must be > 0", values)
            found += value[low : high : stride or 1]
        return found

    return step


def _union(branches: list[list[_Step]]) -> _Step:
    return lambda values: [item for steps in branches for item in _run(steps, values)]


def _filtered(value: Json, values: _Values) -> list[Json]:
    if type(value) is not list:
        raise JSONPathError(f"{value} is not array or slice and cannot be filtered", values)
    return value


def _exists(steps: list[_Step]) -> _Step:
    def matches(item: Json) -> bool:
        try:
            return bool(_run(steps, [item]))
        except JSONPathError as error:
            return bool(error.values)

    return lambda values: [item for value in values for item in _filtered(value, values) if matches(item)]


def _filter(left: list[_Step], symbol: str, right: list[_Step]) -> _Step:
    compare = _OPERATORS.get(symbol)

    def matches(item: Json, values: _Values) -> bool:
        lefts, rights = _run(left, [item]), _run(right, [item])
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1:
            raise JSONPathError("can only compare one element at a time", values)
        if compare is None:
            raise JSONPathError(f"unrecognized filter operator {symbol}")
        a, b = lefts[0], rights[0]
        if type(a) is not type(b) or type(a) not in (str, int, float, bool):
            raise JSONPathError("incompatible types for comparison")
        if type(a) is bool and symbol not in ("==", "!="):
            raise JSONPathError("invalid type for comparison")
        return compare(a, b)

    return lambda values: [item for value in values for item in _filtered(value, values) if matches(item, values)]
