"""The reasons of a failed part in one or two lines, taken from `setpoint why`."""

from setpoint.cli.workloads.inventory import Workload, ref
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError

# The number of output lines shown.
_MOST_OUTPUT = 2


async def reasons(client: Client, workload: Workload) -> list[str]:
    """Returns the last output lines of the workload and a hint; an empty list if neither is known."""
    from setpoint.past.object_ref import ObjectReference
    from setpoint.past.queries import NoHistory, NotInHistory
    from setpoint.past.why.explain import explain
    from setpoint.past.why.fact_collector import collect

    meant = workload
    if workload.kind in ("Task", "ExecutableReplicaSet"):
        # The output belongs to the failed run or replica.
        meant = next((child for child in reversed(workload.children) if not child.judgement.is_settled), workload)
    try:
        resource = await client.resource(ref(meant.kind))
        explanation = explain(await collect(client, ObjectReference(resource, meant.name)))
    except (APIError, TransportError, NoHistory, NotInHistory):
        return []
    output = [line for line in explanation.output if line.strip()]
    return [*(f"│ {line}" for line in output[-_MOST_OUTPUT:]), *(f"hint: {hint}" for hint in explanation.hints[:1])]
