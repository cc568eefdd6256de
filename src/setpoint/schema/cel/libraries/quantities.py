"""Resource quantities: `quantity('1.5Gi')`, with exact arithmetic and comparison."""

from typing import Any

from setpoint.objects.quantity import Quantity
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.types import Type, struct
from setpoint.schema.cel.values import EvaluationError

QUANTITIES = Library()
_overload = QUANTITIES.overload
_TYPE = struct("kubernetes.Quantity")


class QuantityValue:
    """A quantity as a CEL value."""

    __slots__ = ("amount",)
    cel_type: Type = _TYPE

    def __init__(self, amount: Quantity) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantityValue) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)


@_overload("string_to_quantity: quantity(string) -> kubernetes.Quantity")
def _quantity(text: str) -> QuantityValue:
    try:
        return QuantityValue(Quantity.parse(text))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


@_overload("is_quantity_string: isQuantity(string) -> bool")
def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


@_overload("quantity_sign: sign(kubernetes.Quantity) -> int")
def _sign(value: QuantityValue) -> int:
    return value.amount.sign


@_overload("quantity_is_integer: (kubernetes.Quantity).isInteger() -> bool")
def _is_integer(value: QuantityValue) -> bool:
    return value.amount.as_int64() is not None


@_overload("quantity_get_int: (kubernetes.Quantity).asInteger() -> int")
def _as_integer(value: QuantityValue) -> int:
    found = value.amount.as_int64()
    if found is None:
        raise EvaluationError("cannot convert value to integer")
    return found


@_overload("quantity_get_float: (kubernetes.Quantity).asApproximateFloat() -> double")
def _as_float(value: QuantityValue) -> float:
    return value.amount.as_float()


def _amount(other: Any) -> Quantity:
    return Quantity(other) if isinstance(other, int) else other.amount


@_overload(
    "quantity_add: (kubernetes.Quantity).add(kubernetes.Quantity) -> kubernetes.Quantity",
    "quantity_add_int: (kubernetes.Quantity).add(int) -> kubernetes.Quantity",
)
def _add(value: QuantityValue, other: Any) -> QuantityValue:
    try:
        return QuantityValue(value.amount + _amount(other))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


@_overload(
    "quantity_sub: (kubernetes.Quantity).sub(kubernetes.Quantity) -> kubernetes.Quantity",
    "quantity_sub_int: (kubernetes.Quantity).sub(int) -> kubernetes.Quantity",
)
def _subtract(value: QuantityValue, other: Any) -> QuantityValue:
    try:
        return QuantityValue(value.amount - _amount(other))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


@_overload("quantity_compare_to: (kubernetes.Quantity).compareTo(kubernetes.Quantity) -> int")
def _compare(value: QuantityValue, other: QuantityValue) -> int:
    return value.amount.compare(other.amount)


@_overload("quantity_is_greater_than: (kubernetes.Quantity).isGreaterThan(kubernetes.Quantity) -> bool")
def _greater(value: QuantityValue, other: QuantityValue) -> bool:
    return value.amount.compare(other.amount) > 0


@_overload("quantity_is_less_than: (kubernetes.Quantity).isLessThan(kubernetes.Quantity) -> bool")
def _less(value: QuantityValue, other: QuantityValue) -> bool:
    return value.amount.compare(other.amount) < 0
