"""Evaluates the results of probes: their thresholds, and the health of a workload. No I/O.

A probe fails after the configured number of consecutive failures, and succeeds after the configured number of
consecutive successes; until then its outcome is unchanged. The outcome is unknown before the first decision, and a run
without a result does not change the outcome.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from setpoint.schema.types import MicroTime
from setpoint.workload.kinds.health_probes import HealthProbe, HealthProbeResult, Outcome
from setpoint.workload.kinds.parts import HealthStatus

# The maximum size of a stored reason.
REASON_BYTES = 10 << 10


class Finding(NamedTuple):
    """The result of one run of a probe."""

    outcome: Outcome
    reason: str = ""
    # True if a process has answered, though not with a success.
    answered: bool = False


@dataclass
class Tally:
    """The accumulated results of one probe."""

    probe: HealthProbe
    outcome: Outcome = "Unknown"
    reason: str = ""
    successes: int = 0
    failures: int = 0
    at: datetime | None = None

    def add(self, finding: Finding, at: datetime) -> bool:
        """Counts a run. Returns True if the outcome or the reason has changed."""
        before = (self.outcome, self.reason)
        self.at = at
        if finding.outcome == "Success":
            self.successes, self.failures = self.successes + 1, 0
            if self.successes >= self.probe.success_threshold:
                self.outcome, self.reason = "Success", ""
        elif finding.outcome == "Failure":
            self.successes, self.failures = 0, self.failures + 1
            self.reason = finding.reason[:REASON_BYTES]
            if self.failures >= self.probe.failure_threshold:
                self.outcome = "Failure"
        else:
            self.reason = finding.reason[:REASON_BYTES]
        return (self.outcome, self.reason) != before

    def result(self) -> HealthProbeResult | None:
        """Returns the entry for the status of the workload; None before the first run."""
        if self.at is None:
            return None
        return HealthProbeResult(
            outcome=self.outcome,
            timestamp=MicroTime.of(self.at),
            probe_name=self.probe.name,
            reason=self.reason,
            successes=self.successes,
            failures=self.failures,
        )


def health_of(outcomes: Iterable[Outcome]) -> HealthStatus:
    """Returns the health of a running workload: unhealthy with any failure, healthy if all probes have succeeded."""
    found = list(outcomes)
    if "Failure" in found:
        return "Unhealthy"
    return "Healthy" if all(outcome == "Success" for outcome in found) else "Caution"


def failing_liveness(tallies: Sequence[Tally]) -> Tally | None:
    """Returns the failed liveness probe that requires a restart, or None."""
    return next((each for each in tallies if each.probe.role == "Liveness" and each.outcome == "Failure"), None)
