"""Counts the ended pods of a job exactly once, although a write may fail at any step.

The status first lists the uid of an ended pod as uncounted, then the pod loses its finalizer, and then the number in
the status increases and the uid is removed. Every step can be repeated. A pod with a finalizer cannot disappear
before the count.
"""

from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.system.job.conditions import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    condition,
    set_condition,
    true_condition,
)
from setpoint.system.job.indexes import Indexes
from setpoint.system.job.job_state import JobState
from setpoint.system.job.pod_management import remove_finalizer
from setpoint.system.job.pod_state import has_finalizer, is_failed
from setpoint.system.job.policies import judge_failure
from setpoint.system.pods.state import SUCCEEDED, phase_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

# The most uncounted pods in a status: their uids take about 20 KB.
MOST_UNCOUNTED = 500
_YIELDS_AFTER = 8


class Tracking:
    """Writes the status of one job, and removes the finalizers of its ended pods."""

    def __init__(self, ctx: Context[Any], state: JobState, recorder: "Recorder") -> None:
        self._ctx = ctx
        self._state = state
        self._recorder = recorder
        # The pods that still have a finalizer, by uid.
        self._tracked = {pod["metadata"]["uid"] for pod in state.pods if has_finalizer(pod)}
        # True if a limit left pods for the next reconcile.
        self.has_more = False
        # True once the status with the uncounted pods is written.
        self.is_flushed = False

    async def run(self, *, changed: bool) -> None:
        """Takes all steps. `changed` is True if the status differs from the stored one. Raises APIError."""
        changed |= self._count_untracked()
        to_release, listed = self._list_ended()
        changed |= listed | self._announce_end()
        if changed:
            await self._write()
            self.is_flushed = True
        failure = await self._release(to_release)
        changed = self._count_untracked()
        if failure is not None:
            if changed:
                await self._write()
            raise failure
        ended = not self.has_more and self._enact_end()
        if ended or changed:
            await self._write()
        if ended:
            self._report_end()

    async def _write(self) -> None:
        self._state.job = await self._ctx.api.update(self._state.job, subresource="status")

    # Counting

    def _count_untracked(self) -> bool:
        """Counts the listed pods that have lost their finalizers. Returns True if the status changed."""
        status, changed = self._state.status, False
        uncounted = status.setdefault("uncountedTerminatedPods", {})
        for name in ("succeeded", "failed"):
            listed = uncounted.get(name) or ()
            left = [uid for uid in listed if uid in self._tracked]
            if len(left) == len(listed):
                continue
            changed = True
            status[name] = status.get(name, 0) + len(listed) - len(left)
            if left:
                uncounted[name] = left
            else:
                del uncounted[name]
        return changed

    def _list_ended(self) -> tuple[list[Object], bool]:
        """Lists ended pods as uncounted. Returns the pods that can lose their finalizers, and True if the status
        changed."""
        state, changed = self._state, False
        uncounted = state.status["uncountedTerminatedPods"]
        indexes: list[int] = []
        to_release = []
        for pod in state.pods:
            if not has_finalizer(pod) or not self._can_release(pod):
                continue
            to_release.append(pod)
            index = state.index_of(pod) if state.indexed else None
            kind = self._kind_of_end(pod)
            if kind == "succeeded" and state.indexed:
                # The index prevents a second count: no uid is needed.
                if index is not None and index not in state.reported_indexes:
                    indexes.append(index)
                    changed = True
            elif kind:
                uncounted[kind] = [*(uncounted.get(kind) or ()), pod["metadata"]["uid"]]
                changed = True
            listed = len(uncounted.get("succeeded") or ()) + len(uncounted.get("failed") or ())
            if len(indexes) + listed >= MOST_UNCOUNTED:
                self.has_more = True
                break
        return to_release, changed | self._report_indexes(indexes)

    def _can_release(self, pod: Object) -> bool:
        state = self._state
        if state.is_deleted or state.ending is not None or phase_of(pod) == SUCCEEDED:
            return True
        if not is_failed(pod, state.job):
            return False
        index = state.index_of(pod) if state.indexed else None
        return index is None or state.last_failures.get(index) is not pod

    def _kind_of_end(self, pod: Object) -> str:
        """Returns the list of uncounted pods that a pod must enter; empty if none."""
        state, uid = self._state, pod["metadata"]["uid"]
        if phase_of(pod) == SUCCEEDED and uid not in state.uncounted_failed:
            return "" if uid in state.uncounted_succeeded else "succeeded"
        # Every pod of a job that fails counts as failed, whatever its phase.
        ends_badly = state.ending is not None and state.ending["type"] != SUCCESS_CRITERIA_MET
        if not (is_failed(pod, state.job) or ends_badly):
            return ""
        if uid in state.uncounted_failed or not state.is_countable(pod):
            return ""
        return "failed" if judge_failure(state.job, pod).counts else ""

    def _report_indexes(self, new: list[int]) -> bool:
        """Sets the indexes in the status. Returns True if they changed."""
        state, status = self._state, self._state.status
        if not state.indexed:
            return False
        before = status.get("completedIndexes", ""), status.get("failedIndexes")
        found = state.succeeded_indexes | Indexes.of(new)
        for name, value in (("succeeded", len(found)), ("completedIndexes", str(found))):
            if value:
                status[name] = value
            else:
                status.pop(name, None)
        if state.failed_indexes is None:
            status.pop("failedIndexes", None)
        else:
            status["failedIndexes"] = str(state.failed_indexes)
        return before != (status.get("completedIndexes", ""), status.get("failedIndexes"))

    async def _release(self, pods: list[Object]) -> APIError | None:
        """Removes finalizers. Returns the first failure after all attempts."""
        failure: APIError | None = None
        for number, pod in enumerate(pods):
            if number % _YIELDS_AFTER == _YIELDS_AFTER - 1:
                await self._ctx.clock.sleep(0)
            try:
                await remove_finalizer(self._ctx, pod)
            except APIError as error:
                failure = failure or error
                continue
            self._tracked.discard(pod["metadata"]["uid"])
        return failure

    # The end of the job

    def _announce_end(self) -> bool:
        """Adds the announcing condition, and prepares the confirming one. Returns True if the status changed."""
        state, ending = self._state, self._state.ending
        if ending is None or ending["type"] not in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
            return False
        is_new = true_condition(state.job, ending["type"]) is None
        if is_new:
            state.status["conditions"] = [*(state.status.get("conditions") or ()), ending]
        kind = FAILED if ending["type"] == FAILURE_TARGET else COMPLETE
        state.ending = condition(kind, "True", ending.get("reason", ""), ending.get("message", ""), state.now)
        return is_new

    def _enact_end(self) -> bool:
        """Adds the condition that ends the job, if no pods are uncounted or terminating. Returns True if added."""
        state, status = self._state, self._state.status
        uncounted = status.get("uncountedTerminatedPods") or {}
        if state.ending is None or any(uncounted.values()) or state.terminating > 0:
            return False
        set_condition(status, state.ending)
        if state.ending["type"] == COMPLETE:
            status["completionTime"] = state.ending["lastTransitionTime"]
        return True

    def _report_end(self) -> None:
        job, ending = self._state.job, self._state.ending
        assert ending is not None
        if ending["type"] != COMPLETE:
            self._recorder.warning(job, ending["reason"], ending["message"])
            return
        completions = job["spec"].get("completions")
        if completions is not None and job["status"].get("succeeded", 0) > completions:
            text = "Too many succeeded pods running after completion count reached"
            self._recorder.warning(job, "TooManySucceededPods", text)
        self._recorder.normal(job, "Completed", "Job completed")
