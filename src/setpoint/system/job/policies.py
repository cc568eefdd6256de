"""The policies of a job: which failures of pods count, and which successes are enough."""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.objects.tree import Object
from setpoint.system.job.indexes import Indexes

_IGNORE, _FAIL_INDEX, _FAIL_JOB = "Ignore", "FailIndex", "FailJob"


class FailureVerdict(NamedTuple):
    """The effect of a failed pod on its job."""

    counts: bool = True
    fails_index: bool = False
    # The message of the failure of the whole job; None if the job goes on.
    job_failure: str | None = None


def judge_failure(job: Object, pod: Object) -> FailureVerdict:
    """Returns the verdict of the first matching rule of `podFailurePolicy`; without one, the failure counts."""
    policy = job["spec"].get("podFailurePolicy")
    for number, rule in enumerate(policy["rules"] if policy else ()):
        found = _match(rule, pod)
        if found is not None:
            return _verdict(rule["action"], f"{found} matching {rule['action']} rule at index {number}")
    return FailureVerdict()


def _verdict(action: str, text: str) -> FailureVerdict:
    if action == _IGNORE:
        return FailureVerdict(counts=False)
    return FailureVerdict(fails_index=action == _FAIL_INDEX, job_failure=text if action == _FAIL_JOB else None)


def _match(rule: Object, pod: Object) -> str | None:
    """Returns the matched fact as the beginning of a message; None if the rule does not match."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    name = f"{metadata['namespace']}/{metadata['name']}"
    codes = rule.get("onExitCodes")
    if codes:
        ended = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
        for container in ended:
            code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode", 0)
            if code and _has_code(codes, container["name"], code):
                return f"Container {container['name']} for pod {name} failed with exit code {code}"
        return None
    patterns = {(each["type"], each["status"]) for each in rule.get("onPodConditions") or ()}
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in patterns:
            return f"Pod {name} has condition {condition['type']}"
    return None


def _has_code(codes: Object, container: str, code: int) -> bool:
    if codes.get("containerName") not in (None, container):
        return False
    is_listed: bool = code in codes["values"]
    return is_listed is bool(codes["operator"] == "In")


def job_failure(job: Object, failed: Iterable[Object]) -> str | None:
    """Returns the message of the first failed pod that makes the whole job fail; None if there is none."""
    if not job["spec"].get("podFailurePolicy"):
        return None
    return next((text for pod in failed if (text := judge_failure(job, pod).job_failure) is not None), None)


def success(job: Object, succeeded: Indexes) -> str | None:
    """Returns the message of the first rule of `successPolicy` that is met; None if there is none."""
    policy = job["spec"].get("successPolicy")
    for number, rule in enumerate(policy["rules"] if policy and len(succeeded) else ()):
        if _is_met(rule, job["spec"]["completions"], succeeded):
            return f"Matched rules at index {number}"
    return None


def _is_met(rule: Object, completions: int, succeeded: Indexes) -> bool:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if text is None:
        return count is not None and len(succeeded) >= count
    required = Indexes.parse(text, completions)
    if not len(required):
        return False
    found = required.overlap(succeeded)
    return found == len(required) or (count is not None and found >= count)
