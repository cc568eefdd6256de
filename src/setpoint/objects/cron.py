"""Cron schedules in the dialect of Kubernetes (`robfig/cron` v3), with the error texts of that library.

    */15 9-17 * * MON-FRI    every quarter of an hour, from nine to six, on working days
    @daily                   at midnight; also @hourly, @weekly, @monthly, @yearly
    @every 90s               from the last time on

Local time is not continuous in zones with daylight saving. A run at a skipped time does not take place that day, and a
run at a repeated hour takes place the first time; hourly schedules follow the elapsed hours. As in cron, if both the
day of month and the day of week are restricted, a day needs to match only one of them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from setpoint.objects import duration
from setpoint.objects.gotext import quote

WORDS: Mapping[str, str] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
ZONES = ("TZ=", "CRON_TZ=")
_OPEN = ("*", "?")
# A 29th of February that is a Sunday can be forty years in the future.
_FAR = timedelta(days=366 * 41)
_MINUTE = timedelta(minutes=1)


class ScheduleError(ValueError):
    """A schedule cannot be parsed. `field` names the invalid part; empty if the whole schedule is invalid."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem)
        self.field = field


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: Mapping[str, int]


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WEEKDAY = _Field("day of week", 0, 6, {name: number for number, name in enumerate(_DAYS)})
FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _WEEKDAY,
)


class Schedule(NamedTuple):
    """The times at which a task is due: either `every` a span of time, or the times that the sets of numbers match."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    # True if the field is unrestricted, written as a star.
    any_hour: bool = True
    any_day: bool = True
    any_weekday: bool = True
    every: timedelta | None = None

    def next_after(self, moment: datetime, zone: tzinfo = UTC) -> datetime | None:
        """Returns the first time after the moment, in UTC; None if there is none within 41 years."""
        if self.every is not None:
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
    """Returns the beginning of that local day or of its month, but always a time after `here`."""
    day = 1 if first_of_month else local.day
    found = datetime(local.year, local.month, day, tzinfo=zone).astimezone(UTC)
    return found if found > here else here + timedelta(hours=1)


def parse(text: str, *, last_weekday: int = 6) -> Schedule:
    """Parses a schedule without a time zone. With 7 as the last weekday, 7 also means Sunday. Raises ScheduleError."""
    if text.startswith(EVERY):
        try:
            span = duration.parse(text.removeprefix(EVERY))
        except ValueError as error:
            raise ScheduleError(f"failed to parse duration {text}: {error}") from None
        return Schedule(every=timedelta(microseconds=span // duration.MICROSECOND))
    if text.startswith("@") and text not in WORDS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    parts = WORDS.get(text, text).split()
    if len(parts) != len(FIELDS):
        raise ScheduleError(f"expected exactly {len(FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    fields = (*FIELDS[:-1], _WEEKDAY._replace(high=last_weekday))
    minutes, hours, days, months, weekdays = (_numbers(part, field) for part, field in zip(parts, fields, strict=True))
    return Schedule(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        any_hour=parts[1].startswith(_OPEN),
        any_day=parts[2].startswith(_OPEN),
        any_weekday=parts[4].startswith(_OPEN),
    )


def find_zone(name: str) -> tzinfo | None:
    """Returns a time zone by name; UTC for an empty name, and None for an unknown one."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def _numbers(part: str, field: _Field) -> frozenset[int]:
    try:
        return frozenset().union(*(_range(expression, field) for expression in part.split(",") if expression))
    except ValueError as error:
        raise ScheduleError(str(error), field.name) from None


def _range(expression: str, field: _Field) -> range:
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    start, end = field.low, field.high
    if low not in _OPEN:
        start = end = _number(low, field.names)
        if len(highs) > 1:
            raise ValueError(f"too many hyphens: {expression}")
        if highs:
            end = _number(highs[0], field.names)
    step = 1
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {expression}")
    if steps:
        step = _number(steps[0], {})
        end = end if highs else field.high
    if start < field.low:
        raise ValueError(f"beginning of range ({start}) below minimum ({field.low}): {expression}")
    if end > field.high:
        raise ValueError(f"end of range ({end}) above maximum ({field.high}): {expression}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step)


def _number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    figures = text[1:] if text[:1] == "+" else text
    if not (figures.isascii() and figures.isdigit()):
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    if len(figures.lstrip("0")) > 18:
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    return int(figures)
