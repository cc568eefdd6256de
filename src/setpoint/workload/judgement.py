"""The state of an object with its reason: workloads by their own conditions, other objects by a generic summary."""

from typing import NamedTuple

from setpoint.objects import conditions
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP
from setpoint.workload.progress import is_suspended, progress
from setpoint.workload.state_meanings import Meaning, meaning_of

_VERDICTS: dict[str, Meaning] = {"ready": "good", "progressing": "pending", "failed": "bad"}


class Judgement(NamedTuple):
    """The state of an object. `why` is empty if the object is ready; `done` is True if its process ended with exit
    code 0, which is not ready: the process serves no more."""

    ready: bool
    state: str
    meaning: Meaning
    why: str = ""
    done: bool = False

    @property
    def is_settled(self) -> bool:
        """True if the object is ready, or its process has ended with exit code 0."""
        return self.ready or self.done

    @property
    def text(self) -> str:
        return f"{self.state}: {self.why}" if self.why else self.state


def is_workload(tree: Object) -> bool:
    """Returns True for workloads and their resources, except the App."""
    return tree.get("apiVersion", "").rpartition("/")[0] in (GROUP, OWN_GROUP) and tree.get("kind") != "App"


def judged(tree: Object, clock: Clock | None = None) -> Judgement:
    """Returns the state of an object."""
    return _workload(tree) if is_workload(tree) else _other(tree, clock or SystemClock())


def _workload(tree: Object) -> Judgement:
    metadata, status = tree["metadata"], tree.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Judgement(False, "Removing", "pending", _deletion_reason(metadata))
    known = progress(tree)
    condition = conditions.of(tree, "Ready", "Started")
    reason = condition.get("reason", "")
    ended_well = known.finished and known.succeeded
    state = _state(tree, status, reason)
    why = "" if known.ready or ended_well else condition.get("message", "") or known.says
    if not status:
        why = "no controller has processed the object yet"
    meaning: Meaning = "bad" if _is_bad(known.finished, ended_well, reason, state) else meaning_of(state)
    if known.started and not known.ready and not known.finished and meaning == "good":
        meaning = "pending"
    return Judgement(known.ready, state, meaning, why, ended_well)


def _state(tree: Object, status: Object, reason: str) -> str:
    if is_suspended(tree):
        ends = status.get("runningReplicas") or status.get("state") in ("Running", "Stopping")
        return "Stopping" if ends else "Stopped"
    if tree["kind"] == "ExecutableReplicaSet" and status:
        return (
            "Running" if status.get("runningReplicas") else "Stopped" if not tree["spec"].get("replicas") else "Waiting"
        )
    if reason == "BackOff":
        return reason
    return status.get("state") or ("Waiting" if reason.startswith("Waiting") else reason or "Pending")


def _is_bad(finished: bool, ended_well: bool, reason: str, state: str) -> bool:
    return (
        (finished and not ended_well)
        or reason in ("BackOff", "TooManyRestarts")
        or state in ("FailedToStart", "Failed")
    )


def _deletion_reason(metadata: Object) -> str:
    """Returns the reason for a pending deletion. Setpoint's own finalizers are not named."""
    finalizers = metadata.get("finalizers") or ()
    others = [each for each in finalizers if each.partition("/")[0] not in (GROUP, OWN_GROUP)]
    if others:
        return f"waiting for finalizers: {', '.join(others)}"
    return "waiting for its process to end" if finalizers else ""


def _other(tree: Object, clock: Clock) -> Judgement:
    from setpoint.flow.summary.summary import summarize  # commands about workloads do not need the rules

    found = summarize(tree, now=clock.now())
    return Judgement(found.ready, found.state, _VERDICTS[found.verdict], "" if found.ready else found.message)
