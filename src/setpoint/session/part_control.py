"""Stops, starts and restarts parts of a running app by patching their objects.

Callers can wait for the effect: a stop sets the reason Suspended in the Ready condition; a requested restart or task
run appears in `status.observedRestart`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from setpoint.client.kinds import KindRef, ref_of
from setpoint.client.patches import merge
from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import (
    APP_LABEL,
    GROUP,
    OWN_GROUP,
    RESTART_REQUESTED,
    RUN_ARGUMENTS,
    STOPPED_BECAUSE,
    SUSPENDED_WITH_SET,
    VERSION,
)

if TYPE_CHECKING:
    from setpoint.client.client import Client

_KINDS = (
    *(KindRef(GroupVersionKind(GROUP, VERSION, kind)) for kind in ("Executable", "ExecutableReplicaSet", "Container")),
    KindRef(GroupVersionKind(OWN_GROUP, VERSION, "Task")),
)


async def stop(client: "Client", tree: Object) -> None:
    """Suspends a workload. A suspended task starts no run by itself."""
    await _patch(client, tree, {"spec": {"suspend": True}})


async def start(client: "Client", tree: Object) -> None:
    """Starts a workload that was suspended or had `start: false`."""
    spec = {"suspend": None, **({"start": True} if tree["spec"].get("start") is False else {})}
    await _patch(client, tree, {"spec": spec, "metadata": {"annotations": {SUSPENDED_WITH_SET: None}}})


async def restart(client: "Client", tree: Object) -> str:
    """Requests a restart, or a run of a task, also for ended or stopped workloads. Returns the request."""
    request = format_micro_time(client.clock.now())
    annotations: Object = {RESTART_REQUESTED: request}
    if tree["kind"] == "Task":
        await _patch(client, tree, {"metadata": {"annotations": {**annotations, RUN_ARGUMENTS: None}}})
    else:
        await _patch(client, tree, {"metadata": {"annotations": annotations}, "spec": {"suspend": None}})
    return request


async def end_run(client: "Client", run: Object, why: str) -> None:
    """Stops a run of a task by the object of its last attempt. The run is not retried."""
    change: Object = {"metadata": {"annotations": {STOPPED_BECAUSE: f"Stopped: {why}"}}, "spec": {"stop": True}}
    await _patch(client, run, change)


async def start_stopped(client: "Client", objects: Sequence[Object], *, only_these: bool = False) -> list[Object]:
    """Starts the parts of an app that a user has stopped, given the rendered objects of the app. With `only_these`,
    other parts stay stopped. Returns the started ones.
    """
    app = next((meta.labels(tree).get(APP_LABEL, "") for tree in objects), "")
    meant = {(tree["kind"], meta.name(tree)) for tree in objects if (tree.get("spec") or {}).get("suspend")}
    given = {(tree["kind"], meta.name(tree)) for tree in objects}
    found: list[Object] = []
    for kind in _KINDS:
        for tree in (await client.list(kind, labels={APP_LABEL: app})).items:
            by_set, key = SUSPENDED_WITH_SET in meta.annotations(tree), (tree["kind"], meta.name(tree))
            if only_these and key not in given:
                continue
            if tree["spec"].get("suspend") and key not in meant and not by_set:
                found.append(tree)
    for tree in found:
        await start(client, tree)
    return found


async def _patch(client: "Client", tree: Object, change: Object) -> None:
    await client.patch(ref_of(tree), merge(change), meta.name(tree))
