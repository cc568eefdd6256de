"""Durations, times and int-or-string values."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import duration
from setpoint.objects.times import format_micro_time, format_time, parse_micro_time, parse_time

from .tables import cases, refusal


@cases("durations")
def test_durations(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(duration.parse, case["text"]) == case["error"]
    else:
        nanoseconds = duration.parse(case["text"])
        assert (nanoseconds, duration.format_duration(nanoseconds)) == (case["nanoseconds"], case["canonical"])


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_duration_reads_back(nanoseconds: int) -> None:
    # Go computes fractions in floats, so that beyond 2**53 the last digits of a fraction may differ.
    found = duration.parse(duration.format_duration(nanoseconds))
    assert abs(found - nanoseconds) <= 1


@given(st.text(alphabet="0123456789.hmsnu\u00b5+- ", max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    why = refusal(duration.parse, text)
    assert why is None or why.startswith("time: ")


@cases("times")
def test_times(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(parse_time, case["text"]) == case["error"]
    else:
        assert format_time(parse_time(case["text"])) == case["canonical"]


@cases("micro_times")
def test_micro_times(case: dict[str, Any]) -> None:
    if "error" in case:
        assert refusal(parse_micro_time, case["text"]) == case["error"]
    else:
        assert format_micro_time(parse_micro_time(case["text"])) == case["canonical"]


MOMENTS = st.datetimes(timezones=st.just(UTC))


@given(MOMENTS)
def test_every_moment_reads_back_from_its_text(moment: datetime) -> None:
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)
    assert parse_micro_time(format_micro_time(moment)) == moment


@given(st.text(alphabet="0123456789-:TZ.+ ", max_size=30))
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    for parse in (parse_time, parse_micro_time):
        why = refusal(parse, text)
        assert why is None or why.startswith("parsing time ")


def test_a_year_that_python_cannot_hold_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="year out of range"):
        parse_time("0000-01-01T00:00:00Z")
    with pytest.raises(ValueError, match="year out of range"):
        parse_time("0001-01-01T00:00:00+01:00")
