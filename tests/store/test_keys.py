"""The order of keys, and where prefixes end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.store.contract import Write
from setpoint.store.keys import KeyOrder, check_key, check_writes, prefix_end

text = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("ab/\ud7ff\ue000\U0010ffff")), max_size=4
)


@given(text, text)
def test_a_prefix_ends_after_all_that_begin_with_it_and_before_all_others(prefix: str, key: str) -> None:
    end = prefix_end(prefix)
    within = prefix <= key and (end is None or key < end)
    assert within == key.startswith(prefix)
    if end is not None:
        end.encode()


def test_no_prefix_ends_inside_the_surrogates() -> None:
    assert prefix_end("a\ud7ff") == "a\ue000"
    assert prefix_end("a\U0010ffff") == "b"
    assert prefix_end("\U0010ffff") is None
    assert prefix_end("") is None


@given(st.lists(st.tuples(st.booleans(), text.filter(bool))), text, text, st.data())
def test_an_order_is_a_sorted_set(steps: list[tuple[bool, str]], start: str, end: str, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyOrder, "_PIECE", 2)  # so that a few keys already make many pieces
        order = KeyOrder()
        model: set[str] = set()
        for adding, key in steps:
            copied, before = order.copy(), sorted(model)
            if adding and key not in model:
                order.add(key)
                model.add(key)
            elif not adding:
                order.discard(key)
                model.discard(key)
            assert list(copied.between("", None)) == before
        ordered = sorted(model)
        assert list(order.between("", None)) == ordered
        assert list(order.between(start, end)) == [key for key in ordered if start <= key < end]
        assert list(order.after(start, "", None)) == [key for key in ordered if key > start]
        assert order.rank(start) == len([key for key in ordered if key < start])
        assert order.rank(None) == len(ordered)
        assert list(KeyOrder(model).between("", None)) == ordered


def test_the_pieces_of_an_order_stay_short_and_are_split_in_the_middle() -> None:
    order = KeyOrder()
    for number in range(3000):
        order.add(f"{number:05}")
        assert max(map(len, order._pieces)) <= 2 * KeyOrder._PIECE
    assert [len(piece) for piece in order._pieces[:2]] == [KeyOrder._PIECE] * 2
    assert [len(piece) for piece in KeyOrder(f"{number:05}" for number in range(1025))._pieces] == [512, 512, 1]
    assert order._lasts == [piece[-1] for piece in order._pieces]


@pytest.mark.parametrize(("key", "words"), [("", "a key must not be empty"), ("a\ud800", "cannot be written as UTF-8")])
def test_an_invalid_key_is_explained(key: str, words: str) -> None:
    check_key("a")
    check_key("\xe4")
    with pytest.raises(ValueError, match=words):
        check_key(key)
    with pytest.raises(ValueError, match=words):
        check_writes([Write("a", b"1"), Write(key, b"1")])


def test_a_transaction_with_a_key_twice_is_explained() -> None:
    check_writes([Write("a", b"1"), Write("b", b"1")])
    with pytest.raises(ValueError, match="names the key 'a' twice"):
        check_writes([Write("a", b"1"), Write("b", b"1"), Write("a", None)])
