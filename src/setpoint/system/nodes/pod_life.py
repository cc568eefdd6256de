"""The life of a pod on a simulated node: the next status of a pod, from its present one, the scripts and the time.

All steps that need no time are taken at once, so that a plain pod becomes ready with one write. A step that needs time
is taken by a later call with the stored status.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.node_scripts import Behaviour, ContainerRun, SelectedScript
from setpoint.system.nodes.container_status import (
    KILLED_CODE,
    backing_off,
    ended,
    exit_code,
    running,
    started_at,
    stopped,
    waiting,
)
from setpoint.system.nodes.pod_conditions import conditions
from setpoint.system.nodes.pod_memory import PodMemory, RunTimes
from setpoint.system.pods.state import FAILED, PENDING, RUNNING, SUCCEEDED

_ALWAYS, _ON_FAILURE, _NEVER = "Always", "OnFailure", "Never"
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBE_SECONDS = 10
_FOREVER, _AT_ONCE, _JOB = Behaviour(), Behaviour(exit_code=0), Behaviour(exit_code=0, after=1.0)
_DEADLINE = "Pod was active on the node longer than the specified deadline"


class Addresses(NamedTuple):
    """The addresses of the node of a pod, and of the pod."""

    node: str
    pod: str


class Step(NamedTuple):
    """The next status of a pod, the seconds until its next step (None without one), and the containers whose restart
    was put off."""

    status: Object
    wait: float | None
    backing_off: Sequence[str]


def is_sidecar(container: Object) -> bool:
    """Returns True for an init container that runs beside the others."""
    return container.get("restartPolicy") == _ALWAYS


def behaviour_of(scripts: Iterable[SelectedScript], run: ContainerRun, *, is_init: bool) -> tuple[Behaviour, bool]:
    """Returns the behaviour of a run of a container, and True for the behaviour of a script. `is_init` means an init
    container that has to end. Without a script such a container ends at once, and a container of a Job after a
    second."""
    metadata = run.pod["metadata"]
    for each in scripts:
        if each.selector.matches(metadata.get("labels") or {}):
            found = each.script(run)
            if found is not None:
                return found, True
    if is_init:
        return _AT_ONCE, False
    if _is_of_job(run.pod):
        sidecars = {each["name"] for each in run.pod["spec"].get("initContainers") or ()}
        return (_FOREVER if run.container in sidecars else _JOB), False
    return _FOREVER, False


def _is_of_job(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["kind"] == "Job" for owner in owners)


class PodLife:
    """One step of a pod."""

    def __init__(self, pod: Object, scripts: Sequence[SelectedScript], memory: PodMemory, now: datetime) -> None:
        self._pod = pod
        self._scripts = scripts
        self._memory = memory
        self._now = now
        self._due: datetime | None = None
        self._backing_off: list[str] = []
        self._policy = pod["spec"].get("restartPolicy", _ALWAYS)

    def step(self, addresses: Addresses) -> Step:
        """Returns the next status."""
        pod, spec, known = self._pod, self._pod["spec"], self._pod.get("status") or {}
        start = known.get("startTime") or format_time(self._now)
        is_ready_to_start, init_code, init = self._init_containers(known)
        old = {each["name"]: each for each in known.get("containerStatuses") or ()}
        containers = [
            self._advance(each, old.get(each["name"]), self._policy)
            if is_ready_to_start
            else old.get(each["name"]) or waiting(pod, each, "PodInitializing")
            for each in spec["containers"]
        ]
        phase, reason, message = self._phase(is_ready_to_start, init_code, containers), "", ""
        limit = spec.get("activeDeadlineSeconds")
        if limit is not None and phase not in (SUCCEEDED, FAILED):
            due = parse_time(start) + timedelta(seconds=limit)
            if due <= self._now:
                phase, reason, message = FAILED, "DeadlineExceeded", _DEADLINE
            else:
                self._wait_until(due)
        if phase in (SUCCEEDED, FAILED):
            # Sidecars end after the other containers, and a failed pod has no running container.
            for each in (*init, *containers):
                self._memory.ended(each["name"], each["restartCount"], self._now)
            init = [stopped(each, 0 if phase == SUCCEEDED else KILLED_CODE, self._now) for each in init]
            containers = [stopped(each, KILLED_CODE, self._now) for each in containers]
            self._due = None
        status: Object = {
            "phase": phase,
            "observedGeneration": pod["metadata"].get("generation", 1),
            "startTime": start,
            "hostIP": addresses.node,
            "hostIPs": [{"ip": addresses.node}],
            "podIP": addresses.pod,
            "podIPs": [{"ip": addresses.pod}],
            "containerStatuses": containers,
            "qosClass": known.get("qosClass", "BestEffort"),
            **({"initContainerStatuses": init} if init else {}),
            **({"reason": reason, "message": message} if reason else {}),
        }
        status["conditions"] = conditions(pod, phase, init, containers, self._now)
        wait = None if self._due is None else max((self._due - self._now).total_seconds(), 0.0)
        return Step(status, wait, self._backing_off)

    def stop_seconds(self) -> float:
        """Returns the seconds from the request to stop the pod until its last container has ended."""
        found = [self._behaviour(container, status)[0].stop_after for container, status in self._running()]
        return max(found, default=0.0)

    def stop(self) -> Object:
        """Returns the status of a pod whose containers were stopped."""
        codes = {
            status["name"]: self._behaviour(container, status)[0].stop_code for container, status in self._running()
        }
        known = self._pod.get("status") or {}
        lists: dict[str, list[Object]] = {
            name: [stopped(each, codes.get(each["name"], 0), self._now) for each in known.get(name) or ()]
            for name in ("initContainerStatuses", "containerStatuses")
        }
        containers = lists["containerStatuses"]
        is_success = bool(containers) and all(exit_code(each) == 0 for each in containers)
        phase = SUCCEEDED if is_success else FAILED
        found = conditions(self._pod, phase, lists["initContainerStatuses"], containers, self._now)
        return {"phase": phase, "conditions": found, **{name: each for name, each in lists.items() if each}}

    def _running(self) -> Iterable[tuple[Object, Object]]:
        """Yields the running containers with their statuses."""
        spec, known = self._pod["spec"], self._pod.get("status") or {}
        found = {each["name"]: each for each in (*(spec.get("initContainers") or ()), *spec["containers"])}
        for name in ("initContainerStatuses", "containerStatuses"):
            for status in known.get(name) or ():
                if "running" in (status.get("state") or {}) and status["name"] in found:
                    yield found[status["name"]], status

    def _init_containers(self, known: Object) -> tuple[bool, int, list[Object]]:
        """Returns True if the other containers may start, the exit code of a failed init container or 0, and the
        statuses."""
        pod, found = self._pod, []
        old = {each["name"]: each for each in known.get("initContainerStatuses") or ()}
        policy = _NEVER if self._policy == _NEVER else _ON_FAILURE
        is_free, failed = True, 0
        for container in pod["spec"].get("initContainers") or ():
            status = old.get(container["name"])
            if not is_free:
                found.append(status or waiting(pod, container, "PodInitializing"))
                continue
            sidecar = is_sidecar(container)
            status = self._advance(container, status, _ALWAYS if sidecar else policy, is_init=not sidecar)
            code = exit_code(status)
            if sidecar:
                # A sidecar that has started once does not delay the containers by a restart.
                is_free = bool(status["started"] or status["restartCount"])
            else:
                is_free, failed = code == 0, code or 0
                # An init container is ready after its end.
                if status["ready"] != is_free:
                    status = {**status, "ready": is_free}
            found.append(status)
        return is_free, failed, found

    def _phase(self, is_free: bool, init_code: int, containers: Sequence[Object]) -> str:
        if init_code:
            return FAILED
        if not is_free:
            return PENDING
        codes = [exit_code(each) for each in containers]
        if all(code is not None for code in codes):
            return FAILED if any(codes) else SUCCEEDED
        is_unstarted = any("waiting" in each["state"] and not each["lastState"] for each in containers)
        return PENDING if is_unstarted else RUNNING

    def _advance(self, container: Object, status: Object | None, policy: str, *, is_init: bool = False) -> Object:
        """Takes the steps of a container that are due."""
        pod, memory, now = self._pod, self._memory, self._now
        while True:
            if status is None or ("waiting" in status["state"] and not status["lastState"]):
                behaviour, _ = self._script(container, 0, is_init=is_init)
                if behaviour.pull_error:
                    return waiting(pod, container, "ImagePullBackOff", behaviour.pull_error)
                status = self._start(container, 0, {})
            name, run = container["name"], status["restartCount"]
            if "terminated" in status["state"]:
                return status
            if "waiting" in status["state"]:
                finished = parse_time(status["lastState"]["terminated"]["finishedAt"])
                due = finished + timedelta(seconds=memory.pause(name, run))
                if due > now:
                    self._wait_until(due)
                    return status
                status = self._start(container, run + 1, status["lastState"])
                continue
            behaviour, is_scripted = self._script(container, run, is_init=is_init)
            start = memory.times_of(name, RunTimes(run, started_at(status))).start
            if behaviour.exit_code is None or start + timedelta(seconds=behaviour.after) > now:
                return self._probed(container, status, behaviour, start, is_scripted)
            last = ended(status, behaviour.exit_code, now, behaviour)
            memory.ended(name, run, now)
            if policy == _NEVER or (policy == _ON_FAILURE and not behaviour.exit_code):
                return {**status, "ready": False, "started": False, "state": last}
            pause = memory.pause(name, run, (now - start).total_seconds())
            if pause:
                status = backing_off(pod, status, last, pause)
                self._backing_off.append(name)
            else:
                status = self._start(container, run + 1, last)

    def _probed(
        self, container: Object, status: Object, behaviour: Behaviour, start: datetime, scripted: bool
    ) -> Object:
        """Returns the status of a running container with the results of its probes."""
        if behaviour.exit_code is not None:
            self._wait_until(start + timedelta(seconds=behaviour.after))
        times = [start + timedelta(seconds=each) for each in (behaviour.started_after, behaviour.ready_after)]
        for moment in times:
            if moment > self._now:
                self._wait_until(moment)
        periods = [container[each].get("periodSeconds") or _PROBE_SECONDS for each in _PROBES if container.get(each)]
        if scripted and periods:
            self._wait_until(self._now + timedelta(seconds=min(periods)))
        is_started = times[0] <= self._now
        is_ready = is_started and behaviour.ready and times[1] <= self._now
        if (status["started"], status["ready"]) == (is_started, is_ready):
            return status
        return {**status, "started": is_started, "ready": is_ready}

    def _start(self, container: Object, run: int, last_state: Object) -> Object:
        # The exact start of a container that runs for ever is not needed.
        if self._scripts or _is_of_job(self._pod):
            self._memory.started(container["name"], run, self._now)
        return running(self._pod, container, run, last_state, self._now)

    def _behaviour(self, container: Object, status: Object) -> tuple[Behaviour, bool]:
        return self._script(container, status["restartCount"], is_init=False)

    def _script(self, container: Object, run: int, *, is_init: bool) -> tuple[Behaviour, bool]:
        return behaviour_of(self._scripts, ContainerRun(self._pod, container["name"], run), is_init=is_init)

    def _wait_until(self, moment: datetime) -> None:
        if self._due is None or moment < self._due:
            self._due = moment
