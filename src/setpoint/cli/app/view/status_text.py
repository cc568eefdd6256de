"""The state of a part as short text for the view. Readiness is judged as in `setpoint ps`. Pure functions."""

import signal
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from setpoint.cli.app.view.parts import part_name
from setpoint.cli.output.terminal import Meaning
from setpoint.cli.workloads.inventory import Workload, called
from setpoint.objects import conditions, meta
from setpoint.objects.times import parse_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.workload.dependencies import waiting_for
from setpoint.workload.kinds.api_names import RESTART_REQUESTED
from setpoint.workload.progress import is_suspended, progress

Phase: TypeAlias = Literal[
    "absent",
    "waiting",
    "starting",
    "ready",
    "done",
    "scheduled",
    "restarting",
    "unready",
    "failing",
    "failed",
    "stopping",
    "stopped",
]
Find: TypeAlias = Callable[[str, str], Object | None]

# The phases that need no more waiting: the wanted state, or a state that the user requested.
SETTLED: frozenset[Phase] = frozenset({"ready", "done", "scheduled", "stopped"})
MEANINGS: Mapping[Phase, Meaning] = {
    "ready": "good",
    "done": "good",
    "scheduled": "good",
    "failing": "bad",
    "failed": "bad",
    "stopped": "quiet",
    "absent": "quiet",
    "waiting": "quiet",
}
# The phases of replicas from worst to best; the worst one determines the phase of the set.
_WORST: tuple[Phase, ...] = ("failed", "failing", "restarting", "stopping", "starting", "waiting")
_SIGNALLED = 128
_LAST_WORDS = "; last output:"


class PartStatus(NamedTuple):
    """The state of a part as short text, with an optional longer explanation. `replica` is the replica concerned."""

    phase: Phase
    text: str
    why: str = ""
    replica: str = ""
    # The exit status, and the time of the next restart.
    end: str = ""
    due: datetime | None = None
    # The number of ready replicas.
    ready: int = 0
    restarts: int = 0
    # The run of a task.
    run: str = ""

    def is_same_run(self, other: "PartStatus") -> bool:
        """Returns True if no restart or new run happened in between."""
        return (self.restarts, self.run) == (other.restarts, other.run)

    @property
    def meaning(self) -> Meaning:
        return MEANINGS.get(self.phase, "pending")


def how_is(workload: Workload, find: Find) -> PartStatus:
    """Returns the state of a part. `find` looks up the objects that the part may wait for."""
    tree = workload.tree
    if tree["metadata"].get("deletionTimestamp"):
        return PartStatus("stopping", "stopping")
    found = _BY_KIND[tree["kind"]](workload, find)
    if workload.unreachable:
        found = PartStatus("failed", "failed", workload.unreachable, end=workload.unreachable)
    if found.phase in ("ready", "done", "failed") and not is_seen(tree):
        found = PartStatus("restarting", "changing")
    runs = workload.status.get("runs") or ()
    ready = sum(each.judgement.ready for each in workload.children or (workload,))
    return found._replace(ready=ready, restarts=workload.restarts, run=runs[-1]["name"] if runs else "")


def is_seen(tree: Object) -> bool:
    """Returns True if the status reflects the current generation and the last requested restart."""
    status = tree.get("status") or {}
    generation, request = tree["metadata"].get("generation", 0), meta.annotations(tree).get(RESTART_REQUESTED, "")
    return bool(status.get("observedGeneration", 0) >= generation) and status.get("observedRestart", "") == request


def ready_since(tree: Object) -> datetime | None:
    """Returns the time since when the object is ready or done, as far as the status says; precise to the second."""
    status = tree.get("status") or {}
    runs = status.get("runs") or ()
    if runs and (ended := time_of(runs[-1].get("finishTime"))) is not None:
        return ended
    times = [status.get("startupTimestamp"), conditions.of(tree, "Ready").get("lastTransitionTime")]
    return max((time for time in map(time_of, times) if time is not None), default=None)


def _single(workload: Workload, find: Find) -> PartStatus:
    """Returns the state of a process or container."""
    tree, status, judgement = workload.tree, workload.status, workload.judgement
    state, (reason, message) = status.get("state", ""), _reason_and_message(tree)
    known = progress(tree)
    if is_suspended(tree) or reason in ("Stopped", "NotStarted"):
        return (
            PartStatus("stopping", "stopping")
            if known.started and not known.finished
            else PartStatus("stopped", "stopped")
        )
    if judgement.ready:
        return PartStatus("ready", "ready")
    if judgement.done:
        return PartStatus("done", "ended", end=_end(status))
    if reason == "BackOff":
        return PartStatus("failing", "failed", message, end=_end(status), due=time_of(status.get("nextRestartTime")))
    if known.finished or state in ("FailedToStart", "Unknown") or reason == "Deadlock":
        end = _end(status) if known.finished else ""
        return PartStatus("failed", _failed(end), message, end=end)
    if state == "RuntimeUnhealthy":
        return PartStatus("failed", "no container engine", message)
    if reason.startswith("Waiting") or not status:
        return _waits(tree, find, message)
    if state == "Stopping":
        restarts = reason in ("Restarting", "LivenessProbeFailed")
        return PartStatus("restarting", "restarting", message) if restarts else PartStatus("stopping", "stopping")
    return PartStatus("starting", _starting(state, status), judgement.why if state == "Running" else "")


def _set(workload: Workload, find: Find) -> PartStatus:
    """Returns the state of a replica set: that of the worst replica, unless enough replicas are ready."""
    tree, wanted = workload.tree, workload.replicas
    reason, message = _reason_and_message(tree)
    children = [each for each in workload.children if not each.tree["metadata"].get("deletionTimestamp")]
    if is_suspended(tree) or wanted == 0:
        runs = any(progress(each.tree).started and not progress(each.tree).finished for each in children)
        return PartStatus("stopping", "stopping") if runs else PartStatus("stopped", "stopped")
    if reason == "InvalidTemplate":
        return PartStatus("failed", "failed", message)
    if workload.judgement.ready:
        updated = workload.status.get("updatedReplicas", wanted)
        return (
            PartStatus("restarting", f"updating {updated}/{wanted}")
            if reason == "Updating"
            else PartStatus("ready", "ready")
        )
    if workload.judgement.done:
        return PartStatus("done", "ended", end="exit code 0")
    ready = sum(each.judgement.ready for each in children)
    found = [
        how._replace(replica=called(each.tree))
        for each in children
        if not each.judgement.ready and (how := _single(each, find)).phase in _WORST
    ]
    if not children:
        return _waits({**tree, "spec": tree["spec"]["template"]["spec"]}, find, message)
    if not found:
        return PartStatus("starting", f"starting {ready}/{wanted}")
    worst = min(found, key=lambda each: _WORST.index(each.phase))
    if worst.phase in ("starting", "restarting") and wanted > 1:
        return worst._replace(text=f"{worst.text} {ready}/{wanted}")
    return worst


def _task(workload: Workload, find: Find) -> PartStatus:
    tree, status = workload.tree, workload.status
    state, (reason, message) = status.get("state") or "Pending", _reason_and_message(tree)
    runs = status.get("runs") or ()
    if state == "Running":
        if reason == "BackOff":
            return PartStatus("starting", "retrying", message)
        return PartStatus("starting", "running")
    if state == "Succeeded":
        return PartStatus("done", "done")
    if state == "Failed":
        last: Object = runs[-1] if runs else {}
        end = _end(last)
        return PartStatus("failed", _failed(end), last.get("message") or message, end=end)
    if reason.startswith("Waiting"):
        return _waits(tree, find, message)
    if tree["spec"].get("schedule") and reason not in ("InvalidSchedule", "NeverDue"):
        return PartStatus("scheduled", "scheduled", due=time_of(status.get("nextScheduleTime")))
    if reason in ("InvalidSchedule", "NeverDue"):
        return PartStatus("failed", "failed", message)
    return PartStatus("stopped", "not run") if tree["spec"].get("suspend") else PartStatus("starting", "starting")


_BY_KIND: Mapping[str, Callable[[Workload, Find], PartStatus]] = {
    "Executable": _single,
    "Container": _single,
    "ExecutableReplicaSet": _set,
    "Task": _task,
}


def _reason_and_message(tree: Object) -> tuple[str, str]:
    """Returns the reason and message of the Ready or Started condition, without the process output in the message."""
    found = conditions.of(tree, "Ready", "Started")
    message = found.get("message", "").partition(_LAST_WORDS)[0]
    return found.get("reason", ""), message.partition("; next restart in")[0]


def _waits(tree: Object, find: Find, message: str) -> PartStatus:
    """Returns the state of a waiting part, with the names of the parts that must be ready first."""
    found = waiting_for(tree, find)
    if not found:
        return PartStatus("starting", "starting")  # all dependencies are satisfied; the controller will notice soon
    names = []
    for each in found:
        other = find(each.kind, each.name)
        name = part_name(other) if other is not None else ""
        # Tunnels and networks have generated names, which users do not know.
        if name or each.kind in _BY_KIND:
            names.append(name or each.name)
    text = f"waiting for {', '.join(dict.fromkeys(names))}" if names else "waiting"
    return PartStatus("waiting", text, "" if names else message)


def _starting(state: str, status: Object) -> str:
    progress_text = status.get("pullProgress", "")
    if state == "Building":
        return f"building {progress_text}".rstrip()
    return f"pulling {progress_text}" if progress_text else "starting"


def _end(status: Object) -> str:
    """Returns the exit code or signal, or an empty string if unknown."""
    code = status.get("exitCode")
    if code is None:
        return ""
    if code > _SIGNALLED:
        try:
            return signal.Signals(code - _SIGNALLED).name
        except ValueError:
            pass
    return f"exit code {code}"


def _failed(end: str) -> str:
    return f"failed: {end.replace('code ', '')}" if end else "failed"


def time_of(text: str | None) -> datetime | None:
    for parse in (parse_micro_time, parse_time):
        try:
            return parse(text) if text else None
        except ValueError:
            continue
    return None
