"""How a part of an app is, in the words of the view: whether it is well is judged as `ps` judges it. Pure."""

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

# Nothing more is waited for: it is as it should be, or somebody wants it so.
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
# Of several replicas, how the worst is says how all are.
_WORST: tuple[Phase, ...] = ("failed", "failing", "restarting", "stopping", "starting", "waiting")
_SIGNALLED = 128
_LAST_WORDS = "; last output:"


class How(NamedTuple):
    """How a part is: in few words, and where there is more to say in a sentence. `who` is the replica that is meant."""

    phase: Phase
    text: str
    why: str = ""
    who: str = ""
    # How it ended, and when it is tried again.
    end: str = ""
    due: datetime | None = None
    # How many are ready: of replicas some may be.
    ready: int = 0
    restarts: int = 0
    # The run of a task that this is of.
    run: str = ""

    def is_of_same_life(self, other: "How") -> bool:
        """Whether nothing was started again in between."""
        return (self.restarts, self.run) == (other.restarts, other.run)

    @property
    def meaning(self) -> Meaning:
        return MEANINGS.get(self.phase, "pending")


def how_is(workload: Workload, find: Find) -> How:
    """How a part is, given how to find what it may wait for."""
    tree = workload.tree
    if tree["metadata"].get("deletionTimestamp"):
        return How("stopping", "stopping")
    found = _BY_KIND[tree["kind"]](workload, find)
    if workload.unreachable:
        found = How("failed", "failed", workload.unreachable, end=workload.unreachable)
    if found.phase in ("ready", "done", "failed") and not is_seen(tree):
        found = How("restarting", "changing")
    runs = workload.status.get("runs") or ()
    ready = sum(each.judgement.ready for each in workload.children or (workload,))
    return found._replace(ready=ready, restarts=workload.restarts, run=runs[-1]["name"] if runs else "")


def is_seen(tree: Object) -> bool:
    """Whether what the status says is of the object as it is now, and of the last restart that was asked for."""
    status = tree.get("status") or {}
    generation, request = tree["metadata"].get("generation", 0), meta.annotations(tree).get(RESTART_REQUESTED, "")
    return bool(status.get("observedGeneration", 0) >= generation) and status.get("observedRestart", "") == request


def ready_since(tree: Object) -> datetime | None:
    """Since when an object that is ready, or done, has been so, as far as it says: its condition knows the second."""
    status = tree.get("status") or {}
    runs = status.get("runs") or ()
    if runs and (ended := time_of(runs[-1].get("finishTime"))) is not None:
        return ended
    times = [status.get("startupTimestamp"), conditions.of(tree, "Ready").get("lastTransitionTime")]
    return max((time for time in map(time_of, times) if time is not None), default=None)


def _single(workload: Workload, find: Find) -> How:
    """A process or a container."""
    tree, status, judgement = workload.tree, workload.status, workload.judgement
    state, (reason, message) = status.get("state", ""), _says(tree)
    known = progress(tree)
    if is_suspended(tree) or reason in ("Stopped", "NotStarted"):
        return How("stopping", "stopping") if known.started and not known.finished else How("stopped", "stopped")
    if judgement.ready:
        return How("ready", "ready") if known.ready else How("done", "ended", end=_end(status))
    if reason == "BackOff":
        return How("failing", "failed", message, end=_end(status), due=time_of(status.get("nextRestartTime")))
    if known.finished or state in ("FailedToStart", "Unknown") or reason == "Deadlock":
        end = _end(status) if known.finished else ""
        return How("failed", _failed(end), message, end=end)
    if state == "RuntimeUnhealthy":
        return How("failed", "no container engine", message)
    if reason.startswith("Waiting") or not status:
        return _waits(tree, find, message)
    if state == "Stopping":
        restarts = reason in ("Restarting", "LivenessProbeFailed")
        return How("restarting", "restarting", message) if restarts else How("stopping", "stopping")
    return How("starting", _starting(state, status), judgement.why if state == "Running" else "")


def _set(workload: Workload, find: Find) -> How:
    """Replicas: as the worst of them, unless as many as wanted are well."""
    tree, wanted = workload.tree, workload.replicas
    reason, message = _says(tree)
    children = [each for each in workload.children if not each.tree["metadata"].get("deletionTimestamp")]
    if is_suspended(tree) or wanted == 0:
        runs = any(progress(each.tree).started and not progress(each.tree).finished for each in children)
        return How("stopping", "stopping") if runs else How("stopped", "stopped")
    if reason == "InvalidTemplate":
        return How("failed", "failed", message)
    if workload.judgement.ready:
        updated = workload.status.get("updatedReplicas", wanted)
        return How("restarting", f"updating {updated}/{wanted}") if reason == "Updating" else How("ready", "ready")
    ready = sum(each.judgement.ready for each in children)
    found = [
        how._replace(who=called(each.tree))
        for each in children
        if not each.judgement.ready and (how := _single(each, find)).phase in _WORST
    ]
    if not children:
        return _waits({**tree, "spec": tree["spec"]["template"]["spec"]}, find, message)
    if not found:
        return How("starting", f"starting {ready}/{wanted}")
    worst = min(found, key=lambda each: _WORST.index(each.phase))
    if worst.phase in ("starting", "restarting") and wanted > 1:
        return worst._replace(text=f"{worst.text} {ready}/{wanted}")
    return worst


def _task(workload: Workload, find: Find) -> How:
    tree, status = workload.tree, workload.status
    state, (reason, message) = status.get("state") or "Pending", _says(tree)
    runs = status.get("runs") or ()
    if state == "Running":
        if reason == "BackOff":
            return How("starting", "trying again", message)
        return How("starting", "running")
    if state == "Succeeded":
        return How("done", "done")
    if state == "Failed":
        last: Object = runs[-1] if runs else {}
        end = _end(last)
        return How("failed", _failed(end), last.get("message") or message, end=end)
    if reason.startswith("Waiting"):
        return _waits(tree, find, message)
    if tree["spec"].get("schedule") and reason not in ("InvalidSchedule", "NeverDue"):
        return How("scheduled", "scheduled", due=time_of(status.get("nextScheduleTime")))
    if reason in ("InvalidSchedule", "NeverDue"):
        return How("failed", "failed", message)
    return How("stopped", "not run") if tree["spec"].get("suspend") else How("starting", "starting")


_BY_KIND: Mapping[str, Callable[[Workload, Find], How]] = {
    "Executable": _single,
    "Container": _single,
    "ExecutableReplicaSet": _set,
    "Task": _task,
}


def _says(tree: Object) -> tuple[str, str]:
    """The reason and the message of the condition that says how far it is, without the output in it."""
    found = conditions.of(tree, "Ready", "Started")
    message = found.get("message", "").partition(_LAST_WORDS)[0]
    return found.get("reason", ""), message.partition("; next restart in")[0]


def _waits(tree: Object, find: Find, message: str) -> How:
    """What it waits for, by the names of the parts."""
    found = waiting_for(tree, find)
    if not found:
        return How("starting", "starting")  # it has all it needs, and will soon know
    names = []
    for each in found:
        other = find(each.kind, each.name)
        name = part_name(other) if other is not None else ""
        # The ways between parts (tunnels, networks) have names that nobody gave them.
        if name or each.kind in _BY_KIND:
            names.append(name or each.name)
    text = f"waiting for {', '.join(dict.fromkeys(names))}" if names else "waiting"
    return How("waiting", text, "" if names else message)


def _starting(state: str, status: Object) -> str:
    progress_text = status.get("pullProgress", "")
    if state == "Building":
        return f"building {progress_text}".rstrip()
    return f"pulling {progress_text}" if progress_text else "starting"


def _end(status: Object) -> str:
    """How it ended, where that is known."""
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
