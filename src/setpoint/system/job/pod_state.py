"""The state of a pod for its job: tracked by a finalizer until counted, failed, or to be removed first."""

from math import inf

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import FAILED, PENDING, SUCCEEDED, UNKNOWN, is_ready, phase_of, ready_since

FINALIZER = "batch.kubernetes.io/job-tracking"


def has_finalizer(pod: Object) -> bool:
    """Returns True for a pod that is not counted yet."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def replaces_failed_only(job: Object) -> bool:
    """Returns True if a terminating pod is replaced after its end, and not before."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def is_failed(pod: Object, job: Object) -> bool:
    """Returns True for a failed pod. A terminating one counts as failed, because such a pod may end without a
    phase, unless the job replaces only failed pods."""
    if phase_of(pod) == FAILED:
        return True
    if replaces_failed_only(job):
        return False
    return bool(pod["metadata"].get("deletionTimestamp")) and phase_of(pod) != SUCCEEDED


def removal_key(pod: Object) -> tuple[float, ...]:
    """Returns a key by which superfluous pods are sorted: the least useful ones first."""
    phase, since, metadata = phase_of(pod), ready_since(pod), pod["metadata"]
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return (
        bool(pod["spec"].get("nodeName")),
        (PENDING, UNKNOWN).index(phase) if phase in (PENDING, UNKNOWN) else 2,
        is_ready(pod),
        -since.timestamp() if since is not None else -inf,
        -max((each.get("restartCount", 0) for each in containers), default=0),
        -parse_time(metadata["creationTimestamp"]).timestamp(),
    )
