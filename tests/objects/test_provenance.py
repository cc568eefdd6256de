"""Where writes come from, as headers and the log have it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.provenance import Cause, Reason

_WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF).filter(str.isprintable), min_size=1, max_size=30)
_KEYS = st.tuples(_WORDS, _WORDS).map("/".join) | _WORDS
_REASONS = st.builds(Reason, _WORDS, _WORDS | st.just(""), _KEYS | st.just(""), st.integers(0).map(str) | st.just(""))


@given(_WORDS, _WORDS, _KEYS, st.lists(_REASONS, max_size=2).map(tuple))
def test_a_header_says_which_reconcile_it_was_and_why_it_ran(
    controller: str, id_: str, key: str, because: tuple[Reason, ...]
) -> None:
    cause = Cause.reconcile(controller, key, id_, because)
    header = cause.to_header()
    assert header.isascii()
    if header.count("&") == len(because) - 1 and len(header) <= 1024:
        assert Cause.from_header(header) == cause


def test_reasons_that_have_no_room_in_a_header_are_left_out() -> None:
    because = tuple(Reason("updated", "ConfigMap", f"default/{'x' * 200}", str(number)) for number in range(9))
    found = Cause.from_header(Cause.reconcile("c", "k", "i", because).to_header())
    assert found.because == because[: len(found.because)]
    assert 0 < len(found.because) < len(because)


@pytest.mark.parametrize("text", ["c/i/k?", "c/i/k?updated", "c/i/k?/ConfigMap/3/a", "c/i/k?updated/A/3/a%0Ab"])
def test_reasons_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="EVENT/KIND/REVISION/OBJECT"):
        Cause.from_header(text)


def test_what_was_written_before_causes_had_reasons_is_still_read() -> None:
    old = msgspec.msgpack.encode(("id", "controller", "default/a"))
    assert Cause.decode(old) == Cause.reconcile("controller", "default/a", "id")
