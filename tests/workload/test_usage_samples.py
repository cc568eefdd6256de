"""Samples of the usage of workloads: bounded, and none across programs."""

from datetime import UTC, datetime, timedelta

from setpoint.workload.usage import Usage
from setpoint.workload.usage_samples import Reading, UsageSamples
from setpoint.workload.usage_settings import UsageSettings

BEGIN = datetime(2026, 1, 31, tzinfo=UTC)


def add(samples: UsageSamples, uid: str, program: str, seconds: float, cpu: float) -> None:
    samples.add(uid, Reading(program, seconds, Usage(cpu, 4096, 2)), BEGIN + timedelta(seconds=seconds))


def test_a_sample_has_the_usage_since_the_one_before() -> None:
    samples = UsageSamples(UsageSettings())
    for seconds, cpu in ((0, 1.0), (2, 2.0), (3, 2.25)):
        add(samples, "a", "7", seconds, cpu)
    assert [(each.millicores, each.memory, each.processes) for each in samples.of("a", BEGIN)] == [
        (500.0, 4096, 2),
        (250.0, 4096, 2),
    ]
    assert len(samples.of("a", BEGIN, BEGIN + timedelta(seconds=3))) == 1


def test_the_first_reading_of_another_program_is_no_sample() -> None:
    samples = UsageSamples(UsageSettings())
    add(samples, "a", "7", 0, 1.0)
    add(samples, "a", "8", 5, 0.1)
    assert samples.of("a", BEGIN) == []
    assert not samples.has_begun("a", "7")
    add(samples, "a", "8", 6, 0.2)
    assert [each.millicores for each in samples.of("a", BEGIN)] == [100.0]


def test_a_program_is_measured_at_most_once_a_second() -> None:
    samples = UsageSamples(UsageSettings())
    assert samples.is_due("a", "7", 0)
    add(samples, "a", "7", 0, 1.0)
    assert not samples.is_due("a", "7", 0.5)
    assert samples.is_due("a", "7", 1.0)
    assert samples.is_due("a", "8", 0.5)


def test_samples_and_workloads_are_bounded() -> None:
    samples = UsageSamples(UsageSettings(max_samples=5, max_workloads=3))
    for seconds in range(9):
        add(samples, "a", "7", seconds, seconds)
    assert len(samples.of("a", BEGIN)) == 5
    for number in range(3):
        add(samples, f"other-{number}", "7", 0, 0)
        add(samples, f"other-{number}", "7", 1, 1)
    assert samples.of("a", BEGIN) == []
    assert samples.of("other-0", BEGIN)


def test_old_samples_are_forgotten() -> None:
    samples = UsageSamples(UsageSettings(retention_seconds=60))
    for seconds in (0, 10, 50, 80):
        add(samples, "a", "7", seconds, seconds)
    assert len(samples.of("a", BEGIN + timedelta(seconds=80))) == 2
    assert samples.of("a", BEGIN + timedelta(seconds=200)) == []
