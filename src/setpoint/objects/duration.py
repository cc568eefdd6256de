"""Durations as Go reads and writes them: `1h30m`, `1.5s`, `250ms`. A duration is a whole number of nanoseconds."""

import re

from setpoint.objects.gotext import INT64_MAX, quote_ascii

NANOSECOND = 1
MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

# Both signs for micro: the micro sign and the Greek letter.
_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,
    "\u03bcs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)")
# Beyond these digits an integer overflows, and a fraction is ignored.
_MAX_DIGITS = 19


def parse(text: str) -> int:
    """Parses a duration to nanoseconds. Raises ValueError with Go's message."""
    invalid = ValueError(f"time: invalid duration {quote_ascii(text)}")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = at = 0
    while at < len(rest):
        found = _PART.match(rest, at)
        whole, fraction, unit = found.groups() if found else ("", None, "")
        if _over(whole) or not (whole or fraction):
            raise invalid
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote_ascii(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {quote_ascii(unit)} in duration {quote_ascii(text)}")
        total += int(whole or "0") * _UNITS[unit]
        if fraction:
            total += _fraction(fraction, _UNITS[unit])
        if total > INT64_MAX + 1:
            raise invalid
        at = found.end() if found else len(rest)
    if text[0] == "-":
        return -total
    if total > INT64_MAX:
        raise invalid
    return total


def _over(whole: str) -> bool:
    digits = whole.lstrip("0")
    return len(digits) > _MAX_DIGITS or int(digits or "0") > INT64_MAX + 1


def _fraction(digits: str, unit: int) -> int:
    number, scale = 0, 1.0
    for digit in digits[: 10 * _MAX_DIGITS]:
        if number > INT64_MAX // 10 or number * 10 + int(digit) > INT64_MAX + 1:
            break
        number = number * 10 + int(digit)
        scale *= 10
    # In floats, as in Go, so that the last nanosecond is the same.
    return int(number * (unit / scale))


def format_duration(nanoseconds: int) -> str:
    """Formats a duration: `1h30m0s`; below a second in the largest unit with a nonzero integer part: `1.5ms`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if not rest:
        return "0s"
    if rest < SECOND:
        unit, name = (
            (NANOSECOND, "ns")
            if rest < MICROSECOND
            else (MICROSECOND, "\u00b5s")
            if rest < MILLISECOND
            else (MILLISECOND, "ms")
        )
        return f"{sign}{_decimal(rest, unit)}{name}"
    minutes, seconds = divmod(rest, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds, SECOND)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    if not fraction:
        return str(whole)
    places = len(str(unit)) - 1
    return f"{whole}.{fraction:0{places}d}".rstrip("0")


def measured(seconds: float) -> str:
    """Formats a measured time with three significant figures: `8.4 ms`, `2.5 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def human_duration(seconds: float) -> str:
    """Formats an age as `kubectl` does, with one or two units: `45s`, `5m30s`, `3h`, `2d4h`, `1y20d`."""
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 0:
        return "0s"
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return _pair(minutes, "m", total % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _pair(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big}{big_unit}{small}{small_unit}" if small else f"{big}{big_unit}"
