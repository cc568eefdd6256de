"""Runs of tasks that somebody asks for: each is known by its request, and so never taken for another one."""

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
    """Another run of the task is under way, and it is not to run twice at once."""


async def request_run(client: "Client", name: str, arguments: Sequence[str] = ()) -> str:
    """Asks for a run of a task, with these arguments behind its own; the request. One that somebody else has asked for
    and that has not begun yet is waited for. Raises Busy, NotFound and other APIErrors."""
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
            continue  # somebody was quicker
        return request


async def withdraw(client: "Client", name: str, request: str) -> None:
    """Takes a request back, should the run not have begun."""
    task: Object = await client.get(TASK, name)
    if meta.annotations(task).get(RESTART_REQUESTED) == request:
        locked = {"annotations": {RESTART_REQUESTED: None}, "resourceVersion": task["metadata"]["resourceVersion"]}
        with suppress(Conflict):  # it has begun, or somebody else asks for one
            await client.patch(TASK, merge({"metadata": locked}), name)


async def attempts_of(client: "Client", task: Object, request: str) -> list[Object]:
    """The objects of the attempts of a run, the first one first."""
    found: list[Object] = []
    for kind in _ATTEMPTS:
        listed = await client.list(kind, labels={OWNER_LABEL: meta.uid(task)})
        found += (tree for tree in listed.items if meta.annotations(tree).get(RUN_REQUEST) == request)
    return sorted(found, key=lambda tree: str(tree["metadata"].get("creationTimestamp", "")))


def run_of(task: Object, request: str) -> Object | None:
    """What a task says of a run; None while there is none."""
    runs = (task.get("status") or {}).get("runs") or ()
    return next((run for run in runs if run.get("request") == request), None)


def was_left_out(task: Object, request: str) -> bool:
    """Whether a request came to nothing: another run was under way by then."""
    status = task.get("status") or {}
    return status.get("observedRestart") == request and run_of(task, request) is None
