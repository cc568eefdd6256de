"""Types for fields that JSON has no type for, and names for numbers of a certain width.

`Quantity` (`100m`, `2Gi`) is the one of `setpoint.objects.quantity`; `Duration` is a timedelta that is written as Go
writes durations (`1h30m0s`), which is what the API's `duration` format means. Plain timedeltas are written as ISO 8601
and refused by it. `MicroTime` is a datetime that is always written with its microseconds.
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
    """A span of time, `90s` or `1h30m` on the wire."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError where the text is no duration. What is below a microsecond is dropped."""
        return cls(microseconds=parse(text) // MICROSECOND)

    def __str__(self) -> str:
        return format_duration(self // timedelta(microseconds=1) * MICROSECOND)


class MicroTime(datetime):
    """A moment to the microsecond, as Leases and Events have it: the API takes it only with all six digits."""

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The same moment."""
        return cls.fromtimestamp(moment.timestamp(), UTC)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError where the text is no moment."""
        return cls.of(datetime.fromisoformat(text))

    def __str__(self) -> str:
        return self.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# Objects of a cluster have the same few amounts again and again.
_quantity = lru_cache(maxsize=4096)(Quantity.parse)
_SHORT = 32


def encode_scalar(value: Any) -> Any:
    """The JSON of a scalar that msgspec does not know."""
    if isinstance(value, Duration | Quantity | MicroTime):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode_scalar(wanted: type, value: Any) -> Any:
    """A scalar that msgspec does not know, from its JSON."""
    if wanted is Duration and isinstance(value, str):
        return Duration.parse(value)
    if wanted is MicroTime and isinstance(value, str):
        return MicroTime.parse(value)
    if wanted is Quantity and isinstance(value, str | int | float):
        text = str(value)
        return _quantity(text) if len(text) <= _SHORT else Quantity.parse(text)
    raise msgspec.ValidationError(f"Expected `{wanted.__name__}`, got `{type(value).__name__}`")
