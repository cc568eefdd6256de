"""The status of a deployment: the numbers of its replicas, and the conditions Available, Progressing and
ReplicaFailure with the reasons and messages of kube-controller-manager."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.deployment.numbers import max_unavailable, replicas_of, reported, total
from setpoint.system.replicaset.status import FAILURE

AVAILABLE, PROGRESSING = "Available", "Progressing"
PAUSED, RESUMED, TIMED_OUT = "DeploymentPaused", "DeploymentResumed", "ProgressDeadlineExceeded"
CREATED, CREATE_FAILED, FOUND = "NewReplicaSetCreated", "ReplicaSetCreateError", "FoundNewReplicaSet"
COMPLETE, UPDATED = "NewReplicaSetAvailable", "ReplicaSetUpdated"
_NO_DEADLINE = 2**31 - 1


def deadline_of(deployment: Object) -> int | None:
    """Returns the seconds without progress after which a rollout counts as failed; None without such a limit."""
    found: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if found == _NO_DEADLINE else found


def condition_of(status: Object, kind: str) -> Object | None:
    """Returns a condition of a status, or None."""
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def condition(kind: str, value: str, reason: str, message: str, now: datetime) -> Object:
    """Returns a condition that begins now."""
    moment = format_time(now)
    return {
        "type": kind,
        "status": value,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def set_condition(status: Object, new: Object) -> None:
    """Sets a condition at the end of the list, unless its status and reason are set already."""
    known = condition_of(status, new["type"])
    if known is not None and known["status"] == new["status"]:
        if known.get("reason") == new.get("reason"):
            return
        new = {**new, "lastTransitionTime": known["lastTransitionTime"]}
    remove_condition(status, new["type"])
    status["conditions"] = [*(status.get("conditions") or ()), new]


def remove_condition(status: Object, kind: str) -> None:
    """Removes a condition."""
    kept = [each for each in status.get("conditions") or () if each["type"] != kind]
    if kept:
        status["conditions"] = kept
    else:
        status.pop("conditions", None)


def counted(deployment: Object, replica_sets: Sequence[Object], new: Object | None, now: datetime) -> Object:
    """Returns the status with its numbers, and the condition Available."""
    before = deployment.get("status") or {}
    available = sum(reported(each, "availableReplicas") for each in replica_sets)
    numbers = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sum(reported(each, "replicas") for each in replica_sets),
        "updatedReplicas": reported(new, "replicas") if new is not None else 0,
        "readyReplicas": sum(reported(each, "readyReplicas") for each in replica_sets),
        "availableReplicas": available,
        "unavailableReplicas": max(total(replica_sets) - available, 0),
    }
    status: Object = {name: number for name, number in numbers.items() if number}
    terminating = _terminating(replica_sets)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    if before.get("collisionCount") is not None:
        status["collisionCount"] = before["collisionCount"]
    if before.get("conditions"):
        status["conditions"] = list(before["conditions"])
    if available >= replicas_of(deployment) - max_unavailable(deployment):
        value, reason, verb = "True", "MinimumReplicasAvailable", "has"
    else:
        value, reason, verb = "False", "MinimumReplicasUnavailable", "does not have"
    set_condition(status, condition(AVAILABLE, value, reason, f"Deployment {verb} minimum availability.", now))
    return status


def _terminating(replica_sets: Sequence[Object]) -> int | None:
    """Returns the number of terminating pods; None if a replica set that was reconciled does not report them."""
    found = 0
    for each in replica_sets:
        status = each.get("status") or {}
        number = status.get("terminatingReplicas")
        if number is None and status.get("observedGeneration"):
            return None
        found += number or 0
    return found


def is_complete(deployment: Object, status: Object) -> bool:
    """Returns True if all desired replicas are updated and available, and no old ones exist."""
    wanted, observed = replicas_of(deployment), status.get("observedGeneration", 0)
    if observed < deployment["metadata"].get("generation", 0):
        return False
    return all(status.get(name, 0) == wanted for name in ("updatedReplicas", "replicas", "availableReplicas"))


def _has_progressed(before: Object, after: Object) -> bool:
    def number(status: Object, name: str) -> int:
        found: int = status.get(name, 0)
        return found

    def old(status: Object) -> int:
        return number(status, "replicas") - number(status, "updatedReplicas")

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old(after) < old(before) or any(number(after, name) > number(before, name) for name in grown)


def _has_timed_out(deployment: Object, status: Object, now: datetime) -> bool:
    found, deadline = condition_of(status, PROGRESSING), deadline_of(deployment)
    if found is None or deadline is None or found.get("reason") == COMPLETE:
        return False
    if found.get("reason") == TIMED_OUT:
        return True
    return parse_time(found["lastUpdateTime"]) + timedelta(seconds=deadline) < now


def report_progress(deployment: Object, status: Object, new: Object | None, now: datetime) -> None:
    """Sets or removes the condition Progressing in a new status."""
    before = deployment.get("status") or {}
    if deadline_of(deployment) is None:
        remove_condition(status, PROGRESSING)
        return
    current = condition_of(before, PROGRESSING)
    is_over = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if is_over and current is not None and current.get("reason") == COMPLETE:
        return
    name = deployment["metadata"]["name"]
    subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new is not None else f'Deployment "{name}"'
    if is_complete(deployment, status):
        text = f"{subject} has successfully progressed."
        set_condition(status, condition(PROGRESSING, "True", COMPLETE, text, now))
    elif _has_progressed(before, status):
        found = condition(PROGRESSING, "True", UPDATED, f"{subject} is progressing.", now)
        if current is not None:
            if current["status"] == "True":
                found["lastTransitionTime"] = current["lastTransitionTime"]
            remove_condition(status, PROGRESSING)
        set_condition(status, found)
    elif _has_timed_out(deployment, status, now):
        text = f"{subject} has timed out progressing."
        set_condition(status, condition(PROGRESSING, "False", TIMED_OUT, text, now))


def report_failure(status: Object, replica_sets: Sequence[Object], new: Object | None) -> None:
    """Copies the failure of a replica set, preferably of the new one, or removes the condition."""
    ordered = [*([new] if new is not None else ()), *replica_sets]
    for each in ordered:
        found = condition_of(each.get("status") or {}, FAILURE)
        if found is not None:
            set_condition(status, {**found, "lastUpdateTime": found["lastTransitionTime"]})
            return
    remove_condition(status, FAILURE)


def seconds_to_deadline(deployment: Object, status: Object, now: datetime) -> float | None:
    """Returns the seconds until a rollout without progress must be checked; None if there is no need."""
    found, deadline = condition_of(status, PROGRESSING), deadline_of(deployment)
    if found is None or deadline is None or found.get("reason") == TIMED_OUT or is_complete(deployment, status):
        return None
    due = parse_time(found["lastUpdateTime"]) + timedelta(seconds=deadline)
    # One more second, because the times of conditions have no fractions.
    return max((due - now).total_seconds(), 0.0) + 1.0
