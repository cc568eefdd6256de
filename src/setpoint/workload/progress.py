"""How far an object has come: whether it has started, is ready, has finished, has succeeded, and if not, why.

These are the conditions of `dependsOn`, read off the status of each kind.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.workload.kinds.parts import DependencyCondition


class Progress(NamedTuple):
    """What holds of an object, and what it does, for people."""

    started: bool
    ready: bool
    finished: bool
    succeeded: bool
    says: str

    def has(self, condition: "DependencyCondition") -> bool:
        """Whether a condition holds."""
        return bool(getattr(self, condition.lower()))


def progress(tree: Object) -> Progress:
    """How far an object has come, by its kind and status."""
    kind, status = tree["kind"], tree.get("status") or {}
    if is_suspended(tree):
        # What is to go on has not finished, however it ended.
        return Progress(status.get("state") in ("Running", "Stopping"), False, False, False, "it is stopped for now")
    if kind in ("Executable", "ContainerExec"):
        return _process(kind, status)
    if kind == "Container":
        return _container(status)
    if kind == "ExecutableReplicaSet":
        return _replicas(tree.get("spec") or {}, status)
    if kind == "Service":
        return _service(status)
    state = status.get("state", "")
    if kind == "Task":
        done = state in ("Succeeded", "Failed")
        # A task is ready when it is done: that is what others wait for.
        good = state == "Succeeded"
        return Progress(done or state == "Running", good, done, good, _state(state))
    up = state in ("Running", "Ready")
    return Progress(up, up, False, False, _state(state))


def is_suspended(tree: Object) -> bool:
    """Whether an object that should go on is stopped for the time being. A task is something else: it only starts no
    further run."""
    return tree["kind"] != "Task" and bool((tree.get("spec") or {}).get("suspend"))


def _state(state: str) -> str:
    return f"it is {state}" if state else "it has not begun"


def _ended(status: Mapping[str, object]) -> str:
    code = status.get("exitCode")
    return "it ended" if code is None else f"it ended with exit code {code}"


def _process(kind: str, status: Object) -> Progress:
    state = status.get("state", "")
    finished = state in ("Finished", "Terminated")
    running = state == "Running"
    # Nobody probes what runs in a container beside it.
    well = kind == "ContainerExec" or status.get("healthStatus") == "Healthy"
    says = _ended(status) if finished else _unwell(running and not well, status) or _state(state)
    succeeded = finished and status.get("exitCode") == 0
    return Progress(running or finished or state == "Stopping", running and well, finished, succeeded, says)


def _container(status: Object) -> Progress:
    state = status.get("state", "")
    finished, running = state == "Exited", state == "Running"
    well = status.get("healthStatus") == "Healthy"
    says = _ended(status) if finished else _unwell(running and not well, status) or _state(state)
    started = running or finished or state in ("Paused", "Stopping")
    return Progress(started, running and well, finished, finished and status.get("exitCode") == 0, says)


def _unwell(is_unwell: bool, status: Object) -> str:
    if not is_unwell:
        return ""
    failed = [each for each in status.get("healthProbeResults") or () if each.get("outcome") != "Success"]
    why = "".join(f"; probe {each['probeName']}: {each.get('reason') or each.get('outcome')}" for each in failed[:1])
    return f"it runs and is not healthy{why}"


def _replicas(spec: Object, status: Object) -> Progress:
    wanted = spec.get("replicas", 1)
    running, failed, finished = (status.get(f"{key}Replicas", 0) for key in ("running", "failed", "finished"))
    done = 0 < status.get("observedReplicas", 0) <= failed + finished
    ready = status.get("healthStatus") == "Healthy" and running >= wanted
    says = f"{running} of {wanted} replicas run" + (f", {failed} could not be started" if failed else "")
    return Progress(running > 0 or done, ready, done, done and not failed, says)


def _service(status: Object) -> Progress:
    has_address = bool(status.get("effectivePort")) and bool(status.get("effectiveAddress"))
    ready = status.get("state") == "Ready"
    says = "nobody serves it" if has_address else "its address is not known"
    return Progress(has_address, ready, False, False, says)
