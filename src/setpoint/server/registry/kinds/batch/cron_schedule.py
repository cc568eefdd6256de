"""The schedules and time zones of CronJobs. Texts are those of the API."""

import re

from setpoint.objects.cron import ZONES, ScheduleError, find_zone, parse

_ZONE_PART = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}\Z")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule; empty if it is right."""
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
    """Why a time zone is none; empty if it is one."""
    return "" if find_zone(zone) is not None else f"unknown time zone {zone}"


def is_zone_name(zone: str) -> bool:
    """Whether a time zone has the form of one, and cannot lead out of where zones are kept."""
    return all(part not in (".", "..") and _ZONE_PART.match(part) for part in zone.split("/"))
