"""Runs the probes of workloads, each at its time, and tells when something has changed.

A workload's startup probes run first, and alone until all of them have succeeded. A probe that has not succeeded yet is
tried soon again, at first after some milliseconds, so that nobody waits a whole interval for what started just after it
was asked; what such tries between the intervals miss counts as no failure. Where only the time of a result is new it is
told at most every quarter of a minute: clients see that the probe is alive, and nobody is woken for nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from setpoint.objects.clock import Clock, timeout
from setpoint.workload.kinds.health import HealthProbe, HealthProbeResult
from setpoint.workload.kinds.parts import HealthStatus
from setpoint.workload.probes.verdict import Finding, Tally, failing_liveness, health_of

TELL_SECONDS = 15.0
SHORTEST_SECONDS = 0.1
# How soon one that has not succeeded yet is tried again, and how much longer each wait is than the one before, up to
# its interval: that a program has started is found out a quarter later at the most.
FIRST_WAIT_SECONDS = 0.02
GROWTH = 1.25
# Nothing counts as failed before: hardly a program answers as soon as it is started.
GRACE_SECONDS = 0.5
# Clocks and sleeps are not exact.
_SLACK_SECONDS = 0.01

Run = Callable[[HealthProbe], Awaitable[Finding]]


class Probing:
    """The probes of one workload while it runs. `run` tries one; `changed` is called when there is news."""

    def __init__(self, probes: Sequence[HealthProbe], run: Run, changed: Callable[[], None], clock: Clock) -> None:
        self._tallies = {probe.name: Tally(probe) for probe in probes}
        self._run, self._changed, self._clock = run, changed, clock
        self._told_at = clock.monotonic()
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
        """What the status tells of them."""
        return [result for tally in self._tallies.values() if (result := tally.result()) is not None]

    @property
    def health(self) -> HealthStatus:
        return health_of(tally.outcome for tally in self._tallies.values())

    @property
    def tallies(self) -> Sequence[Tally]:
        return list(self._tallies.values())

    @property
    def dead(self) -> Tally | None:
        """The liveness probe that has failed, if one has."""
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
        counted_at = self._clock.monotonic() + min(GRACE_SECONDS, interval) - interval
        while True:
            begun = self._clock.monotonic()
            finding = await self._once(probe, schedule.timeout.total_seconds())
            now = self._clock.monotonic()
            if finding.outcome == "Success":
                has_succeeded, wait = True, interval
            if has_succeeded or now - counted_at >= interval - _SLACK_SECONDS:
                counted_at = now
                self._count(tally, finding, now)
            is_over = schedule.kind == "UntilSuccess" or probe.role == "Startup"
            if is_over and tally.outcome == "Success":
                return
            took = self._clock.monotonic() - begun
            # What takes long to ask is not asked all the time.
            await self._clock.sleep(max(wait - took, 0.0 if wait == interval else took))
            wait = min(GROWTH * wait, interval)

    def _count(self, tally: Tally, finding: Finding, now: float) -> None:
        """Takes a finding into account, and tells who has to know."""
        is_news = tally.add(finding, self._clock.now())
        if tally.outcome == "Success" and tally.probe.name in self._starting:
            self._starting.discard(tally.probe.name)
            if not self._starting:
                self._begin_others()
        if is_news or now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self._changed()

    async def _once(self, probe: HealthProbe, seconds: float) -> Finding:
        try:
            async with timeout(self._clock, seconds):
                return await self._run(probe)
        except TimeoutError:
            return Finding("Failure", f"no answer within {seconds:g} s")
        except Exception as error:  # a probe of our own that fails must not end all the others
            return Finding("Unknown", f"{type(error).__name__}: {error}")
