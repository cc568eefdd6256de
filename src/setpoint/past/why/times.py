"""Times in a story: as objects have them, and as people say them. Pure."""

from datetime import datetime

from setpoint.objects.times import parse_micro_time, parse_time


def moment_of(text: str) -> datetime | None:
    """A time as objects have it; None where it is none."""
    for parse in (parse_time, parse_micro_time):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def ago(now: datetime, then: datetime) -> str:
    """How long before now, in a word or two."""
    seconds = (now - then).total_seconds()
    return "just now" if seconds < 1 else f"{span(seconds)} ago"


def span(seconds: float) -> str:
    """A while, in whole days, hours, minutes or seconds."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(round(seconds), 1)}s"
