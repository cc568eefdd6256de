"""The status of a disruption budget: the numbers of healthy pods, the evictions under way, and the condition."""

from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from setpoint.objects import conditions
from setpoint.objects.clock import Clock
from setpoint.objects.frozen import thaw
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import is_ready

# The time within which an evicted pod must be seen as being deleted.
DELETION_SECONDS = 120
ALLOWED = "DisruptionAllowed"


class Numbers(NamedTuple):
    """The numbers of the pods of a budget."""

    healthy: int
    desired: int
    expected: int

    @property
    def allowed(self) -> int:
        """The number of pods that may be evicted. A budget without pods allows none, because its first pods may not
        be counted yet."""
        return max(self.healthy - self.desired, 0) if self.expected > 0 else 0


def share_of(value: int | str, whole: int) -> int:
    """Returns a number, or a percentage of the whole rounded up."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * whole / 100)


class Tally:
    """The pods of a budget, counted pod by pod: the evictions under way, which the server has recorded in the status,
    and the healthy pods."""

    def __init__(self, budget: Object, now: datetime) -> None:
        self._recorded = (budget.get("status") or {}).get("disruptedPods") or {}
        self._now = now
        # The pods with an eviction under way, those that were not deleted in time, and the next time to look.
        self.disrupted: dict[str, str] = {}
        self.overdue: list[Object] = []
        self.recheck: datetime | None = None
        # The number of ready pods that stay.
        self.healthy = 0

    def add(self, pod: Object) -> None:
        """Counts a pod."""
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        if self._is_leaving(pod, self._recorded.get(metadata["name"])):
            return
        self.healthy += is_ready(pod)

    def _is_leaving(self, pod: Object, evicted: str | None) -> bool:
        """Records the eviction of a pod, if any. Returns True if the deletion is still awaited."""
        if evicted is None:
            return False
        due = parse_time(evicted) + timedelta(seconds=DELETION_SECONDS)
        if due < self._now:
            self.overdue.append(pod)
            return False
        self.disrupted[pod["metadata"]["name"]] = evicted
        self.recheck = due if self.recheck is None else min(self.recheck, due)
        return due > self._now


def new_status(budget: Object, numbers: Numbers, disrupted: dict[str, str], clock: Clock) -> Object | None:
    """Returns the status of a budget; None if the status is unchanged."""
    before, generation = budget.get("status") or {}, budget["metadata"].get("generation", 0)
    status: Object = {"observedGeneration": generation} if generation else {}
    if disrupted:
        status["disruptedPods"] = disrupted
    status |= {
        "disruptionsAllowed": numbers.allowed,
        "currentHealthy": numbers.healthy,
        "desiredHealthy": numbers.desired,
        "expectedPods": numbers.expected,
    }
    found: list[Object] = thaw(before.get("conditions") or [])
    value, reason = ("True", "SufficientPods") if numbers.allowed else ("False", "InsufficientPods")
    current = conditions.find(found, ALLOWED)
    if (
        current is not None
        and (current["status"], current["reason"]) == (value, reason)
        and {**status, "conditions": found} == before
    ):
        return None
    conditions.set_condition(found, clock, type=ALLOWED, status=value, reason=reason, observed_generation=generation)
    return {**status, "conditions": found}


def failed_status(budget: Object, message: str, clock: Clock) -> Object | None:
    """Returns the status of a budget whose numbers are unknown: no eviction is allowed. None if unchanged."""
    before: Object = thaw(budget.get("status") or {})
    zeros = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
    status = {**zeros, **before, "disruptionsAllowed": 0}
    found = list(before.get("conditions") or ())
    conditions.set_condition(
        found,
        clock,
        type=ALLOWED,
        status="False",
        reason="SyncFailed",
        message=message,
        observed_generation=before.get("observedGeneration", 0),
    )
    status["conditions"] = found
    return None if status == (budget.get("status") or {}) else status
