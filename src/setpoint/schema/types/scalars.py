"""Types for fields that JSON has no type for, and names for numbers of a given width.

`Quantity` (`100m`, `2Gi`) is that of `setpoint.objects.quantity`; `Duration` is a timedelta in Go's format (`1h30m0s`),
which the API's `duration` format requires. Plain timedeltas are written in ISO 8601, which the API rejects. `MicroTime`
is a datetime that is always written with microseconds.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Self, TypeAlias

import msgspec

from setpoint.objects.duration import MICROSECOND, format_duration, parse
from setpoint.objects.quantity import Quantity
from setpoint.schema.types.markers import Format

Int32: TypeAlias = Annotated[int, Format("int32")]
Int64: TypeAlias = Annotated[int, Format("int64")]
Float32: TypeAlias = Annotated[float, Format("float")]
Float64: TypeAlias = Annotated[float, Format("double")]
IntOrString: TypeAlias = int | str


class Duration(timedelta):
    """A span of time, `90s` or `1h30m` in JSON."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a duration; fractions of a microsecond are dropped. Raises ValueError."""
        return cls(microseconds=parse(text) // MICROSECOND)

    def __str__(self) -> str:
        return format_duration(self // timedelta(microseconds=1) * MICROSECOND)


# The length of a time with microseconds, without the time zone.
_MICRO_LENGTH = len("2026-01-31T12:00:00.000000")


class MicroTime(datetime):
    """A time with microseconds, as in Leases and Events: the API requires all six digits."""

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """Converts a datetime."""
        return cls.fromtimestamp(moment.timestamp(), UTC)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a time. Raises ValueError."""
        return cls.of(datetime.fromisoformat(text))

    def __str__(self) -> str:
        moment = self if self.tzinfo is UTC else self.astimezone(UTC)
        return moment.isoformat(timespec="microseconds")[:_MICRO_LENGTH] + "Z"


# The objects of a cluster use the same few amounts.
_quantity = lru_cache(maxsize=4096)(Quantity.parse)
_SHORT = 32


def encode_scalar(value: Any) -> Any:
    """Encodes a scalar that msgspec does not support."""
    if isinstance(value, Duration | Quantity | MicroTime):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode_scalar(wanted: type, value: Any) -> Any:
    """Decodes a scalar that msgspec does not support."""
    if wanted is Duration and isinstance(value, str):
        return Duration.parse(value)
    if wanted is MicroTime and isinstance(value, str):
        return MicroTime.parse(value)
    if wanted is Quantity and isinstance(value, str | int | float):
        text = str(value)
        return _quantity(text) if len(text) <= _SHORT else Quantity.parse(text)
    raise msgspec.ValidationError(f"Expected `{wanted.__name__}`, got `{type(value).__name__}`")
