"""NamespaceAutoProvision: creates missing namespaces when an object is created in them."""

from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions


class NamespaceAutoProvision(Plugin):
    """Creates the namespace of a new object if the namespace does not exist."""

    name = "NamespaceAutoProvision"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.namespaced and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        namespaces = context.registry.resource("", "v1", "namespaces")
        if operation.dry_run or namespaces is None:
            return
        if await context.services.store.get(namespaces.storage.key("", operation.namespace)) is not None:
            return
        tree: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": operation.namespace}}
        namespaces.shape.normalize(tree)
        namespaces.strategy.default(tree)
        try:
            await context.services.create_object(context, namespaces, tree, WriteOptions("kube-apiserver"))
        except AlreadyExists:
            return
