"""Rate limits, by client-go's constants."""

from datetime import UTC, datetime

import pytest

from setpoint.controller.ratelimit import AtMost, Bucket, Exponential, FastSlow, Jittered, MaxOf, client_go_default
from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_each_failure_doubles_the_wait_of_its_key_alone() -> None:
    limiter = Exponential()
    assert [limiter.delay("a") for _ in range(3)] == [0.005, 0.01, 0.02]
    assert limiter.delay("b") == 0.005
    limiter.forget("a")
    assert limiter.delay("a") == 0.005


def test_the_wait_never_exceeds_its_limit_however_often_a_key_fails() -> None:
    limiter = Exponential(1, 60)
    assert [limiter.delay("a") for _ in range(5000)][-1] == 60


def test_a_bucket_lets_a_burst_pass_and_then_so_many_a_second() -> None:
    clock = ManualClock(START)
    bucket = Bucket(clock, rate=10, burst=3)
    assert [round(bucket.delay("a"), 3) for _ in range(5)] == [0, 0, 0, 0.1, 0.2]
    clock.advance(0.5)
    assert round(bucket.delay("b"), 3) == 0


def test_a_bucket_without_a_rate_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="rate must be greater than 0"):
        Bucket(ManualClock(START), rate=0)


def test_fast_retries_are_followed_by_slow_ones() -> None:
    limiter = FastSlow(1, 30, attempts=2)
    assert [limiter.delay("a") for _ in range(4)] == [1, 1, 30, 30]
    assert limiter.retries("a") == 4
    limiter.forget("a")
    assert limiter.delay("a") == 1


def test_of_several_limiters_the_slowest_counts() -> None:
    clock = ManualClock(START)
    limiter = MaxOf(Exponential(1, 60), Bucket(clock, rate=1, burst=1))
    assert [limiter.delay("a") for _ in range(3)] == [1, 2, 4]
    assert limiter.delay("b") == 3
    assert AtMost(limiter, 2).delay("a") == 2


def test_client_gos_default_lets_a_hundred_pass_and_then_ten_a_second() -> None:
    limiter = client_go_default(ManualClock(START))
    waits = [limiter.delay(number) for number in range(110)]
    assert set(waits[:100]) == {0.005}
    assert round(waits[109], 3) == 1.0


@pytest.mark.feature("E25")
def test_waits_that_differ_by_chance_are_never_shorter_and_by_no_more_than_their_share_longer() -> None:
    limiter = Jittered(Exponential(1, 8), SeededIds(1), share=0.25)
    waits = [limiter.delay("a") for _ in range(40)]
    for plain, wait in zip((1, 2, 4, *[8] * 37), waits, strict=True):
        assert plain <= wait < plain * 1.25
    assert len(set(waits)) == 40
    assert limiter.retries("a") == 40
    limiter.forget("a")
    assert limiter.delay("a") < 1.25
