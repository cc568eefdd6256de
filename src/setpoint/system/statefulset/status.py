"""The status of a stateful set: the numbers of its pods and its revisions."""

from collections.abc import Iterable
from datetime import datetime

from setpoint.objects.tree import Object
from setpoint.system.pods.state import RUNNING, is_available, is_ready, phase_of
from setpoint.system.statefulset.identity import replicas_of, revision_label

_COUNTS = ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")


def is_created(pod: Object) -> bool:
    """Returns True for a pod that the server has stored."""
    return phase_of(pod) != ""


def is_running_and_ready(pod: Object) -> bool:
    return phase_of(pod) == RUNNING and is_ready(pod)


def is_deleted(pod: Object) -> bool:
    """Returns True for a pod that is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_unavailable(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Returns True for a pod that is not available, or is being deleted."""
    return not is_available(pod, min_ready_seconds, now) or is_deleted(pod)


def min_ready_seconds(stateful_set: Object) -> int:
    """Returns the seconds for which a pod must be ready before its availability."""
    found: int = stateful_set["spec"].get("minReadySeconds") or 0
    return found


def counts(stateful_set: Object, pods: Iterable[Object], current: str, update: str, now: datetime) -> dict[str, int]:
    """Returns the numbers of pods."""
    found = dict.fromkeys(_COUNTS, 0)
    for pod in pods:
        if is_running_and_ready(pod):
            found["readyReplicas"] += 1
            found["availableReplicas"] += is_available(pod, min_ready_seconds(stateful_set), now)
        if is_created(pod):
            found["replicas"] += 1
            if not is_deleted(pod):
                found["currentReplicas"] += revision_label(pod) == current
                found["updatedReplicas"] += revision_label(pod) == update
    return found


def new_status(
    stateful_set: Object, numbers: dict[str, int], current: str, update: str, collisions: int
) -> Object | None:
    """Returns the status after a reconcile; None if the status is unchanged. A complete update makes the new revision
    the current one."""
    wanted, before = replicas_of(stateful_set), stateful_set.get("status") or {}
    numbers = dict(numbers)
    if all(numbers[name] == wanted for name in ("updatedReplicas", "readyReplicas", "replicas")):
        numbers["currentReplicas"], current = numbers["updatedReplicas"], update
    generation = stateful_set["metadata"].get("generation", 0)
    is_same = (
        before.get("observedGeneration", 0) >= generation
        and all(before.get(name, 0) == numbers[name] for name in _COUNTS)
        and (before.get("currentRevision"), before.get("updateRevision")) == (current, update)
    )
    if is_same:
        return None
    always = ("replicas", "availableReplicas")
    status: Object = {name: number for name, number in numbers.items() if number or name in always}
    status |= {"observedGeneration": generation, "currentRevision": current, "updateRevision": update}
    status["collisionCount"] = collisions
    if before.get("conditions"):
        status["conditions"] = list(before["conditions"])
    return status
