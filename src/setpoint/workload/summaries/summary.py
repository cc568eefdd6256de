"""The summary of an object: its state in one word, the reason, readiness, addresses and dependencies. Pure functions.

    {"kind": "Summary", "object": {"kind": "Executable", "name": "api", …}, "state": "Waiting",
     "reason": "WaitingForDependencies", "message": "Executable db to be Ready", "ready": 0, "wanted": 1}

Workloads have the states that `setpoint ps` shows, all other kinds those of `flow.summary`.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from setpoint.flow.summary.summary import Summary, summarize
from setpoint.objects import conditions, meta
from setpoint.objects.tree import Json, Object
from setpoint.workload.dependencies import requirements
from setpoint.workload.inventory import RUNNING, SERVICE, Workload, arranged
from setpoint.workload.judgement import Judgement
from setpoint.workload.kinds.api_names import GROUP, GROUP_LABEL, OWN_GROUP
from setpoint.workload.progress import is_suspended, progress
from setpoint.workload.service_producers import serves, template_of

API_VERSION = "setpoint.dev/v1"
READY, PROGRESSING, WAITING, FAILED = "Ready", "Progressing", "Waiting", "Failed"
STOPPED, FINISHED, DELETING, UNKNOWN = "Stopped", "Finished", "Deleting", "Unknown"
# The states of other kinds, by the words of their summaries.
_OTHER_STATES = {
    "removing": DELETING,
    "suspended": STOPPED,
    "paused": STOPPED,
    "inactive": STOPPED,
    "disabled": STOPPED,
    "unknown": UNKNOWN,
    "succeeded": FINISHED,
    "complete": FINISHED,
    "completed": FINISHED,
    "pending": WAITING,
    "unschedulable": WAITING,
    "gated": WAITING,
    "scheduling": WAITING,
}
# The reasons of workloads that do not run on request.
_IDLE = frozenset(("Stopped", "NotStarted", "Suspended"))
_SCALED = frozenset(("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"))
# Reasons and messages are shown in tables; the object has the whole text.
_MOST_TEXT = 1000
_MOST_DEPENDENCIES = 100
Find = Callable[[str, str], Object | None]


def part_summaries(trees: Iterable[Object]) -> dict[str, Object]:
    """Returns the summaries of the workloads among some objects that no other workload owns, by uid."""
    found = list(trees)
    known = {(tree["kind"], meta.name(tree)): tree for tree in found}
    workloads = arranged(found)
    served: dict[str, list[Json]] = {}
    for each in workloads:
        for service in serves(each.tree):
            served.setdefault(service, []).append(each.name)
    return {
        meta.uid(each.tree): workload_summary(each, lambda kind, name: known.get((kind, name)), served)
        for each in workloads
    }


def workload_summary(workload: Workload, find: Find, served: Mapping[str, list[Json]] | None = None) -> Object:
    """Returns the summary of a workload. `find` looks up its dependencies; `served` has the workloads that serve each
    Service."""
    tree, judgement = workload.tree, workload.judgement
    condition = conditions.of(tree, "Ready", "Started")
    state = _workload_state(tree, judgement)
    ready, wanted = _replicas(workload)
    spec = template_of(tree).get("spec") or {}
    found = _base(tree, state, condition.get("reason", ""), judgement.why)
    found |= {
        "ready": ready,
        "wanted": wanted,
        "since": _since(tree, condition),
        "restarts": workload.restarts,
        "terminal": spec.get("terminal") is not None,
        "actions": _actions(tree, state),
        "addresses": list(workload.urls),
        "dependsOn": _dependencies(tree, find, served or {}),
    }
    if groups := sorted(
        label.removeprefix(GROUP_LABEL) for label in meta.labels(tree) if label.startswith(GROUP_LABEL)
    ):
        found["group"] = groups[0]
    found["metadata"]["resourceVersion"] = str(max(map(_revision, _family(workload))))
    return found


def object_summary(tree: Object, now: datetime) -> Object:
    """Returns the summary of an object by itself: without its replicas, services and dependencies."""
    if is_running_kind(tree):
        return workload_summary(arranged([tree])[0], lambda kind, name: None)
    made = summarize(tree, now=now)
    found = _base(tree, _state(made), made.reason, "" if made.ready else made.message)
    ready, wanted = _other_replicas(tree, made)
    condition = conditions.of(tree, "Ready", "Available", "Complete", "Failed")
    found |= {"ready": ready, "wanted": wanted, "since": _since(tree, condition), "restarts": _restarts(tree)}
    found |= {"terminal": False, "actions": ["restart", "scale"] if tree.get("kind") in _SCALED else []}
    return found | {"addresses": [], "dependsOn": []}


def is_running_kind(tree: Object) -> bool:
    """Returns True for workloads: processes, containers, replica sets and tasks of Setpoint."""
    group = str(tree.get("apiVersion", "")).rpartition("/")[0]
    return tree.get("kind") in RUNNING and group in (GROUP, OWN_GROUP)


def _base(tree: Object, state: str, reason: str, message: str) -> Object:
    metadata = tree.get("metadata") or {}
    place: Object = {"name": metadata.get("name", ""), "uid": metadata.get("uid", "")}
    if metadata.get("namespace"):
        place["namespace"] = metadata["namespace"]
    kind = tree.get("kind", "")
    return {
        "apiVersion": API_VERSION,
        "kind": "Summary",
        "metadata": {**place, "resourceVersion": metadata.get("resourceVersion", "")},
        "object": {"apiVersion": tree.get("apiVersion", ""), "kind": kind, **place},
        "state": state,
        "reason": reason[:_MOST_TEXT],
        "message": message[:_MOST_TEXT],
        "group": "tasks" if kind == "Task" else "services" if is_running_kind(tree) else kind,
    }


def _workload_state(tree: Object, judgement: Judgement) -> str:
    known, reason = progress(tree), conditions.of(tree, "Ready", "Started").get("reason", "")
    if tree["metadata"].get("deletionTimestamp"):
        return DELETING
    if judgement.done or (tree["kind"] == "Task" and judgement.ready):
        return FINISHED
    if judgement.ready:
        return READY
    if judgement.meaning == "bad":
        return FAILED
    if judgement.state == "Stopped" or reason in _IDLE or (is_suspended(tree) and not known.started):
        return STOPPED
    if judgement.state == "Waiting" or reason.startswith("Waiting"):
        return WAITING
    return PROGRESSING


def _state(made: Summary) -> str:
    if made.error:
        return FAILED
    return _OTHER_STATES.get(made.state, READY if made.ready else PROGRESSING)


def _replicas(workload: Workload) -> tuple[int, int]:
    if workload.kind != "ExecutableReplicaSet":
        return int(workload.judgement.ready), 1
    if workload.children:
        return sum(child.judgement.ready for child in workload.children), workload.replicas
    return int(workload.status.get("readyReplicas") or 0), workload.replicas


def _other_replicas(tree: Object, made: Summary) -> tuple[int, int]:
    spec, status = tree.get("spec"), tree.get("status")
    spec, status = spec if isinstance(spec, dict) else {}, status if isinstance(status, dict) else {}
    if tree.get("kind") == "Pod":
        listed = status.get("containerStatuses") or ()
        return sum(bool(each.get("ready")) for each in listed), max(len(spec.get("containers") or ()), 1)
    if isinstance(wanted := spec.get("replicas"), int):
        return _number(status.get("readyReplicas")), wanted
    if "desiredNumberScheduled" in status:
        return _number(status.get("numberReady")), _number(status["desiredNumberScheduled"])
    return int(made.ready), 1


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _restarts(tree: Object) -> int:
    status = tree.get("status")
    listed = status.get("containerStatuses") if isinstance(status, dict) else None
    return sum(_number(each.get("restartCount")) for each in listed or () if isinstance(each, dict))


def _since(tree: Object, condition: Mapping[str, Json]) -> Json:
    """Returns the time of the last change of state, as far as the object says."""
    metadata = tree.get("metadata") or {}
    return metadata.get("deletionTimestamp") or condition.get("lastTransitionTime") or metadata.get("creationTimestamp")


def _actions(tree: Object, state: str) -> list[Json]:
    if tree["kind"] == "Task":
        return ["run"]
    found: list[Json] = ["start" if state in (STOPPED, FINISHED) else "stop", "restart"]
    return [*found, "scale"] if tree["kind"] == "ExecutableReplicaSet" else found


def _dependencies(tree: Object, find: Find, served: Mapping[str, list[Json]]) -> list[Json]:
    template = template_of(tree)
    wanted = requirements(template if template.get("kind") else {**template, "kind": "Executable"})
    found: list[Json] = []
    for each in wanted[:_MOST_DEPENDENCIES]:
        if each.kind not in RUNNING and each.kind != SERVICE:
            continue
        other = find(each.kind, each.name)
        met = other is not None and progress(other).has(each.condition)
        dependency: Object = {"name": each.name, "kind": each.kind, "condition": each.condition, "met": met}
        if each.kind == SERVICE:
            dependency["parts"] = served.get(each.name, [])
        found.append(dependency)
    return found


def _family(workload: Workload) -> list[Object]:
    return [workload.tree, *(tree for child in workload.children for tree in _family(child))]


def _revision(tree: Object) -> int:
    text = tree["metadata"].get("resourceVersion") or "0"
    return int(text) if text.isdecimal() else 0
