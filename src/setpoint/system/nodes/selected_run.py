"""The run of a container that a request selects, by the rules and with the errors of a kubelet."""

from setpoint.objects.errors import BadRequest, InternalError
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.nodes.pod_memory import RunTimes

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def status_of(pod: Object, container: str) -> Object | None:
    """Returns the status of a container; None before the node has reported one."""
    known = pod.get("status") or {}
    return next((each for name in _STATUSES for each in known.get(name) or () if each["name"] == container), None)


def selected_run(pod: Object, container: str, *, previous: bool) -> RunTimes:
    """Returns the run with its reported times. Raises BadRequest if the container has no such run."""
    place = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    status = status_of(pod, container)
    if status is None:
        raise BadRequest(f"{place} is not available")
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    run = status["restartCount"]
    if previous:
        if last is None:
            raise BadRequest(f"previous terminated {place} not found")
        return _ended(run if "waiting" in state else run - 1, last)
    if "running" in state:
        return RunTimes(run, parse_time(state["running"]["startedAt"]))
    if "terminated" in state:
        return _ended(run, state["terminated"])
    if last is not None:
        return _ended(run, last)
    reason = (state.get("waiting") or {}).get("reason", "")
    raise BadRequest(f"{place} is waiting to start: {_WAITING.get(reason, reason)}")


def _ended(run: int, terminated: Object) -> RunTimes:
    return RunTimes(run, parse_time(terminated["startedAt"]), parse_time(terminated["finishedAt"]))


def running_run(pod: Object, container: str) -> RunTimes:
    """Returns the run of a running container. Raises InternalError for any other, as a kubelet does."""
    status = status_of(pod, container)
    state = {} if status is None else status["state"]
    if status is None or "running" not in state:
        raise InternalError(f'container not found ("{container}")')
    return RunTimes(status["restartCount"], parse_time(state["running"]["startedAt"]))


def present_run(pod: Object, container: str, run: RunTimes) -> RunTimes:
    """Returns a run with its reported end, once the container has ended or runs again."""
    status = status_of(pod, container)
    if status is None or run.end is not None or status["restartCount"] < run.run:
        return run
    state, last = status["state"], (status.get("lastState") or {}).get("terminated")
    if status["restartCount"] == run.run:
        if "running" in state:
            return run
        last = state.get("terminated") or last
    return run if last is None else run._replace(end=parse_time(last["finishedAt"]))
