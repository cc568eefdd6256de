"""The times of cron jobs: missed starts, deadlines and time zones."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from setpoint.objects.cron import ScheduleError
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.cronjob.jobs import SCHEDULED, job_of_template
from setpoint.system.cronjob.times import missed_start, seconds_to_next, timetable_of

CREATED = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def cron_job(schedule: str = "0 * * * *", last: datetime | None = None, **spec: Any) -> Object:
    metadata = {"name": "tick", "namespace": "default", "uid": "u", "creationTimestamp": format_time(CREATED)}
    template: Object = {"spec": {"template": {"spec": {}}}}
    found: Object = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata,
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }
    return {**found, "status": {"lastScheduleTime": format_time(last)}} if last else found


def at(hour: int, minute: int = 0, second: int = 0, day: int = 1) -> datetime:
    return datetime(2026, 3, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("found", "now", "latest", "number"),
    [
        (cron_job(), at(10, 59), None, 0),
        (cron_job(), at(11), at(11), 0),
        (cron_job(), at(11, 59), at(11), 0),
        (cron_job(), at(15, 30), at(15), 5),
        (cron_job(last=at(11)), at(11, 59), None, 0),
        (cron_job(last=at(11)), at(12), at(12), 0),
        (cron_job("* * * * *"), at(14, 30, 10), at(14, 30), 240),
        (cron_job("@every 90s"), at(10, 31, 40), at(10, 31, 30), 0),
        (cron_job("@every 90s"), at(10, 40), at(10, 39), 6),
        # Irregular intervals: the estimate is corrected.
        (cron_job("0 9,17 * * *"), at(18, day=4), at(17, day=4), 5),
    ],
)
def test_the_latest_missed_start_is_found(found: Object, now: datetime, latest: datetime | None, number: int) -> None:
    missed = missed_start(found, timetable_of(found), now, within_deadline=True)
    assert (missed.latest, missed.number) == (latest, number)


def test_a_deadline_hides_earlier_starts() -> None:
    found = cron_job(startingDeadlineSeconds=600)
    now = at(13, 20)
    assert missed_start(found, timetable_of(found), now, within_deadline=True).latest is None
    assert missed_start(found, timetable_of(found), now, within_deadline=False).latest == at(13)
    assert missed_start(found, timetable_of(found), at(13, 5), within_deadline=True).latest == at(13)


def test_a_schedule_without_times_is_an_error() -> None:
    found = cron_job("59 23 31 2 *")
    with pytest.raises(ScheduleError, match="less than 1 second"):
        missed_start(found, timetable_of(found), at(11), within_deadline=True)


@pytest.mark.parametrize(
    ("found", "now", "seconds"),
    [
        (cron_job(), at(10, 30), 1800.1),
        (cron_job(), at(15, 30), 1800.1),
        (cron_job(last=at(15)), at(15), 3600.1),
        (cron_job("59 23 31 2 *"), at(11), None),
    ],
)
def test_the_next_start_has_a_short_delay(found: Object, now: datetime, seconds: float | None) -> None:
    assert seconds_to_next(found, timetable_of(found), now) == seconds


@pytest.mark.parametrize(
    ("found", "first"),
    [
        (cron_job("0 9 * * *", timeZone="Europe/Berlin"), at(8, day=2)),
        (cron_job("TZ=Asia/Tokyo 0 9 * * *"), at(0, day=2)),
        (cron_job("CRON_TZ=America/New_York 30 7 * * *"), at(12, 30)),
        (cron_job("@daily"), at(0, day=2)),
    ],
)
def test_times_are_in_the_zone(found: Object, first: datetime) -> None:
    assert timetable_of(found).next_after(CREATED) == first


def test_a_skipped_hour_starts_no_job_and_a_repeated_one_starts_one() -> None:
    found = cron_job("30 2 * * *", timeZone="Europe/Berlin")
    spring = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert timetable_of(found).next_after(spring) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    autumn = datetime(2026, 10, 24, 12, tzinfo=UTC)
    first = timetable_of(found).next_after(autumn)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert timetable_of(found).next_after(first) == first + timedelta(hours=25)


@pytest.mark.parametrize(
    ("zone", "text"), [(None, "2026-03-01T11:00:00Z"), ("Europe/Berlin", "2026-03-01T12:00:00+01:00")]
)
def test_a_job_has_the_name_and_the_annotation_of_its_time(zone: str | None, text: str) -> None:
    found = cron_job(timeZone=zone)
    job = job_of_template(found, at(11))
    assert job["metadata"]["name"] == f"tick-{int(at(11).timestamp()) // 60}"
    assert job["metadata"]["annotations"] == {SCHEDULED: text}
