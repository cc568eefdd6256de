"""Semantic versions: `semver('1.2.3')`, and with `true` the tolerant parsing (`v1.2`, `01.2.3`)."""

import re

from setpoint.objects.gotext import quote
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.types import Type, struct
from setpoint.schema.cel.values import EvaluationError

SEMVERS = Library()
_overload = SEMVERS.overload
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
_NUMBER_LIMIT = 2**64


class Semver:
    """A version: three numbers and the identifiers of a pre-release. Build metadata is ignored."""

    __slots__ = ("numbers", "prerelease")
    cel_type: Type = struct("kubernetes.Semver")

    def __init__(self, numbers: tuple[int, int, int], prerelease: tuple[int | str, ...]) -> None:
        self.numbers = numbers
        self.prerelease = prerelease

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash((self.numbers, self.prerelease))

    def compare(self, other: "Semver") -> int:
        if self.numbers != other.numbers:
            return 1 if self.numbers > other.numbers else -1
        mine, its = self._order(), other._order()
        return (mine > its) - (mine < its)

    def _order(self) -> tuple[int, list[tuple[int, int, str]]]:
        """Returns the sort key of the pre-release: a release comes after its pre-releases; numbers before words."""
        parts = [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.prerelease]
        return (0 if parts else 1, parts)


def _parse(text: str, normalize: bool) -> Semver:
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "Major")
    minor = _number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease_text = rest.partition("-")
    patch = _number(patch_text, "Patch")
    prerelease = tuple(_prerelease(part) for part in prerelease_text.split(".")) if dash else ()
    if plus:
        for part in build.split("."):
            if not part:
                raise EvaluationError("Build meta data is empty")
            if not _IDENTIFIER.fullmatch(part):
                raise EvaluationError(f"Invalid character(s) found in build meta data {quote(part)}")
    return Semver((major, minor, patch), prerelease)


def _number(text: str, word: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise EvaluationError(f"Invalid character(s) found in {word.lower()} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{word} number must not contain leading zeroes {quote(text)}")
    if len(text) > 20 or int(text) >= _NUMBER_LIMIT:
        raise EvaluationError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if text.isascii() and text.isdigit():
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return int(text[:20])
    if not _IDENTIFIER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) for part in parts]
    if len(parts) < 3:
        if any(mark in parts[-1] for mark in "+-"):
            raise EvaluationError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) < 2 or part[0] != "0":
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0].isdigit() else f"0{stripped}"


@_overload(
    "string_to_semver: semver(string) -> kubernetes.Semver",
    "string_bool_to_semver: semver(string, bool) -> kubernetes.Semver",
)
def _semver(text: str, normalize: bool = False) -> Semver:
    return _parse(text, normalize)


@_overload("is_semver_string: isSemver(string) -> bool", "is_semver_string_bool: isSemver(string, bool) -> bool")
def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parse(text, normalize)
    except EvaluationError:
        return False
    return True


@_overload("semver_major: (kubernetes.Semver).major() -> int")
def _major(version: Semver) -> int:
    return version.numbers[0]


@_overload("semver_minor: (kubernetes.Semver).minor() -> int")
def _minor(version: Semver) -> int:
    return version.numbers[1]


@_overload("semver_patch: (kubernetes.Semver).patch() -> int")
def _patch(version: Semver) -> int:
    return version.numbers[2]


@_overload("semver_compare_to: (kubernetes.Semver).compareTo(kubernetes.Semver) -> int")
def _compare(version: Semver, other: Semver) -> int:
    return version.compare(other)


@_overload("semver_is_greater_than: (kubernetes.Semver).isGreaterThan(kubernetes.Semver) -> bool")
def _greater(version: Semver, other: Semver) -> bool:
    return version.compare(other) > 0


@_overload("semver_is_less_than: (kubernetes.Semver).isLessThan(kubernetes.Semver) -> bool")
def _less(version: Semver, other: Semver) -> bool:
    return version.compare(other) < 0
