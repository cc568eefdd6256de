"""Times of the API: RFC 3339 in UTC, whole seconds in metadata, microseconds for MicroTime.

Parsing follows Go, with its leniency (a fraction is accepted and dropped) and its error messages.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from setpoint.objects.gotext import quote_ascii

_SECONDS = "2006-01-02T15:04:05Z07:00"
_MICROS = "2006-01-02T15:04:05.000000Z07:00"

# The usual format; other texts are parsed step by step, to produce the exact error. Python accepts the hour 24 since
# 3.14, and Go does not.
_USUAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
# The parts of the layout in order: the text before, the part as the layout writes it, its pattern, its range.
_STEPS = (
    ("", "2006", re.compile(r"[0-9]{4}"), None),
    ("-", "01", re.compile(r"[0-9]{2}"), ("month", 1, 12)),
    ("-", "02", re.compile(r"[0-9]{2}"), None),
    ("T", "15", re.compile(r"[0-9]{1,2}"), ("hour", 0, 23)),
    (":", "04", re.compile(r"[0-9]{2}"), ("minute", 0, 59)),
    (":", "05", re.compile(r"[0-9]{2}"), ("second", 0, 59)),
)
_FRACTION = re.compile(r"[.,]([0-9]+)")
# A time with a fraction of a second other than zero.
FRACTION = re.compile(r"T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]*[1-9]")
_MICRO_FRACTION = re.compile(r"[.,]([0-9]{6})")
_ZONE = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")


def parse_time(text: str) -> datetime:
    """Parses a `Time` to UTC and whole seconds. Raises ValueError with Go's message."""
    return _parse(text, _SECONDS).replace(microsecond=0)


def parse_micro_time(text: str) -> datetime:
    """Parses a `MicroTime`, which has exactly six fractional digits, to UTC. Raises ValueError as Go would."""
    return _parse(text, _MICROS)


def has_fraction(text: object) -> bool:
    """Returns True for the text of a time with a fraction of a second, which the storage of a `Time` drops."""
    return type(text) is str and FRACTION.search(text) is not None


def format_time(moment: datetime) -> str:
    """Formats a `Time`: `2026-01-31T12:00:00Z`."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return _second(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)


@lru_cache(maxsize=64)
def _second(year: int, month: int, day: int, hour: int, minute: int, second: int) -> str:
    """Formats one second; cached, because many writes happen in the same second."""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"


def format_micro_time(moment: datetime) -> str:
    """Formats a `MicroTime`: `2026-01-31T12:00:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _parse(text: str, layout: str) -> datetime:
    if (usual := _USUAL.fullmatch(text)) and (layout is _SECONDS or len(usual[1] or "") == 7):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # out of range: the steps below find the part
    return _TimeParser(text, layout).read()


class _TimeParser:
    """Parses a time part by part, as Go does, so that each failure has Go's message."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.remainder = text

    def read(self) -> datetime:
        year, month, day, hour, minute, second = (self.number(*step) for step in _STEPS)
        micros = self.fraction()
        offset = self.zone()
        if self.remainder:
            raise self.failure(f": extra text: {quote_ascii(self.remainder)}")
        try:
            moment = datetime(year, month, day, hour, minute, second, micros, UTC)
        except ValueError:
            raise self.failure(": day out of range" if year else ": year out of range") from None
        try:
            return moment - offset
        except OverflowError:
            raise self.failure(": year out of range") from None

    def number(self, prefix: str, part: str, pattern: re.Pattern[str], bounds: tuple[str, int, int] | None) -> int:
        if prefix:
            if not self.remainder.startswith(prefix):
                raise self.unlike(self.remainder, prefix)
            self.remainder = self.remainder[1:]
        found = pattern.match(self.remainder)
        if found is None:
            raise self.unlike(self.remainder, part)
        self.remainder = self.remainder[found.end() :]
        number = int(found[0])
        if bounds and not bounds[1] <= number <= bounds[2]:
            raise self.failure(f": {bounds[0]} out of range")
        return number

    def fraction(self) -> int:
        found = (_FRACTION if self.layout is _SECONDS else _MICRO_FRACTION).match(self.remainder)
        if found is None:
            if self.layout is _MICROS:
                raise self.unlike(self.remainder, ".000000")
            return 0
        self.remainder = self.remainder[found.end() :]
        return int(found[1][:6].ljust(6, "0"))

    def zone(self) -> timedelta:
        if self.remainder.startswith("Z"):
            self.remainder = self.remainder[1:]
            return timedelta()
        found = _ZONE.match(self.remainder)
        if found is None:
            raise self.unlike(self.remainder, "Z07:00")
        self.remainder = self.remainder[6:]
        hours, minutes = int(found[2]), int(found[3])
        if hours > 24:
            raise self.failure(": time zone offset hour out of range")
        if minutes > 60:
            raise self.failure(": time zone offset minute out of range")
        offset = timedelta(hours=hours, minutes=minutes)
        return offset if found[1] == "+" else -offset

    def unlike(self, found: str, part: str) -> ValueError:
        where = f"parsing time {quote_ascii(self.text)} as {quote_ascii(self.layout)}"
        return ValueError(f"{where}: cannot parse {quote_ascii(found)} as {quote_ascii(part)}")

    def failure(self, message: str) -> ValueError:
        return ValueError(f"parsing time {quote_ascii(self.text)}{message}")
