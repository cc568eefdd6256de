"""Runs the probes of workloads on schedule, and reports changes.

Startup probes run first, alone until all of them have succeeded. A probe that has not succeeded yet is retried quickly,
first after some milliseconds, so that a program that has just started is detected within less than an interval;
failures of these additional attempts do not count. If only the time of a result changes, the change is reported after a
minute, then after twice that time, and so on up to ten minutes: clients see that the probe is active, without needless
updates.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from setpoint.objects.clock import Clock, timeout
from setpoint.workload.kinds.health_probes import HealthProbe, HealthProbeResult
from setpoint.workload.kinds.parts import HealthStatus
from setpoint.workload.probes.verdict import Finding, Tally, failing_liveness, health_of

TELL_SECONDS = 60.0
MOST_TELL_SECONDS = 600.0
SHORTEST_SECONDS = 0.1
# The first delay before a retry, and the factor of each further delay, up to the interval: a start is detected with a
# delay of at most a quarter.
FIRST_WAIT_SECONDS = 0.02
GROWTH = 1.25
# Failures before this time do not count: hardly any program responds immediately after its start.
GRACE_SECONDS = 0.5
# Clocks and sleeps are not exact.
_SLACK_SECONDS = 0.01

Run = Callable[[HealthProbe], Awaitable[Finding]]


class Probing:
    """The probes of one running workload. `run` runs a probe once; `changed` is called on changes."""

    def __init__(self, probes: Sequence[HealthProbe], run: Run, changed: Callable[[], None], clock: Clock) -> None:
        self._tallies = {probe.name: Tally(probe) for probe in probes}
        self._run, self._changed, self._clock = run, changed, clock
        self._reported_at, self._tell_seconds = clock.monotonic(), TELL_SECONDS
        startup = [probe for probe in probes if probe.role == "Startup"]
        self._starting = {probe.name for probe in startup}
        self._tasks = [asyncio.ensure_future(self._repeat(probe)) for probe in startup]
        if not startup:
            self._begin_others()

    def _begin_others(self) -> None:
        others = [tally.probe for tally in self._tallies.values() if tally.probe.role != "Startup"]
        self._tasks += [asyncio.ensure_future(self._repeat(probe)) for probe in others]

    @property
    def results(self) -> list[HealthProbeResult]:
        """The results for the status."""
        return [result for tally in self._tallies.values() if (result := tally.result()) is not None]

    @property
    def health(self) -> HealthStatus:
        return health_of(tally.outcome for tally in self._tallies.values())

    @property
    def tallies(self) -> Sequence[Tally]:
        return list(self._tallies.values())

    @property
    def failed_liveness(self) -> Tally | None:
        """The failed liveness probe, or None."""
        return failing_liveness(self.tallies)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _repeat(self, probe: HealthProbe) -> None:
        schedule = probe.schedule
        if schedule.initial_delay is not None:
            await self._clock.sleep(schedule.initial_delay.total_seconds())
        interval = max(schedule.interval.total_seconds(), SHORTEST_SECONDS)
        tally = self._tallies[probe.name]
        wait = FIRST_WAIT_SECONDS
        has_succeeded = False
        first = self._clock.monotonic()
        period = schedule.start_period.total_seconds() if schedule.start_period is not None else 0.0
        longest = schedule.start_interval.total_seconds() if schedule.start_interval is not None else interval
        counted_at = first + min(GRACE_SECONDS, interval) - interval
        while True:
            begun = self._clock.monotonic()
            finding = await self._once(probe, schedule.timeout.total_seconds())
            now = self._clock.monotonic()
            if finding.outcome == "Success":
                has_succeeded, wait = True, interval
            is_starting = not has_succeeded and begun - first < period
            if has_succeeded or (not is_starting and now - counted_at >= interval - _SLACK_SECONDS):
                counted_at = now
                self._count(tally, finding, now)
            is_over = schedule.kind == "UntilSuccess" or probe.role == "Startup"
            if is_over and tally.outcome == "Success":
                return
            took = self._clock.monotonic() - begun
            # Slow probes are not run continuously.
            await self._clock.sleep(max(wait - took, 0.0 if wait == interval else took))
            wait = min(GROWTH * wait, longest if is_starting else interval)

    def _count(self, tally: Tally, finding: Finding, now: float) -> None:
        """Counts a result, and reports a change."""
        is_news = tally.add(finding, self._clock.now())
        if tally.outcome == "Success" and tally.probe.name in self._starting:
            self._starting.discard(tally.probe.name)
            if not self._starting:
                self._begin_others()
        if is_news or now - self._reported_at >= self._tell_seconds:
            self._tell_seconds = TELL_SECONDS if is_news else min(2 * self._tell_seconds, MOST_TELL_SECONDS)
            self._reported_at = now
            self._changed()

    async def _once(self, probe: HealthProbe, seconds: float) -> Finding:
        try:
            async with timeout(self._clock, seconds):
                return await self._run(probe)
        except TimeoutError:
            return Finding("Failure", f"no response within {seconds:g} s")
        except Exception as error:  # an error in a probe must not end the others
            return Finding("Unknown", f"{type(error).__name__}: {error}")
