"""Restarts parts of an app, as `setpoint restart` does: by a request that stands in the object."""

from collections.abc import Iterable

from setpoint.cli.workloads.reading import Workload, ref
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.times import format_micro_time
from setpoint.workload.kinds.parts import RESTART_REQUESTED


async def restart(client: Client, workloads: Iterable[Workload]) -> None:
    """Asks for a restart of each. Raises APIError and TransportError."""
    now = format_micro_time(client.clock.now())
    for each in workloads:
        await client.patch(ref(each.kind), merge({"metadata": {"annotations": {RESTART_REQUESTED: now}}}), each.name)
