"""`dependsOn[].restart`: restarts workloads when a workload that they depend on was restarted.

The dependents are stopped immediately, and wait for their dependencies before they start, as at the first start. A
replica set counts as restarted when one of its replicas was: its dependents wait until all replicas are ready again.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from setpoint.cache.informer import Change
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.controllers.file_restart import Restarts
from setpoint.workload.controllers.replica_set.replica_set_controller import SET_NAME
from setpoint.workload.kinds.container import Container
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.runtime import Machine


def _times(obj: Any) -> int:
    """Returns the restart count of an object."""
    return 0 if obj.status is None else obj.status.restart_count


def _is_other(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    return old is None or new is None or old.meta.uid != new.meta.uid or _times(old.object) != _times(new.object)


_STARTED_AGAIN = Predicate(_is_other, "restarted")


class Cascade:
    """Tracks the restart count of each workload and restarts the dependents."""

    def __init__(self, machine: Machine, executables: Restarts, containers: Restarts) -> None:
        self._machine = machine
        self._restarts = {"Executable": executables, "Container": containers}
        # By kind and name: the uid of the object and its restart count.
        self._states: dict[tuple[str, str], tuple[str, int]] = {}
        self.controllers = [
            Controller(
                f"{kind.__name__.lower()}-dependants",
                partial(self._reconcile, kind.__name__),
                kind=kind,
                clock=machine.clock,
                ids=machine.ids,
                predicates=(_STARTED_AGAIN,),
            )
            for kind in (Executable, Container)
        ]

    async def _reconcile(self, kind: str, ctx: Context, request: Request) -> None:
        obj = await ctx.object()
        key = kind, request.name
        if obj is None:
            self._states.pop(key, None)
            return
        now = obj.metadata.uid or "", _times(obj)
        before = self._states.get(key)
        self._states[key] = now
        if before is None or before[0] != now[0] or now[1] <= before[1]:
            return
        set_name = (obj.metadata.annotations or {}).get(SET_NAME, "")
        cause = ("ExecutableReplicaSet", set_name) if kind == "Executable" and set_name else key
        for dependant in self._dependants(*cause):
            name = meta.name(dependant)
            self._restarts[dependant["kind"]].restart(name, f"{' '.join(cause)} was restarted")

    def _dependants(self, kind: str, name: str) -> Iterator[Object]:
        for tree in self._machine.objects():
            if tree["kind"] in self._restarts and any(
                each.get("restart") and (each["kind"], each["name"]) == (kind, name)
                for each in tree["spec"].get("dependsOn") or ()
            ):
                yield tree
