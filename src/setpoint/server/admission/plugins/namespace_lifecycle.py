"""NamespaceLifecycle: requires an existing, active namespace for new objects, and protects system namespaces."""

from setpoint.objects.errors import Forbidden, NotFound, StatusCause
from setpoint.objects.gvk import GroupResource
from setpoint.server.ports import CREATE, DELETE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

NAMESPACES = GroupResource("", "namespaces")
_NAMESPACE_PREFIX = "/core/namespaces/"
# Namespaces that cannot be deleted.
IMMORTAL = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle(Plugin):
    """Refuses new objects in a missing or terminating namespace, and the deletion of system namespaces."""

    name = "NamespaceLifecycle"

    def concerns(self, resource: Resource, verb: str) -> bool:
        if verb == DELETE:
            return resource.group_resource == NAMESPACES
        return verb == CREATE and resource.namespaced

    async def mutate(self, context: Context, operation: Operation) -> None:
        resource = operation.resource
        if operation.verb == DELETE:
            if operation.name in IMMORTAL:
                raise Forbidden.of(NAMESPACES, operation.name, "this namespace may not be deleted")
            return
        namespace = operation.namespace
        item = await context.services.store.get(_NAMESPACE_PREFIX + namespace)
        if item is None:
            if resource.resource == "localsubjectaccessreviews":
                return
            raise NotFound.of(NAMESPACES, namespace)
        if b'"deletionTimestamp":"' in item.value and _is_terminating(context, item.value, item.revision):
            cause = StatusCause(
                "NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace"
            )
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise Forbidden.of(resource.group_resource, operation.name, why, [cause])


def _is_terminating(context: Context, value: bytes, revision: int) -> bool:
    namespaces = context.registry.resource("", "v1", "namespaces")
    return namespaces is not None and "deletionTimestamp" in namespaces.decode(value, revision)["metadata"]
