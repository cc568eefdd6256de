"""Values are kept as differences, and come back as they were."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.store.sqlite.delta import (
    _SHORT,
    DEFLATED,
    DEFLATED_PATCH,
    DELETED,
    PATCH,
    PURGED,
    WHOLE,
    _number,
    _read_number,
    _shared_end,
    _shared_start,
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


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (1, "01"),
        (0x7F, "7f"),
        (0x80, "80 01"),
        (0x81, "81 01"),
        (0xFF, "ff 01"),
        (0x3FFF, "ff 7f"),
        (0x4000, "80 80 01"),
        (0x4001, "81 80 01"),
        (0x1FFFFF, "ff ff 7f"),
        (0x200000, "80 80 80 01"),
        ((1 << 42) - 1, "ff ff ff ff ff 7f"),
    ],
)
def test_a_number_has_seven_bits_in_each_byte(value: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert _number(value) == data
    assert _read_number(b"x" + data + b"y", 1) == (value, 1 + len(data))


def test_a_number_of_too_many_bytes_is_an_error() -> None:
    with pytest.raises(ValueError, match="its beginning is damaged"):
        _read_number(bytes.fromhex("80 80 80 80 80 80 01"), 0)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_the_shared_start_and_end_are_the_longest(start: bytes, old: bytes, new: bytes) -> None:
    def longest(left: bytes, right: bytes) -> int:
        return next(
            (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
        )

    assert _shared_start(start + old, start + new) == longest(start + old, start + new)
    assert _shared_end(old + start, new + start) == longest((old + start)[::-1], (new + start)[::-1])


@pytest.mark.parametrize(
    ("old", "new", "start", "end"),
    [
        (b"", b"", 0, 0),
        (b"a", b"b", 0, 0),
        (b"ab", b"ac", 1, 0),
        (b"abc", b"abd", 2, 0),
        (b"abcd", b"abce", 3, 0),
        (b"ba", b"ca", 0, 1),
        (b"cba", b"dba", 0, 2),
        (b"dcba", b"ecba", 0, 3),
        (b"abc", b"abc", 3, 3),
        (b"abc", b"ab", 2, 0),
        (b"xab", b"ab", 0, 2),
    ],
)
def test_shared_starts_and_ends_of_short_values(old: bytes, new: bytes, start: int, end: int) -> None:
    assert (_shared_start(old, new), _shared_end(old, new)) == (start, end)


def test_short_values_and_short_changes_are_not_deflated() -> None:
    assert encode_full(None) == (DELETED, None)
    assert encode_full(b"x" * _SHORT) == (WHOLE, b"x" * _SHORT)
    assert encode_full(b"x" * (_SHORT + 1))[0] == DEFLATED
    assert encode_full(Random(1).randbytes(_SHORT + 1))[0] == WHOLE
    old = b"a" * 500 + b"b" * 500
    for length, form in ((0, PATCH), (_SHORT, PATCH), (_SHORT + 1, DEFLATED_PATCH)):
        difference = encode_difference(old, b"a" * 500 + b"z" * length + b"b" * 500)
        assert difference is not None
        assert difference[0] == form


def test_a_difference_is_worth_less_than_half_of_the_value() -> None:
    old, new = b"a" * 100, Random(1).randbytes(240)
    assert encode_difference(old, old + new) is None, "240 bytes of 340 are new"
    assert encode_difference(old * 4, old * 4 + new) is not None, "240 bytes of 640 are new"


@pytest.mark.parametrize(("form", "data"), [(DELETED, None), (PURGED, b"tombstone")])
def test_a_deleted_and_a_purged_value_decode_to_none(form: int, data: bytes | None) -> None:
    assert decode(form, data, b"old") is None


@pytest.mark.parametrize(
    ("form", "data", "old", "words"),
    [
        (WHOLE, None, None, "there is no value"),
        (PATCH, b"\x01\x01x", None, "the value before it is missing"),
        (PATCH, b"\x05\x05x", b"old", "it does not fit the value before it"),
        (PATCH, b"\x02\x02x", b"old", "it does not fit the value before it"),
        (PATCH, b"\x80", b"old", "its beginning is damaged"),
        (DEFLATED, b"", None, "its end is missing"),
        (DEFLATED, b"\xff\xff", None, "Error -3 while decompressing"),
    ],
)
def test_damaged_data_is_explained(form: int, data: bytes | None, old: bytes | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode(form, data, old)


def test_a_difference_may_use_all_of_the_value_before() -> None:
    assert decode(PATCH, b"\x01\x02x", b"old") == b"oxld"
