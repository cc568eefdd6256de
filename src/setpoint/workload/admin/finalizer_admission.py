"""Creates workload objects with the finalizers of their controllers.

Otherwise each controller would add its finalizer with a separate write, which triggers a second reconcile. A controller
still adds a missing finalizer, for objects that another control plane created.
"""

from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.workload.kinds.api_names import FINALIZERS, GROUP, OWN_GROUP


class FinalizerPlugin(Plugin):
    """Adds the finalizer of the kind to new objects."""

    name = "WorkloadFinalizers"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return verb == CREATE and resource.group in (GROUP, OWN_GROUP) and resource.kind in FINALIZERS

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        finalizer, metadata = FINALIZERS[operation.kind.kind], operation.object["metadata"]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
