"""YAML as `kubectl` and the API server read and write YAML: version 1.1 by the rules of Go's yaml, to JSON trees.

`yes`, `on` and `y` are booleans, `0777` and `0o17` octal, `1e3` and `1_000` numbers; dates and `12:30:45` stay strings.
Trees have the guarantees of `codec`: at most `MAX_DEPTH` deep, 64-bit numbers, keys that are strings. Aliases are
copied, and refused if they multiply a document. Faults raise BadRequest with Go's message; duplicate keys are reported
beside the tree, and the last one wins. A document is read in one pass over the events of the C parser.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any, NamedTuple

import yaml
from yaml import events

from setpoint.objects.codec import MAX_BODY, MAX_DEPTH, MAX_STRICT_ERRORS, TOO_DEEP
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.gotext import INT64_MAX, INT64_MIN, float_text, general_float, quote
from setpoint.objects.tree import Json, Object, copy

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
}
_NOT_FINITE = re.compile(r"[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGERS = (
    (re.compile(r"[+-]?(?:0|[1-9][0-9]*)"), 10),
    (re.compile(r"[+-]?0[oO]?[0-7]+"), 8),
    (re.compile(r"[+-]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[+-]?0[bB][01]+"), 2),
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASE60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ ]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[ ]*[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)
# The longest text that is parsed as a number; Python refuses to convert much longer ones.
_MAX_NUMBER = 400
# The maximum number of nodes of a document. Real objects of 1.5 MB have about 100,000, and a node takes ten times as
# long to read as in JSON.
MAX_NODES = 500_000
# The maximum length of a key in a message.
_MAX_SHOWN = 1000

_CORE = "tag:yaml.org,2002:"
_MERGE: Any = object()
_OPEN: Any = object()
_NO_KEY: Any = object()


class Document(NamedTuple):
    """The tree of a document, and the messages for its duplicate keys (`line 6: key "k" already set in map`)."""

    tree: Json
    duplicates: tuple[str, ...]


def load(text: str | bytes, limit: int = MAX_BODY) -> Document:
    """Parses the first document (an empty text is null). Raises RequestEntityTooLarge or BadRequest."""
    return next(load_all(text, limit), Document(None, ()))


def load_all(text: str | bytes, limit: int = MAX_BODY, *, own_keys_win: bool = False) -> Iterator[Document]:
    """Yields all documents. Raises RequestEntityTooLarge or BadRequest.

    With `own_keys_win`, the keys of a map take precedence over those of its merge key (`<<`) in any order, as the
    specification of merge keys requires. Without it the later one wins and is a duplicate, as in the API server.
    """
    if len(text) > limit:
        raise RequestEntityTooLarge.body(limit)
    loader = None
    try:
        loader = yaml.CSafeLoader(text)
        while not loader.check_event(events.StreamEndEvent):
            event = loader.get_event()
            if isinstance(event, events.DocumentStartEvent):
                yield _Builder(loader, limit, own_keys_win).document()
    except yaml.MarkedYAMLError as error:
        raise BadRequest(_fault(error)) from None
    except yaml.reader.ReaderError as error:
        raise BadRequest(f"yaml: {error.reason}") from None
    except UnicodeError:
        raise BadRequest("yaml: invalid Unicode character") from None
    finally:
        if loader is not None:
            loader.dispose()


def strict_error(duplicates: tuple[str, ...]) -> str:
    """Returns the error for duplicate keys where they are not allowed."""
    return "yaml: unmarshal errors:\n  " + "\n  ".join(duplicates)


def _fault(error: yaml.MarkedYAMLError) -> str:
    """Returns the message with the line as Go counts lines: scanner faults from one, parser faults from zero, and none
    for line zero."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + (isinstance(error, yaml.scanner.ScannerError) and mark.line > 0) if mark else 0
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


class _Frame:
    """A collection that is being read."""

    __slots__ = ("anchor", "key", "line", "merged", "nodes", "size", "value")

    def __init__(self, value: Any, anchor: str | None, line: int, nodes: int, size: int) -> None:
        self.value = value
        self.anchor = anchor
        self.line = line
        # The counts of the document before this collection.
        self.nodes = nodes
        self.size = size
        self.key: Any = _NO_KEY
        # The keys that only a merge key has set, if keys of the map take precedence.
        self.merged: set[str] | None = None


class _Builder:
    """Builds the tree of one document from its events, with an explicit stack instead of recursion."""

    def __init__(self, loader: Any, limit: int, own_keys_win: bool) -> None:
        self.loader = loader
        self.limit = limit
        self.own_keys_win = own_keys_win
        self.stack: list[_Frame] = []
        # The value of each anchor, with its number of nodes and of characters.
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        self.duplicates: list[str] = []
        # The number of nodes and characters of the tree, and the number of nodes that aliases copied.
        self.nodes = 0
        self.size = 0
        self.copied = 0
        self.root: Any = None

    def document(self) -> Document:
        while not isinstance(event := self.loader.get_event(), events.DocumentEndEvent):
            self.nodes += 1
            if self.nodes - self.copied > MAX_NODES:
                raise BadRequest(f"yaml: document has more than {MAX_NODES} nodes: send it as JSON")
            line = event.start_mark.line + 1
            if isinstance(event, events.ScalarEvent):
                value = _scalar(event)
                self.size += len(event.value)
                if event.anchor:
                    self.anchors[event.anchor] = (value, 1, len(event.value))
                is_merge = value == "<<" and event.implicit[0] and isinstance(value, str)
                self.add(_MERGE if is_merge and self.expects_key() else value, line)
            elif isinstance(event, events.AliasEvent):
                self.add(self.alias(event.anchor), line)
            elif isinstance(event, events.CollectionStartEvent):
                if len(self.stack) >= MAX_DEPTH:
                    raise BadRequest(TOO_DEEP)
                if event.anchor:
                    self.anchors[event.anchor] = (_OPEN, 0, 0)
                is_map = isinstance(event, events.MappingStartEvent)
                self.stack.append(_Frame({} if is_map else [], event.anchor, line, self.nodes, self.size))
            else:
                frame = self.stack.pop()
                if frame.anchor:
                    nodes, size = self.nodes - frame.nodes + 1, self.size - frame.size
                    self.anchors[frame.anchor] = (frame.value, nodes, size)
                self.add(frame.value, frame.line)
        return Document(self.root, tuple(self.duplicates))

    def expects_key(self) -> bool:
        return bool(self.stack) and type(self.stack[-1].value) is dict and self.stack[-1].key is _NO_KEY

    def alias(self, name: str | None) -> Any:
        if name is None or name not in self.anchors:
            raise BadRequest(f"yaml: unknown anchor '{name}' referenced")
        value, nodes, size = self.anchors[name]
        if value is _OPEN:
            raise BadRequest(f"yaml: anchor '{name}' value contains itself")
        self.nodes += nodes
        self.size += size
        self.copied += nodes
        many = self.copied > 100 and self.nodes > 1000 and self.copied / self.nodes > _allowed_share(self.nodes)
        if many or self.size > self.limit:
            raise BadRequest("yaml: document contains excessive aliasing")
        # A copy has the depth of its original, below its own position.
        if isinstance(value, dict | list) and len(self.stack) + _depth(value) > MAX_DEPTH:
            raise BadRequest(TOO_DEEP)
        return copy(value)

    def add(self, value: Any, line: int) -> None:
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if type(frame.value) is list:
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            frame.key = value if value is _MERGE or type(value) is str else _key(value)
        else:
            key, frame.key = frame.key, _NO_KEY
            if key is _MERGE and self.own_keys_win:
                frame.merged = _merge_below(frame.value, value, frame.merged or set())
            elif key is _MERGE:
                _merge(frame.value, value)
            elif frame.merged and key in frame.merged:
                frame.merged.discard(key)
                frame.value[key] = value
            else:
                self.put(frame.value, key, value, line)

    def put(self, into: Object, key: str, value: Any, line: int) -> None:
        if key in into and len(self.duplicates) < MAX_STRICT_ERRORS:
            self.duplicates.append(f"line {line}: key {quote(key[:_MAX_SHOWN])} already set in map")
        into[key] = value


def _merge(into: Object, value: Any) -> None:
    for part in _merged_maps(value):
        into.update(part)


def _merge_below(into: Object, value: Any, merged: set[str]) -> set[str]:
    """Adds the keys of a merge key that the map does not have itself. Returns the keys that come from merge keys."""
    for part in _merged_maps(value):
        for key, inner in part.items():
            if key not in into or key in merged:
                into[key] = inner
                merged.add(key)
    return merged


def _merged_maps(value: Any) -> Iterator[Object]:
    """Yields the maps of a merge key. The first of several maps wins, so the last comes first."""
    for part in reversed(value) if type(value) is list else [value]:
        if type(part) is not dict:
            raise BadRequest("yaml: map merge requires map or sequence of maps as the value")
        yield part


def _allowed_share(nodes: int) -> float:
    """Returns the fraction of a tree that may be copies: nearly all of a small one, a tenth of a large one."""
    low, high = 400_000, 4_000_000
    if nodes <= low:
        return 0.99
    return 0.10 if nodes >= high else 0.99 - 0.89 * (nodes - low) / (high - low)


def _depth(value: Any) -> int:
    if type(value) is dict:
        return 1 + max(map(_depth, value.values()), default=0)
    if type(value) is list:
        return 1 + max(map(_depth, value), default=0)
    return 0


def _key(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return general_float(value, 32)
    kind = "null" if value is None else "map" if type(value) is dict else "list"
    raise BadRequest(f"yaml: invalid map key: a {kind} cannot be the key of a JSON object")


def _scalar(event: Any) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None:
        return _resolve(text) if event.implicit[0] else text
    if not tag.startswith(_CORE):
        return text
    wanted = tag.removeprefix(_CORE)
    if wanted == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except binascii.Error:
            raise BadRequest("yaml: !!binary value contains invalid base64 data") from None
    if wanted not in ("int", "float", "bool", "null"):
        return text
    value = _resolve(text)
    found = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "null")
    if wanted == found or (wanted == "float" and found == "int"):
        return value
    raise BadRequest(f"yaml: cannot decode !!{found} `{text}` as a !!{wanted}")


def _resolve(text: str) -> Any:
    """Returns the value of a plain scalar, after a round trip through JSON: `1e3` and `1.0` become integers."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _MAX_NUMBER:
        return text
    if _NOT_FINITE.fullmatch(text):
        name = "NaN" if text[1] in "nN" else f"{'-' if text[0] == '-' else '+'}Inf"
        raise BadRequest(f"json: unsupported value: {name}")
    plain = text.replace("_", "") if text[0] != "." else text
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(plain):
            number = int(_without_prefix(plain), base)
            if INT64_MIN <= number <= INT64_MAX:
                return number
            if plain[0] not in "+-" and number < 2**64:
                return float(number)
    if not _FLOAT.fullmatch(plain):
        return text
    value = float(plain)
    if value - value != 0:
        return text
    written = float_text(value)
    return int(written) if written.lstrip("-").isdigit() and INT64_MIN <= int(written) <= INT64_MAX else value


def _without_prefix(number: str) -> str:
    """Returns the number without the prefix 0x, 0b or 0o of its base."""
    return re.sub(r"^([+-]?)0[xXbBoO]", r"\1", number)


def dump(tree: Json, *, in_order: bool = False) -> str:
    """Formats the tree as YAML text, as `kubectl` prints YAML: with its indents, its quotes and its order of keys;
    `in_order` keeps the order of the tree."""
    written: list[Any] = [events.StreamStartEvent(), events.DocumentStartEvent(explicit=False)]
    _write(tree, written, in_order)
    written += [events.DocumentEndEvent(explicit=False), events.StreamEndEvent()]
    text: str = yaml.emit(written, Dumper=yaml.CSafeDumper, allow_unicode=True, width=80)
    # A document with a single scalar ends with a marker that Go does not write.
    return text.removesuffix("...\n")


def _write(value: Json, written: list[Any], in_order: bool) -> None:
    if type(value) is dict:
        written.append(events.MappingStartEvent(None, None, True, flow_style=False))
        for key in value if in_order else sorted(value, key=_natural):
            written.append(_written_scalar(key))
            _write(value[key], written, in_order)
        written.append(events.MappingEndEvent())
    elif type(value) is list:
        written.append(events.SequenceStartEvent(None, None, True, flow_style=False))
        for item in value:
            _write(item, written, in_order)
        written.append(events.SequenceEndEvent())
    else:
        written.append(_written_scalar(value))


def _written_scalar(value: Json) -> Any:
    style = None
    if type(value) is str:
        text = value
        style = "|" if "\n" in text else '"' if _is_ambiguous(text) else None
    elif type(value) is float:
        text = float_text(value)
        text = text if text.lstrip("-").isdigit() else general_float(value)
    else:
        text = "null" if value is None else str(value).lower()
    # Implicit in every style: the emitter adds no tag, and quotes only scalars that cannot be plain.
    return events.ScalarEvent(None, None, (True, True), text, style=style)


def _is_ambiguous(text: str) -> bool:
    """Returns True if the unquoted text would not be a string, here or for a reader that supports base 60 or dates."""
    if text == "<<" or any(pattern.fullmatch(text) for pattern in (_NOT_FINITE, _BASE60, _TIMESTAMP)):
        return True
    return not isinstance(_resolve(text), str)


def _compare(first: str, second: str) -> int:
    """Compares keys in the order of Go's yaml: letters after all other characters, and embedded numbers by value."""
    for at, (mine, its) in enumerate(zip(first, second, strict=False)):
        if mine == its:
            continue
        if mine.isalpha() or its.isalpha():
            if mine.isalpha() and its.isalpha():
                return -1 if mine < its else 1
            return 1 if mine.isalpha() else -1
        lead = ""
        if "0" in (mine, its):
            before = first[:at]
            digits = before[len(before.rstrip("0123456789")) :]
            lead = "1" if digits.strip("0") else ""
        mine_digits, its_digits = _leading_digits(first, at), _leading_digits(second, at)
        numbers = int(lead + mine_digits or "0"), int(lead + its_digits or "0")
        if numbers[0] != numbers[1]:
            return -1 if numbers[0] < numbers[1] else 1
        if len(mine_digits) != len(its_digits):
            return -1 if len(mine_digits) < len(its_digits) else 1
        return -1 if mine < its else 1
    return len(first) - len(second)


def _leading_digits(text: str, at: int) -> str:
    end = at
    while end < len(text) and end - at < _MAX_NUMBER and text[end] in "0123456789":
        end += 1
    return text[at:end]


_natural = cmp_to_key(_compare)
