"""Formats times for stories. Has no side effects."""

from datetime import datetime

from setpoint.objects.times import parse_micro_time, parse_time


def moment_of(text: str) -> datetime | None:
    """Parses a time of an object, or returns None."""
    for parse in (parse_time, parse_micro_time):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def ago(now: datetime, then: datetime) -> str:
    """Returns the time before now in short form."""
    seconds = (now - then).total_seconds()
    return "just now" if seconds < 1 else f"{span(seconds)} ago"


def span(seconds: float) -> str:
    """Returns a duration in whole days, hours, minutes or seconds."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(round(seconds), 1)}s"
