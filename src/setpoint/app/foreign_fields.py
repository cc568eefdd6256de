"""Reads the fields of another tool's file one by one, and reports every field that was not read."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from setpoint.app.references import written
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Path, path_text

_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?:(:?[-?+])([^}]*))?\}|\$([A-Za-z_]\w*)")
NOT_CONVERTED = "this setting has no effect here"


def as_reference(text: str) -> str:
    """Replaces Compose's variables by references. An unset variable is empty in Compose."""

    def one(found: re.Match[str]) -> str:
        name, operator, rest, bare = found.groups()
        if found.group() == "$$":
            return "$$"
        if operator in ("?", ":?"):
            return f"${{env.{name}}}"
        return f"${{env.{name or bare}:-{rest if operator in ('-', ':-') else ''}}}"

    return _VARIABLE.sub(one, text)


@dataclass
class Notes:
    """The settings without an effect, each with its place in the file: `place` returns file, line and column."""

    place: Callable[[Path], str]
    found: list[Mistake] = field(default_factory=list)

    def add(self, path: Path, message: str) -> None:
        mistake = Mistake(self.place(path), path_text(path), message)
        if mistake not in self.found:
            self.found.append(mistake)


class Fields:
    """The fields at one path. `text` converts each text to the notation of the app file."""

    def __init__(self, tree: Any, path: Path, notes: Notes, text: Callable[[str], str] = written) -> None:
        self._left: Object = dict(tree) if isinstance(tree, Mapping) else {}
        self.path, self.notes, self._text = path, notes, text

    def take(self, name: str, default: Any = None) -> Any:
        """Returns a field as written, which then counts as read."""
        value = self._left.pop(name, None)
        return default if value is None else value

    def has(self, name: str) -> bool:
        return name in self._left

    def text(self, name: str) -> str:
        """Returns a field as a text of the app file; empty if absent."""
        value = self.take(name)
        return "" if value is None else self.converted(value)

    def texts(self, name: str) -> list[str]:
        """Returns a field with one or several values as texts of the app file."""
        return [self.converted(each) for each in several(self.take(name))]

    def map(self, name: str) -> dict[str, Any]:
        """Returns a field with names and values, or a list of `NAME=value`, as texts of the app file. A name without a
        value has the value None."""
        return {key: None if value is None else self.converted(value) for key, value in pairs(self.take(name)).items()}

    def converted(self, value: Any) -> str:
        """Returns a value as a text of the app file."""
        return self._text(plain(value))

    def inner(self, name: str) -> "Fields":
        """Returns the fields of a field."""
        return self.at(self.take(name, {}), name)

    def at(self, tree: Any, *steps: str | int) -> "Fields":
        """Returns fields at a path below this one."""
        return Fields(tree, (*self.path, *steps), self.notes, self._text)

    def note(self, name: str | int, message: str) -> None:
        """Reports a field that was read and has no effect."""
        self.notes.add((*self.path, name), message)

    def report_rest(self, reasons: Mapping[str, str] | None = None) -> None:
        """Reports all fields that were not read, except extensions and empty ones."""
        for name, value in self._left.items():
            if not str(name).startswith("x-") and value not in (None, "", [], {}, False):
                self.notes.add((*self.path, name), (reasons or {}).get(name, NOT_CONVERTED))
        self._left = {}


def several(value: Any) -> list[Any]:
    """Returns one or several values as a list."""
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else [value]


def pairs(value: Any) -> dict[str, Any]:
    """Returns names with values, given as a map, or as a list of `NAME=value`."""
    if isinstance(value, Mapping):
        return dict(value)
    split = (str(each).partition("=") for each in several(value))
    return {name: text if equals else None for name, equals, text in split}


def plain(value: Any) -> str:
    """Returns a scalar as a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_empty(fields: Mapping[str, Any]) -> Object:
    """Returns the fields with a value. Zero and false are values."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {}, ())}
