"""Sets of indexes in the form of the status."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.system.job.indexes import Indexes

NUMBERS = st.sets(st.integers(0, 40))


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([3, 4], "3,4"), ([3, 4, 5], "3-5"), ([0, 2, 3, 4, 7, 8], "0,2-4,7,8")],
)
def test_the_text_has_intervals_of_at_least_three(numbers: list[int], text: str) -> None:
    assert str(Indexes.of(numbers)) == text
    assert Indexes.parse(text, 100) == Indexes.of(numbers)


@pytest.mark.parametrize(("text", "expected"), [("1,x,3", "1,3"), ("2-x,4", "4"), ("1-9", "1-4"), ("3,7", "3")])
def test_invalid_and_excessive_parts_are_dropped(text: str, expected: str) -> None:
    assert str(Indexes.parse(text, 5)) == expected


@given(NUMBERS, NUMBERS)
def test_the_laws_of_sets_hold(one: set[int], other: set[int]) -> None:
    first, second = Indexes.of(one), Indexes.of(other)
    assert first | second == Indexes.of(one | other)
    assert first.overlap(second) == len(one & other)
    assert len(first) == len(one)
    assert [number for number in range(42) if number in first] == sorted(one)
    assert Indexes.parse(str(first), 41) == first


@given(NUMBERS, st.integers(0, 50), st.integers(0, 50))
def test_missing_indexes_are_the_first_free_ones(numbers: set[int], most: int, completions: int) -> None:
    expected = [number for number in range(completions) if number not in numbers][:most]
    assert Indexes.of(numbers).missing(most, completions) == expected
