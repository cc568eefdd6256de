"""Equality of JSON values: what Python takes for equal, and JSON does not."""

import copy
from typing import Any

import pytest
from hypothesis import given

from setpoint.merge.equality import equal, identical
from setpoint.objects.tree import Json

from .documents import documents, exactly


@pytest.mark.parametrize(("left", "right"), [(True, 1), (False, 0), (1.0, True), ("1", 1), (None, False), ([], {})])
def test_values_of_different_types_are_never_equal(left: Any, right: Any) -> None:
    for wrap in (lambda value: value, lambda value: [value], lambda value: {"a": {"b": [value]}}):
        assert not equal(wrap(left), wrap(right))
        assert not identical(wrap(left), wrap(right))


def test_numbers_are_equal_by_value_but_not_identical() -> None:
    assert equal({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not identical({"a": [1]}, {"a": [1.0]})
    assert not equal(1, 1.5)


def test_the_order_of_keys_does_not_matter_and_that_of_items_does() -> None:
    assert identical({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not equal([1, 2], [2, 1])


@given(documents(), documents())
def test_identical_is_equality_of_values_and_types(left: Json, right: Json) -> None:
    assert identical(left, right) == (exactly(left) == exactly(right))


@given(documents())
def test_a_copy_is_identical(tree: Json) -> None:
    assert identical(tree, copy.deepcopy(tree))
    assert equal(tree, copy.deepcopy(tree))
