"""The schedules of tasks: Kubernetes' dialect of cron, without constructs that are likely mistakes.

Words may be in upper case, and Sunday may be 7. The time zone has a separate field, intervals are at least a second,
and a field has no empty items and no range that begins with a star.
"""

import re
from datetime import timedelta, tzinfo

from setpoint.objects import cron
from setpoint.objects.cron import Schedule, ScheduleError

_STAR_AND_RANGE = re.compile(r"[*?]-")


def parse_schedule(text: str) -> Schedule:
    """Parses a schedule. Raises ScheduleError, which names the invalid part and the remedy."""
    given = text.strip()
    if given.upper().startswith(cron.ZONES):
        raise ScheduleError("a schedule cannot name its time zone; set timeZone")
    if given.startswith(cron.EVERY):
        return _every(given)
    if given.startswith("@"):
        given = given.lower()
        if given not in cron.WORDS:
            raise ScheduleError(f"unknown schedule {given}; supported: {', '.join(cron.WORDS)} and @every 1h30m")
    try:
        schedule = cron.parse(given, last_weekday=7)
    except ScheduleError as error:
        if not error.field:
            names = ", ".join(field.name for field in cron.FIELDS)
            count = len(given.split())
            raise ScheduleError(f"a schedule has five fields ({names}), and {text!r} has {count}") from None
        raise ScheduleError(f"{error.field}: {error}") from None
    for part, field in zip(given.split(), cron.FIELDS, strict=False):
        if _STAR_AND_RANGE.search(part):
            raise ScheduleError(f"{field.name}: {part!r} combines a star and a range; use one of them")
        if "" in part.split(","):
            raise ScheduleError(f"{field.name}: {part!r} has an empty item; remove a comma")
    return schedule


def parse_zone(name: str) -> tzinfo:
    """Returns a time zone by its name; UTC if empty. Raises ScheduleError."""
    zone = cron.find_zone(name)
    if zone is None:
        raise ScheduleError(f"unknown time zone {name!r}; use e.g. Europe/Berlin, or UTC")
    return zone


def _every(text: str) -> Schedule:
    try:
        schedule = cron.parse(f"{cron.EVERY}{text.removeprefix(cron.EVERY).strip()}")
    except ScheduleError as error:
        raise ScheduleError(f"{error}; use an interval, e.g. 1h30m") from None
    if schedule.every is None or schedule.every < timedelta(seconds=1):
        raise ScheduleError(f"{text}: the interval must be at least a second")
    return schedule
