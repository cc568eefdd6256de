"""Why a part has failed, in a line or two: the beginning of what `setpoint why` tells."""

from setpoint.cli.workloads.inventory import Workload, ref
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError

# So many of its last lines are shown.
_MOST_OUTPUT = 2


async def reasons(client: Client, workload: Workload) -> list[str]:
    """What it said last, and what one may do about it; nothing where that is not known."""
    from setpoint.past.object_ref import Place
    from setpoint.past.queries import NoPast, NotThere
    from setpoint.past.why.explain import explain
    from setpoint.past.why.fact_collector import gather

    meant = workload
    if workload.kind in ("Task", "ExecutableReplicaSet"):
        # What was said is in the run, or the replica, that failed.
        meant = next((child for child in reversed(workload.children) if not child.judgement.ready), workload)
    try:
        resource = await client.resource(ref(meant.kind))
        story = explain(await gather(client, Place(resource, meant.name)))
    except (APIError, TransportError, NoPast, NotThere):
        return []
    said = [line for line in story.output if line.strip()]
    return [*(f"│ {line}" for line in said[-_MOST_OUTPUT:]), *(f"hint: {hint}" for hint in story.hints[:1])]
