"""Schedules of tasks, as cron writes them: minute, hour, day of month, month, day of week.

    */15 9-17 * * MON-FRI    every quarter of an hour, from nine to six, on working days
    @daily                   at midnight; also @hourly, @weekly, @monthly, @yearly
    @every 90s               from the last time on

The clock of a time zone jumps. What is due at a time that is left out is not done that day, and what is due at a named
hour that comes twice is done the first time; what is due in every hour follows the hours as they pass. As in cron, when
both days are given a day need only be one of them.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from setpoint.objects import duration

_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_ITEM = re.compile(r"(\*|\?|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:/([0-9]+))?")
# A 29th of February that is a Sunday can be forty years away.
_FAR = timedelta(days=366 * 41)
_MINUTE = timedelta(minutes=1)


class ScheduleError(ValueError):
    """A schedule or time zone cannot be understood; says which part, and what to write."""


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # Sunday may be written 0 and 7.
    _Field("day of week", 0, 7, _DAYS),
)


class Schedule(NamedTuple):
    """When something is due. Either `every` a span of time, or at the times that the sets of numbers name."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # Whether the field was left open, with a star.
    any_hour: bool = True
    any_day: bool = True
    any_weekday: bool = True
    every: timedelta = timedelta()

    def next_after(self, moment: datetime, zone: tzinfo = UTC) -> datetime | None:
        """The first time after the moment, in UTC; None where there is none in the next years."""
        if self.every:
            return (moment + self.every).astimezone(UTC)
        here = moment.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        limit = here + _FAR
        while here < limit:
            local = here.astimezone(zone)
            if local.month not in self.months:
                here = _later(here, local.replace(day=1) + timedelta(days=32), zone, first_of_month=True)
            elif not self._is_day(local):
                here = _later(here, local + timedelta(days=1), zone)
            elif local.hour not in self.hours or (local.fold and not self.any_hour):
                here += _MINUTE * (60 - local.minute)
            elif local.minute not in self.minutes:
                following = min((each for each in self.minutes if each > local.minute), default=60)
                here += _MINUTE * (following - local.minute)
            else:
                return here
        return None

    def _is_day(self, local: datetime) -> bool:
        on_day, on_weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return on_day and on_weekday
        return on_day or on_weekday


def _later(here: datetime, local: datetime, zone: tzinfo, *, first_of_month: bool = False) -> datetime:
    """The beginning of that local day, or of its month; at least later than here."""
    day = 1 if first_of_month else local.day
    found = datetime(local.year, local.month, day, tzinfo=zone).astimezone(UTC)
    return found if found > here else here + timedelta(hours=1)


def parse_schedule(text: str) -> Schedule:
    """Raises ScheduleError."""
    given = text.strip()
    if given.startswith("@every "):
        return _every(given)
    if given.startswith("@"):
        if given.lower() not in _SHORT:
            raise ScheduleError(f"{given} is no schedule; there are {', '.join(_SHORT)} and @every 1h30m")
        given = _SHORT[given.lower()]
    if given.upper().startswith(("TZ=", "CRON_TZ=")):
        raise ScheduleError("a schedule cannot name its time zone; set timeZone")
    parts = given.split()
    if len(parts) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise ScheduleError(f"a schedule has five fields ({names}), and {text!r} has {len(parts)}")
    minutes, hours, days, months, weekdays = (_numbers(part, field) for part, field in zip(parts, _FIELDS, strict=True))
    return Schedule(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        any_hour=_is_open(parts[1]),
        any_day=_is_open(parts[2]),
        any_weekday=_is_open(parts[4]),
    )


def parse_zone(name: str) -> tzinfo:
    """A time zone by its name; UTC when empty. Raises ScheduleError."""
    if not name or name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ScheduleError(f"there is no time zone {name!r}; write one such as Europe/Berlin, or UTC") from None


def _is_open(part: str) -> bool:
    return part[0] in "*?"


def _every(text: str) -> Schedule:
    try:
        span = timedelta(microseconds=duration.parse(text.removeprefix("@every ").strip()) // duration.MICROSECOND)
    except ValueError as error:
        raise ScheduleError(f"{text}: {error}; write a span such as 1h30m") from None
    if span < timedelta(seconds=1):
        raise ScheduleError(f"{text}: the span must be a second or more")
    nothing: frozenset[int] = frozenset()
    return Schedule(nothing, nothing, nothing, nothing, nothing, every=span)


def _numbers(part: str, field: _Field) -> frozenset[int]:
    found: set[int] = set()
    for item in part.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ScheduleError(f"{field.name}: {item!r} is not understood; write numbers, 1-5, */15 or a star")
        first, last, step = match.groups()
        low, high = (field.low, field.high) if first in ("*", "?") else (_number(first, field),) * 2
        if last is not None:
            if first in ("*", "?"):
                raise ScheduleError(f"{field.name}: {item!r} is a star and a range; write one of the two")
            high = _number(last, field)
        elif step is not None and first not in ("*", "?"):
            high = field.high
        if low > high:
            raise ScheduleError(f"{field.name}: {item!r} ends before it begins")
        if step is not None and int(step) == 0:
            raise ScheduleError(f"{field.name}: the step of {item!r} must be 1 or more")
        found.update(range(low, high + 1, int(step or 1)))
    return frozenset(found)


def _number(text: str, field: _Field) -> int:
    if text.upper() in field.names:
        return field.names.index(text.upper()) + field.low
    if text.isdecimal() and field.low <= int(text) <= field.high:
        return int(text)
    names = f", or {field.names[0]} to {field.names[-1]}" if field.names else ""
    raise ScheduleError(f"{field.name}: {text!r} is none; it goes from {field.low} to {field.high}{names}")
