"""The conditions of a pod on a simulated node, as a kubelet derives them from the containers."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import FAILED, SUCCEEDED, condition_of

_TRUE, _FALSE = "True", "False"
# The status, the reason and the message of a condition.
_Value = tuple[str, str, str]


def conditions(
    pod: Object, phase: str, init: Sequence[Object], containers: Sequence[Object], now: datetime
) -> list[Object]:
    """Returns the conditions of the node, and after them those of others."""
    ready = _containers_ready(phase, pod, init, containers)
    values: dict[str, _Value] = {
        "PodReadyToStartContainers": (_FALSE if phase in (SUCCEEDED, FAILED) else _TRUE, "", ""),
        "Initialized": _initialized(phase, pod, init, containers),
        "Ready": _gated(pod, ready),
        "ContainersReady": ready,
    }
    found = [_condition(pod, kind, value, now) for kind, value in values.items()]
    others = (pod.get("status") or {}).get("conditions") or ()
    return [*found, *(each for each in others if each["type"] not in values)]


def _initialized(phase: str, pod: Object, init: Sequence[Object], containers: Sequence[Object]) -> _Value:
    if phase == SUCCEEDED:
        return _TRUE, "PodCompleted", ""
    sidecars = _sidecars(pod)
    missing = [
        each["name"]
        for each in init
        if not (each["started"] or each["restartCount"] if each["name"] in sidecars else each["ready"])
    ]
    if not missing or any("waiting" not in each["state"] for each in containers):
        return _TRUE, "", ""
    return _FALSE, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(missing)}]"


def _containers_ready(phase: str, pod: Object, init: Sequence[Object], containers: Sequence[Object]) -> _Value:
    if phase == SUCCEEDED:
        return _FALSE, "PodCompleted", ""
    if phase == FAILED:
        return _FALSE, "PodFailed", ""
    sidecars = _sidecars(pod)
    counted = (*(each for each in init if each["name"] in sidecars), *containers)
    unready = [each["name"] for each in counted if not each["ready"]]
    if not unready:
        return _TRUE, "", ""
    return _FALSE, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"


def _gated(pod: Object, ready: _Value) -> _Value:
    """Returns the value of Ready: that of ContainersReady, unless a readiness gate is closed."""
    if ready[0] != _TRUE:
        return ready
    closed = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = condition_of(pod, kind)
        if found is None:
            closed.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found["status"] != _TRUE:
            closed.append(f'the status of pod readiness gate "{kind}" is not "True", but {found["status"]}')
    return (_FALSE, "ReadinessGatesNotReady", ", ".join(closed)) if closed else ready


def _sidecars(pod: Object) -> frozenset[str]:
    init = pod["spec"].get("initContainers") or ()
    return frozenset(each["name"] for each in init if each.get("restartPolicy") == "Always")


def _condition(pod: Object, kind: str, value: _Value, now: datetime) -> Object:
    status, reason, message = value
    known = condition_of(pod, kind)
    is_same = known is not None and known["status"] == status
    moment = known.get("lastTransitionTime") if known is not None and is_same else None
    found: Object = {
        "type": kind,
        "status": status,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "lastProbeTime": None,
        "lastTransitionTime": moment or format_time(now),
    }
    # A reason or message that no longer holds is removed by null: the patch merges conditions by type.
    for name, text in (("reason", reason), ("message", message)):
        if text:
            found[name] = text
        elif known is not None and known.get(name):
            found[name] = None
    return found
