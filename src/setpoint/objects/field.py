"""Field errors: the fault of one field of an object, in the wording of the API.

A list of them makes an `Invalid` (see `errors`), with one cause each. Paths are plain strings (`spec.ports[0].name`),
built when an error is found; `child`, `index` and `key` build them for code that traverses an object.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple

from setpoint.objects.gotext import bad_value, quote


class FieldErrorType(Enum):
    """The kinds of field errors: the cause's reason, and the beginning of the message."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    INTERNAL = ("InternalError", "Internal error")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")

    def __init__(self, reason: str, words: str) -> None:
        self.reason = reason
        self.words = words


class _Omitted:
    """Represents a bad value that the message omits (as for objects and lists that fail a CEL rule)."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Any = _Omitted()

_INDEX = re.compile(r"\[[^\]]*\]")
_TYPE_WORDS = {
    FieldErrorType.NOT_FOUND: "NotFound",
    FieldErrorType.REQUIRED: "Required",
    FieldErrorType.DUPLICATE: "Duplicate",
    FieldErrorType.INVALID: "Invalid",
    FieldErrorType.NOT_SUPPORTED: "NotSupported",
    FieldErrorType.FORBIDDEN: "Forbidden",
    FieldErrorType.TOO_LONG: "TooLong",
    FieldErrorType.TOO_MANY: "TooMany",
    FieldErrorType.INTERNAL: "Internal",
    FieldErrorType.TYPE_INVALID: "TypeInvalid",
}
_VALUELESS = {
    FieldErrorType.REQUIRED,
    FieldErrorType.FORBIDDEN,
    FieldErrorType.TOO_LONG,
    FieldErrorType.INTERNAL,
}


class FieldError(NamedTuple):
    """One invalid field: the kind of error, the path, the invalid value, and the expectation."""

    type: FieldErrorType
    field: str
    value: Any = OMITTED
    detail: str = ""

    @property
    def message(self) -> str:
        """The text after the path: the message of the cause."""
        text = self.type.words
        if self.type not in _VALUELESS and self.value is not OMITTED:
            text = f"{text}: {bad_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(FieldErrorType.TYPE_INVALID, field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, field, "", detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(FieldErrorType.DUPLICATE, field, value)


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(FieldErrorType.NOT_FOUND, field, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    names = ", ".join(quote(item) for item in supported)
    return FieldError(FieldErrorType.NOT_SUPPORTED, field, value, f"supported values: {names}" if names else "")


def too_long(field: str, limit: int) -> FieldError:
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(FieldErrorType.TOO_LONG, field, "", f"may not be more than {limit} {unit}")


def too_long_characters(field: str, limit: int) -> FieldError:
    """Returns the error of a declared limit, which counts characters."""
    unit = "character" if limit == 1 else "characters"
    return FieldError(FieldErrorType.TOO_LONG, field, "", f"may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    unit = "item" if limit == 1 else "items"
    return FieldError(FieldErrorType.TOO_MANY, field, actual, f"must have at most {limit} {unit}")


def internal(field: str, text: str) -> FieldError:
    return FieldError(FieldErrorType.INTERNAL, field, "", text)


def child(path: str, name: str) -> str:
    """Returns the path of a named field below `path` (which is empty at the root)."""
    return f"{path}.{name}" if path else name


def index(path: str, position: int) -> str:
    """Returns the path of a list item."""
    return f"{path}[{position}]"


def key(path: str, name: str) -> str:
    """Returns the path of a map entry."""
    return f"{path}[{name}]"


def declared_last(errors: Iterable[FieldError], rules: Sequence[str]) -> list[FieldError]:
    """Returns the errors with those of some rules at the end, in the order of the rules.

    A rule is a path, in which `[*]` is any index or key, the kind of the error, and the detail if needed:
    `rules[*].verbs Required`. The beginning of the detail suffices.
    """
    first: list[FieldError] = []
    last: list[tuple[list[int], FieldError]] = []
    for error in errors:
        path = _INDEX.sub("[*]", error.field)
        place = f"{path} {_TYPE_WORDS[error.type]}"
        text = f"{place} {error.detail} "
        found = (at for at, rule in enumerate(rules) if rule == place or text.startswith(f"{rule} "))
        rank = next(found, None)
        if rank is None:
            first.append(error)
        else:
            if error.detail.startswith("must be no more than "):
                # Declared rules count bytes, and say so.
                error = error._replace(detail=error.detail.replace("characters", "bytes"))
            last.append((_order(error.field, path, rank, rules), error))
    last.sort(key=itemgetter(0))
    return first + [error for _, error in last]


def _order(field: str, path: str, rank: int, rules: Sequence[str]) -> list[int]:
    """Returns the place of an error: the items of a list come one after another, each with the errors of its parts."""
    found: list[int] = []
    end = 0
    for position in _INDEX.findall(field):
        end = path.index("[*]", end) + 3
        if end == len(path) or not position[1:-1].isdigit():
            break
        found += [next(at for at, rule in enumerate(rules) if rule.startswith(path[:end])), int(position[1:-1])]
    return [*found, rank]


def without_repeats(errors: Iterable[FieldError]) -> list[FieldError]:
    """Returns the errors without those that read like an earlier one."""
    found: dict[str, FieldError] = {}
    for error in errors:
        found.setdefault(str(error), error)
    return [*found.values()]
