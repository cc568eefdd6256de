"""The state of a pod: active, terminating, ready and available. Pure functions of the pod and the time."""

from datetime import datetime, timedelta

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object

POD = "v1/Pod"
PENDING, RUNNING, SUCCEEDED, FAILED, UNKNOWN = "Pending", "Running", "Succeeded", "Failed", "Unknown"
ENDED = frozenset((SUCCEEDED, FAILED))


def phase_of(pod: Object) -> str:
    """Returns the phase of a pod; empty if there is none yet."""
    found: str = (pod.get("status") or {}).get("phase") or ""
    return found


def is_active(pod: Object) -> bool:
    """Returns True for a pod that has not ended and is not being deleted."""
    return phase_of(pod) not in ENDED and not pod["metadata"].get("deletionTimestamp")


def is_terminating(pod: Object) -> bool:
    """Returns True for a pod that is being deleted and has not ended."""
    return phase_of(pod) not in ENDED and bool(pod["metadata"].get("deletionTimestamp"))


def condition_of(pod: Object, kind: str) -> Object | None:
    """Returns a condition of a pod, or None."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            found: Object = condition
            return found
    return None


def is_ready(pod: Object) -> bool:
    """Returns True if the condition Ready of a pod is True."""
    found = condition_of(pod, "Ready")
    return found is not None and found["status"] == "True"


def ready_since(pod: Object) -> datetime | None:
    """Returns the time since which a pod is ready; None for a pod that is not ready, or without a time."""
    found = condition_of(pod, "Ready")
    if found is None or found["status"] != "True" or not found.get("lastTransitionTime"):
        return None
    return parse_time(found["lastTransitionTime"])


def seconds_to_available(pod: Object, min_ready_seconds: int, now: datetime) -> float | None:
    """Returns the seconds until a ready pod is available, 0 for an available pod, and None for one that is not
    ready."""
    if not is_ready(pod):
        return None
    if not min_ready_seconds:
        return 0.0
    since = ready_since(pod)
    if since is None:
        return None
    return max((since + timedelta(seconds=min_ready_seconds) - now).total_seconds(), 0.0)


def is_available(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Returns True for a pod that has been ready for some seconds."""
    return seconds_to_available(pod, min_ready_seconds, now) == 0.0
