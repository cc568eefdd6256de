"""The progress of an object: started, ready, finished, succeeded, or the reason why not.

These are the conditions of `dependsOn`, derived from the status of each kind.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.workload.kinds.parts import DependencyCondition


_FAILED = ("Exited", "Finished", "Terminated", "Failed", "FailedToStart", "NotFound")


class WorkloadConditions(NamedTuple):
    """The conditions of an object, and a description of its state."""

    started: bool
    ready: bool
    finished: bool
    succeeded: bool
    says: str

    def has(self, condition: "DependencyCondition") -> bool:
        """Returns True if a condition is met."""
        return bool(getattr(self, condition.lower()))


def progress(tree: Object) -> WorkloadConditions:
    """Returns the progress of an object by its kind and status."""
    kind, status = tree["kind"], tree.get("status") or {}
    if is_suspended(tree):
        # A suspended object has not finished, whatever its exit code.
        return WorkloadConditions(
            status.get("state") in ("Running", "Stopping"), False, False, False, "it is suspended"
        )
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
        # A task is ready when it has succeeded, which dependents wait for.
        good = state == "Succeeded"
        return WorkloadConditions(done or state == "Running", good, done, good, _state(state))
    up = state in ("Running", "Ready")
    return WorkloadConditions(up, up, False, False, _state(state))


def has_failed(tree: Object) -> bool:
    """Returns True if a workload has ended, is unhealthy, or cannot start, and no restart is due."""
    status = tree.get("status") or {}
    if status.get("nextRestartTime"):
        return False
    return status.get("state") in _FAILED or status.get("healthStatus") == "Unhealthy"


def is_suspended(tree: Object) -> bool:
    """Returns True if a workload is suspended. A suspended Task does not count: only its further runs are suspended."""
    return tree["kind"] != "Task" and bool((tree.get("spec") or {}).get("suspend"))


def _state(state: str) -> str:
    return f"it is {state}" if state else "it has not started"


def _ended(status: Mapping[str, object]) -> str:
    code = status.get("exitCode")
    return "it ended" if code is None else f"it ended with exit code {code}"


def _process(kind: str, status: Object) -> WorkloadConditions:
    state = status.get("state", "")
    finished = state in ("Finished", "Terminated")
    running = state == "Running"
    # Commands in containers have no probes.
    well = kind == "ContainerExec" or status.get("healthStatus") == "Healthy"
    says = _ended(status) if finished else _unwell(running and not well, status) or _state(state)
    succeeded = finished and status.get("exitCode") == 0
    return WorkloadConditions(running or finished or state == "Stopping", running and well, finished, succeeded, says)


def _container(status: Object) -> WorkloadConditions:
    state = status.get("state", "")
    finished, running = state == "Exited", state == "Running"
    well = status.get("healthStatus") == "Healthy"
    says = _ended(status) if finished else _unwell(running and not well, status) or _state(state)
    started = running or finished or state in ("Paused", "Stopping")
    return WorkloadConditions(started, running and well, finished, finished and status.get("exitCode") == 0, says)


def _unwell(is_unwell: bool, status: Object) -> str:
    if not is_unwell:
        return ""
    failed = [each for each in status.get("healthProbeResults") or () if each.get("outcome") != "Success"]
    why = "".join(f"; probe {each['probeName']}: {each.get('reason') or each.get('outcome')}" for each in failed[:1])
    return f"it is running but not healthy{why}"


def _replicas(spec: Object, status: Object) -> WorkloadConditions:
    wanted = spec.get("replicas", 1)
    running, failed, finished = (status.get(f"{key}Replicas", 0) for key in ("running", "failed", "finished"))
    done = 0 < status.get("observedReplicas", 0) <= failed + finished
    ready = status.get("healthStatus") == "Healthy" and running >= wanted
    says = f"{running} of {wanted} replicas are running" + (f", {failed} failed to start" if failed else "")
    succeeded = 0 < wanted <= status.get("succeededReplicas", 0)
    return WorkloadConditions(running > 0 or done, ready, done, succeeded, says)


def _service(status: Object) -> WorkloadConditions:
    has_address = bool(status.get("effectivePort")) and bool(status.get("effectiveAddress"))
    ready = status.get("state") == "Ready"
    says = "no workload serves it" if has_address else "its address is unknown"
    return WorkloadConditions(has_address, ready, False, False, says)
