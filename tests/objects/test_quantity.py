"""Quantities: what upstream answers, and the laws of numbers."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.quantity import Format, Quantity

from .tables import cases, refusal


@cases("quantities")
def test_quantities(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(Quantity.parse, case["text"]) == case["error"]
    else:
        quantity = Quantity.parse(case["text"])
        found = (str(quantity), quantity.format.value, quantity.as_int64())
        assert found == (case["canonical"], case["format"], case["int64"])


@cases("quantity_sums")
def test_quantity_sums(case: dict[str, Any]) -> None:
    first, second = Quantity.parse(case["first"]), Quantity.parse(case["second"])
    found = (str(first + second), str(first - second), first.compare(second))
    assert found == (case["sum"], case["difference"], case["compare"])


def amount(quantity: Quantity) -> Fraction:
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.scale


NUMBERS = st.one_of(
    st.integers(0, 10**21).map(str),
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda parts: f"{parts[0]}.{parts[1]:06d}"),
)
SUFFIXES = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-2"]
)
QUANTITIES = st.builds("{}{}{}".format, st.sampled_from(["", "-", "+"]), NUMBERS, SUFFIXES).map(Quantity.parse)


def written_anew(quantity: Quantity) -> Quantity:
    """The same amount without the text it came from."""
    opposite = -quantity
    return -opposite


@given(QUANTITIES)
def test_the_canonical_form_is_a_fixed_point(quantity: Quantity) -> None:
    text = str(written_anew(quantity))
    again = Quantity.parse(text)
    assert str(written_anew(again)) == text
    if abs(amount(quantity)) < 1000 * 10**18 or quantity.format is Format.DECIMAL_EXPONENT:
        assert again == quantity


@given(QUANTITIES, QUANTITIES)
def test_the_order_is_that_of_the_numbers(first: Quantity, second: Quantity) -> None:
    mine, its = amount(first), amount(second)
    assert first.compare(second) == (mine > its) - (mine < its)
    assert (first < second, first == second) == (mine < its, mine == its)
    if first == second:
        assert hash(first) == hash(second)


@given(QUANTITIES, QUANTITIES)
def test_sums_and_differences_are_exact(first: Quantity, second: Quantity) -> None:
    assert amount(first + second) == amount(first) + amount(second)
    assert amount(first - second) == amount(first) - amount(second)
    assert first + second == second + first
    assert (first - first).sign == 0


@given(QUANTITIES)
def test_a_value_is_rounded_away_from_zero(quantity: Quantity) -> None:
    exact = abs(amount(quantity)) * 1000
    assert abs(quantity.value(-3)) == -(-exact.numerator // exact.denominator)
    assert quantity.as_float() == pytest.approx(float(amount(quantity)))


@given(st.text(alphabet="0123456789.+-eEinumkKMGTPi ", max_size=12))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    why = refusal(lambda given: str(Quantity.parse(given)), text)
    assert why is None or "quantit" in why


def test_absurd_numbers_are_refused_or_handled_at_once() -> None:
    with pytest.raises(ValueError, match="unable to parse numeric part of quantity"):
        Quantity.parse("1" * 100_000)
    huge = Quantity.parse("1e1000000000")
    assert huge > Quantity.parse("1E")
    assert -huge < Quantity.parse("-1E")
    assert huge.as_int64() is None
    assert huge.as_float() == float("inf")
    with pytest.raises(ValueError, match="too many orders of magnitude apart"):
        huge + Quantity.parse("1")
    with pytest.raises(ValueError, match="too large"):
        huge.value()
    assert str(Quantity.parse("1e-1000000000")) == "1e-9"


def test_sums_do_not_grow_without_bound() -> None:
    def sum_up(steps: int) -> str:
        total = Quantity.parse("1")
        for step in range(1, steps):
            total = total + Quantity.parse("9" * 1999 + f"e{1900 * step}")
        return str(total)

    assert refusal(sum_up, 2) is None
    why = refusal(sum_up, 10)
    assert why is not None
    assert "too many" in why


def test_a_quantity_can_be_made_from_a_number() -> None:
    assert str(Quantity(1500, -3)) == "1500m"
    assert str(Quantity(4096, 0, Format.BINARY_SI)) == "4Ki"
    assert repr(Quantity(5)) == "Quantity('5')"
