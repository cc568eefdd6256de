"""Parses moments: a revision (`218`), a time of day (`14:03`), a duration ago (`5m`), a full time; and ranges of these
(`190..218`). The current time and the time zone are arguments."""

import re
from datetime import datetime, timedelta, tzinfo

import msgspec

from setpoint.objects import duration
from setpoint.objects.times import parse_micro_time, parse_time

_clock_time = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?").fullmatch
_number = re.compile(r"\d+").fullmatch
_NANOSECONDS = 1_000_000_000
FORMS = "a revision (218), a time (14:03, 14:03:20, 2026-01-31T14:03:00Z), a while ago (5m, 1h30m) or now"


class MomentError(ValueError):
    """The text is not a valid moment. The message lists the valid forms."""


class Moment(msgspec.Struct, frozen=True):
    """A point in the past: a revision or a time; now if both are None."""

    revision: int | None = None
    time: datetime | None = None

    @property
    def is_now(self) -> bool:
        return self.revision is None and self.time is None


def parse_moment(text: str, now: datetime, zone: tzinfo) -> Moment:
    """Parses a moment. A time of day in the future refers to yesterday. Raises MomentError."""
    if text in ("now", ""):
        return Moment()
    if _number(text):
        return Moment(revision=int(text))
    if found := _clock_time(text):
        return Moment(time=_today(found.groups(), text, now, zone))
    for parse in (parse_micro_time, parse_time):
        try:
            return Moment(time=parse(text))
        except ValueError:
            continue
    return Moment(time=now - parse_while(text))


def parse_while(text: str) -> timedelta:
    """Parses a duration such as `5m` or `1h30m`. Raises MomentError."""
    try:
        return timedelta(seconds=abs(duration.parse(_with_days(text))) / _NANOSECONDS)
    except ValueError:
        raise MomentError(f"invalid moment {text!r}: expected {FORMS}") from None


def parse_range(text: str, now: datetime, zone: tzinfo) -> tuple[Moment, Moment]:
    """Parses a range: `A..B`, or `A` for A until now. Raises MomentError."""
    first, dots, last = text.partition("..")
    if dots and not first:
        raise MomentError(f"the range {text!r} has no start: expected e.g. 190..218, 14:03..14:10 or 190.. (until now)")
    return parse_moment(first, now, zone), parse_moment(last, now, zone)


def _today(parts: tuple[str | None, ...], text: str, now: datetime, zone: tzinfo) -> datetime:
    hour, minute, second, fraction = parts
    here = now.astimezone(zone)
    try:
        found = here.replace(
            hour=int(hour or 0),
            minute=int(minute or 0),
            second=int(second or 0),
            microsecond=int(float(fraction or 0) * 1_000_000),
        )
    except ValueError:
        raise MomentError(f"invalid time of day {text!r}: expected {FORMS}") from None
    if second is None:
        found += timedelta(seconds=59, microseconds=999_999)  # without seconds, the whole minute is included
    elif fraction is None:
        found += timedelta(microseconds=999_999)
    return found if found.replace(second=0, microsecond=0) <= here else found - timedelta(days=1)


def _with_days(text: str) -> str:
    """Converts days to hours, because Go's durations have no days."""
    found = re.fullmatch(r"(\d+)d(.*)", text)
    return f"{int(found[1]) * 24}h{found[2]}" if found else text
