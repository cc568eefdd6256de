"""The parts of timestamps and durations."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.timestamps import at_zone
from setpoint.schema.cel.values import Duration

TIMES = Library()


def _whole_units(value: Duration, unit: int) -> int:
    """Returns the number of whole units, rounded towards zero."""
    count = abs(value.nanos) // unit
    return -count if value.nanos < 0 else count


_PARTS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "getFullYear": ("year", lambda moment: moment.year),
    "getMonth": ("month", lambda moment: moment.month - 1),
    "getDate": ("day_of_month_1_based", lambda moment: moment.day),
    "getDayOfMonth": ("day_of_month", lambda moment: moment.day - 1),
    "getDayOfWeek": ("day_of_week", lambda moment: moment.isoweekday() % 7),
    "getDayOfYear": ("day_of_year", lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": ("hours", lambda moment: moment.hour),
    "getMinutes": ("minutes", lambda moment: moment.minute),
    "getSeconds": ("seconds", lambda moment: moment.second),
    "getMilliseconds": ("milliseconds", lambda moment: moment.microsecond // 1000),
}
_UNITS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}


def _declare(function: str, word: str, part: Callable[[datetime], int]) -> None:
    unit = _UNITS.get(function, 1)

    def get(value: Any, zone: str = "") -> int:
        if isinstance(value, Duration):
            return _whole_units(value, unit)
        return part(at_zone(value, zone))

    suffix = "_tz" if word == "seconds" else "_with_tz"
    signatures = [
        f"timestamp_to_{word}: (timestamp).{function}() -> int",
        f"timestamp_to_{word}{suffix}: (timestamp).{function}(string) -> int",
    ]
    if function in _UNITS:
        signatures.append(f"duration_to_{word}: (duration).{function}() -> int")
    TIMES.overload(*signatures)(get)


for _function, (_word, _part) in _PARTS.items():
    _declare(_function, _word, _part)
