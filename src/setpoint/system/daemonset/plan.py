"""The next step of a daemon set: the nodes that get a pod, and the pods that go. Functions of the objects, which let
other tasks run in between."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.tree import Object
from setpoint.system.daemonset.placement import HASH_LABEL, Decision, is_updated
from setpoint.system.deployment.numbers import scaled
from setpoint.system.pods.state import FAILED, SUCCEEDED, is_available, is_ready, phase_of
from setpoint.system.turns import in_turns

ROLLING = "RollingUpdate"


class Plan(NamedTuple):
    """The nodes that need a pod, and the pods to delete."""

    create: list[str]
    delete: list[Object]


class View(NamedTuple):
    """The facts of one reconcile."""

    daemon_set: Object
    # The decisions about all nodes, by name.
    nodes: Mapping[str, Decision]
    # The pods of each node that has some, those that are being deleted too.
    pods: Mapping[str, list[Object]]
    # The hash of the current revision.
    revision: str
    now: datetime
    # The clock, by which other tasks run in between.
    clock: Clock

    def is_available(self, pod: Object) -> bool:
        return is_available(pod, self.daemon_set["spec"].get("minReadySeconds") or 0, self.now)


def oldest_first(pods: Sequence[Object]) -> list[Object]:
    """Returns pods in the order of their age; those with a node first."""

    def rank(pod: Object) -> tuple[bool, str, str]:
        metadata = pod["metadata"]
        return not pod["spec"].get("nodeName"), metadata["creationTimestamp"], metadata["name"]

    return sorted(pods, key=rank)


def limits(daemon_set: Object, desired: int) -> tuple[int, int]:
    """Returns the surge and the unavailability of a rolling update. One pod may be unavailable if both are zero,
    because an update could not proceed otherwise."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    rolling = (strategy.get("rollingUpdate") or {}) if strategy.get("type") == ROLLING else {}
    surge = scaled(rolling.get("maxSurge"), desired, up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), desired, up=True)
    return (surge, unavailable) if surge or unavailable or not desired else (0, 1)


def _allows_surge(daemon_set: Object) -> bool:
    return limits(daemon_set, 1)[0] > 0


async def placed(view: View, removes_failed: Callable[[Object, str], bool]) -> Plan:
    """Returns the plan that gives each selected node one pod. `removes_failed` decides if a pod that has ended is
    deleted now, and reports the pod."""
    plan = Plan([], [])
    async for name, decision in in_turns(view, tuple(view.nodes.items())):
        pods = view.pods.get(name)
        if pods is None:
            if decision.should_run:
                plan.create.append(name)
        elif decision.may_stay:
            _on_node(view, name, pods, decision.should_run, removes_failed, plan)
        else:
            plan.delete.extend(pod for pod in pods if not pod["metadata"].get("deletionTimestamp"))
    async for name, pods in in_turns(view, tuple(view.pods.items())):
        if name not in view.nodes:
            plan.delete.extend(pod for pod in pods if not pod["spec"].get("nodeName"))
    return plan


def _on_node(
    view: View,
    name: str,
    pods: list[Object],
    should_run: bool,
    removes_failed: Callable[[Object, str], bool],
    plan: Plan,
) -> None:
    """Adds the pods to delete, and the pod to create, on a node that may keep its pod."""
    running = []
    for pod in pods:
        if pod["metadata"].get("deletionTimestamp"):
            continue
        if phase_of(pod) in (FAILED, SUCCEEDED):
            if removes_failed(pod, name):
                plan.delete.append(pod)
            continue
        running.append(pod)
    running = oldest_first(running)
    if not _allows_surge(view.daemon_set):
        plan.delete.extend(running[1:])
    elif not running:
        if should_run:
            plan.create.append(name)
    elif len(running) > 1:
        plan.delete.extend(_superseded(view, running))


def _superseded(view: View, running: list[Object]) -> list[Object]:
    """Returns the pods that go from a node with a surge: two may stay only while the new one is not available and the
    old one is ready."""
    new = [pod for pod in running if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == view.revision]
    old = [pod for pod in running if pod not in new]
    gone = new[1:] + old[1:]
    if new and old and (not is_ready(old[0]) or view.is_available(new[0])):
        gone.append(old[0])
    return gone


def _one_of_each(view: View, pods: Sequence[Object]) -> tuple[Object | None, Object | None] | None:
    """Returns the new and the old pod of a node; None if there are several of one."""
    new: list[Object] = []
    old: list[Object] = []
    for pod in pods:
        if not pod["metadata"].get("deletionTimestamp"):
            (new if is_updated(pod, view.daemon_set, view.revision) else old).append(pod)
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None), (old[0] if old else None)


async def updated(view: View) -> Plan:
    """Returns the plan of a rolling update within its limits."""
    selected = {name async for name, each in in_turns(view, tuple(view.nodes.items())) if each.should_run}
    surge, unavailable = limits(view.daemon_set, len(selected))
    names = sorted({*view.pods, *selected})
    return await (_surging(view, names, selected, surge) if surge else _replacing(view, names, unavailable))


async def _replacing(view: View, names: Sequence[str], most: int) -> Plan:
    """Deletes old pods as long as few enough are unavailable. Unavailable old pods go at once."""
    missing = 0
    at_once: list[Object] = []
    candidates: list[Object] = []
    async for name in in_turns(view, names):
        found = _one_of_each(view, view.pods.get(name, ()))
        if found is None:
            missing += 1
            continue
        new, old = found
        if (new is None) == (old is None):
            missing += 1
        elif new is not None:
            missing += not view.is_available(new)
        elif old is not None:
            if view.is_available(old):
                candidates.append(old)
            else:
                at_once.append(old)
                missing += 1
    return Plan([], at_once + candidates[: max(most - missing, 0)])


async def _surging(view: View, names: Sequence[str], selected: set[str], most: int) -> Plan:
    """Creates new pods beside old ones, at most as many as the surge, and deletes old ones beside available new
    ones."""
    surging = available = 0
    delete: list[Object] = []
    unselected: list[Object] = []
    at_once: list[str] = []
    candidates: list[str] = []
    async for name in in_turns(view, names):
        found = _one_of_each(view, view.pods.get(name, ()))
        if found is None:
            surging += 1
            continue
        new, old = found
        counted = old if old is not None else new
        available += counted is not None and view.is_available(counted)
        if old is None:
            continue
        if new is not None:
            if view.is_available(new):
                delete.append(old)
            else:
                surging += 1
        elif name in selected:
            (candidates if view.is_available(old) else at_once).append(name)
        else:
            (unselected if view.is_available(old) else delete).append(old)
    # Pods on nodes that are not selected any more stay until enough others are available.
    delete += unselected[: max(available - len(selected), 0)]
    return Plan(at_once + candidates[: max(most - surging, 0)], delete)
