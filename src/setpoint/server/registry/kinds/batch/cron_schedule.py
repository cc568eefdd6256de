"""The schedules and time zones of CronJobs. Messages are those of the API."""

import re

from setpoint.objects.cron import ZONES, ScheduleError, find_zone, parse

_ZONE_PART = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}\Z")


def schedule_problem(schedule: str) -> str:
    """Returns the error of a schedule; empty if valid."""
    if schedule.startswith(ZONES):
        zone, blank, schedule = schedule.partition(" ")
        zone = zone.partition("=")[2]
        if not blank:
            return "invalid schedule format"
        problem = zone_problem(zone)
        if problem:
            return f"provided bad location {zone}: {problem}"
        schedule = schedule.strip()
    try:
        parse(schedule)
    except ScheduleError as error:
        return str(error)
    return ""


def zone_problem(zone: str) -> str:
    """Returns the error of a time zone; empty if valid."""
    return "" if find_zone(zone) is not None else f"unknown time zone {zone}"


def is_zone_name(zone: str) -> bool:
    """Returns True if the name of a time zone is well-formed and does not point outside the zone database."""
    return all(part not in (".", "..") and _ZONE_PART.match(part) for part in zone.split("/"))
