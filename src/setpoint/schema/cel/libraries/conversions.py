"""Conversions between types, and `type` and `dyn`."""

import math
import re
from typing import Any

from setpoint.objects import duration as go_duration
from setpoint.objects.gotext import general_float
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.libraries.operators import fit_int
from setpoint.schema.cel.timestamps import format_timestamp, parse_rfc3339
from setpoint.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
)
from setpoint.schema.cel.values import (
    INT_MAX,
    SECOND,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    UINT_MAX,
    Duration,
    EvaluationError,
    Mapping,
    Optional,
    Timestamp,
    Uint,
    no_such_overload,
)

CONVERSIONS = Library()
_overload = CONVERSIONS.overload

_INT_TEXT = re.compile(r"[+-]?[0-9]{1,40}")
_DOUBLE_TEXT = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL_DOUBLE = re.compile(r"(?:[+-]?(?:inf|infinity)|nan)", re.IGNORECASE)
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def _unconvertible(target: str, source: str = "string") -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


@_overload(
    "int64_to_int64: int(int) -> int",
    "double_to_int64: int(double) -> int",
    "duration_to_int64: int(duration) -> int",
    "string_to_int64: int(string) -> int",
    "timestamp_to_int64: int(timestamp) -> int",
    "uint64_to_int64: int(uint) -> int",
)
def to_int(value: Any) -> int:
    if isinstance(value, bool):
        raise no_such_overload()
    if isinstance(value, int):
        return fit_int(int(value))
    if isinstance(value, float):
        if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if isinstance(value, str):
        if not _INT_TEXT.fullmatch(value) or not -INT_MAX - 1 <= int(value) <= INT_MAX:
            raise _unconvertible("int")
        return int(value)
    if isinstance(value, Duration):
        return value.nanos
    if isinstance(value, Timestamp):
        return value.nanos // SECOND
    raise no_such_overload()


@_overload(
    "uint64_to_uint64: uint(uint) -> uint",
    "double_to_uint64: uint(double) -> uint",
    "int64_to_uint64: uint(int) -> uint",
    "string_to_uint64: uint(string) -> uint",
)
def to_uint(value: Any) -> Uint:
    if isinstance(value, bool):
        raise no_such_overload()
    if isinstance(value, str):
        if not value.isascii() or not value.isdigit() or len(value) > 40 or int(value) > UINT_MAX:
            raise _unconvertible("uint")
        return Uint(value)
    if isinstance(value, int | float):
        if not math.isfinite(value) or not 0 <= value < 2**64 or (isinstance(value, float) and value >= 2.0**64):
            raise EvaluationError("unsigned integer overflow")
        return Uint(value)
    raise no_such_overload()


@_overload(
    "double_to_double: double(double) -> double",
    "int64_to_double: double(int) -> double",
    "string_to_double: double(string) -> double",
    "uint64_to_double: double(uint) -> double",
)
def to_double(value: Any) -> float:
    if isinstance(value, str):
        if _SPECIAL_DOUBLE.fullmatch(value):
            return float(value)
        if not _DOUBLE_TEXT.fullmatch(value) or math.isinf(float(value)):
            raise _unconvertible("double")
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise no_such_overload()


@_overload("bool_to_bool: bool(bool) -> bool", "string_to_bool: bool(string) -> bool")
def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise no_such_overload()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise _unconvertible("bool")


@_overload(
    "string_to_string: string(string) -> string",
    "bool_to_string: string(bool) -> string",
    "bytes_to_string: string(bytes) -> string",
    "double_to_string: string(double) -> string",
    "duration_to_string: string(duration) -> string",
    "int64_to_string: string(int) -> string",
    "timestamp_to_string: string(timestamp) -> string",
    "uint64_to_string: string(uint) -> string",
    "ip_to_string: string(net.IP) -> string",
    "cidr_to_string: string(net.CIDR) -> string",
)
def to_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if value is None:
        raise EvaluationError("no such overload: string(null_type)")
    if hasattr(value, "cel_text"):
        return str(value.cel_text)
    raise no_such_overload()


def double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return general_float(value)


def duration_text(value: Duration) -> str:
    """Formats a duration in seconds, with as many digits as needed: `5400s`, `-0.001s`."""
    sign = "-" if value.nanos < 0 else ""
    whole, fraction = divmod(abs(value.nanos), SECOND)
    return f"{sign}{whole}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}s"


@_overload("bytes_to_bytes: bytes(bytes) -> bytes", "string_to_bytes: bytes(string) -> bytes")
def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    raise no_such_overload()


@_overload("duration_to_duration: duration(duration) -> duration", "string_to_duration: duration(string) -> duration")
def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise no_such_overload()
    try:
        return Duration(go_duration.parse(value))
    except ValueError:
        raise _unconvertible("google.protobuf.Duration") from None


@_overload(
    "timestamp_to_timestamp: timestamp(timestamp) -> timestamp",
    "int64_to_timestamp: timestamp(int) -> timestamp",
    "string_to_timestamp: timestamp(string) -> timestamp",
)
def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        try:
            return parse_rfc3339(value)
        except ValueError:
            raise _unconvertible("google.protobuf.Timestamp") from None
    if isinstance(value, int) and not isinstance(value, bool):
        if not TIMESTAMP_MIN <= value * SECOND <= TIMESTAMP_MAX:
            raise EvaluationError("timestamp overflow")
        return Timestamp(value * SECOND)
    raise no_such_overload()


@_overload("to_dyn: dyn(A) -> dyn")
def to_dyn(value: Any) -> Any:
    return value


_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    Type: TYPE,
}
LIST_TYPE = list_of(DYN)
MAP_TYPE = map_of(DYN, DYN)


@_overload("type: type(A) -> type(A)")
def type_of_value(value: Any) -> Type:
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, list):
        return LIST_TYPE
    if isinstance(value, Mapping):
        made: Type = getattr(value, "cel_type", MAP_TYPE)
        return made
    if isinstance(value, Optional):
        return optional_of(DYN)
    declared: Type = value.cel_type
    return declared
