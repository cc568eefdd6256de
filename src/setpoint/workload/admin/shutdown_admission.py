"""Rejects new workloads during a shutdown, because they would delay the cleanup."""

from setpoint.objects.errors import Invalid
from setpoint.objects.field import forbidden
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin, shown_name
from setpoint.server.request.context import Context
from setpoint.workload.kinds.all import KINDS
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP
from setpoint.workload.shutdown import Shutdown

_KINDS = frozenset(kind.__name__ for kind in KINDS)


class ClosingPlugin(Plugin):
    """Rejects the creation of workload objects once a shutdown has begun."""

    name = "WorkloadShutdown"

    def __init__(self, shutdown: Shutdown) -> None:
        self._shutdown = shutdown

    def concerns(self, resource: Resource, verb: str) -> bool:
        return verb == CREATE and resource.group in (GROUP, OWN_GROUP) and resource.kind in _KINDS

    async def validate(self, context: Context, operation: Operation) -> None:
        if not self._shutdown.refuses_new or operation.subresource:
            return
        why = "the control plane is shutting down and accepts no new objects: create it when another control plane runs"
        raise Invalid.of(operation.kind.group_kind, shown_name(operation), [forbidden("metadata", why)])
