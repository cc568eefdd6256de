"""Values are kept as differences, and come back as they were."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.store.sqlite.delta import (
    DEFLATED,
    DEFLATED_PATCH,
    PATCH,
    WHOLE,
    decode,
    encode_difference,
    encode_full,
    is_difference,
)

values = st.one_of(
    st.binary(max_size=300), st.integers(0, 100_000).map(lambda size: (b"abcdefgh%d" % size) * (size // 50))
)


@given(values)
def test_a_whole_value_comes_back(value: bytes) -> None:
    form, data = encode_full(value)
    assert not is_difference(form)
    assert data is not None
    assert len(data) <= len(value)
    assert decode(form, data, None) == value


@given(values, values)
def test_any_difference_comes_back(old: bytes, new: bytes) -> None:
    difference = encode_difference(old, new)
    if difference is not None:
        form, data = difference
        assert is_difference(form)
        assert decode(form, data, old) == new


@given(
    st.binary(min_size=100, max_size=3000),
    st.lists(st.tuples(st.integers(0, 2999), st.binary(max_size=20)), max_size=5),
)
def test_a_value_edited_in_a_few_places_comes_back(old: bytes, edits: list[tuple[int, bytes]]) -> None:
    new = old
    for place, inserted in edits:
        new = new[: place % len(new)] + inserted + new[place % len(new) + len(inserted) // 2 :]
    difference = encode_difference(old, new)
    if difference is not None:
        assert decode(*difference, old) == new


def test_one_changed_field_takes_a_few_bytes() -> None:
    body = Random(1).randbytes(1000).hex().encode()
    old, new = body[:700] + b'"replicas":3' + body[700:], body[:700] + b'"replicas":4' + body[700:]
    form, data = encode_difference(old, new) or (WHOLE, b"")
    assert form == PATCH
    assert len(data) < 10


def test_changes_far_apart_take_little_more() -> None:
    body = Random(1).randbytes(1000).hex().encode()
    new = body[:300] + b"changed" + body[300:1700] + b"as well" + body[1700:]
    form, data = encode_difference(body, new) or (WHOLE, b"")
    assert form == DEFLATED_PATCH
    assert len(data) < 60


def test_what_has_nothing_in_common_is_kept_whole() -> None:
    random = Random(1)
    assert encode_difference(random.randbytes(2000), random.randbytes(2000)) is None


@pytest.mark.parametrize(
    ("form", "data", "old"),
    [
        (WHOLE, None, None),
        (DEFLATED, b"nonsense", None),
        (DEFLATED, b"", None),
        (PATCH, b"\x01\x01x", None),
        (PATCH, b"", b"old"),
        (PATCH, b"\xff\xff\xff\xff\xff\xff\xff\xff", b"old"),
        (PATCH, b"\x05\x05x", b"old"),
        (DEFLATED_PATCH, b"\x00\x00nonsense", b"old"),
    ],
)
def test_nonsense_is_an_error_and_not_a_value(form: int, data: bytes | None, old: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(form, data, old)
