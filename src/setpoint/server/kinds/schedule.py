"""The schedules of CronJobs: five fields, or a word such as `@daily`. Texts are those of the API."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from zoneinfo import ZoneInfo

from setpoint.objects import duration
from setpoint.objects.gotext import quote

_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_ZONES = ("TZ=", "CRON_TZ=")
_EVERY = "@every "
_ZONE_PART = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}\Z")


class _Field(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int]


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field(0, 59, {}),
    _Field(0, 23, {}),
    _Field(1, 31, {}),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule; empty if it is right."""
    if schedule.startswith(_ZONES):
        zone, blank, schedule = schedule.partition(" ")
        zone = zone.partition("=")[2]
        if not blank:
            return "invalid schedule format"
        problem = zone_problem(zone)
        if problem:
            return f"provided bad location {zone}: {problem}"
        schedule = schedule.strip()
    try:
        _check(schedule)
    except ValueError as error:
        return str(error)
    return ""


def zone_problem(zone: str) -> str:
    """Why a time zone is none; empty if it is one."""
    try:
        if zone not in ("", "UTC"):
            ZoneInfo(zone)
    except (ValueError, OSError, LookupError):
        return f"unknown time zone {zone}"
    return ""


def is_zone_name(zone: str) -> bool:
    """Whether a time zone has the form of one, and cannot lead out of where zones are kept."""
    return all(part not in (".", "..") and _ZONE_PART.match(part) for part in zone.split("/"))


def _check(schedule: str) -> None:
    if schedule.startswith("@"):
        _check_word(schedule)
        return
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    for part, field in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            _check_range(expression, field)


def _check_word(schedule: str) -> None:
    if schedule in _WORDS:
        return
    if not schedule.startswith(_EVERY):
        raise ValueError(f"unrecognized descriptor: {schedule}")
    try:
        duration.parse(schedule.removeprefix(_EVERY))
    except ValueError as error:
        raise ValueError(f"failed to parse duration {schedule}: {error}") from None


def _check_range(expression: str, field: _Field) -> None:
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    start, end = field.low, field.high
    if low not in ("*", "?"):
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
