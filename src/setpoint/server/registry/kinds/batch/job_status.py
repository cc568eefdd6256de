"""Validation of the status of a Job and of its transitions: a finished job stays finished, and each pod is counted
once.

A rule about fields that an update did not change is skipped, so that existing objects remain valid.
"""

from setpoint.objects import conditions
from setpoint.objects.field import OMITTED, FieldError, duplicate, index, invalid, required
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.batch.job_policies import read_indexes
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.validation.values import IMMUTABLE, non_negative_fields

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget")
_PATH = "status.conditions"


class _View:
    """The status of a Job, with its evaluated conditions."""

    def __init__(self, tree: Object) -> None:
        self.status: Object = tree.get("status") or {}
        found = self.status.get("conditions") or []
        self.complete = conditions.is_true(found, "Complete")
        self.failed = conditions.is_true(found, "Failed")
        self.target = conditions.is_true(found, "FailureTarget")
        self.criteria = conditions.is_true(found, "SuccessCriteriaMet")
        self.suspended = conditions.is_true(found, "Suspended")
        self.resumed = conditions.is_false(found, "Suspended")
        self.finished = self.complete or self.failed


def validate_status(tree: Object, old: Object) -> list[FieldError]:
    new, before, spec = _View(tree), _View(old), tree.get("spec") or {}
    found = non_negative_fields(new.status, "status", *_COUNTS) + _validate_uncounted(new.status)
    found += _validate_conditions(new, before, spec) + _validate_ended(new, before, spec)
    found += _validate_indexes(new, before, spec) + _validate_pods(new, before)
    return found + _validate_transition(new, before, spec)


def _changed(new: _View, before: _View, *names: str) -> bool:
    return any(new.status.get(name) != before.status.get(name) for name in names)


def _validate_uncounted(status: Object) -> list[FieldError]:
    found: list[FieldError] = []
    known: set[str] = set()
    uncounted = status.get("uncountedTerminatedPods") or {}
    for name in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(name) or ()):
            path = index(f"status.uncountedTerminatedPods.{name}", position)
            if not uid:
                found.append(invalid(path, uid, "must not be empty"))
            elif uid in known:
                found.append(duplicate(path, uid))
            known.add(uid)
    return found


def _validate_conditions(new: _View, before: _View, spec: Object) -> list[FieldError]:
    """Validates that conditions do not contradict each other, and that required ones are present."""
    problems = []
    completed, failed = new.complete != before.complete, new.failed != before.failed
    if (completed or failed) and new.complete and new.failed:
        problems.append("cannot set Complete=True and Failed=true conditions")
    if (completed or new.target != before.target) and new.complete and new.target:
        problems.append("cannot set Complete=True and FailureTarget=true conditions")
    if (failed or _changed(new, before, "failedIndexes")) and new.failed and not new.target:
        problems.append("cannot set Failed=True condition without the FailureTarget=true condition")
    if (completed or new.criteria != before.criteria) and new.complete and not new.criteria:
        problems.append("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if new.criteria and new.failed:
        problems.append("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if new.criteria and new.target:
        problems.append("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if "successPolicy" in spec and new.complete and not new.criteria:
        problems.append("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    return [invalid(_PATH, OMITTED, problem) for problem in problems]


def _validate_ended(new: _View, before: _View, spec: Object) -> list[FieldError]:
    """Validates the fields of a finished job: completion time, counts and conditions."""
    found = []
    status, ended = new.status, new.finished != before.finished
    start, completion = status.get("startTime"), status.get("completionTime")
    if new.complete != before.complete or _changed(new, before, "completionTime"):
        if completion and not new.complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            found.append(invalid("status.completionTime", completion, why))
        if new.complete and not completion:
            found.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    timed = _changed(new, before, "startTime", "completionTime")
    if start and completion and timed and parse_time(completion) < parse_time(start):
        found.append(invalid("status.completionTime", completion, "must be equal to or after `startTime`"))
    active = status.get("active") or 0
    if new.finished and (ended or _changed(new, before, "active")) and active > 0:
        found.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    idle = spec.get("suspend") is True and spec.get("completions") == 0
    if new.finished and (ended or _changed(new, before, "startTime")) and not idle and not start:
        found.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods") or {}
    if new.finished and (ended or _changed(new, before, "uncountedTerminatedPods")) and any(uncounted.values()):
        shown = struct_value("batch.UncountedTerminatedPods", uncounted)
        found.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return found


def _validate_pods(new: _View, before: _View) -> list[FieldError]:
    found = []
    status, ended = new.status, new.finished != before.finished
    active, ready, terminating = (status.get(name) or 0 for name in ("active", "ready", "terminating"))
    if new.finished and (ended or _changed(new, before, "terminating")) and terminating > 0:
        found.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if _changed(new, before, "ready", "active") and "ready" in status and ready > active:
        found.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return found


def _validate_indexes(new: _View, before: _View, spec: Object) -> list[FieldError]:
    found = []
    completions, limited = spec.get("completions"), "backoffLimitPerIndex" in spec
    spans: dict[str, list[tuple[int, int]]] = {}
    for name in ("completedIndexes", "failedIndexes"):
        text, path = new.status.get(name), f"status.{name}"
        if completions is not None and text is not None and (name == "completedIndexes" or limited):
            try:
                spans[name] = read_indexes(text, completions)
            except ValueError as error:
                if _changed(new, before, name):
                    found.append(invalid(path, text, f"error parsing {name}: {error}"))
    completed, failed = new.status.get("completedIndexes"), new.status.get("failedIndexes")
    if _changed(new, before, "completedIndexes") and completed and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        found.append(invalid("status.completedIndexes", completed, why))
    if _changed(new, before, "failedIndexes") and failed is not None and not limited:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        found.append(invalid("status.failedIndexes", failed, why))
    if len(spans) == 2 and _changed(new, before, "completedIndexes", "failedIndexes"):
        shared = _first_shared(spans["completedIndexes"], spans["failedIndexes"])
        if shared is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {shared}"
            found.append(invalid("status.failedIndexes", failed, why))
    return found


def _first_shared(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> int | None:
    """Returns the first index that two increasing lists of intervals share, or None."""
    one = two = 0
    while one < len(first) and two < len(second):
        low, high = max(first[one][0], second[two][0]), min(first[one][1], second[two][1])
        if low <= high:
            return low
        if first[one][1] < second[two][1]:
            one += 1
        else:
            two += 1
    return None


def _validate_transition(new: _View, before: _View, spec: Object) -> list[FieldError]:
    had, has = before.status.get("conditions") or [], new.status.get("conditions") or []
    found = [
        invalid(_PATH, OMITTED, f"cannot disable the terminal {kind}=True condition")
        for kind in _TERMINAL
        if conditions.is_true(had, kind) and not conditions.is_true(has, kind)
    ]
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        value = new.status.get(name) or 0
        if value < (before.status.get(name) or 0):
            found.append(invalid(f"status.{name}", value, f"cannot decrease the {name} counter"))
    completion, known = new.status.get("completionTime"), before.status.get("completionTime")
    if completion and known and completion != known:
        found.append(invalid("status.completionTime", completion, IMMUTABLE))
    started, start = before.status.get("startTime"), new.status.get("startTime")
    resuming = before.suspended and new.resumed
    if started and start != started and not resuming and not spec.get("suspend"):
        found.append(invalid("status.startTime", start, "field is immutable for unsuspended job once set"))
    if before.criteria and not new.criteria:
        found.append(invalid(_PATH, OMITTED, "cannot disable the SuccessCriteriaMet=True condition"))
    if before.complete and not before.criteria and new.criteria:
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.append(invalid(_PATH, OMITTED, why))
    return found
