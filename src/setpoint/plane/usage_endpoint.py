"""CPU and memory of a running process or container over time.

    GET /apis/setpoint.dev/v1/{plural}.{group}/{name}/samples[?since=2026-01-31T12:00:00Z]

Each request takes a sample, at most one a second; the samples are kept in memory as `UsageSettings` says. The first
request of a program measures twice. Requires the right to get the object. The items are empty while the program does
not run.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.times import format_micro_time, parse_time
from setpoint.objects.tree import Object
from setpoint.plane.workload_details import answer_items, read_object
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.workload.engine.engine import Engine
from setpoint.workload.usage import Usage, child_processes, container_usage, usage_of
from setpoint.workload.usage_samples import Reading, UsageSamples
from setpoint.workload.usage_settings import UsageSettings

if TYPE_CHECKING:
    from setpoint.workload.workloads import Workloads

# The seconds between the two measurements of the first request.
_FIRST_SECONDS = 0.2


class UsageEndpoint:
    """The samples of a control plane. `workloads` returns its workloads; None if there are none."""

    def __init__(self, workloads: "Callable[[], Workloads | None]", settings: UsageSettings) -> None:
        self._workloads, self._settings = workloads, settings
        self._samples = UsageSamples(settings)

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the samples of a workload. Raises BadRequest for an invalid `since`."""
        since = _time(context.parameter("since"))
        tree = await read_object(context, resource)
        if self._settings.enabled:
            await self._measure(context, tree)
        items = [
            {
                "time": format_micro_time(each.time),
                "cpuMillicores": each.millicores,
                "memoryBytes": each.memory,
                "processes": each.processes,
                "replica": meta.name(tree),
            }
            for each in self._samples.of(meta.uid(tree), context.services.clock.now(), since)
        ]
        return await answer_items(context, "Samples", items)

    async def _measure(self, context: Context, tree: Object) -> None:
        """Takes a sample of a running workload, if the last one is not from this second."""
        status, uid = tree.get("status") or {}, meta.uid(tree)
        is_process = tree["kind"] == "Executable"
        pid = status.get("pid") if is_process and status.get("state") == "Running" else None
        program = str(pid or "") if is_process else str(status.get("containerId") or "")
        if not program or not self._samples.is_due(uid, program, context.services.clock.monotonic()):
            return
        is_first = not self._samples.has_begun(uid, program)
        if await self._take(context, uid, pid, program) and is_first:
            await context.services.clock.sleep(_FIRST_SECONDS)
            await self._take(context, uid, pid, program)

    async def _take(self, context: Context, uid: str, pid: int | None, program: str) -> bool:
        """Measures a program. Returns False if the program has ended."""
        usage, clock = await self._usage(context, pid, program), context.services.clock
        if usage is not None:
            self._samples.add(uid, Reading(program, clock.monotonic(), usage), clock.now())
        return usage is not None

    async def _usage(self, context: Context, pid: int | None, program: str) -> Usage | None:
        if pid is not None:
            # Reads the process table.
            return await context.services.offload.run(context.user.name, partial(_process_usage, pid))
        workloads = self._workloads()
        engine: Engine | None = workloads.machine.engines.engine if workloads is not None else None
        return await container_usage(engine, program) if engine is not None else None


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError:
        raise BadRequest(f"since: {text!r} is not a time such as 2026-01-31T12:00:00Z") from None


def _process_usage(pid: int) -> Usage | None:
    return usage_of(pid, child_processes())
