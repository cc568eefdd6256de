"""Values in the textual forms of the real server, which is written in Go: quoted strings, numbers, compact JSON.

People and tests read the error messages of the API; these functions reproduce them exactly, and accept exactly the
numbers that Go's parsers accept.
"""

import re
import struct
from decimal import Decimal
from typing import Any

import msgspec

from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Json

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# The characters that `strconv.Quote` writes as two-character escapes.
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

# Go's encoder sorts keys and escapes these five characters, so that JSON is safe inside HTML.
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

_SIGNED = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")


def quote(text: str) -> str:
    """Returns the text as a Go string literal in double quotes (`%q`)."""
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
    """Quotes the text as Go's `time` package does: characters other than printable ASCII as the hex of their bytes."""
    return '"' + "".join(map(_escape_bytes, text)) + '"'


def _escape_bytes(char: str) -> str:
    if " " <= char < "\x80":
        return f"\\{char}" if char in '"\\' else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def float_text(value: float) -> str:
    """Formats a float as Go's `encoding/json` does: the shortest digits, without a fraction of zero."""
    text = repr(value)
    if value and not 1e-6 <= abs(value) < 1e21:
        digits, _, exponent = text.partition("e")
        return f"{digits.removesuffix('.0')}e{int(exponent):+d}"
    if "e" in text:
        # Python uses exponents earlier than Go does: from 1e16 up, and below 1e-4.
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def general_float(value: float, bits: int = 64) -> str:
    """Formats a float as Go's `%g` and `%v` do: the shortest digits, with an exponent below 0.0001 and from 1000000."""
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
    """Returns the fewest digits that identify the same single-precision number."""
    single = struct.pack("f", value)
    texts = (f"{value:.{digits}e}" for digits in range(9))
    return next((text for text in texts if struct.pack("f", float(text)) == single), repr(value))


def compact_json(value: Json) -> str:
    """Encodes compact JSON with sorted keys, with strings and numbers as in Go's `encoding/json`."""
    return encode_sorted(_raw_floats(value) if _has_float(value) else value).decode().translate(_HTML)


def plain_json(value: Json) -> str:
    """Encodes compact JSON with sorted keys, with the numbers as a client writes them: `1.0` is not `1`."""
    return encode_sorted(value).decode()


def ordered_json(value: Json) -> str:
    """Encodes compact JSON like `compact_json`, but with the keys in their order."""
    return msgspec.json.encode(_raw_floats(value) if _has_float(value) else value).decode().translate(_HTML)


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
    """JSON text that a field error shows unchanged: for values whose fields have a fixed order."""


def bad_value(value: Json) -> str:
    """Formats a value for a field error: strings quoted, numbers and booleans bare, all other values as JSON."""
    if type(value) is RawJson:
        return value
    if type(value) is str:
        return quote(value)
    if value is None:
        return "null"
    return general_float(value) if type(value) is float else compact_json(value)


def byte_length(text: str) -> int:
    """Returns the length of the text in UTF-8 bytes, which Go's limits count."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def parse_int(text: str, bits: int = 64, *, function: str = "ParseInt") -> int:
    """Parses a decimal integer as `strconv.ParseInt` (or `Atoi`) does. Raises ValueError with Go's message."""
    if not _SIGNED.fullmatch(text):
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    return _in_range(function, text, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def parse_uint(text: str, bits: int = 64) -> int:
    """Parses an unsigned decimal integer as `strconv.ParseUint` does. Raises ValueError with Go's message."""
    if not _UNSIGNED.fullmatch(text):
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    return _in_range("ParseUint", text, 0, (1 << bits) - 1)


def _in_range(function: str, text: str, low: int, high: int) -> int:
    # Without leading zeros, twenty digits exceed every bound; Python refuses to convert thousands of digits at all.
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) <= 20 else 1 << 70
    if text[0] == "-":
        number = -number
    if not low <= number <= high:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number
