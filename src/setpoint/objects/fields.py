"""Field selectors: the grammar of `fieldSelector`, and matching over the fields a kind can be selected by.

A field that an object does not have counts as the empty string. What cannot be parsed raises BadRequest with the words
of the API. Which fields a kind has is the resource's business: it passes a function to `transform`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from setpoint.objects.errors import BadRequest
from setpoint.objects.gotext import quote

# Gives the field and value to use in their place, or raises BadRequest; two empty strings leave the term out.
Transform: TypeAlias = Callable[[str, str], tuple[str, str]]

_ESCAPED = "\\,="


class Requirement(NamedTuple):
    """One field that must, or must not, have one value."""

    field: str
    value: str
    equals: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equals else '!='}{escape(self.value)}"


class Selector:
    """All its requirements together; without any it selects everything."""

    __slots__ = ("_refused", "_wanted", "requirements")

    def __init__(self, requirements: tuple[Requirement, ...] = ()) -> None:
        self.requirements = requirements
        # The values by field: there are few fields, and a selector may have thousands of terms.
        self._wanted: dict[str, set[str]] = {}
        self._refused: dict[str, set[str]] = {}
        for field, value, equals in requirements:
            (self._wanted if equals else self._refused).setdefault(field, set()).add(value)

    @property
    def is_everything(self) -> bool:
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        for field, values in self._wanted.items():
            if len(values) > 1 or fields.get(field, "") not in values:
                return False
        return all(fields.get(field, "") not in values for field, values in self._refused.items())

    def exact(self, field: str) -> str | None:
        """The value that the field must have, where the selector asks for one: `metadata.name` of a watched object."""
        return next((value for name, value, equals in self.requirements if equals and name == field), None)

    def transform(self, function: Transform) -> "Selector":
        """The selector with each term put through the function; what it raises passes."""
        return _selector(Requirement(*function(field, value), equals) for field, value, equals in self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"


EVERYTHING = Selector()


def parse(text: str) -> Selector:
    """Reads a `fieldSelector`. Raises BadRequest with the words of the API."""
    return _selector(_term(part, text) for part in sorted(_split(text)) if part)


def _selector(terms: Iterable[Requirement]) -> Selector:
    """A selector without the terms that name no field and no value (a lone `=`), which upstream passes over."""
    return Selector(tuple(term for term in terms if term.field or term.value))


def _split(text: str) -> list[str]:
    """The parts between commas that no backslash escapes."""
    parts, start, escaped = [], 0, False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _term(part: str, text: str) -> Requirement:
    at = part.find("=")
    if at < 0:
        raise BadRequest(f"invalid selector: '{text}'; can't understand '{part}'")
    if at > 0 and part[at - 1] == "!":
        return Requirement(part[: at - 1], unescape(part[at + 1 :]), equals=False)
    value = part[at + 2 :] if part[at + 1 : at + 2] == "=" else part[at + 1 :]
    return Requirement(part[:at], unescape(value))


def escape(value: str) -> str:
    """A value as it is written in a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def unescape(text: str) -> str:
    """The value that a selector writes so. Raises BadRequest for anything that `escape` would not have written."""
    if not any(char in text for char in _ESCAPED):
        return text
    value, escaped = [], False
    for char in text:
        if escaped:
            if char not in _ESCAPED:
                raise BadRequest(f"invalid field selector: invalid escape sequence: \\{char}")
            value.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            # Upstream prints the character's number here.
            raise BadRequest(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            value.append(char)
    if escaped:
        raise BadRequest("invalid field selector: invalid escape sequence: \\")
    return "".join(value)


def unknown_field(field: str) -> BadRequest:
    """The answer where a kind cannot be selected by the field."""
    known = '"metadata.name", "metadata.namespace"'
    return BadRequest(f"{quote(field)} is not a known field selector: only {known}")
