"""The pods of an indexed job: their completion indexes, and the failures of each index."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from setpoint.objects.tree import Object
from setpoint.system.job.backoff import Backoff, finished_at
from setpoint.system.job.indexes import Indexes
from setpoint.system.job.pod_state import has_finalizer, is_failed, removal_key
from setpoint.system.job.policies import judge_failure
from setpoint.system.pods.state import SUCCEEDED, phase_of

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_UNKNOWN = -1
_VARIABLE = "JOB_COMPLETION_INDEX"
# The longest prefix of a generated name.
_LONGEST_PREFIX = 58


def is_indexed(job: Object) -> bool:
    """Returns True for a job with indexed pods."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: Object, completions: int) -> int | None:
    """Returns the completion index of a pod; None for a pod without a valid one."""
    index = _raw_index(pod)
    return index if 0 <= index < completions else None


def _raw_index(pod: Object) -> int:
    return _number((pod["metadata"].get("annotations") or {}).get(INDEX, ""), _UNKNOWN)


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else default


def failures_of(pod: Object, *, with_ignored: bool) -> int:
    """Returns the failures of an index before this pod."""
    annotations = pod["metadata"].get("annotations") or {}
    ignored = _number(annotations.get(IGNORED_FAILURES, ""), 0) if with_ignored else 0
    return _number(annotations.get(FAILURES, ""), 0) + ignored


def by_index(pods: Iterable[Object]) -> list[Object]:
    """Returns pods in the order of their indexes."""
    return sorted(pods, key=_raw_index)


def indexes_of(pods: Iterable[Object], completions: int) -> Indexes:
    """Returns the valid indexes of pods."""
    found = (index_of(pod, completions) for pod in pods)
    return Indexes.of(index for index in found if index is not None)


def succeeded_indexes(job: Object, pods: Iterable[Object]) -> tuple[Indexes, Indexes]:
    """Returns the succeeded indexes that are reported already, and all of them."""
    completions = job["spec"]["completions"]
    before = Indexes.parse(job["status"].get("completedIndexes") or "", completions)
    new = (pod for pod in pods if phase_of(pod) == SUCCEEDED and has_finalizer(pod))
    return before, before | indexes_of(new, completions)


def failed_indexes(job: Object, pods: Iterable[Object]) -> Indexes:
    """Returns the indexes that have failed for good."""
    completions = job["spec"]["completions"]
    before = Indexes.parse(job["status"].get("failedIndexes") or "", completions)
    new = (pod for pod in pods if has_finalizer(pod) and _fails_index(job, pod))
    return before | indexes_of(new, completions)


def _fails_index(job: Object, pod: Object) -> bool:
    if not is_failed(pod, job):
        return False
    verdict = judge_failure(job, pod)
    if verdict.fails_index:
        return True
    limit: int = job["spec"]["backoffLimitPerIndex"]
    return verdict.counts and failures_of(pod, with_ignored=False) >= limit


def last_failures(job: Object, pods: Iterable[Object], active: Iterable[Object], ended: Indexes) -> dict[int, Object]:
    """Returns the last failed pod of each index that needs a further pod. Such a pod keeps its finalizer until the next
    pod, which continues the count of failures, exists."""
    completions = job["spec"]["completions"]
    settled = ended | indexes_of(active, completions)
    found: dict[int, Object] = {}
    for pod in pods:
        index = index_of(pod, completions)
        if index is None or index in settled or not has_finalizer(pod) or not is_failed(pod, job):
            continue
        known = found.get(index)
        if known is None or all(new >= old for new, old in zip(_age(pod), _age(known), strict=True)):
            found[index] = pod
    return found


def _age(pod: Object) -> tuple[Any, ...]:
    return failures_of(pod, with_ignored=True), finished_at(pod)


def index_backoff(failed: Object | None) -> Backoff:
    """Returns the backoff of an index after its last failed pod."""
    if failed is None:
        return Backoff()
    return Backoff(failures_of(failed, with_ignored=True) + 1, finished_at(failed))


def duplicates(pods: Sequence[Object], completions: int) -> tuple[list[Object], list[Object]]:
    """Returns the pods without a valid index or with that of another one, and all other pods."""
    removed: list[Object] = []
    kept: list[Object] = []
    for index, group in groupby(by_index(pods), _raw_index):
        same = sorted(group, key=removal_key)
        if 0 <= index < completions:
            removed += same[:-1]
            kept.append(same[-1])
        else:
            removed += same
    return removed, kept


def add_index(pod: Object, job: Object, index: int, failed: Mapping[int, Object]) -> Object:
    """Returns a copy of a new pod with an index. `failed` are the last failed pods of the indexes."""
    metadata, text = dict(pod["metadata"]), str(index)
    annotations = {**(metadata.get("annotations") or {}), INDEX: text}
    if job["spec"].get("backoffLimitPerIndex") is not None:
        annotations |= _failure_counts(job, failed.get(index))
    metadata["annotations"] = annotations
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: text}
    end = f"-{index}-"
    metadata["generateName"] = job["metadata"]["name"][: _LONGEST_PREFIX - len(end)] + end
    hostname = f"{job['metadata']['name']}-{index}"
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "hostname": hostname}}


def _failure_counts(job: Object, failed: Object | None) -> Object:
    if failed is None:
        return {FAILURES: "0"}
    counted = failures_of(failed, with_ignored=False)
    ignored = failures_of(failed, with_ignored=True) - counted
    if judge_failure(job, failed).counts:
        counted += 1
    else:
        ignored += 1
    return {FAILURES: str(counted), **({IGNORED_FAILURES: str(ignored)} if ignored else {})}


def add_index_variables(spec: Object) -> None:
    """Adds the variable with the index to all containers of a new pod."""
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        variables = list(container.get("env") or ())
        if all(each["name"] != _VARIABLE for each in variables):
            source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
            container["env"] = [*variables, {"name": _VARIABLE, "valueFrom": source}]
