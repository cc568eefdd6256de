"""Durations of options."""

import click
import pytest

from setpoint.cli.support.durations import Seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("2", 2), ("0.5", 0.5), ("200ms", 0.2), ("1h30m", 5400), ("5m", 300)]
)
def test_a_number_is_in_seconds_and_units_are_supported(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "x", "1x", "-1", "-1s", "inf", "nan", "1e400"])
def test_other_texts_are_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"expected e\.g\. 30s"):
        Seconds().convert(text, None, None)
