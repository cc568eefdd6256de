"""Schedules: which are taken, and what is said against the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.server.registry.kinds.batch.cron_schedule import is_zone_name, schedule_problem, zone_problem

BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def field_of(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    spans = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(1, 100).map(lambda step: f"/{step}")
    single = st.one_of(st.sampled_from(["*", "?"]), numbers.map(str), spans)
    item = st.tuples(single, st.just("") | steps).map("".join)
    return st.lists(item, min_size=1, max_size=3).map(",".join)


@given(st.tuples(*(field_of(*bounds) for bounds in BOUNDS)))
def test_fields_within_their_bounds_are_taken(fields: tuple[str, ...]) -> None:
    assert schedule_problem(" ".join(fields)) == ""


@given(st.integers(0, 4), st.integers(60, 10**30))
def test_numbers_beyond_all_bounds_are_refused(position: int, value: int) -> None:
    fields = ["*"] * 5
    fields[position] = str(value)
    assert schedule_problem(" ".join(fields)) != ""


@given(st.text(max_size=40))
def test_any_text_is_judged_without_failing(text: str) -> None:
    assert isinstance(schedule_problem(text), str)
    assert isinstance(is_zone_name(text), bool)


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("0 0 1 JAN mon-FRI", ""),
        ("TZ=UTC 0 0 * * *", ""),
        ("@often", "unrecognized descriptor: @often"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("TZ=No/Where 0 0 * * *", "provided bad location No/Where: unknown time zone No/Where"),
        ("TZ=UTC", "invalid schedule format"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem


@pytest.mark.parametrize("zone", ["..", "a/../b", "/etc/passwd", "-x", "a b", "", "x" * 15, "Europe/\x00"])
def test_what_could_lead_elsewhere_is_no_name_of_a_zone(zone: str) -> None:
    assert not is_zone_name(zone)


def test_zones_of_the_world_are_known() -> None:
    assert is_zone_name("America/Argentina/Buenos_Aires")
    assert zone_problem("Europe/Berlin") == ""
    assert zone_problem("Europe/Atlantis") == "unknown time zone Europe/Atlantis"
