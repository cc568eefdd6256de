"""Numbers of pods as an absolute number or a percentage: `3`, `25%`."""

import re

from setpoint.objects.field import FieldError, invalid
from setpoint.server.registry.kinds.validation.values import non_negative

_PERCENT = re.compile(r"[0-9]+%\Z")
_NOT_A_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)


def validate_amount(value: int | str, path: str) -> list[FieldError]:
    """Validates a non-negative number or a percentage."""
    if type(value) is str:
        return [] if _PERCENT.match(value) else [invalid(path, value, _NOT_A_PERCENT)]
    return non_negative(int(value), path)


def at_most_all(value: int | str, path: str) -> list[FieldError]:
    """Validates that a percentage is at most 100 %."""
    if type(value) is str and _PERCENT.match(value) and _percent(value) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def plain_amount(value: int | str) -> int:
    """Returns the number, absolute or percentage; 0 if the value is neither."""
    if type(value) is not str:
        return int(value)
    if _PERCENT.match(value):
        return _percent(value)
    try:
        return int(value)
    except ValueError:
        return 0


def _percent(value: str) -> int:
    # Ten digits suffice: more digits exceed every limit.
    figures = value[:-1].lstrip("0")
    return int(figures[:10] or "0")
