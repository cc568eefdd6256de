"""Optional values, and the insertion into maps for the two-variable macros."""

from typing import Any

from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.values import NONE, EvaluationError, Mapping, MapValue, Optional

OPTIONALS = Library()
_overload = OPTIONALS.overload


@_overload("optional_of: optional.of(V) -> optional(V)")
def _of(value: Any) -> Optional:
    return Optional(value)


@_overload("optional_none: optional.none() -> optional(V)")
def _none() -> Optional:
    return NONE


@_overload("optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> optional(V)")
def _of_non_zero(value: Any) -> Optional:
    if value is None or (isinstance(value, bool | int | float | str | bytes | list | Mapping) and not _truth(value)):
        return NONE
    return NONE if getattr(value, "nanos", 1) == 0 else Optional(value)


def _truth(value: Any) -> bool:
    return len(value) > 0 if isinstance(value, Mapping) else bool(value)


@_overload(
    "optional_unwrap: optional.unwrap(list(optional(V))) -> list(V)",
    "optional_unwrapOpt: (list(optional(V))).unwrapOpt() -> list(V)",
)
def _unwrap(items: list[Any]) -> list[Any]:
    return [item.value for item in items if item.present]


@_overload("optional_hasValue: (optional(V)).hasValue() -> bool")
def _has_value(optional: Optional) -> bool:
    return optional.present


@_overload("optional_value: (optional(V)).value() -> V")
def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


@_overload("optional_or_optional: (optional(V)).or(optional(V)) -> optional(V)")
def _or(optional: Optional, other: Optional) -> Optional:
    return optional if optional.present else other


@_overload("optional_orValue_value: (optional(V)).orValue(V) -> V")
def _or_value(optional: Optional, other: Any) -> Any:
    return optional.value if optional.present else other


@_overload("@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)")
def _insert(target: Mapping, key: Any, value: Any) -> MapValue:
    result = MapValue((found, target.find(found)) for found in target.keys())  # noqa: SIM118
    result.insert(key, value)
    return result


@_overload("@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)")
def _insert_all(target: Mapping, more: Mapping) -> MapValue:
    result = MapValue((found, target.find(found)) for found in target.keys())  # noqa: SIM118
    for key in more.keys():  # noqa: SIM118
        result.insert(key, more.find(key))
    return result
