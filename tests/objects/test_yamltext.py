"""YAML as kubectl reads and writes it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import codec, yamltext
from setpoint.objects.errors import APIError, BadRequest, RequestEntityTooLarge
from setpoint.objects.yamltext import load, load_all

from .tables import cases, refusal


@cases("yaml_texts")
def test_yaml_texts(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(load, case["text"], BadRequest) == case["error"]
    else:
        found = load(case["text"]).tree
        expected = codec.decode(case["json"].encode())
        assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


@cases("yaml_dumps")
def test_yaml_dumps(case: dict[str, Any]) -> None:
    assert yamltext.dump(case["tree"]) == case["text"]


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(max_size=8)
    | st.text(alphabet="yesnoff01_.:-+eExXobT~ \n#'\"", max_size=8)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)


def printable(value: Any) -> bool:
    """Whether YAML can hold the text at all: not so for most control characters, nor for a lone carriage return."""
    text = json.dumps(value, ensure_ascii=False)
    return all(char.isprintable() or char == "\n" for char in text) and "\ufeff" not in text


@given(TREES.filter(printable))
def test_what_is_written_reads_back(value: Any) -> None:
    assert load(yamltext.dump(value)).tree == value


@given(st.text(alphabet="ab:-[]{},&*!|>'\"#%\n \t?<~01", max_size=30))
def test_any_text_is_yaml_or_an_api_error(text: str) -> None:
    assert refusal(load, text, APIError) != ""


@given(st.binary(max_size=20))
def test_any_bytes_are_yaml_or_an_api_error(data: bytes) -> None:
    assert refusal(load, data, APIError) != ""


def test_keys_given_twice_are_reported_with_their_lines() -> None:
    document = load("kind: X\ndata:\n  k: '1'\n  k: '2'\n  j:\n  - a: 1\n    a: {b: 1}\n")
    assert document.tree == {"kind": "X", "data": {"k": "2", "j": [{"a": {"b": 1}}]}}
    assert document.duplicates == ('line 4: key "k" already set in map', 'line 7: key "a" already set in map')
    assert yamltext.strict_error(document.duplicates) == (
        'yaml: unmarshal errors:\n  line 4: key "k" already set in map\n  line 7: key "a" already set in map'
    )


@pytest.mark.feature("E85")
def test_a_stream_has_many_documents() -> None:
    assert [document.tree for document in load_all("a: 1\n---\n- b\n---\n...\n---\nc")] == [{"a": 1}, ["b"], None, "c"]
    assert list(load_all("")) == []
    assert list(load_all("# nothing")) == []


def test_an_alias_is_a_copy() -> None:
    tree = load("a: &x {b: [1]}\nc: *x\n").tree
    tree["a"]["b"].append(2)
    assert tree["c"] == {"b": [1]}


def test_aliases_that_multiply_a_document_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    assert refusal(load, "\n".join(lines), BadRequest) == "yaml: document contains excessive aliasing"


def test_aliases_that_multiply_a_long_text_are_refused() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]"
    assert refusal(load, text, BadRequest) == "yaml: document contains excessive aliasing"


def test_a_long_key_given_twice_by_an_alias_is_reported_in_short() -> None:
    text = f"? &a {'x' * 100_000}\n: 1\n" + "*a : 1\n" * 20
    duplicates = load(text).duplicates
    assert len(duplicates) == 20
    assert all(len(duplicate) < 1100 for duplicate in duplicates)


def test_only_the_first_hundred_duplicates_are_reported() -> None:
    assert len(load("k: 1\n" * 500).duplicates) == 100


def test_many_plain_aliases_are_fine() -> None:
    tree = load("a: &a [1, 2]\nb: [" + ", ".join(["*a"] * 50) + "]").tree
    assert len(tree["b"]) == 50


def test_aliases_do_not_go_deeper_than_allowed() -> None:
    half = codec.MAX_DEPTH // 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}"
    assert refusal(load, text, BadRequest) == codec.TOO_DEEP


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000, "a:\n" + "  - " * 90_000]
)
def test_yaml_nested_too_deep_is_refused_at_once(text: str) -> None:
    assert refusal(load, text, BadRequest) == codec.TOO_DEEP


def test_the_greatest_depth_is_that_of_json() -> None:
    deepest = "[" * codec.MAX_DEPTH + "]" * codec.MAX_DEPTH
    tree = load(deepest).tree
    assert tree == codec.decode(deepest.encode())
    assert load(yamltext.dump(tree)).tree == tree
    assert refusal(load, f"[{deepest}]", BadRequest) == codec.TOO_DEEP


def test_a_text_beyond_the_limit_is_refused() -> None:
    assert refusal(load, "a" * (codec.MAX_BODY + 1), RequestEntityTooLarge) is not None


@pytest.mark.parametrize(
    "text", ["a: \ud800", b"a: \xff", "a: \x00", 'a: "\\ud800"', "9" * 5000 + "x: [" + "1" * 5000 + "]"]
)
def test_odd_characters_and_numbers_never_break_the_reader(text: str | bytes) -> None:
    assert refusal(load, text, BadRequest) != ""
