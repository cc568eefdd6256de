"""The facts about a job in one reconcile: its pods, their numbers, and the condition that ends the job."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.job.backoff import Backoff
from setpoint.system.job.conditions import (
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    condition,
    true_condition,
)
from setpoint.system.job.indexed_pods import (
    by_index,
    failed_indexes,
    index_of,
    is_indexed,
    last_failures,
    succeeded_indexes,
)
from setpoint.system.job.indexes import Indexes
from setpoint.system.job.pod_state import has_finalizer, is_failed
from setpoint.system.job.policies import job_failure, judge_failure, success
from setpoint.system.pods.state import PENDING, RUNNING, SUCCEEDED, is_active, is_ready, is_terminating, phase_of

_POLICY, _BACKOFF, _DEADLINE = "PodFailurePolicy", "BackoffLimitExceeded", "DeadlineExceeded"
_FAILED_INDEXES, _MANY_FAILED_INDEXES = "FailedIndexes", "MaxFailedIndexesExceeded"
_SUCCESS_POLICY, _COMPLETIONS = "SuccessPolicy", "CompletionsReached"


class JobState:
    """A job and its pods. `job` is a mutable copy with the next status."""

    def __init__(self, job: Object, pods: Sequence[Object], backoff: Backoff, now: datetime) -> None:
        self.job, self.now = job, now
        self.indexed = is_indexed(job)
        self.pods = by_index(pods) if self.indexed else list(pods)
        self.active_pods = [pod for pod in pods if is_active(pod)]
        # The numbers of the next status. Creations and deletions change them.
        self.active = len(self.active_pods)
        self.ready = sum(map(is_ready, self.active_pods))
        self.terminating = sum(map(is_terminating, pods))
        uncounted = self.status.setdefault("uncountedTerminatedPods", {})
        self.uncounted_succeeded = frozenset(uncounted.get("succeeded") or ())
        self.uncounted_failed = frozenset(uncounted.get("failed") or ())
        succeeded = [pod for pod in self._new(self.uncounted_succeeded) if phase_of(pod) == SUCCEEDED]
        failed = [pod for pod in self._new(self.uncounted_failed) if is_failed(pod, job)]
        counted = sum(judge_failure(job, pod).counts for pod in failed)
        self.succeeded: int = self.status.get("succeeded", 0) + len(succeeded) + len(self.uncounted_succeeded)
        self.failed: int = self.status.get("failed", 0) + counted + len(self.uncounted_failed)
        self.backoff = backoff.after(succeeded, failed)
        # The indexes, for indexed jobs only; the failed ones only with a limit for each index.
        self.reported_indexes = self.succeeded_indexes = Indexes()
        self.failed_indexes: Indexes | None = None
        self.last_failures: dict[int, Object] = {}
        # The condition that ends the job, or announces the end; None for a job that goes on.
        self.ending: Object | None = None

    @property
    def status(self) -> Object:
        found: Object = self.job.setdefault("status", {})
        return found

    @property
    def is_suspended(self) -> bool:
        return bool(self.job["spec"].get("suspend"))

    @property
    def is_deleted(self) -> bool:
        return bool(self.job["metadata"].get("deletionTimestamp"))

    def index_of(self, pod: Object) -> int | None:
        """Returns the valid index of a pod of an indexed job, or None."""
        return index_of(pod, self.job["spec"]["completions"])

    def is_countable(self, pod: Object) -> bool:
        """Returns True for a pod with an end that counts: those of an indexed job need an index."""
        return not self.indexed or self.index_of(pod) is not None

    def _new(self, uncounted: frozenset[str]) -> list[Object]:
        """Returns the pods that neither the numbers nor the lists of the status contain."""
        return [
            pod
            for pod in self.pods
            if has_finalizer(pod) and pod["metadata"]["uid"] not in uncounted and self.is_countable(pod)
        ]

    # The end of the job

    def evaluate(self) -> None:
        """Sets the condition that ends the job. An earlier decision is final; failures precede successes."""
        self.ending = self._decided() or self._failure()
        if not self.indexed:
            return
        self.reported_indexes, self.succeeded_indexes = succeeded_indexes(self.job, self.pods)
        self.succeeded = len(self.succeeded_indexes)
        if self.job["spec"].get("backoffLimitPerIndex") is not None:
            self.failed_indexes = failed_indexes(self.job, self.pods)
            self.ending = self.ending or self._index_failure(self.failed_indexes)
            ended = self.succeeded_indexes | self.failed_indexes
            self.last_failures = last_failures(self.job, self.pods, self.active_pods, ended)
        if self.ending is None:
            text = success(self.job, self.succeeded_indexes)
            if text is not None:
                self.ending = condition(SUCCESS_CRITERIA_MET, "True", _SUCCESS_POLICY, text, self.now)

    def _decided(self) -> Object | None:
        met = true_condition(self.job, SUCCESS_CRITERIA_MET)
        if met is not None:
            return met
        target = true_condition(self.job, FAILURE_TARGET)
        if target is not None:
            return condition(FAILED, "True", target.get("reason", ""), target.get("message", ""), self.now)
        return None

    def _failure(self) -> Object | None:
        text = job_failure(self.job, (pod for pod in self.pods if is_failed(pod, self.job)))
        if text is not None:
            return self._target(_POLICY, text)
        if self.failed > self.job["spec"]["backoffLimit"] or self._has_many_restarts():
            return self._target(_BACKOFF, "Job has reached the specified backoff limit")
        left = self.seconds_to_deadline()
        if left is not None and left <= 0:
            return self._target(_DEADLINE, "Job was active longer than specified deadline")
        return None

    def _index_failure(self, failed: Indexes) -> Object | None:
        spec = self.job["spec"]
        most = spec.get("maxFailedIndexes")
        if most is not None and len(failed) > most:
            text = "Job has exceeded the specified maximal number of failed indexes"
            return self._target(_MANY_FAILED_INDEXES, text)
        if len(failed) and len(failed) + len(self.succeeded_indexes) >= spec["completions"]:
            return self._target(_FAILED_INDEXES, "Job has failed indexes")
        return None

    def _target(self, reason: str, message: str) -> Object:
        return condition(FAILURE_TARGET, "True", reason, message, self.now)

    def _has_many_restarts(self) -> bool:
        """Returns True if containers that restart in place have reached the limit."""
        spec, restarts = self.job["spec"], 0
        if spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        for pod in self.pods:
            if phase_of(pod) in (RUNNING, PENDING):
                status = pod["status"]
                containers = (
                    *(status.get("initContainerStatuses") or ()),
                    *(status.get("containerStatuses") or ()),
                )
                restarts += sum(each.get("restartCount", 0) for each in containers)
        limit: int = spec["backoffLimit"]
        return restarts > 0 if limit == 0 else restarts >= limit

    def seconds_to_deadline(self) -> float | None:
        """Returns the seconds until the active deadline; None without one."""
        seconds, start = self.job["spec"].get("activeDeadlineSeconds"), self.status.get("startTime")
        if seconds is None or start is None or self.is_suspended:
            return None
        return (parse_time(start) + timedelta(seconds=seconds) - self.now).total_seconds()

    def is_complete(self) -> bool:
        """Returns True if enough pods have succeeded, and none is active."""
        completions = self.job["spec"].get("completions")
        return self.active == 0 and self.succeeded >= (1 if completions is None else completions)

    def complete(self) -> None:
        """Ends the job because of its completions."""
        text = "Reached expected number of succeeded pods"
        self.ending = condition(SUCCESS_CRITERIA_MET, "True", _COMPLETIONS, text, self.now)
