"""The maximum cost of function calls, and the maximum size of their results: one entry per function."""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from setpoint.schema.cel.ast import Expr, Literal
from setpoint.schema.cel.cost_runtime import CHECK_COST, LIST_COST, REGEX_FACTOR, STRING_FACTOR
from setpoint.schema.cel.sizes import LIMIT, ONE, UNKNOWN, ZERO, Range, add, exactly
from setpoint.schema.cel.types import Type

_ADDRESS = Range(4, 16)
_FORMAT_NAME = 64
_FORMAT_PATTERN = 128
# Types with values that compare in one step.
_ATOMIC = frozenset(
    [
        *("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"),
        *(f"kubernetes.authorization.{name}" for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck")),
        "kubernetes.authorization.Decision",
    ]
)


class Operand(NamedTuple):
    """An operand: the path of its value, its type, and its size if the expression determines the size."""

    path: tuple[str, ...]
    type: Type
    expr: Expr | None
    size: Range | None


class Sizes(Protocol):
    """Provides the sizes that the schema allows."""

    def declared_size(self, path: tuple[str, ...]) -> Range | None: ...


class CallCost(NamedTuple):
    """The cost of a call, and the size of its result, if known."""

    cost: Range
    size: Range | None = None


class _Call(NamedTuple):
    function: str
    overload: str
    target: Operand | None
    args: list[Operand]
    sizes: Sizes

    def size(self, node: Operand) -> Range:
        if node.size is not None:
            return node.size
        return self.sizes.declared_size(node.path) or UNKNOWN

    def subject(self) -> Range:
        """Returns the size of the target, or of the first argument of a function without a target."""
        return self.size(self.target if self.target is not None else self.args[0])

    def elements(self) -> Operand | None:
        """Returns the elements of the target list."""
        if self.target is None or not self.target.type.params:
            return None
        path = (*self.target.path, "@items") if self.target.path else ()
        return Operand(path, self.target.type.params[0], None, None)


def call_cost(
    function: str, overload: str, target: Operand | None, args: list[Operand], sizes: Sizes
) -> CallCost | None:
    """Returns the cost of a call without that of its arguments; None for a function without a special rule."""
    found = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function)
    return found(_Call(function, overload, target, args, sizes)) if found else None


def _nominal(_: _Call) -> CallCost:
    return CallCost(ONE)


def _authorize(_: _Call) -> CallCost:
    return CallCost(exactly(CHECK_COST))


def _selector(call: _Call) -> CallCost:
    size = call.size(call.args[0])
    return CallCost(exactly(LIST_COST).plus(size.scaled(STRING_FACTOR)).plus(size.scaled(0.5).scaled(50)))


def _traverse(call: _Call) -> CallCost | None:
    if call.target is None:
        return None
    each = ONE
    elements = call.elements()
    if elements is None and call.function != "includes":
        return CallCost(call.subject().scaled(STRING_FACTOR))
    if elements is not None and elements.type.kind in ("string", "bytes"):
        each = each.plus(call.size(elements).scaled(STRING_FACTOR))
    return CallCost(call.subject().times(each))


def _scan(call: _Call) -> CallCost:
    return CallCost(call.subject().scaled(STRING_FACTOR))


def _scan_keeping_size(call: _Call) -> CallCost:
    return CallCost(call.subject().scaled(STRING_FACTOR), call.subject())


def _scan_twice(call: _Call) -> CallCost:
    return CallCost(call.subject().scaled(2 * STRING_FACTOR))


def _replace(call: _Call) -> CallCost:
    text, old, new = call.subject(), call.size(call.args[0]), call.size(call.args[1])
    most, kept_most = _replaced(text.max, old.min, shorter=new.max <= old.min)
    least, kept_least = _replaced(text.min, old.max, shorter=old.max <= new.min)
    size = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallCost(text.scaled(2 * STRING_FACTOR), size)


def _replaced(text: int, old: int, *, shorter: bool) -> tuple[int, int]:
    """Returns the number of replacements, and the length of the text that is kept."""
    if old == 0:
        return add(text, 1), text
    if shorter:
        return 0, text
    return min(math.ceil(float(text) / float(old)), LIMIT), 0


def _split(call: _Call) -> CallCost:
    most = call.subject().max
    if len(call.args) > 1:
        count = call.args[1].expr
        if isinstance(count, Literal) and isinstance(count.value, int):
            most = count.value % 2**64
    return CallCost(call.subject().scaled(2 * STRING_FACTOR), Range(0, most))


def _join(call: _Call) -> CallCost:
    count = call.subject()
    size = ZERO
    elements = call.elements()
    if elements is not None:
        size = count.times(call.size(elements))
    if call.args:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(call.size(call.args[0]).times(separators))
    return CallCost(size.scaled(STRING_FACTOR), size)


def _find(call: _Call) -> CallCost:
    return CallCost(_regex_work(call), Range(0, call.subject().max))


def _matches(call: _Call) -> CallCost:
    return CallCost(_regex_work(call))


def _regex_work(call: _Call) -> Range:
    pattern = call.args[0] if call.target is not None else call.args[1]
    return call.subject().plus(ONE).scaled(STRING_FACTOR).times(call.size(pattern).scaled(REGEX_FACTOR))


def _contains(call: _Call) -> CallCost:
    part = call.size(call.args[0]).scaled(STRING_FACTOR)
    return CallCost(call.subject().scaled(STRING_FACTOR).times(part))


def _prefix(call: _Call) -> CallCost:
    return CallCost(call.size(call.args[0]).scaled(STRING_FACTOR))


def _membership(call: _Call) -> CallCost:
    return CallCost(call.size(call.args[1]))


def _contains_ip(call: _Call) -> CallCost:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    if call.overload == "cidr_contains_ip_string":
        cost = cost.plus(call.size(call.args[0]).scaled(STRING_FACTOR))
    return CallCost(cost)


def _contains_cidr(call: _Call) -> CallCost:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR).plus(_ADDRESS.scaled(STRING_FACTOR)).plus(ONE)
    if call.overload == "cidr_contains_cidr_string":
        cost = cost.plus(call.size(call.args[0]).scaled(STRING_FACTOR))
    return CallCost(cost)


def _validate(call: _Call) -> CallCost:
    return CallCost(call.size(call.args[0]).scaled(STRING_FACTOR).scaled(_FORMAT_PATTERN * REGEX_FACTOR))


def _equals(call: _Call) -> CallCost | None:
    left, right = call.args
    if left.type != right.type:
        return None
    if left.type.name in _ATOMIC:
        return CallCost(ONE)
    if left.type.name == "kubernetes.NamedFormat":
        return CallCost(Range(1, _FORMAT_NAME).scaled(STRING_FACTOR))
    if left.type.name == "kubernetes.URL":
        return CallCost(Range(1, ONE.max if right.size is None else right.size.max).scaled(STRING_FACTOR))
    return None


def _to_bytes(call: _Call) -> CallCost:
    size = call.size(call.args[0])
    # The product wraps around like an unsigned number.
    return CallCost(size.scaled(STRING_FACTOR), Range(size.min, size.max * 4 % 2**64))


def _from_bytes(call: _Call) -> CallCost:
    size = call.size(call.args[0])
    return CallCost(size.scaled(STRING_FACTOR), Range(size.min // 4, size.max))


def _quote(call: _Call) -> CallCost:
    size = call.size(call.args[0])
    return CallCost(size.scaled(STRING_FACTOR), Range((size.min + 2) % 2**64, (size.max * 2 + 2) % 2**64))


def _allocating(size: Range, factor: float) -> CallCost:
    return CallCost(size.scaled(factor).plus(ONE).plus(exactly(LIST_COST)), size)


def _literal_or(node: Operand, default: int) -> int:
    if isinstance(node.expr, Literal) and type(node.expr.value) is int:
        return max(node.expr.value, 0)
    return default


def _slice(call: _Call) -> CallCost:
    start, end = _literal_or(call.args[0], 0), _literal_or(call.args[1], call.subject().max)
    return _allocating(exactly((end - start) % 2**64), 1)


def _range(call: _Call) -> CallCost:
    return _allocating(exactly(_literal_or(call.args[0], LIMIT)), 1)


def _reverse(call: _Call) -> CallCost:
    return _allocating(call.subject(), 1)


def _flatten(call: _Call) -> CallCost:
    depth = _literal_or(call.args[0], LIMIT) if call.args else 1
    return _allocating(call.subject(), float(depth))


def _distinct(call: _Call) -> CallCost:
    return _allocating(call.subject().times(call.subject()), 2)


def _sort(call: _Call) -> CallCost:
    keys = call.subject() if not call.args else call.size(call.args[0])
    factor = 2 + STRING_FACTOR if "_string_" in call.overload or "_bytes_" in call.overload else 2.0
    return _allocating(keys.times(keys), factor)


def _sets(factor: float) -> "_Estimate":
    def cost(call: _Call) -> CallCost:
        product = call.size(call.args[0]).times(call.size(call.args[1]))
        return CallCost(product.scaled(factor).plus(ONE))

    return cost


_Estimate = Callable[[_Call], CallCost | None]
_BY_FUNCTION: dict[str, _Estimate] = {
    **dict.fromkeys(
        ("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason"),
        _nominal,
    ),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _traverse),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _scan_keeping_size),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "format"), _scan),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("startsWith", "endsWith"), _prefix),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    "sets.equivalent": _sets(2),
    "check": _authorize,
    "ip.isCanonical": _scan_twice,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "matches": _matches,
    "contains": _contains,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "strings.quote": _quote,
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
    "_==_": _equals,
}
_BY_OVERLOAD: dict[str, _Estimate] = {
    "string_to_ip": _scan,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _from_bytes,
    "in_list": _membership,
}
