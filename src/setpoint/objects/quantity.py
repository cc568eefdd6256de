"""Resource quantities: `100m`, `1.5Gi`, `2e3`, exact, as the API parses, compares, adds and formats them.

A quantity is an integer times a power of ten, never a float, and remembers its format: decimal suffixes, binary
suffixes, or an exponent. Digits below a billionth are rounded away from zero. Where upstream would work without bound
on absurd numbers (thousands of digits, sums across thousands of orders of magnitude), this module raises an error.
"""

import re
from enum import Enum
from functools import total_ordering
from typing import Self

from setpoint.objects.gotext import INT64_MAX, INT64_MIN

_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_FORMAT_WRONG = f"quantities must match the regular expression '{_PATTERN}'"
_NUMERIC_WRONG = "unable to parse numeric part of quantity"
_SUFFIX_WRONG = "unable to parse quantity's suffix"

# Possessive quantifiers, so that matching takes one pass over any text.
_SPLIT = re.compile(r"([+-]?)0*+([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
_DIGITS = re.compile(r"[+-]?\.?[0-9]")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")

_NANO = -9
# Upstream treats up to this many digits as fitting into 64 bits.
_INT64_DIGITS = 18
_BINARY_DIGITS = 14
# Python does not convert larger numbers to text, and no real resource is that large.
_MAX_DIGITS = 2000
_MAX_SHIFT = 2000
_MAX_BITS = 14_000
# Any two quantities up to this power of ten can be added within those limits.
_MAX_SCALE = 1000


class Format(Enum):
    """The format of a quantity, which its text keeps."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{exponent // 10: suffix for suffix, exponent in _BINARY.items()}}


@total_ordering
class Quantity:
    """An exact amount of a resource. Immutable; equal if the amounts are equal, regardless of the format."""

    __slots__ = ("_small", "_text", "format", "scale", "unscaled")

    def __init__(
        self,
        unscaled: int,
        scale: int = 0,
        format: Format = Format.DECIMAL_SI,  # noqa: A002 - Kubernetes' own word
        *,
        _small: bool = True,
        _text: str = "",
    ) -> None:
        """Makes the amount `unscaled * 10**scale`."""
        self.unscaled = unscaled
        self.scale = scale
        self.format = format
        # True if upstream would hold the amount in 64 bits: only then is the quantity an integer for `as_int64`.
        self._small = _small and INT64_MIN <= unscaled <= INT64_MAX
        self._text = _text

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a quantity. Raises ValueError with the API's message."""
        if not text:
            raise ValueError(_FORMAT_WRONG)
        found = _SPLIT.fullmatch(text)
        if found is None:
            raise ValueError(_FORMAT_WRONG)
        sign, whole, fraction, suffix = found.groups(default="")
        exponent, format_ = _interpret(suffix)
        if len(whole) + len(fraction) > _MAX_DIGITS:
            raise ValueError(_NUMERIC_WRONG)
        digits = (whole or "0") + fraction
        number = int(digits)
        if sign == "-":
            number = -number
        if format_ is Format.BINARY_SI:
            return cls._binary(text, number, digits, fraction, exponent)
        scale = exponent - len(fraction)
        if scale >= _NANO and len(digits) <= _INT64_DIGITS:
            regular = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
            return cls(number, scale, format_, _text=text if regular and text != "0" else "")
        _require_digits(text)
        return cls(*_round(number, scale, _NANO), format_, _small=False)

    @classmethod
    def _binary(cls, text: str, number: int, digits: str, fraction: str, exponent: int) -> Self:
        amount = number << exponent
        if not fraction and len(digits) + int(exponent * 3 / 10) <= _BINARY_DIGITS and abs(amount) <= INT64_MAX:
            return cls(amount, 0, Format.BINARY_SI, _text=text if number & 7 else "")
        _require_digits(text)
        unscaled, scale = _round(amount, -len(fraction), _NANO)
        if abs(unscaled) > INT64_MAX * 10**-scale:
            unscaled, scale = INT64_MAX if unscaled > 0 else -INT64_MAX, 0
        below_one = 0 < abs(unscaled) < 10**-scale
        return cls(unscaled, scale, Format.DECIMAL_SI if below_one else Format.BINARY_SI, _small=False)

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def is_computable(self) -> bool:
        """Returns True if the quantity can be added to, and counted in units of, any other such quantity. Larger
        quantities can only be compared and formatted."""
        return not self.unscaled or self.scale <= _MAX_SCALE

    def as_int64(self) -> int | None:
        """Returns the amount if written as a 64-bit integer, else None (`1000m` is not an integer)."""
        if not self._small or self.scale < 0:
            return None
        if not self.unscaled:
            return 0
        amount = self.unscaled * 10**self.scale if self.scale <= _INT64_DIGITS else None
        return amount if amount is not None and INT64_MIN <= amount <= INT64_MAX else None

    def value(self, scale: int = 0) -> int:
        """Returns the amount in whole units of `10**scale`, rounded away from zero: `value(-3)` counts thousandths."""
        if self.scale - scale > _MAX_SHIFT and self.unscaled:
            raise ValueError("the quantity is too large to be written out as an integer")
        unscaled, found = _round(self.unscaled, self.scale, scale)
        amount: int = unscaled * 10 ** (found - scale)
        return amount

    def as_float(self) -> float:
        """Returns the nearest float, or infinity."""
        return float(f"{self.unscaled}e{self.scale}")

    def __add__(self, other: "Quantity") -> "Quantity":
        return self._plus(other, other.unscaled)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self._plus(other, -other.unscaled)

    def _plus(self, other: "Quantity", addend: int) -> "Quantity":
        format_ = self.format if self.unscaled else other.format
        small = self._small and other._small
        if not addend or not self.unscaled:
            kept = self if not addend else other
            return Quantity(addend or self.unscaled, kept.scale, format_, _small=small)
        scale = min(self.scale, other.scale)
        if max(self.scale, other.scale) - scale > _MAX_SHIFT:
            raise ValueError("the quantities are too many orders of magnitude apart to be added exactly")
        mine, its = self.unscaled * 10 ** (self.scale - scale), addend * 10 ** (other.scale - scale)
        if (mine + its).bit_length() > _MAX_BITS:
            raise ValueError("the sum of the quantities has too many digits")
        small = small and all(INT64_MIN <= part <= INT64_MAX for part in (mine, its))
        return Quantity(mine + its, scale, format_, _small=small)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.unscaled, self.scale, self.format, _small=self._small)

    def compare(self, other: "Quantity") -> int:
        """Returns -1, 0 or 1 if the amount is below, equal to or above the other."""
        if self.sign != other.sign:
            return 1 if self.sign > other.sign else -1
        if abs(self.scale - other.scale) > _MAX_SHIFT + _MAX_DIGITS and self.sign:
            # No number of digits compensates for that many orders of magnitude.
            return self.sign if self.scale > other.scale else -self.sign
        scale = min(self.scale, other.scale) if self.sign else 0
        mine = self.unscaled * 10 ** (self.scale - scale) if self.sign else 0
        its = other.unscaled * 10 ** (other.scale - scale) if self.sign else 0
        return (mine > its) - (mine < its)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        unscaled, scale = _strip(self.unscaled, self.scale)
        return hash((unscaled, scale))

    def __str__(self) -> str:
        """Returns the canonical text: the largest suffix that leaves an integer."""
        if not self._text:
            self._text = self._canonical()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        if not self.unscaled:
            return "0"
        if self.format is Format.BINARY_SI:
            whole, scale = _strip(self.unscaled, self.scale)
            if 0 <= scale <= _MAX_SHIFT and abs(whole := whole * 10**scale) >= 1024:
                power = 0
                while whole % 1024 == 0 and abs(whole) >= 1024:
                    whole //= 1024
                    power += 1
                return f"{whole}{_BINARY_SUFFIX.get(power, '')}"
        unscaled, scale = _strip(self.unscaled, self.scale)
        unscaled, scale = unscaled * 10 ** (scale % 3), scale - scale % 3
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{unscaled}e{scale}" if scale else str(unscaled)
        return f"{unscaled}{_DECIMAL_SUFFIX.get(scale, '')}"


def _interpret(suffix: str) -> tuple[int, Format]:
    """Returns the exponent, of ten or of two, of a suffix, and the format."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], Format.BINARY_SI
    found = _EXPONENT.fullmatch(suffix)
    if found is None or len(found[1]) > 30 or not INT64_MIN <= (number := int(found[1])) <= INT64_MAX:
        raise ValueError(_SUFFIX_WRONG)
    # Upstream keeps 32 bits of the exponent.
    return (number + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT


def _require_digits(text: str) -> None:
    """Raises ValueError without digits. Upstream reads a missing number (`M`, `-`, `.`) as zero, except where the
    number is parsed as a large one."""
    if not _DIGITS.match(text):
        raise ValueError(_NUMERIC_WRONG)


def _round(unscaled: int, scale: int, to: int) -> tuple[int, int]:
    """Returns the number without digits below `10**to`, rounded away from zero."""
    if scale >= to or not unscaled:
        return unscaled, max(scale, to) if not unscaled else scale
    drop = to - scale
    if drop > _MAX_SHIFT + _MAX_DIGITS:
        return (1 if unscaled > 0 else -1), to
    whole, rest = divmod(abs(unscaled), 10**drop)
    whole += bool(rest)
    return (whole if unscaled > 0 else -whole), to


def _strip(unscaled: int, scale: int) -> tuple[int, int]:
    """Returns the same number without trailing zeros."""
    if not unscaled:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        scale += 1
    return unscaled, scale
