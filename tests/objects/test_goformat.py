"""Trees as Go prints them. The expectations are what Go's `fmt` printed."""

from typing import Any

import pytest

from setpoint.objects.goformat import format_s, format_v, json_type, type_name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (True, "true"),
        (None, "<nil>"),
        (12, "12"),
        (-3, "-3"),
        (1.5, "1.5"),
        (2.0, "2"),
        (-0.0, "-0"),
        (123456.0, "123456"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (-2500000.25, "-2.50000025e+06"),
        (123456789012345680000.0, "1.2345678901234568e+20"),
        (1e21, "1e+21"),
        (1.25e30, "1.25e+30"),
        (0.00012, "0.00012"),
        (0.00001, "1e-05"),
        ([], "[]"),
        ({}, "map[]"),
        ([1, "x", [True]], "[1 x [true]]"),
        ({"b": {"c": None}, "a": [1.5]}, "map[a:[1.5] b:map[c:<nil>]]"),
    ],
)
def test_a_value_is_printed_as_v_prints_it(value: Any, text: str) -> None:
    assert format_v(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (1, "%!s(int64=1)"),
        (1.5, "%!s(float64=1.5)"),
        (False, "%!s(bool=false)"),
        (None, "%!s(<nil>)"),
        ({"a": "b", "c": 1}, "map[a:b c:%!s(int64=1)]"),
        (["a", None], "[a <nil>]"),
    ],
)
def test_a_value_is_printed_as_s_prints_it(value: Any, text: str) -> None:
    assert format_s(value) == text


def test_values_have_the_names_of_their_go_and_json_types() -> None:
    values = [{}, [], "", 1, 1.5, True]
    assert [json_type(value) for value in values] == ["object", "array", "string", "number", "number", "bool"]
    assert [type_name(value) for value in values] == [
        "map[string]interface {}",
        "[]interface {}",
        "string",
        "int64",
        "float64",
        "bool",
    ]
