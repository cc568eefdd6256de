"""Where writes come from, as headers and the log have it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.provenance import Actor, Cause, Reason

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


def test_a_header_has_a_bounded_number_of_reasons() -> None:
    because = tuple(Reason("timer") for _ in range(40))
    assert len(Cause.from_header(Cause.reconcile("c", "k", "i", because).to_header()).because) == 16
    with pytest.raises(ValueError, match="17 reasons, and at most 16"):
        Cause.from_header("c/i/k?" + "&".join(["timer///"] * 17))


def test_a_header_cannot_say_that_a_cause_is_a_fact() -> None:
    assert Cause.from_header(Cause.reconcile("c", "k", "i").with_claimant("").to_header()).claimed_by is None


@pytest.mark.parametrize(
    ("actor", "claimant"),
    [
        (Actor("alice"), "alice"),
        (Actor("system:admin", ("system:masters",)), ""),
        (Actor("system:serviceaccount:kube-system:namespace-controller"), ""),
        (Actor("system:serviceaccount:team:kube-system"), "system:serviceaccount:team:kube-system"),
        (Actor("system:serviceaccount:kube-system:x", impersonator="alice"), "system:serviceaccount:kube-system:x"),
        (Actor("x", ("system:masters",), impersonator="alice"), "x"),
    ],
)
def test_causes_of_older_versions_are_facts_only_of_our_own_controllers_and_administrators(
    actor: Actor, claimant: str
) -> None:
    cause = Cause.decode(msgspec.msgpack.encode(("id", "controller", "default/a", [])))
    assert cause.claimed_by is None
    assert cause.claimant(actor) == claimant


def test_what_is_written_now_can_be_read_by_an_older_version() -> None:
    class Older(msgspec.Struct, array_like=True):
        id: str
        controller: str = ""
        key: str = ""

    assert msgspec.msgpack.decode(Cause("i", "c", "k", (), "alice").encode(), type=Older) == Older("i", "c", "k")
