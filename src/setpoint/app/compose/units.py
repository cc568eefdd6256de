"""Durations, sizes, numbers and commands in the notation of Go and Docker."""

import math
import re
import struct
from typing import Any

from setpoint.app.compose.gotexts import go_text

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 24 * 3600 * 10**9,
    "w": 168 * 3600 * 10**9,
}
_TERM = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]+)")
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?([bB]|[kmgtpKMGTP](?:[bB]|[iI][bB])?)?")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SPECIAL = ";&|<>"


def nanoseconds(value: Any) -> int:
    """Returns the nanoseconds of a duration such as `1m30s`. Raises ValueError."""
    text = go_text(value)
    rest = text[1:] if text[:1] in "+-" and text else text
    if rest == "0":
        return 0
    total, at = 0, 0
    while at < len(rest):
        found = _TERM.match(rest, at)
        if found is None or not (found[1] or found[2]) or found[3] not in _UNITS:
            raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 30s or 1m30s")
        unit = _UNITS[found[3]]
        total += int(found[1] or 0) * unit
        if found[2]:
            total += int(int(found[2]) * (unit / 10 ** len(found[2])))
        at = found.end()
    if not rest or total >= 2**63:
        raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 30s or 1m30s")
    return -total if text.startswith("-") else total


def duration_text(total: int) -> str:
    """Formats nanoseconds as Go does: `1h30m0s`, `1.5s`, `250ms`."""
    sign, left = ("-", -total) if total < 0 else ("", total)
    if left < 10**9:
        for unit, size in (("ms", 10**6), ("µs", 10**3), ("ns", 1)):
            if left >= size:
                return f"{sign}{_decimal(left, size)}{unit}"
        return "0s"
    minutes, rest = divmod(left, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(value: int, size: int) -> str:
    whole, fraction = divmod(value, size)
    digits = f"{fraction:0{len(str(size)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)


def size_in_bytes(value: Any) -> int:
    """Returns the bytes of a size such as `512m` or `1.5GiB`. Raises ValueError."""
    if isinstance(value, int):
        return int(value)
    if not isinstance(value, str):
        return 0
    if re.fullmatch(r"[+-]?\d+", value):
        return int(value)
    found = _SIZE.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r} is not a size; write a number with a unit, such as 512m or 1gb")
    power = _POWERS.get((found[2] or "b")[0].lower(), 0)
    return int(float(found[1]) * 1024**power)


def single(value: Any) -> float | int:
    """Returns a number with the precision of 32 bits, with the fewest digits. Raises ValueError."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number; write digits")
    packed = struct.pack("f", number)
    texts = (f"{struct.unpack('f', packed)[0]:.{digits}e}" for digits in range(10))
    made = next(float(text) for text in texts if struct.pack("f", float(text)) == packed)
    return int(made) if made.is_integer() else made


def words(line: str) -> list[str]:
    """Splits a command at spaces, with quotes and backslashes; the words end at an unquoted `;`, `&`, `|`, `<` or `>`,
    as in Compose. Raises ValueError."""
    made: list[str] = []
    part, quote, started, escaped, grouped = "", "", False, False, ""
    for char in line:
        if escaped:
            part, escaped, started = part + char, False, True
        elif char == "\\":
            if quote == "'":
                part += char
            else:
                escaped = True
        elif char in " \t\r\n":
            if quote or grouped:
                part += char
            elif started:
                made.append(part)
                part, started = "", False
        elif char == "`" and not quote and grouped != ")":
            grouped = "" if grouped else "`"
            part, started = part + char, True
        elif char == ")" and not quote and grouped != "`":
            grouped = "" if grouped else ")"
            part, started = part + char, True
        elif char == "(" and not quote and grouped != "`":
            if grouped or not part.endswith("$"):
                raise ValueError(f"the command {line!r} has an unquoted '('; write the command as a list")
            grouped, part = ")", part + char
        elif char == '"' and quote != "'" and grouped != ")":
            started = started or bool(quote)
            quote = "" if quote else '"'
        elif char == "'" and quote != '"' and grouped != ")":
            started = started or bool(quote)
            quote = "" if quote else "'"
        elif char in _SPECIAL and not quote and not grouped:
            if char == ">" and part[:1].isdigit():
                started = False
            break
        else:
            part, started = part + char, True
    if started:
        made.append(part)
    if escaped or quote or grouped:
        raise ValueError(f"the command {line!r} has an open quote; close the quote, or write the command as a list")
    return made
