"""NamespaceExists: every write in a namespace needs one that is there, not only the creation of objects."""

from setpoint.objects.errors import NotFound
from setpoint.server.admission.plugins.namespace_lifecycle import NAMESPACES
from setpoint.server.ports import CONNECT, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class NamespaceExists(Plugin):
    """Refuses what is written into a namespace that is not there."""

    name = "NamespaceExists"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.namespaced and verb != CONNECT

    async def validate(self, context: Context, operation: Operation) -> None:
        if await context.services.store.get(f"/core/namespaces/{operation.namespace}") is None:
            raise NotFound.of(NAMESPACES, operation.namespace)
