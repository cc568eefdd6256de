"""When probes run, and what follows from what they find."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.clock import ManualClock
from setpoint.workload.kinds.health_probes import HealthProbe, Outcome
from setpoint.workload.probes.prober import TELL_SECONDS, Probing
from setpoint.workload.probes.verdict import Finding, Tally, health_of

OUTCOMES: list[Outcome] = ["Success", "Failure", "Unknown"]


def probe(name: str = "web", *, kind: str = "Continuous", every: str = "5s", **more: Any) -> HealthProbe:
    schedule = {"interval": every, "kind": kind, **more.pop("schedule", {})}
    tree = {"name": name, "type": "TCP", "tcpProbe": {"port": "1"}, "schedule": schedule, **more}
    return HealthProbe.from_json(tree)


class World:
    """Probes whose answers a test decides, and time that it moves."""

    def __init__(self, *probes: HealthProbe) -> None:
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.answers: dict[str, Finding] = {}
        self.ran: list[tuple[float, str]] = []
        self.news = 0
        self.probing = Probing(probes, self.run, self.tell, self.clock)

    async def run(self, probe: HealthProbe) -> Finding:
        self.ran.append((self.clock.monotonic(), probe.name))
        answer = self.answers.get(probe.name, Finding("Success"))
        if answer.reason == "never":
            await asyncio.Event().wait()
        if answer.reason == "breaks":
            raise RuntimeError("broken")
        return answer

    def tell(self) -> None:
        self.news += 1

    def outcome(self) -> Outcome:
        return self.probing.tallies[0].outcome

    async def wait(self, seconds: float, step: float = 1) -> None:
        """Lets time pass, step by step."""
        for _ in range(round(seconds / step)):
            await self.turn()
            self.clock.advance(step)
        await self.turn()

    async def turn(self) -> None:
        for _ in range(8):
            await asyncio.sleep(0)


async def test_a_probe_runs_at_its_interval_after_its_delay() -> None:
    world = World(probe(schedule={"initialDelay": "3s"}))
    await world.wait(14)
    assert [at for at, _ in world.ran] == [3, 8, 13]
    world.probing.close()
    await world.wait(10)
    assert len(world.ran) == 3


async def test_one_that_is_only_wanted_once_ends_with_its_first_success() -> None:
    world = World(probe(kind="UntilSuccess"))
    world.answers["web"] = Finding("Failure", "not yet")
    await world.wait(6)
    world.answers["web"] = Finding("Success")
    await world.wait(10)
    count = len(world.ran)
    assert world.probing.health == "Healthy"
    await world.wait(30)
    assert len(world.ran) == count
    world.probing.close()


@pytest.mark.parametrize("role", ["Startup", "Readiness", "Liveness"])
async def test_what_answers_a_moment_after_its_start_is_well_a_moment_later(role: str) -> None:
    world = World(probe(every="10s", role=role))
    world.answers["web"] = Finding("Failure", "connection refused")
    await world.wait(0.1, 0.01)
    assert (world.probing.health, world.news) == ("Caution", 0)
    world.answers["web"] = Finding("Success")
    await world.wait(0.1, 0.01)
    assert world.probing.health == "Healthy"
    world.probing.close()


async def test_one_that_has_not_succeeded_yet_is_tried_ever_less_often_until_its_interval() -> None:
    world = World(probe(every="5s"))
    world.answers["web"] = Finding("Failure", "connection refused")
    await world.wait(30, 0.01)
    times = [at for at, _ in world.ran]
    waits = [round(later - earlier, 6) for earlier, later in itertools.pairwise(times)]
    assert waits[0] < 0.05
    assert waits == sorted(waits)
    assert waits[-1] == 5
    world.probing.close()


async def test_failures_in_the_start_period_do_not_count_and_a_success_is_seen_at_once() -> None:
    world = World(probe(every="5s", schedule={"startPeriod": "60s", "startInterval": "1s"}))
    world.answers["web"] = Finding("Failure", "still loading")
    await world.wait(40, 0.5)
    assert (world.probing.health, world.news) == ("Caution", 0)
    world.answers["web"] = Finding("Success")
    await world.wait(1.5, 0.5)
    assert world.outcome() == "Success"
    world.answers["web"] = Finding("Failure", "ended")
    await world.wait(6, 0.5)
    assert world.outcome() == "Failure"
    world.probing.close()


async def test_failures_after_the_start_period_count() -> None:
    world = World(probe(every="5s", schedule={"startPeriod": "20s"}))
    world.answers["web"] = Finding("Failure", "still loading")
    await world.wait(19, 0.5)
    assert world.outcome() == "Unknown"
    await world.wait(11, 0.5)
    assert world.outcome() == "Failure"
    world.probing.close()


async def test_only_a_failure_in_each_interval_counts() -> None:
    world = World(probe("alive", role="Liveness", failureThreshold=3, every="10s"))
    world.answers["alive"] = Finding("Failure", "still loading")
    await world.wait(18, 0.1)
    assert len(world.ran) > 6
    assert world.probing.failed_liveness is None
    await world.wait(14, 0.1)
    assert world.probing.failed_liveness is not None
    world.probing.close()


async def test_the_others_wait_for_the_startup_probes() -> None:
    world = World(probe("web"), probe("start", role="Startup", every="1s"))
    world.answers["start"] = Finding("Failure", "warming up")
    await world.wait(3)
    assert {name for _, name in world.ran} == {"start"}
    assert world.probing.health == "Unhealthy"
    world.answers["start"] = Finding("Success")
    await world.wait(2)
    assert {name for _, name in world.ran[4:]} == {"start", "web"}
    count = sum(name == "start" for _, name in world.ran)
    await world.wait(10)
    assert sum(name == "start" for _, name in world.ran) == count
    world.probing.close()


async def test_what_takes_too_long_has_failed_and_what_breaks_is_unknown() -> None:
    world = World(probe("slow", schedule={"timeout": "2s"}), probe("odd"))
    world.answers |= {"slow": Finding("Success", "never"), "odd": Finding("Success", "breaks")}
    await world.wait(3)
    found = {result.probe_name: (result.outcome, result.reason) for result in world.probing.results}
    assert found == {"slow": ("Failure", "no response within 2 s"), "odd": ("Unknown", "RuntimeError: broken")}
    world.probing.close()


async def test_a_result_with_only_a_new_time_is_reported_less_and_less_often() -> None:
    world = World(probe(every="1s"))
    await world.wait(1)
    assert world.news == 1
    await world.wait(TELL_SECONDS)
    assert world.news == 2
    await world.wait(TELL_SECONDS)
    assert world.news == 2
    await world.wait(TELL_SECONDS)
    assert world.news == 3
    await world.wait(TELL_SECONDS * 4)
    assert world.news == 4
    world.answers["web"] = Finding("Failure", "down")
    await world.wait(1)
    assert world.news == 5
    await world.wait(TELL_SECONDS)
    assert world.news == 6
    world.probing.close()


async def test_a_liveness_probe_that_fails_often_enough_is_named() -> None:
    world = World(probe("alive", role="Liveness", failureThreshold=3, every="1s"))
    world.answers["alive"] = Finding("Failure", "hangs")
    await world.wait(1)
    assert world.probing.failed_liveness is None
    await world.wait(2)
    dead = world.probing.failed_liveness
    assert dead is not None
    assert (dead.probe.name, dead.reason) == ("alive", "hangs")
    world.probing.close()


@given(st.lists(st.sampled_from(OUTCOMES)), st.integers(1, 4), st.integers(1, 4))
def test_it_takes_as_many_in_a_row_as_the_probe_says(outcomes: list[Outcome], good: int, bad: int) -> None:
    tally = Tally(probe(successThreshold=good, failureThreshold=bad))
    state: Outcome = "Unknown"
    for number, outcome in enumerate(outcomes):
        tally.add(Finding(outcome), datetime(2026, 1, 1, tzinfo=UTC))
        known = [each for each in outcomes[: number + 1] if each != "Unknown"]
        if known[-good:] == ["Success"] * good:
            state = "Success"
        elif known[-bad:] == ["Failure"] * bad:
            state = "Failure"
        assert tally.outcome == state


def _mixtures() -> Iterator[tuple[list[Outcome], str]]:
    yield [], "Healthy"
    yield ["Success", "Success"], "Healthy"
    yield ["Success", "Unknown"], "Caution"
    yield ["Success", "Unknown", "Failure"], "Unhealthy"


@pytest.mark.parametrize(("outcomes", "health"), list(_mixtures()))
def test_one_failure_is_enough_and_all_must_succeed(outcomes: list[Outcome], health: str) -> None:
    assert health_of(outcomes) == health
