"""Requested runs of tasks. Each run is identified by its request."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from setpoint.client.kinds import KindRef
from setpoint.client.patches import merge
from setpoint.objects import meta
from setpoint.objects.errors import Conflict
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import (
    GROUP,
    OWN_GROUP,
    OWNER_LABEL,
    RESTART_REQUESTED,
    RUN_ARGUMENTS,
    RUN_REQUEST,
    VERSION,
)

if TYPE_CHECKING:
    from setpoint.client.client import Client

TASK = KindRef(GroupVersionKind(OWN_GROUP, VERSION, "Task"))
_ATTEMPTS = [KindRef(GroupVersionKind(GROUP, VERSION, kind)) for kind in ("Executable", "Container")]
_LOOK_SECONDS = 0.05


class Busy(Exception):  # noqa: N818 - it says what is so
    """Raised if another run of the task is active and the task does not allow concurrent runs."""


async def request_run(client: "Client", name: str, arguments: Sequence[str] = ()) -> str:
    """Requests a run of a task with additional arguments and returns the request. Waits while an earlier request has
    not begun. Raises Busy, NotFound and other APIErrors.
    """
    given = msgspec.json.encode(list(arguments)).decode() if arguments else None
    while True:
        task: Object = await client.get(TASK, name)
        status = task.get("status") or {}
        before = meta.annotations(task).get(RESTART_REQUESTED, "")
        if before not in ("", status.get("observedRestart", "")):
            await client.clock.sleep(_LOOK_SECONDS)
            continue
        if status.get("active") and task["spec"].get("concurrencyPolicy", "Forbid") == "Forbid":
            raise Busy(name)
        request = format_micro_time(client.clock.now())
        annotations = {RESTART_REQUESTED: request, RUN_ARGUMENTS: given}
        change = {"metadata": {"annotations": annotations, "resourceVersion": task["metadata"]["resourceVersion"]}}
        try:
            await client.patch(TASK, merge(change), name)
        except Conflict:
            continue  # another client was faster
        return request


async def withdraw(client: "Client", name: str, request: str) -> None:
    """Withdraws a request if the run has not begun."""
    task: Object = await client.get(TASK, name)
    if meta.annotations(task).get(RESTART_REQUESTED) == request:
        locked = {"annotations": {RESTART_REQUESTED: None}, "resourceVersion": task["metadata"]["resourceVersion"]}
        with suppress(Conflict):  # the run has begun, or another client has requested one
            await client.patch(TASK, merge({"metadata": locked}), name)


async def attempts_of(client: "Client", task: Object, request: str) -> list[Object]:
    """Returns the objects of a run's attempts, oldest first."""
    found: list[Object] = []
    for kind in _ATTEMPTS:
        listed = await client.list(kind, labels={OWNER_LABEL: meta.uid(task)})
        found += (tree for tree in listed.items if meta.annotations(tree).get(RUN_REQUEST) == request)
    return sorted(found, key=lambda tree: str(tree["metadata"].get("creationTimestamp", "")))


def run_of(task: Object, request: str) -> Object | None:
    """Returns the status of a run in its task, or None."""
    runs = (task.get("status") or {}).get("runs") or ()
    return next((run for run in runs if run.get("request") == request), None)


def was_left_out(task: Object, request: str) -> bool:
    """Returns True if a request was skipped because another run was active."""
    status = task.get("status") or {}
    return status.get("observedRestart") == request and run_of(task, request) is None
