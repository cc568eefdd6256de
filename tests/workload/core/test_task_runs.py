"""When a run of a task is due."""

from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.workload.controllers.task.task_runs import due
from setpoint.workload.schedule import parse_schedule, parse_zone

START = datetime(2030, 3, 30, 9, 0, tzinfo=UTC)


@given(
    st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *", "*/5 3 * * SUN", "@every 90s"]),
    st.integers(0, 60 * 24 * 5),
    st.sampled_from(["UTC", "Europe/Berlin"]),
)
@example("* * * * *", 60 * 24 * 5, "Europe/Berlin")
@settings(max_examples=60, deadline=None)
def test_the_run_that_is_due_is_the_last_one_that_has_come(text: str, minutes: int, zone_name: str) -> None:
    schedule, zone, now = parse_schedule(text), parse_zone(zone_name), START + timedelta(minutes=minutes)
    times = []
    following = schedule.next_after(START, zone)
    while following is not None and following <= now:
        times.append(following)
        following = schedule.next_after(following, zone)
    found = due(schedule, START, now, zone)
    assert (None if found is None else found.at) == (times[-1] if times else None)
    if found is not None:
        assert found.missed == len(times) - 1 or (found.missed == 100 and len(times) > 100)


def test_years_of_missed_runs_are_found_at_once() -> None:
    now = START + timedelta(days=3650)
    found = due(parse_schedule("* * * * *"), START, now, UTC)
    assert found is not None
    assert found.at == now
