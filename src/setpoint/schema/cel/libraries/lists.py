"""Functions on lists: those of Kubernetes and the extension library."""

from collections.abc import Iterable
from typing import Any

from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.libraries.operators import OPERATORS
from setpoint.schema.cel.values import (
    ABSENT,
    MAX_ITEMS,
    CostExceeded,
    Duration,
    EvaluationError,
    Optional,
    compare,
    equal,
)

LISTS = Library()
_overload = LISTS.overload
_SUMMABLE = ("int", "uint", "double", "duration")
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_PROTOBUF = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_ADD = {overload.id: overload.implementation for overload in OPERATORS.overloads}


def _templated(types: Iterable[str], template: str) -> list[str]:
    return [template.format(name=name, id=_PROTOBUF.get(name, name)) for name in types]


@_overload(*_templated(_COMPARABLE, "list_{name}_is_sorted_bool: (list({name})).isSorted() -> bool"))
def _is_sorted(items: list[Any]) -> bool:
    return all(compare(items[at], items[at + 1]) <= 0 for at in range(len(items) - 1))


def _declare_sum(name: str, zero: Any, adder: str) -> None:
    add = _ADD[adder]

    def total(items: list[Any]) -> Any:
        result = zero
        for item in items:
            result = add(result, item)
        return result

    LISTS.overload(f"list_{name}_sum_{name}: (list({name})).sum() -> {name}")(total)


_declare_sum("int", 0, "add_int64")
_declare_sum("uint", 0, "add_uint64")
_declare_sum("double", 0.0, "add_double")
_declare_sum("duration", Duration(0), "add_duration_duration")


def _extreme(items: list[Any], word: str, sign: int) -> Any:
    if not items:
        raise EvaluationError(f"{word} called on empty list")
    result = items[0]
    for item in items[1:]:
        if compare(result, item) == sign:
            result = item
    return result


@_overload(*_templated(_COMPARABLE, "list_{name}_min_{name}: (list({name})).min() -> {name}"))
def _min(items: list[Any]) -> Any:
    return _extreme(items, "min", 1)


@_overload(*_templated(_COMPARABLE, "list_{name}_max_{name}: (list({name})).max() -> {name}"))
def _max(items: list[Any]) -> Any:
    return _extreme(items, "max", -1)


def _same(a: Any, b: Any) -> bool:
    try:
        return equal(a, b)
    except EvaluationError:
        return False


@_overload("list_a_index_of_int: (list(A)).indexOf(A) -> int")
def _index_of(items: list[Any], item: Any) -> int:
    return next((at for at, found in enumerate(items) if _same(found, item)), -1)


@_overload("list_a_last_index_of_int: (list(A)).lastIndexOf(A) -> int")
def _last_index_of(items: list[Any], item: Any) -> int:
    return next((at for at in range(len(items) - 1, -1, -1) if _same(items[at], item)), -1)


@_overload("list_includes_dyn_dyn: (dyn).includes(dyn) -> bool")
def _includes(target: Any, item: Any) -> bool:
    if isinstance(target, list):
        return any(_same(found, item) for found in target)
    return _same(target, item)


@_overload("list_slice: (list(T)).slice(int, int) -> list(T)")
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{call}negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{call}start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"{call}list is length {len(items)}")
    return items[start:end]


@_overload(
    "list_flatten: (list(list(T))).flatten() -> list(T)", "list_flatten_int: (list(dyn)).flatten(int) -> list(dyn)"
)
def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    for _ in range(depth):
        if not any(isinstance(item, list) for item in items):
            break
        if sum(len(item) for item in items if isinstance(item, list)) > MAX_ITEMS:
            raise CostExceeded
        items = [part for item in items for part in (item if isinstance(item, list) else (item,))]
    return list(items)


@_overload(
    *_templated(_COMPARABLE, "list_{id}_sort: (list({name})).sort() -> list({name})"),
    *_templated(
        _COMPARABLE, "list_{id}_sortByAssociatedKeys: (list(T)).@sortByAssociatedKeys(list({name})) -> list(T)"
    ),
)
def _sort(items: list[Any], keys: list[Any] | None = None) -> list[Any]:
    keys = items if keys is None else keys
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(items)), key=lambda at: _sort_key(keys[at]))
    return [items[at] for at in order]


def _sort_key(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str | bytes):
        value = getattr(value, "nanos", None)
        if value is None:
            raise EvaluationError("list elements must be comparable")
    return value


@_overload("list_distinct: (list(T)).distinct() -> list(T)")
def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    seen: set[tuple[bool, Any]] = set()
    for item in items:
        if isinstance(item, str | int | float):
            key = (isinstance(item, bool), item)
            if key in seen and item == item:
                continue
            seen.add(key)
        elif any(_same(item, other) for other in found):
            continue
        found.append(item)
    return found


@_overload("list_reverse: (list(T)).reverse() -> list(T)")
def _reverse(items: list[Any]) -> list[Any]:
    return items[::-1]


@_overload("lists_range: lists.range(int) -> list(int)")
def _range(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_ITEMS:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({MAX_ITEMS})")
    return list(range(count))


@_overload("list_first: (list(V)).first() -> optional(V)")
def _first(items: list[Any]) -> Optional:
    return Optional(items[0] if items else ABSENT)


@_overload("list_last: (list(V)).last() -> optional(V)")
def _last(items: list[Any]) -> Optional:
    return Optional(items[-1] if items else ABSENT)


@_overload("list_sets_contains_list: sets.contains(list(T), list(T)) -> bool")
def _contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(any(_same(item, found) for found in items) for item in wanted)


@_overload("list_sets_equivalent_list: sets.equivalent(list(T), list(T)) -> bool")
def _equivalent(a: list[Any], b: list[Any]) -> bool:
    return _contains_all(a, b) and _contains_all(b, a)


@_overload("list_sets_intersects_list: sets.intersects(list(T), list(T)) -> bool")
def _intersects(a: list[Any], b: list[Any]) -> bool:
    return any(_same(x, y) for x in a for y in b)
