"""The conditions of a job. SuccessCriteriaMet and FailureTarget precede Complete and Failed."""

from datetime import datetime

from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

SUCCESS_CRITERIA_MET, FAILURE_TARGET, COMPLETE, FAILED = "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"
SUSPENDED = "Suspended"


def condition(kind: str, value: str, reason: str, message: str, now: datetime) -> Object:
    """Returns a condition that begins now."""
    moment = format_time(now)
    return {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def true_condition(job: Object, kind: str) -> Object | None:
    """Returns a condition of a job that is True, or None."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] == kind and each["status"] == "True":
            found: Object = each
            return found
    return None


def end_of(job: Object) -> str:
    """Returns the condition that ended a job, Complete or Failed; empty for a job that has not ended."""
    return next((kind for kind in (COMPLETE, FAILED) if true_condition(job, kind) is not None), "")


def set_condition(status: Object, new: Object) -> bool:
    """Sets a condition of a status; a new one must be True. Returns True if the status changed."""
    found = list(status.get("conditions") or ())
    for number, each in enumerate(found):
        if each["type"] == new["type"]:
            if all(each.get(name) == new[name] for name in ("status", "reason", "message")):
                return False
            found[number] = new
            status["conditions"] = found
            return True
    if new["status"] == "False":
        return False
    status["conditions"] = [*found, new]
    return True
