"""What follows from the outcomes of probes: which count, and how well a workload is. Pure.

A probe counts as failed after as many failures in a row as it says, and as well again after as many successes; until
either it is as it was. Before its first decision it is unknown, and a run that could not tell changes
nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from setpoint.schema.types import MicroTime
from setpoint.workload.kinds.health import HealthProbe, HealthProbeResult, Outcome
from setpoint.workload.kinds.parts import HealthStatus

# As much of what a probe was told as is kept.
REASON_BYTES = 10 << 10


class Finding(NamedTuple):
    """What one run of a probe found."""

    outcome: Outcome
    reason: str = ""


@dataclass
class Tally:
    """What the runs of one probe amount to."""

    probe: HealthProbe
    outcome: Outcome = "Unknown"
    reason: str = ""
    successes: int = 0
    failures: int = 0
    at: datetime | None = None

    def add(self, finding: Finding, at: datetime) -> bool:
        """Counts a run; whether what clients should know has changed."""
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
        """How the status of the workload tells it; None before the first run."""
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
    """How well a workload that runs is: unwell with any failure, well with nothing but successes."""
    found = list(outcomes)
    if "Failure" in found:
        return "Unhealthy"
    return "Healthy" if all(outcome == "Success" for outcome in found) else "Caution"


def failing_liveness(tallies: Sequence[Tally]) -> Tally | None:
    """The probe for which a workload has to be started again."""
    return next((each for each in tallies if each.probe.role == "Liveness" and each.outcome == "Failure"), None)
