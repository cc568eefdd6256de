"""Checks a project against the JSON schema of the Compose specification. All faults are found in one pass."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from setpoint.app.compose.project import Problem
from setpoint.app.compose.tree import NOWHERE, Place, path_text, place_of
from setpoint.objects.typedyaml import choices

Path = tuple[str | int, ...]

_WORDS: Mapping[str, str] = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "null": "empty",
    "integer": "a whole number",
    "number": "a number",
}
_KINDS: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    str: ("string",),
    type(None): ("null",),
}
_MAX_SHOWN = 60


class Shape:
    """A compiled schema."""

    __slots__ = (
        *("_unique", "bounds", "enum", "extra", "items", "kinds", "one_of", "one_required", "pattern", "patterns"),
        *("properties", "required"),
    )

    def __init__(self, schema: Mapping[str, Any], compiler: "_Compiler") -> None:
        parts = [compiler.reference(each["$ref"]) for each in schema.get("allOf", ())]
        own = {name: compiler.shape(inner) for name, inner in schema.get("properties", {}).items()}
        self.properties: dict[str, Shape] = {name: inner for part in parts for name, inner in part.properties.items()}
        self.properties.update(own)
        self.patterns: list[tuple[re.Pattern[str], Shape]] = [each for part in parts for each in part.patterns]
        self.patterns += [
            (re.compile(name), compiler.shape(inner)) for name, inner in schema.get("patternProperties", {}).items()
        ]
        kinds = schema.get("type", parts[0].kinds if parts else ())
        self.kinds: tuple[str, ...] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        extra = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        self.extra: bool | Shape = compiler.shape(extra) if isinstance(extra, dict) else extra
        self.required: tuple[str, ...] = tuple(schema.get("required", ()))
        self.items: Shape | None = compiler.shape(schema["items"]) if "items" in schema else None
        self._unique: bool = schema.get("uniqueItems", False)
        self.enum: tuple[Any, ...] = tuple(schema.get("enum", ()))
        self.bounds: tuple[float | None, float | None] = schema.get("minimum"), schema.get("maximum")
        self.pattern: re.Pattern[str] | None = re.compile(schema["pattern"]) if "pattern" in schema else None
        self.one_of: tuple[Shape, ...] = tuple(compiler.shape(each) for each in schema.get("oneOf", ()))
        # Keys of which at least one is required.
        self.one_required = tuple(name for each in schema.get("anyOf", ()) for name in each["required"])

    def accepts(self, value: Any) -> bool:
        """Returns True if the value has one of the types of the schema."""
        if self.one_of:
            return any(each.accepts(value) for each in self.one_of)
        return not self.kinds or any(kind in self.kinds for kind in _kinds(value))

    def forms(self) -> Iterator[str]:
        """Yields the words for the allowed types."""
        for kind in self.kinds:
            yield _WORDS[kind]
        for each in self.one_of:
            yield from each.forms()

    def faults(self, value: Any, path: Path, place: Place) -> Iterator[tuple[Path, Place, str]]:
        """Yields the faults of a value: path, place and text."""
        if not self.accepts(value):
            yield path, place, f"{_shown(value)} is not allowed; write {' or '.join(dict.fromkeys(self.forms()))}"
            return
        if self.one_of:
            matching = [each for each in self.one_of if each.accepts(value)]
            found = [list(each.faults(value, path, place)) for each in matching]
            yield from min(found, key=len)
            return
        if isinstance(value, dict):
            yield from self._map_faults(value, path, place)
        elif isinstance(value, list):
            yield from self._list_faults(value, path, place)
        else:
            yield from self._scalar_faults(value, path, place)

    def _map_faults(self, value: Any, path: Path, place: Place) -> Iterator[tuple[Path, Place, str]]:
        for key, inner in value.items():
            below = self.properties.get(key)
            if below is None:
                below = next((each for pattern, each in self.patterns if pattern.search(key)), None)
            if below is None and isinstance(self.extra, Shape):
                below = self.extra
            found = place_of(value, key)
            found = found if found[1] else place
            if below is not None:
                yield from below.faults(inner, (*path, key), found)
            elif not self.extra:
                text = f"the key {key} is not known{choices(key, list(self.properties))}" if self.properties else ""
                yield (
                    (*path, key),
                    found,
                    text or f"the name {key!r} is not allowed; use letters, digits, '.', '_', '-'",
                )
        for name in self.required:
            if name not in value:
                yield path, place, f"{name} is missing; add {name}"
        if self.one_required and not value.keys() & set(self.one_required):
            yield path, place, f"all keys are missing; add {' or '.join(self.one_required)}"

    def _list_faults(self, value: Any, path: Path, place: Place) -> Iterator[tuple[Path, Place, str]]:
        if self.items is not None:
            for index, inner in enumerate(value):
                found = place_of(value, index)
                yield from self.items.faults(inner, (*path, index), found if found[1] else place)
        if self._unique:
            for index, inner in enumerate(value):
                at = next((at for at, each in enumerate(value[:index]) if _equal(each, inner)), None)
                if at is not None:
                    found = place_of(value, index)
                    text = f"{_shown(inner)} is equal to entry {at}; remove one of both"
                    yield (*path, index), found if found[1] else place, text

    def _scalar_faults(self, value: Any, path: Path, place: Place) -> Iterator[tuple[Path, Place, str]]:
        if self.enum and value not in self.enum:
            yield path, place, f"{_shown(value)} is not allowed{choices(str(value), [str(each) for each in self.enum])}"
        if self.pattern is not None and isinstance(value, str) and not self.pattern.search(value):
            yield path, place, f"{_shown(value)} does not have the form {self.pattern.pattern}; use such a text"
        low, high = self.bounds
        if isinstance(value, int | float) and not isinstance(value, bool):
            if low is not None and value < low:
                yield path, place, f"{value} is too small; write {low} or more"
            if high is not None and value > high:
                yield path, place, f"{value} is too large; write {high} or less"


class _Compiler:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._done: dict[str, Shape] = {}

    def shape(self, schema: Mapping[str, Any]) -> Shape:
        return self.reference(schema["$ref"]) if "$ref" in schema else Shape(schema, self)

    def reference(self, path: str) -> Shape:
        name = path.rpartition("/")[2]
        if name not in self._done:
            self._done[name] = Shape(self._definitions[name], self)
        return self._done[name]


@cache
def specification() -> Shape:
    """Returns the compiled schema of a Compose file."""
    root = json.loads(files("setpoint.app.compose").joinpath("compose-spec.json").read_text())
    return _Compiler(root["$defs"]).shape(root)


def check(tree: Any, file: str) -> list[Problem]:
    """Returns the faults of a project."""
    faults = specification().faults(tree, (), (file, 1, 1))
    return [Problem(*(place if place[1] else NOWHERE), path_text(path), text) for path, place, text in faults]


def _kinds(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        return ("object",)
    if isinstance(value, list):
        return ("array",)
    if isinstance(value, float):
        return ("integer", "number") if value.is_integer() else ("number",)
    return _KINDS.get(type(value), ("string",))


def _equal(one: Any, two: Any) -> bool:
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = "an empty value" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
