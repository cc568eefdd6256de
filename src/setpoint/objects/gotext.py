"""Values in the textual forms of the real server, which is written in Go: quoted strings, numbers, compact JSON.

Error messages of the API are read by people and by tests; these functions give them letter for letter, and read numbers
exactly where Go's parsers would.
"""

import re
import struct
from decimal import Decimal
from typing import Any

import msgspec

from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Json

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# The characters that `strconv.Quote` writes as two.
ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}

# Go's encoder writes keys in order, and these five characters as escapes, so that JSON is safe inside HTML.
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

_SIGNED = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")


def quote(text: str) -> str:
    """The text as a Go string literal in double quotes (`%q`)."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_ascii(text: str) -> str:
    """The text as Go's `time` package quotes it: what is not printable ASCII as the hex of its bytes."""
    return '"' + "".join(map(_escape_bytes, text)) + '"'


def _escape_bytes(char: str) -> str:
    if " " <= char < "\x80":
        return f"\\{char}" if char in '"\\' else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def float_text(value: float) -> str:
    """A float as Go's `encoding/json` writes it: the shortest digits, without a fraction where there is none."""
    text = repr(value)
    if value and not 1e-6 <= abs(value) < 1e21:
        digits, _, exponent = text.partition("e")
        return f"{digits.removesuffix('.0')}e{int(exponent):+d}"
    if "e" in text:
        # Python turns to exponents earlier than Go does: from 1e16 up, and below 1e-4.
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def general_float(value: float, bits: int = 64) -> str:
    """A float as Go's `%g` and `%v` write it: the shortest digits, with an exponent below 0.0001 and from a million."""
    text = f"{value!r}" if bits == 64 else _shortest_single(value)
    number = Decimal(text).normalize()
    sign, digits, exponent = number.as_tuple()
    power = len(digits) - 1 + int(exponent)
    if value == 0 or -4 <= power < 6:
        return format(number, "f")
    shown = "".join(map(str, digits))
    fraction = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{'-' if sign else ''}{shown[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _shortest_single(value: float) -> str:
    """The fewest digits that still name the same single-precision number."""
    single = struct.pack("f", value)
    texts = (f"{value:.{digits}e}" for digits in range(9))
    return next((text for text in texts if struct.pack("f", float(text)) == single), repr(value))


def compact_json(value: Json) -> str:
    """Compact JSON with sorted keys, its strings and numbers written as Go's `encoding/json` does."""
    return encode_sorted(_raw_floats(value) if _has_float(value) else value).decode().translate(_HTML)


def _has_float(value: Json) -> bool:
    if type(value) is dict:
        return any(map(_has_float, value.values()))
    if type(value) is list:
        return any(map(_has_float, value))
    return type(value) is float


def _raw_floats(value: Json) -> Any:
    if type(value) is dict:
        return {key: _raw_floats(item) for key, item in value.items()}
    if type(value) is list:
        return [_raw_floats(item) for item in value]
    return msgspec.Raw(float_text(value).encode()) if type(value) is float else value


class RawJson(str):
    """JSON text that a field error shows as it is: for values whose fields have an order of their own."""


def bad_value(value: Json) -> str:
    """A value as a field error shows it: strings quoted, numbers and booleans bare, everything else JSON."""
    if type(value) is RawJson:
        return value
    if type(value) is str:
        return quote(value)
    if value is None:
        return "null"
    return general_float(value) if type(value) is float else compact_json(value)


def byte_length(text: str) -> int:
    """How many bytes the text has in UTF-8: the length that Go's limits count."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def parse_int(text: str, bits: int = 64, *, function: str = "ParseInt") -> int:
    """A decimal integer as `strconv.ParseInt` (or `Atoi`) reads it. Raises ValueError with Go's words."""
    if not _SIGNED.fullmatch(text):
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    return _in_range(function, text, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def parse_uint(text: str, bits: int = 64) -> int:
    """A decimal integer without a sign as `strconv.ParseUint` reads it. Raises ValueError with Go's words."""
    if not _UNSIGNED.fullmatch(text):
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    return _in_range("ParseUint", text, 0, (1 << bits) - 1)


def _in_range(function: str, text: str, low: int, high: int) -> int:
    # Leading zeros aside, twenty digits are past every bound; Python refuses to read thousands of them at all.
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) <= 20 else 1 << 70
    if text[0] == "-":
        number = -number
    if not low <= number <= high:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number
