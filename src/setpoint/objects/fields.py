"""Field selectors: the grammar of `fieldSelector`, and matching on the selectable fields of a kind.

A missing field of an object counts as the empty string. Parse errors raise BadRequest with the API's message. The
resource defines the selectable fields of its kind, by a function that is passed to `transform`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from setpoint.objects.errors import BadRequest
from setpoint.objects.gotext import quote

# Returns the field and value to use instead, or raises BadRequest; two empty strings remove the term.
Transform: TypeAlias = Callable[[str, str], tuple[str, str]]

_ESCAPED = "\\,="
_needs_unescaping = re.compile(r"[\\,=]").search


class Requirement(NamedTuple):
    """One field that must, or must not, have one value."""

    field: str
    value: str
    equals: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equals else '!='}{escape(self.value)}"


class Selector:
    """A conjunction of requirements; an empty selector matches every object."""

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
        """Returns the value that the selector requires for the field, or None: `metadata.name` of a watched object."""
        return next((value for name, value, equals in self.requirements if equals and name == field), None)

    def transform(self, function: Transform) -> "Selector":
        """Returns the selector with each term replaced by the result of the function; exceptions propagate."""
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
    """Parses a `fieldSelector`. Raises BadRequest with the API's message."""
    return _selector(_term(part, text) for part in sorted(_split(text)) if part)


def _selector(terms: Iterable[Requirement]) -> Selector:
    """Returns a selector without the terms that have no field and no value (a lone `=`), which upstream ignores."""
    return Selector(tuple(term for term in terms if term.field or term.value))


def _split(text: str) -> list[str]:
    """Splits the text at the commas that no backslash escapes."""
    if "\\" not in text:  # a selector may have thousands of terms
        return text.split(",")
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
    """Escapes a value for a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def unescape(text: str) -> str:
    """Returns the value of an escaped text. Raises BadRequest for texts that `escape` cannot produce."""
    if _needs_unescaping(text) is None:
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
    """Returns the error for a field that is not selectable."""
    known = '"metadata.name", "metadata.namespace"'
    return BadRequest(f"{quote(field)} is not a known field selector: only {known}")
