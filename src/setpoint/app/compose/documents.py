"""Reads the YAML documents of a Compose file: anchors, merge keys, and the tags `!reset` and `!override`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from yaml import events

from setpoint.app.compose.project import ComposeError, Problem
from setpoint.app.compose.scalars import plain_value
from setpoint.app.compose.tree import Map, Seq, clone, path_text

_MAX_BYTES = 4 << 20
# The number of values of a document, including the copies of anchors.
_MAX_VALUES = 200_000
_MAX_DEPTH = 200
_TAGS = ("!reset", "!override")

Path = tuple[str | int, ...]


class Document(NamedTuple):
    """The tree of a document, and the paths of values that replace all values of earlier files."""

    tree: Any
    replaced: tuple[Path, ...]


class _Tagged(NamedTuple):
    """A value with the tag `!reset` or `!override`, until the paths of all values are known."""

    tag: str
    value: Any


def documents(text: str, file: str) -> Iterator[Document]:
    """Yields the documents of a file. Raises ComposeError."""
    if len(text) > _MAX_BYTES:
        raise ComposeError([Problem(file, 0, 0, "", f"the file has more than {_MAX_BYTES >> 20} MiB; split the file")])
    parser = None
    try:
        parser = yaml.CSafeLoader(text)
        while not parser.check_event(events.StreamEndEvent):
            if isinstance(parser.get_event(), events.DocumentStartEvent):
                yield _Builder(parser, file).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise ComposeError(
            [Problem(file, line, column, "", f"invalid YAML: {error.problem}; correct the syntax near this line")]
        ) from None
    except (yaml.reader.ReaderError, UnicodeError) as error:
        raise ComposeError([Problem(file, 0, 0, "", f"invalid YAML: {error}")]) from None
    finally:
        if parser is not None:
            parser.dispose()


class _Builder:
    """Builds the tree of one document from the events of the parser."""

    def __init__(self, parser: Any, file: str) -> None:
        self._parser = parser
        self._file = file
        self._anchors: dict[str, Any] = {}
        self._open: set[str] = set()
        self._problems: list[Problem] = []
        self._values = 0
        self._depth = 0
        self._has_tags = False

    def document(self) -> Document:
        tree = self._node(self._parser.get_event(), ())
        self._parser.get_event()
        if self._problems:
            raise ComposeError(self._problems)
        found: list[Path] = []
        if self._has_tags:
            tree = self._untagged(tree, (), found)
        return Document(None if tree is _RESET else tree, tuple(found))

    def _node(self, event: Any, path: Path) -> Any:
        self._count(1, event)
        kind = type(event)
        if kind is events.ScalarEvent:
            value: Any = event.value
            if event.tag is None:
                if event.implicit[0]:
                    value = plain_value(value)
            elif event.tag not in _TAGS:
                value = _tagged_scalar(event.tag, value)
        elif kind is events.AliasEvent:
            return self._alias(event)
        else:
            if event.anchor:
                self._open.add(event.anchor)
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise self._fault(event, path, f"values are nested more than {_MAX_DEPTH} times; flatten the file")
            value = self._map(path) if kind is events.MappingStartEvent else self._seq(path)
            self._depth -= 1
            if event.anchor:
                self._open.discard(event.anchor)
        if event.tag in _TAGS:
            self._has_tags = True
            value = _Tagged(event.tag, value)
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _map(self, path: Path) -> Map:
        made = Map()
        merged: list[Map] = []
        get_event = self._parser.get_event
        seen: dict[str, int] = {}
        while type(event := get_event()) is not events.MappingEndEvent:
            mark = event.start_mark
            line, column = mark.line + 1, mark.column + 1
            key = self._key(event, path)
            is_merge = key == "<<" and type(event) is events.ScalarEvent and event.implicit[0]
            if key in seen:
                text = f"the key {key} is already set in line {seen[key]}; remove one of both"
                self._problems.append(Problem(self._file, line, column, path_text((*path, key)), text))
            seen[key] = line
            value = self._node(get_event(), path if is_merge else (*path, key))
            if is_merge:
                merged += self._merged(value, event, path)
            else:
                dict.__setitem__(made, key, value)
                made.places[key] = (self._file, line, column)
        for other in merged:
            for key, value in other.items():
                if key not in made:
                    made.put(key, _clone(value), other.places.get(key))
        return made

    def _key(self, event: Any, path: Path) -> str:
        value = self._node(event, path)
        if isinstance(value, str):
            return value
        if isinstance(value, _Tagged) and isinstance(value.value, str):
            return value.value
        shown = event.value if type(event) is events.ScalarEvent else "a collection"
        text = f'the key {shown} is not a text; write "{shown}" in quotes'
        mark = event.start_mark
        self._problems.append(Problem(self._file, mark.line + 1, mark.column + 1, path_text(path), text))
        return str(shown)

    def _seq(self, path: Path) -> Seq:
        made = Seq()
        get_event = self._parser.get_event
        index = 0
        while type(event := get_event()) is not events.SequenceEndEvent:
            mark = event.start_mark
            made.add(self._node(event, (*path, index)), (self._file, mark.line + 1, mark.column + 1))
            index += 1
        return made

    def _merged(self, value: Any, event: Any, path: Path) -> Iterator[Map]:
        """Yields the maps of a merge key, the first of which takes precedence."""
        value = value.value if isinstance(value, _Tagged) else value
        for part in value if isinstance(value, list) else [value]:
            part = part.value if isinstance(part, _Tagged) else part
            if isinstance(part, Map):
                yield part
            else:
                raise self._fault(event, path, "<< needs a mapping or a list of mappings; use << with an alias")

    def _alias(self, event: Any) -> Any:
        name = event.anchor
        if name in self._open:
            raise self._fault(event, (), f"the value of the anchor {name} contains itself; remove this alias")
        if name not in self._anchors:
            raise self._fault(event, (), f"the anchor {name} is not defined; define &{name} before this line")
        value = self._anchors[name]
        self._count(_size(value), event)
        return _clone(value)

    def _count(self, more: int, event: Any) -> None:
        self._values += more
        if self._values > _MAX_VALUES:
            raise self._fault(
                event, (), f"the file has more than {_MAX_VALUES} values with its aliases; split the file"
            )

    def _fault(self, event: Any, path: Path, text: str) -> ComposeError:
        mark = event.start_mark
        return ComposeError([Problem(self._file, mark.line + 1, mark.column + 1, path_text(path), text)])

    def _untagged(self, value: Any, path: Path, found: list[Path]) -> Any:
        """Replaces tagged values, and collects the paths at which earlier values have to be removed."""
        if isinstance(value, _Tagged):
            found.append(path)
            return _RESET if value.tag == "!reset" else self._untagged(clone(value.value), path, [])
        if isinstance(value, Map):
            for key, inner in list(value.items()):
                made = self._untagged(inner, (*path, key), found)
                if made is _RESET:
                    del value[key]
                else:
                    value[key] = made
        elif isinstance(value, Seq):
            made_items = [self._untagged(inner, (*path, index), found) for index, inner in enumerate(value)]
            kept = [index for index, inner in enumerate(made_items) if inner is not _RESET]
            return Seq([made_items[index] for index in kept], [value.place(index) for index in kept])
        return value


_RESET: Any = object()


def _clone(value: Any) -> Any:
    """Returns a deep copy of a value that may contain tags."""
    return _Tagged(value.tag, clone(value.value)) if isinstance(value, _Tagged) else clone(value)


def _size(value: Any) -> int:
    if isinstance(value, _Tagged):
        return _size(value.value)
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _tagged_scalar(tag: str, text: str) -> Any:
    kind = tag.removeprefix("tag:yaml.org,2002:")
    if kind not in ("int", "float", "bool", "null"):
        return text
    value = plain_value(text)
    return float(value) if kind == "float" and type(value) is int else value
