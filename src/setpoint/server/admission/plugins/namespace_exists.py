"""NamespaceExists: requires an existing namespace for every write, not only for creations."""

from setpoint.objects.errors import NotFound
from setpoint.server.admission.plugins.namespace_lifecycle import NAMESPACES
from setpoint.server.ports import CONNECT, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class NamespaceExists(Plugin):
    """Refuses writes in a namespace that does not exist."""

    name = "NamespaceExists"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.namespaced and verb != CONNECT

    async def validate(self, context: Context, operation: Operation) -> None:
        if await context.services.store.get(f"/core/namespaces/{operation.namespace}") is None:
            raise NotFound.of(NAMESPACES, operation.namespace)
