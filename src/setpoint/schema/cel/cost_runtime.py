"""The run-time cost of a call: from its arguments, and for some functions from its result.

The units are those of the real server: about one per step, a tenth per character read. `traversal_cost` counts a whole
tree of values.
"""

import math
from collections.abc import Callable
from typing import Any

from setpoint.schema.cel.values import Mapping, Steps, size_of

STRING_FACTOR = 0.1
REGEX_FACTOR = 0.25
LIST_COST = 10
MAP_COST = 30
MESSAGE_COST = 40
CHECK_COST = 350_000

Cost = Callable[[list[Any]], int]


def _scan(size: float, factor: float = STRING_FACTOR) -> int:
    return math.ceil(size * factor)


def traversal_cost(value: Any, steps: Steps | None = None) -> int:
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list | Mapping):
        steps = Steps.into(value, steps)
        if isinstance(value, list):
            return sum(traversal_cost(item, steps) for item in value)
        return sum(traversal_cost(key) + traversal_cost(value.find(key), steps) for key in value.keys())  # noqa: SIM118
    return 1


def _target_scan(args: list[Any]) -> int:
    return _scan(size_of(args[0]))


def _double_scan(args: list[Any]) -> int:
    return _scan(size_of(args[0]), 2 * STRING_FACTOR)


def _traverse(args: list[Any]) -> int:
    return traversal_cost(args[0])


def _smaller(args: list[Any]) -> int:
    if hasattr(args[0], "cel_type"):
        return 1
    return _scan(min(size_of(args[0]), size_of(args[1])))


def _both(args: list[Any]) -> int:
    return _scan(size_of(args[0]) + size_of(args[1]))


def _regex(args: list[Any]) -> int:
    return _scan(1 + size_of(args[0])) * _scan(size_of(args[1]), REGEX_FACTOR)


def _substring_search(args: list[Any]) -> int:
    return _scan(size_of(args[0])) * _scan(size_of(args[1]))


def _second_size(args: list[Any]) -> int:
    return size_of(args[1])


def _new_list(_: list[Any]) -> int:
    return 1 + LIST_COST


def _flatten(args: list[Any]) -> int:
    depth = args[1] if len(args) == 2 else 1
    return size_of(args[0]) * max(depth, 0) + 1 + LIST_COST


def _self_compare(args: list[Any]) -> int:
    items = args[-1]
    factor = 2 + (STRING_FACTOR if items and isinstance(items[0], str | bytes) else 0)
    return int(len(items) ** 2 * factor) + 1 + LIST_COST


def _sets(args: list[Any]) -> int:
    return 1 + size_of(args[0]) * size_of(args[1])


def _sets_twice(args: list[Any]) -> int:
    return 1 + 2 * size_of(args[0]) * size_of(args[1])


def _joined(result: Any) -> int:
    return _scan(size_of(result), 2 * STRING_FACTOR)


def _contains_ip(args: list[Any]) -> int:
    cost = _scan(2 * size_of(args[0]))
    return cost + _scan(size_of(args[1])) if isinstance(args[1], str) else cost


def _contains_cidr(args: list[Any]) -> int:
    return _contains_ip(args) + _scan(size_of(args[0])) + 1


def _validate(args: list[Any]) -> int:
    return _scan(1 + size_of(args[1])) * _scan(args[0].pattern_size, REGEX_FACTOR)


def _selector(args: list[Any]) -> int:
    size = size_of(args[1])
    return 10 + _scan(size) + _scan(math.ceil(size * 0.5), 50)


def _check(_: list[Any]) -> int:
    return CHECK_COST


def _free(_: list[Any]) -> int:
    return 0


# By the name of the function; all others cost one.
_BY_FUNCTION: dict[str, Cost] = {
    **dict.fromkeys(("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf", "includes"), _traverse),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"), _target_scan),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _target_scan),
    **dict.fromkeys(("startsWith", "endsWith", "strings.quote", "format"), _target_scan),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _double_scan),
    **dict.fromkeys(("find", "findAll", "matches"), _regex),
    **dict.fromkeys(("slice", "reverse", "lists.range"), _new_list),
    **dict.fromkeys(("sort", "distinct", "@sortByAssociatedKeys"), _self_compare),
    **dict.fromkeys(("_==_", "_!=_"), _smaller),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("orValue", "or"), _free),
    "sets.equivalent": _sets_twice,
    "join": _free,
    "flatten": _flatten,
    "contains": _substring_search,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "check": _check,
}
# Functions with a different cost by overload.
_BY_OVERLOAD: dict[str, Cost] = {
    "string_to_ip": _target_scan,
    "string_to_bytes": _target_scan,
    "bytes_to_string": _target_scan,
    "in_list": _second_size,
    "add_string": _both,
    "add_bytes": _both,
    **{
        f"{word}_{kind}": _smaller
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}


# The additional cost once the result is known.
RESULT_COSTS: dict[str, Callable[[Any], int]] = {
    "join": _joined,
    **dict.fromkeys(("slice", "reverse", "lists.range"), size_of),
}


def cost_of(function: str, overload: str) -> Cost | None:
    """Returns the cost function of a call; None if the call costs one."""
    return _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function)
