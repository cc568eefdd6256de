"""Conversion of timestamps to and from text, to the nanosecond, and their parts in a time zone."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from setpoint.schema.cel.values import SECOND, TIMESTAMP_MAX, TIMESTAMP_MIN, EvaluationError, Timestamp

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T](\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
# The further date-time formats that the real server accepts in an object: a space or a small t, no colon in the offset,
# no offset.
_LENIENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d{1,3}):(\d{1,3})", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


def parse_rfc3339(text: str) -> Timestamp:
    """Parses a timestamp of the language. Raises ValueError."""
    return _parse(_RFC3339, text)


def parse_date_time(text: str) -> Timestamp:
    """Parses a value of the format `date-time`. Raises ValueError."""
    return _parse(_LENIENT, text)


def parse_date(text: str) -> Timestamp:
    """Parses a value of the format `date`: midnight in UTC. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a date")
    year, month, day = map(int, match.groups())
    return Timestamp((date(year, month, day).toordinal() - _EPOCH) * 86_400 * SECOND)


def _parse(pattern: re.Pattern[str], text: str) -> Timestamp:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a timestamp")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text} is not a time of a day")
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    nanos = int((fraction or "")[:9].ljust(9, "0"))
    offset = 0
    if sign:
        offset = (int(offset_hours) * 60 + int(offset_minutes)) * 60
        offset = -offset if sign == "-" else offset
    days = date(year, month, day).toordinal() - _EPOCH
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
    total = seconds * SECOND + nanos
    if not TIMESTAMP_MIN <= total <= TIMESTAMP_MAX:
        raise ValueError(f"{text} is out of range")
    return Timestamp(total, offset)


def format_timestamp(value: Timestamp) -> str:
    """Formats a timestamp as RFC 3339, with the offset of its source text."""
    seconds, nanos = divmod(value.nanos, SECOND)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds + value.offset)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    if nanos:
        text += f".{nanos:09d}".rstrip("0")
    if not value.offset:
        return text + "Z"
    minutes = abs(value.offset) // 60
    return f"{text}{'-' if value.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def at_zone(value: Timestamp, zone: str) -> datetime:
    """Returns the timestamp as a datetime in a zone (UTC if empty), truncated to microseconds."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value.nanos // 1000)
    if not zone:
        return moment
    try:
        return moment.astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    match = _OFFSET.fullmatch(name)
    if match:
        minutes = int(match[2]) * 60 + int(match[3])
        # Python does not support offsets of a day or more; an offset modulo one day shows the same clock time.
        minutes %= 24 * 60
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return UTC if name == "Local" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None
