"""Bodies become trees, within bounds; anything else becomes a clear error."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import codec, tree
from setpoint.objects.codec import MAX_DEPTH, check_tree, decode, duplicate_fields, encode
from setpoint.objects.errors import APIError, BadRequest, RequestEntityTooLarge
from setpoint.objects.gotext import compact_json

from .tables import refusal

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_tree_survives_its_encoding(value: Any) -> None:
    assert decode(encode(value)) == value
    assert decode(json.dumps(value).encode()) == value
    check_tree(value)
    assert tree.copy(value) == value


@given(JSON)
def test_no_duplicates_are_found_where_there_are_none(value: Any) -> None:
    for data in (encode(value), json.dumps(value, indent=1).encode()):
        assert duplicate_fields(data, decode(data)) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b"hello", "invalid character 'h' looking for beginning of value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"[Infinity]", "invalid character 'I' looking for beginning of value"),
        (b"[-Infinity]", "invalid character 'I' in numeric literal"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character '\u00ef' looking for beginning of value"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{} {}", "invalid character '{' after top-level value"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"01", "invalid character '1' after top-level value"),
        (b"-a", "invalid character 'a' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b"trve", "invalid character 'v' in literal true (expecting 'u')"),
        (b"nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"[1e400]", "a number is out of the range of a 64-bit float"),
        (b"1" * 400, "a number is out of the range of a 64-bit float"),
        (b"1" * 5000, "a number is out of the range of a 64-bit float"),
        (b'{"a":1},\xff', "invalid character ',' after top-level value"),
        (b'{\xff"a":"\xff"}', "invalid character 'ÿ' looking for beginning of object key string"),
    ],
)
def test_what_is_not_json_gets_an_error_that_says_why(data: bytes, message: str) -> None:
    assert refusal(decode, data, BadRequest) == message


@pytest.mark.parametrize(
    ("data", "tree"),
    [
        (b'["\\ud800"]', ["\ufffd"]),
        (b'["\\ud800\\u0041", "\\ud83d\\ude00", "\\\\ud800"]', ["\ufffdA", "\U0001f600", "\\ud800"]),
        (b'{"\\udfff":1}', {"\ufffd": 1}),
        (b'"\xff"', "\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd" * 3),
        (b'{"a\xe2\x82b":"\xc3\xa9\xc3"}', {"a\ufffd\ufffdb": "\u00e9\ufffd"}),
    ],
)
def test_malformed_unicode_is_repaired_as_in_go(data: bytes, tree: Any) -> None:
    assert decode(data) == tree


def test_duplicate_fields_are_found_in_malformed_unicode() -> None:
    body = b'{"a\xff":1,"a\xfe":2,"b":"\\ud800"}'
    assert codec.duplicate_fields(body, decode(body)) == ['duplicate field "a\ufffd"']
    assert codec.merge_duplicates(body) == {"a\ufffd": 2, "b": "\ufffd"}


@given(st.binary(max_size=20) | st.text(alphabet='{}[]",:\\u0123456789eE+-. tfnrulsa', max_size=20).map(str.encode))
def test_any_bytes_are_json_or_an_api_error(data: bytes) -> None:
    assert refusal(decode, data, APIError) != ""


def nested(depth: int, opening: str = "[", closing: str = "]", core: str = "") -> bytes:
    return (opening * depth + core + closing * depth).encode()


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 5_000, 100_000])
@pytest.mark.parametrize(("opening", "closing", "core"), [("[", "]", ""), ('{"a":', "}", "1")])
def test_json_nested_too_deep_is_refused(depth: int, opening: str, closing: str, core: str) -> None:
    assert refusal(decode, nested(depth, opening, closing, core), BadRequest) == codec.TOO_DEEP
    assert refusal(decode, opening.encode() * depth, BadRequest) is not None


def test_trees_of_the_greatest_depth_are_safe_for_recursive_functions() -> None:
    deepest = decode(nested(MAX_DEPTH))
    assert tree.copy(deepest) == deepest
    check_tree(deepest)
    assert compact_json(deepest) == nested(MAX_DEPTH).decode()
    assert duplicate_fields(b" " + nested(MAX_DEPTH), deepest) == []


def test_brackets_in_strings_are_not_depth() -> None:
    text = "[" * 1000
    assert decode(json.dumps([text]).encode()) == [text]


def test_a_body_beyond_the_limit_is_refused_before_it_is_read() -> None:
    data = b'"' + b"a" * codec.MAX_BODY + b'"'
    with pytest.raises(RequestEntityTooLarge) as caught:
        decode(data)
    assert caught.value.message == "Request entity too large: limit is 3145728"
    assert decode(data, limit=len(data)) == "a" * codec.MAX_BODY


def test_a_large_malformed_body_gets_a_short_answer() -> None:
    data = b"[" + b"1," * 1_000_000 + b"]"
    why = refusal(decode, data, BadRequest)
    assert why is not None
    assert len(why) < 200


def test_integers_beyond_64_bits_become_floats() -> None:
    data = (
        b'{"a":9223372036854775807,"b":9223372036854775808,"c":[-9223372036854775809,1e3],"d":"12345678901234567890"}'
    )
    found = decode(data)
    assert found == {"a": 2**63 - 1, "b": 2.0**63, "c": [-(2.0**63), 1000.0], "d": "12345678901234567890"}
    assert [type(found["a"]), type(found["b"]), type(found["c"][0]), type(found["c"][1])] == [int, float, float, float]


@pytest.mark.parametrize(
    ("data", "duplicates"),
    [
        ('{"data":{"a":"1","a":"2"},"kind":"X"}', ['duplicate field "data.a"']),
        ('{"a":1,"a":1,"a":1}', ['duplicate field "a"']),
        ('{"l":[{"x":1},{"x":1,"x":2}]}', ['duplicate field "l[1].x"']),
        (
            '{"a":{"b":1,"b":2},"a":{"c":1,"c":2}}',
            ['duplicate field "a.b"', 'duplicate field "a"', 'duplicate field "a.c"'],
        ),
        ('{"a.b":1,"a.b":2}', ['duplicate field "a.b"']),
        ('{"\\u0061":1,"a":2}', ['duplicate field "a"']),
        ('{"a":1 , "b" : 2}\n', []),
        ('{"a":1.0,"b":"\\u003c"}', []),
    ],
)
def test_duplicate_fields_are_named_by_path(data: str, duplicates: list[str]) -> None:
    found = duplicate_fields(data.encode(), decode(data.encode()))
    assert sorted(found) == sorted(duplicates)


def test_only_the_first_hundred_duplicates_are_named() -> None:
    data = ("{" + ",".join(f'"k{number}":1,"k{number}":2' for number in range(300)) + "}").encode()
    assert len(duplicate_fields(data, decode(data))) == 100


def test_many_fields_below_a_long_key_cost_no_more_than_others() -> None:
    data = ('{"' + "k" * 500_000 + '":{' + ",".join(['"a":1'] * 100_000) + "}}").encode()
    (found,) = duplicate_fields(data, decode(data))
    assert found.startswith('duplicate field "kkkk')
    assert len(found) < 1100


def cyclic() -> Any:
    value: dict[str, Any] = {"spec": {"list": []}}
    value["spec"]["list"].append(value["spec"])
    return value


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (cyclic, "spec.list[0]: the object contains itself"),
        (lambda: {"a": deep(100_000)}, codec.TOO_DEEP),
        (lambda: {"a": {1: 2}}, "a: keys must be strings, not int"),
        (lambda: {"a": [{"b": (1, 2)}]}, "a[0].b: must be made of JSON values"),
        (lambda: {"a": {1, 2}}, "not set"),
        (lambda: b"x", "must be made of JSON values (dict, list, str, int, float, bool, None), not bytes"),
        (lambda: {"a": math.nan}, "a: numbers must be finite"),
        (lambda: [math.inf], "[0]: numbers must be finite"),
        (lambda: {"a": 2**63}, "a: integers must fit into 64 bits"),
        (lambda: {"a": "\ud800"}, "a: a string or a key has half of a surrogate pair"),
        (lambda: {"\udfff": 1}, "a string or a key has half of a surrogate pair"),
    ],
)
def test_trees_that_are_not_json_are_refused_with_the_place(make: Callable[[], Any], message: str) -> None:
    why = refusal(check_tree, make(), BadRequest)
    assert why is not None
    assert message in why
    assert len(why) < 1300


def test_a_tree_may_hold_the_same_value_twice() -> None:
    shared = {"a": 1}
    check_tree({"x": shared, "y": [shared, shared]})


def test_a_tree_may_be_as_deep_as_a_body() -> None:
    check_tree(deep(MAX_DEPTH))
    assert refusal(check_tree, deep(MAX_DEPTH + 1), BadRequest) is not None


def test_a_body_with_too_many_containers_is_refused() -> None:
    with pytest.raises(RequestEntityTooLarge, match="more than 400000 objects and lists"):
        codec.decode(b"[" + b"{}," * codec.MAX_CONTAINERS + b"1]")
    assert len(codec.decode(b"[" + b"{}," * (codec.MAX_CONTAINERS - 1) + b"1]")) == codec.MAX_CONTAINERS


@pytest.mark.parametrize("text", ["{" * 900_000, '\\"[' * 600_000, "[\\\\" * 500_000])
def test_brackets_in_strings_are_no_containers(text: str) -> None:
    assert codec.decode(json.dumps([text]).encode()) == [text]


@pytest.mark.parametrize("end", [b"", b"\\", b'\\"'])
def test_a_string_without_an_end_is_gone_through_once(end: bytes) -> None:
    """A body of escaped quotes would take hours if the search began anew at each of them."""
    with pytest.raises(APIError):
        codec.decode(b'["' + b'\\"[' * 800_000 + end)
