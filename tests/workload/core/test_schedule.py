"""Schedules of tasks: the next time, in any time zone, also where clocks jump."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.objects.cron import ScheduleError
from setpoint.workload.schedule import parse_schedule, parse_zone

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("schedule", "after", "zone", "wanted"),
    [
        ("* * * * *", "2030-01-01T00:00:30", "", "2030-01-01T00:01:00"),
        ("*/15 9-17 * * MON-FRI", "2030-01-04T17:45:00", "", "2030-01-07T09:00:00"),
        ("0 0 29 2 *", "2030-01-01T00:00:00", "", "2032-02-29T00:00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "", "2104-02-29T00:00:00"),
        ("5 4 * * sun", "2030-01-01T00:00:00", "", "2030-01-06T04:05:00"),
        ("5 4 * * 7", "2030-01-01T00:00:00", "", "2030-01-06T04:05:00"),
        ("0 12 13 * 5", "2030-09-01T00:00:00", "", "2030-09-06T12:00:00"),  # a Friday, or a 13th
        ("0 12 */13 * 5", "2030-09-01T00:00:00", "", "2030-09-27T12:00:00"),  # with a star: both
        ("0 12 31 * ?", "2030-04-01T00:00:00", "", "2030-05-31T12:00:00"),
        ("30 6/6 1 JAN,jul *", "2030-01-01T18:30:00", "", "2030-07-01T06:30:00"),
        ("@hourly", "2030-01-01T00:00:00", "", "2030-01-01T01:00:00"),
        ("@daily", "2030-01-01T00:00:00", BERLIN, "2030-01-01T23:00:00"),
        ("@Weekly", "2030-01-01T00:00:00", "", "2030-01-06T00:00:00"),
        ("@monthly", "2030-01-01T00:00:00", "", "2030-02-01T00:00:00"),
        ("@yearly", "2030-01-01T00:00:00", "", "2031-01-01T00:00:00"),
        ("@every 1h30m", "2030-01-01T00:00:10", "", "2030-01-01T01:30:10"),
        ("0 9 * * *", "2030-06-01T00:00:00", BERLIN, "2030-06-01T07:00:00"),
        # On March 31 there is no 02:30 in Berlin: it is done the day after.
        ("30 2 * * *", "2030-03-30T12:00:00", BERLIN, "2030-04-01T00:30:00"),
        # On October 27 there are two: it is done the first time.
        ("30 2 * * *", "2030-10-26T12:00:00", BERLIN, "2030-10-27T00:30:00"),
        ("30 2 * * *", "2030-10-27T00:30:00", BERLIN, "2030-10-28T01:30:00"),
        # What is due every hour is due in both.
        ("30 * * * *", "2030-10-27T00:30:00", BERLIN, "2030-10-27T01:30:00"),
        # Half an hour's jump, on an island.
        ("0 2 * * *", "2030-04-06T00:00:00", "Australia/Lord_Howe", "2030-04-06T15:30:00"),
    ],
)
def test_the_next_time(schedule: str, after: str, zone: str, wanted: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = parse_schedule(schedule).next_after(moment, parse_zone(zone))
    assert found == datetime.fromisoformat(wanted).replace(tzinfo=UTC)


def test_a_day_that_never_comes_is_no_time() -> None:
    assert parse_schedule("0 0 30 2 *").next_after(datetime(2030, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("* * * *", "a schedule has five fields (minute, hour, day of month, month, day of week), and '* * * *' has 4"),
        ("60 * * * *", "minute: end of range (60) above maximum (59): 60"),
        ("* * * * 8", "day of week: end of range (8) above maximum (7): 8"),
        ("* * * FOO *", "month: failed to parse int from FOO"),
        ("5-1 * * * *", "minute: beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "minute: step of range should be a positive number: */0"),
        ("*-5 * * * *", "minute: '*-5' combines a star and a range; use one of them"),
        ("1,,2 * * * *", "minute: '1,,2' has an empty item; remove a comma"),
        ("* * , * *", "day of month: ',' has an empty item; remove a comma"),
        ("@often", "unknown schedule @often; supported: @yearly"),
        ("@every x", "failed to parse duration @every x: time: invalid duration"),
        ("@every 10ms", "@every 10ms: the interval must be at least a second"),
        ("@every 1h x", "failed to parse duration @every 1h x"),
        ("CRON_TZ=UTC * * * * *", "a schedule cannot name its time zone; set timeZone"),
    ],
)
def test_a_schedule_that_is_none_says_which_part_and_what_to_write(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError) as wrong:
        parse_schedule(schedule)
    assert str(wrong.value).startswith(message)


def test_a_time_zone_that_is_none_is_refused() -> None:
    for name in ("Mars/Olympus", "../etc/passwd", "/etc/passwd"):
        with pytest.raises(ScheduleError, match="unknown time zone"):
            parse_zone(name)


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    a_range = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    return st.one_of(st.just("*"), number.map(str), a_range, st.integers(1, 20).map(lambda step: f"*/{step}"))


schedules = st.tuples(_field(0, 59), _field(0, 23), _field(1, 28), _field(1, 12), _field(0, 7)).map(" ".join)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from(
    ["UTC", BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo"]
)


@given(schedules, moments, zones)
def test_the_next_time_is_later_and_one_that_the_schedule_names(text: str, moment: datetime, name: str) -> None:
    schedule, zone = parse_schedule(text), parse_zone(name)
    found = schedule.next_after(moment, zone)
    assert found is not None
    local = found.astimezone(zone)
    assert found > moment
    assert found.second == found.microsecond == 0
    assert local.minute in schedule.minutes
    assert local.hour in schedule.hours
    assert local.month in schedule.months
    assert local.day in schedule.days or local.isoweekday() % 7 in schedule.weekdays


@settings(max_examples=50)
@given(schedules, moments, zones)
def test_no_time_that_a_schedule_names_is_left_out(text: str, moment: datetime, name: str) -> None:
    schedule, zone = parse_schedule(text), parse_zone(name)
    found = schedule.next_after(moment, zone)
    here = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    for _ in range(2 * 24 * 60):
        if found is not None and here >= found:
            break
        local = here.astimezone(zone)
        days = [local.day in schedule.days, local.isoweekday() % 7 in schedule.weekdays]
        is_day = all(days) if schedule.any_day or schedule.any_weekday else any(days)
        named = local.minute in schedule.minutes and local.hour in schedule.hours and local.month in schedule.months
        assert not (named and is_day and (schedule.any_hour or not local.fold))
        here += timedelta(minutes=1)


@given(schedules, moments, st.timedeltas(timedelta(), timedelta(days=40)), zones)
def test_later_moments_have_no_earlier_next_time(text: str, moment: datetime, more: timedelta, name: str) -> None:
    schedule, zone = parse_schedule(text), parse_zone(name)
    first, second = schedule.next_after(moment, zone), schedule.next_after(moment + more, zone)
    assert first is not None
    assert second is not None
    assert first <= second
