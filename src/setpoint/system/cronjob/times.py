"""The times of a cron job: the last missed start, and the wait until the next one. Pure functions of the object."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from setpoint.objects.cron import ZONES, Schedule, ScheduleError, find_zone, parse
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object

# More missed starts than these are reported.
MANY = 100
# The delay of a start, so that clocks may differ a little.
_DELAY = timedelta(milliseconds=100)
_SECOND = timedelta(seconds=1)


class Timetable(NamedTuple):
    """A schedule in a time zone."""

    schedule: Schedule
    zone: tzinfo = UTC

    def next_after(self, moment: datetime) -> datetime | None:
        """Returns the first time after a moment; None if there is none. Times have no fractions of a second."""
        found = self.schedule.next_after(moment, self.zone)
        return found.replace(microsecond=0) if found is not None else None


class MissedStart(NamedTuple):
    """The starts since the last one."""

    # The time since which starts are considered.
    since: datetime
    # The last start that is due; None if none is.
    latest: datetime | None = None
    # The approximate number of starts that are overdue.
    number: int = 0


def timetable_of(cron_job: Object) -> Timetable:
    """Returns the timetable of a cron job. Raises ScheduleError."""
    text, name = cron_job["spec"]["schedule"], cron_job["spec"].get("timeZone") or ""
    if text.startswith(ZONES):
        setting, _, text = text.partition(" ")
        name = setting.partition("=")[2]
    zone = find_zone(name)
    if zone is None:
        raise ScheduleError(f"provided bad location {name}: unknown time zone {name}")
    return Timetable(parse(text.strip()), zone)


def missed_start(cron_job: Object, timetable: Timetable, now: datetime, *, within_deadline: bool) -> MissedStart:
    """Returns the starts that are due: since the last start or the creation, and with `within_deadline` only those that
    may still happen. Raises ScheduleError for a schedule without times."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    since = parse_time(last or cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    first = timetable.next_after(since)
    second = timetable.next_after(first) if first is not None else None
    if first is not None and now < first:
        return MissedStart(since)
    if first is not None and second is not None and now < second:
        return MissedStart(since, first)
    if first is None or second is None or second - first < _SECOND:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    interval = second - first
    number = (now - first) // interval + 1
    # One interval earlier than the estimate, because intervals may differ.
    moment: datetime | None = first + (number - 2) * interval
    latest: datetime | None = None
    while moment is not None and (moment := timetable.next_after(moment)) is not None and moment <= now:
        latest = moment
    return MissedStart(since, latest, number)


def seconds_to_next(cron_job: Object, timetable: Timetable, now: datetime) -> float | None:
    """Returns the seconds until the next start; None if there is none."""
    try:
        missed = missed_start(cron_job, timetable, now, within_deadline=False)
        last = missed.latest or (now if missed.number else missed.since)
    except ScheduleError:
        last = now
    following = timetable.next_after(last)
    return None if following is None else (following + _DELAY - now).total_seconds()
