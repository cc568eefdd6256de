"""The table columns of a pod: the number of ready containers, and its status in one word."""

from datetime import datetime
from typing import NamedTuple

from setpoint.objects import conditions
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import NONE, field
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, since
from setpoint.server.registry.strategy import Column

_TERMINAL = ("Succeeded", "Failed")


class _Summary(NamedTuple):
    ready: int
    total: int
    reason: str
    restarts: int
    # The time at which a container last ended before a restart; empty if none did.
    last_restart: str


def _summary(tree: Object) -> _Summary:
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    first = {container.get("name"): container for container in spec.get("initContainers") or ()}
    sidecars = {name for name, container in first.items() if container.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    reason = status.get("reason") or status.get("phase") or ""
    held = status.get("conditions") or []
    scheduled = conditions.find(held, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    starting = _starting(status.get("initContainerStatuses") or [], len(first), sidecars)
    ready, restarts, last = starting.ready, starting.restarts, starting.last_restart
    if starting.reason:
        reason = starting.reason
    if not starting.reason or conditions.is_true(held, "Initialized"):
        running = _running(status.get("containerStatuses") or [], reason, held)
        ready += running.ready
        reason = running.reason
        beside = _restarts([it for it in status.get("initContainerStatuses") or () if it.get("name") in sidecars])
        restarts, last = beside[0] + running.restarts, max(beside[1], running.last_restart)
    if "deletionTimestamp" in tree["metadata"]:
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in _TERMINAL:
            reason = "Terminating"
    return _Summary(ready, total, reason, restarts, last)


def _restarts(statuses: list[Object]) -> tuple[int, str]:
    count, last = 0, ""
    for status in statuses:
        count += status.get("restartCount", 0)
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        last = max(last, ended)
    return count, last


def _starting(statuses: list[Object], count: int, sidecars: set[Json]) -> _Summary:
    """Summarizes the init containers. A reason means that they have not finished."""
    ready = 0
    for position, status in enumerate(statuses):
        state = status.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if status.get("name") in sidecars and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        if terminated is not None:
            reason = "Init:" + _ending(terminated)
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            reason = "Init:" + waiting["reason"]
        else:
            reason = f"Init:{position}/{count}"
        return _Summary(ready, 0, reason, *_restarts(statuses[: position + 1]))
    return _Summary(ready, 0, "", *_restarts(statuses))


def _ending(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    signal = terminated.get("signal", 0)
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"


def _running(statuses: list[Object], reason: str, held: list[Object]) -> _Summary:
    """Summarizes the regular containers; the first one with a reason determines the status."""
    ready = 0
    is_running, failed = False, ""
    for status in reversed(statuses):
        state = status.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _ending(terminated)
            if terminated.get("exitCode"):
                failed = reason
        elif status.get("ready") and state.get("running") is not None:
            is_running = True
            ready += 1
    if reason == "Completed":
        if is_running and conditions.is_true(held, "Ready"):
            reason = "Running"
        elif failed:
            reason = failed
        elif is_running:
            reason = "NotReady"
    return _Summary(ready, 0, reason, *_restarts(statuses))


def _ready(tree: Object, _now: datetime) -> Json:
    summary = _summary(tree)
    return f"{summary.ready}/{summary.total}"


def _status(tree: Object, _now: datetime) -> Json:
    return _summary(tree).reason


def _restart_count(tree: Object, now: datetime) -> Json:
    summary = _summary(tree)
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({since(summary.last_restart, now)} ago)"
    return str(summary.restarts)


def _ip(tree: Object, _now: datetime) -> Json:
    addresses = (tree.get("status") or {}).get("podIPs") or [{}]
    return addresses[0].get("ip") or NONE


def _gates(tree: Object, _now: datetime) -> Json:
    gates = (tree.get("spec") or {}).get("readinessGates") or []
    if not gates:
        return NONE
    held = (tree.get("status") or {}).get("conditions") or []
    return f"{sum(conditions.is_true(held, gate.get('conditionType') or '') for gate in gates)}/{len(gates)}"


COLUMNS = (
    NAME,
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restart_count),
    AGE,
    Column("IP", _ip, priority=1),
    Column("Node", field("spec", "nodeName", absent=NONE), priority=1),
    Column(
        "Nominated Node",
        field("status", "nominatedNodeName", absent=NONE),
        priority=1,
    ),
    Column("Readiness Gates", _gates, priority=1),
)

_ROW_CONDITIONS = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def row_conditions(tree: Object) -> list[Object]:
    """Returns the conditions of the row: a Completed condition for a finished pod."""
    phase = (tree.get("status") or {}).get("phase") or ""
    message = _ROW_CONDITIONS.get(phase)
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []
