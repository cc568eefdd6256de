"""The answers of a state: their texts, and the values that they refuse."""

import pytest

from setpoint.flow.fsm import Done, Fail, Wait


@pytest.mark.parametrize("seconds", [-1, -0.001, float("nan")])
def test_a_negative_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="after must not be negative: "):
        Wait(seconds)
    with pytest.raises(ValueError, match="requeue_after must not be negative: "):
        Done(seconds)


def test_zero_and_no_time_are_accepted() -> None:
    assert (Wait(0).after, Wait().after, Done(0.0).requeue_after, Done().requeue_after) == (0, None, 0.0, None)


def test_an_empty_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="reason must be a word in CamelCase"):
        Wait(reason="")
    with pytest.raises(ValueError, match="reason must be a word in CamelCase"):
        Fail("")


def test_an_answer_is_shown_by_its_message_and_reason() -> None:
    assert [str(Wait()), str(Wait(message="not yet"))] == ["Waiting", "not yet"]
    assert [str(Fail()), str(Fail("Broken", "no space"))] == ["Failed", "Broken: no space"]
    assert Wait().keep_outputs is Fail().terminal is False
