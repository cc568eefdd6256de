"""Moments as people say them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from setpoint.past.moment import Moment, MomentError, parse_moment, parse_range, parse_while

NOW = datetime(2026, 3, 1, 14, 30, 0, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("5m", datetime(2026, 3, 1, 14, 25, tzinfo=UTC)),
        ("1h30m", datetime(2026, 3, 1, 13, 0, tzinfo=UTC)),
        ("2d", datetime(2026, 2, 27, 14, 30, tzinfo=UTC)),
        ("14:03:20", datetime(2026, 3, 1, 14, 3, 20, 999_999, tzinfo=UTC)),
        ("14:03:20.5", datetime(2026, 3, 1, 14, 3, 20, 500_000, tzinfo=UTC)),
        ("14:03", datetime(2026, 3, 1, 14, 3, 59, 999_999, tzinfo=UTC)),
        ("14:30", datetime(2026, 3, 1, 14, 30, 59, 999_999, tzinfo=UTC)),
        ("23:00", datetime(2026, 2, 28, 23, 0, 59, 999_999, tzinfo=UTC)),
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, 0, tzinfo=UTC)),
        ("2026-01-31T12:00:00.250000Z", datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_time(text: str, time: datetime) -> None:
    assert parse_moment(text, NOW, UTC) == Moment(time=time)


def test_a_time_of_day_is_that_of_the_place() -> None:
    assert parse_moment("15:03:20.0", NOW, BERLIN).time == datetime(2026, 3, 1, 14, 3, 20, tzinfo=UTC)


def test_a_number_is_a_revision_and_now_is_now() -> None:
    assert parse_moment("218", NOW, UTC) == Moment(revision=218)
    assert parse_moment("now", NOW, UTC).is_now


@pytest.mark.parametrize("text", ["noon", "25:00", "14:60", "5 minutes", "-", "12:3"])
def test_what_is_no_moment_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(MomentError, match=r"expected a revision \(218\), a time \(14:03"):
        parse_moment(text, NOW, UTC)


def test_ranges_have_two_ends_and_the_second_may_be_now() -> None:
    assert parse_range("190..218", NOW, UTC) == (Moment(revision=190), Moment(revision=218))
    assert parse_range("190..", NOW, UTC) == (Moment(revision=190), Moment())
    assert parse_range("190", NOW, UTC) == (Moment(revision=190), Moment())
    with pytest.raises(MomentError, match="has no start"):
        parse_range("..218", NOW, UTC)


def test_a_while_has_a_length() -> None:
    assert parse_while("1d2h") == timedelta(hours=26)
