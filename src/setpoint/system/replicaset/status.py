"""The status of a replica set: the numbers of its pods, and the condition ReplicaFailure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.objects.labels import from_labels
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.pods.facts import facts_of

FAILURE = "ReplicaFailure"
_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


class Tally:
    """The numbers of the active pods of a replica set, counted pod by pod."""

    def __init__(self, found: Object, now: datetime) -> None:
        spec = found["spec"]
        self._template = from_labels((spec["template"].get("metadata") or {}).get("labels") or {})
        self._min_ready = spec.get("minReadySeconds") or 0
        self._now = now
        self.counts = dict.fromkeys(_COUNTS, 0)
        # The seconds until the next ready pod is available; None if there is no such pod.
        self.next_available: float | None = None

    def add(self, pod: CachedObject[Any]) -> None:
        """Counts a pod."""
        counts, facts = self.counts, facts_of(pod)
        counts["replicas"] += 1
        counts["fullyLabeledReplicas"] += self._template.matches(pod.meta.labels)
        wait = facts.seconds_to_available(self._min_ready, self._now)
        if wait is None:
            counts["readyReplicas"] += facts.is_ready
            return
        counts["readyReplicas"] += 1
        if wait == 0:
            counts["availableReplicas"] += 1
        elif self.next_available is None or wait < self.next_available:
            self.next_available = wait


def new_status(
    found: Object, tally: Tally, terminating: int | None, failure: str | None, now: datetime
) -> Object | None:
    """Returns the status after a reconcile; None if the status is unchanged. The tally has the pods before the
    reconcile, and `failure` is the error of their creation or deletion."""
    spec, metadata, before, counts = found["spec"], found["metadata"], found.get("status") or {}, tally.counts
    replicas = spec.get("replicas")
    difference = counts["replicas"] - (1 if replicas is None else replicas)
    conditions = _conditions(before.get("conditions") or (), failure, difference, now)
    is_same = (
        all(before.get(name, 0) == counts[name] for name in _COUNTS)
        and before.get("terminatingReplicas") == terminating
        and before.get("observedGeneration", 0) == metadata.get("generation", 0)
        and list(before.get("conditions") or ()) == conditions
    )
    if is_same:
        return None
    status: Object = {name: count for name, count in counts.items() if count or name == "replicas"}
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    status["observedGeneration"] = metadata.get("generation", 0)
    if conditions:
        status["conditions"] = conditions
    return status


def _conditions(before: Sequence[Object], failure: str | None, difference: int, now: datetime) -> list[Object]:
    """Returns the conditions with ReplicaFailure added or removed. An existing one stays as first reported."""
    has_failure = any(each["type"] == FAILURE for each in before)
    if failure is None:
        return [each for each in before if each["type"] != FAILURE]
    if has_failure:
        return list(before)
    condition = {"type": FAILURE, "status": "True", "lastTransitionTime": format_time(now), "message": failure}
    if difference:
        condition["reason"] = "FailedCreate" if difference < 0 else "FailedDelete"
    return [*before, condition]
