"""Values in Go's textual forms, and field errors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import field, gotext

from .tables import refusal


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a b", '"a b"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\t\n\x00\x7f", '"\\t\\n\\x00\\x7f"'),
        ("é日😀", '"é日😀"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
    ],
)
def test_strings_are_quoted_as_go_literals(text: str, quoted: str) -> None:
    assert gotext.quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1.2345678901234567e20, "123456789012345670000"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (-0.0, "-0"),
    ],
)
def test_floats_are_written_as_go_writes_json(value: float, text: str) -> None:
    assert gotext.float_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value: float) -> None:
    assert float(gotext.float_text(value)) == value
    assert float(gotext.general_float(value)) == value


@pytest.mark.parametrize(
    ("value", "bits", "text"),
    [
        (1000000.0, 64, "1e+06"),
        (123456.0, 64, "123456"),
        (0.0001, 64, "0.0001"),
        (0.00001, 64, "1e-05"),
        (0.1, 32, "0.1"),
    ],
)
def test_floats_in_the_general_form(value: float, bits: int, text: str) -> None:
    assert gotext.general_float(value, bits) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", '"a"'),
        (5, "5"),
        (1.0, "1"),
        (True, "true"),
        (None, "null"),
        ({"b": [1.0], "a": "<&>"}, '{"a":"\\u003c\\u0026\\u003e","b":[1]}'),
        (gotext.RawJson('{"b":1,"a":2}'), '{"b":1,"a":2}'),
    ],
)
def test_bad_values_are_shown_as_the_api_shows_them(value: Any, shown: str) -> None:
    assert gotext.bad_value(value) == shown
    assert str(field.invalid("spec.x", value, "no")) == f"spec.x: Invalid value: {shown}: no"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5", None),
        ("-5", None),
        ("+5", None),
        ("9223372036854775807", None),
        ("9223372036854775808", 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        ("0" * 5000 + "1", None),
        ("abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("5\n", 'strconv.ParseInt: parsing "5\\n": invalid syntax'),
        ("٣", 'strconv.ParseInt: parsing "٣": invalid syntax'),
    ],
)
def test_integers_are_read_as_go_reads_them(text: str, why: str | None) -> None:
    assert refusal(gotext.parse_int, text) == why


def test_unsigned_integers_have_no_sign() -> None:
    assert gotext.parse_uint("18446744073709551615") == 2**64 - 1
    assert refusal(gotext.parse_uint, "-1") == 'strconv.ParseUint: parsing "-1": invalid syntax'
    why = 'strconv.ParseUint: parsing "18446744073709551616": value out of range'
    assert refusal(gotext.parse_uint, "18446744073709551616") == why


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_integer_of_64_bits_reads_back(number: int) -> None:
    assert gotext.parse_int(str(number)) == number


def test_field_errors_have_the_words_of_the_api() -> None:
    found = [
        field.required("a"),
        field.required("a", "give it"),
        field.forbidden("a", "no"),
        field.duplicate("a[1]", {"k": "v"}),
        field.not_found("a", "x"),
        field.not_supported("a", "x", ["b", "c"]),
        field.too_long("a", 5),
        field.too_many("a", 4, 3),
        field.internal("a", "boom"),
        field.type_invalid("a", "string", "must be of type integer"),
        field.FieldError(field.FieldErrorType.INVALID, "a", detail="failed rule"),
    ]
    assert [str(error) for error in found] == [
        "a: Required value",
        "a: Required value: give it",
        "a: Forbidden: no",
        'a[1]: Duplicate value: {"k":"v"}',
        'a: Not found: "x"',
        'a: Unsupported value: "x": supported values: "b", "c"',
        "a: Too long: may not be more than 5 bytes",
        "a: Too many: 4: must have at most 3 items",
        "a: Internal error: boom",
        'a: Invalid value: "string": must be of type integer',
        "a: Invalid value: failed rule",
    ]


def test_paths_are_built_step_by_step() -> None:
    path = field.key(field.index(field.child(field.child("", "spec"), "ports"), 0), "a/b")
    assert path == "spec.ports[0][a/b]"
