"""Times with nanoseconds: integers since 1970 in OTLP, and RFC 3339 in the API."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = 1_000_000_000
# The first moment that has no four-digit year.
_END: Final = 253_402_300_800 * SECOND


def format_nanoseconds(moment: int) -> str:
    """Formats nanoseconds since 1970: `2026-01-31T12:00:00.000000000Z`."""
    seconds, rest = divmod(min(max(moment, 0), _END - 1), SECOND)
    return f"{(_EPOCH + timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S').rjust(19, '0')}.{rest:09}Z"


def parse_nanoseconds(text: str) -> int:
    """Returns the nanoseconds since 1970 of a time in RFC 3339 with up to nine fractional digits. Raises ValueError."""
    whole, dot, rest = text.partition(".")
    digits = ""
    if dot:
        # An offset follows the digits, unless the time ends with Z.
        count = next((place for place, each in enumerate(rest) if not each.isdigit()), len(rest))
        digits, whole = rest[:count], whole + rest[count:]
    moment = datetime.fromisoformat(whole.upper())
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: end the time with Z")
    elapsed = moment - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * SECOND + int(digits[:9].ljust(9, "0"))


def nanoseconds_of(moment: datetime) -> int:
    """Returns the nanoseconds since 1970 of a time."""
    elapsed = moment - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * SECOND + elapsed.microseconds * 1000
