"""StorageObjectInUseProtection: delays the deletion of storage objects that are in use."""

from setpoint.objects import meta
from setpoint.objects.gvk import GroupResource
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_FINALIZERS = {
    GroupResource("", "persistentvolumes"): "kubernetes.io/pv-protection",
    GroupResource("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    GroupResource("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Adds a finalizer to new volumes, claims and attribute classes. A controller removes the finalizer when the object
    is no longer in use."""

    name = "StorageObjectInUseProtection"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.group_resource in _FINALIZERS and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.object is not None and not operation.subresource:
            meta.add_finalizer(operation.object, _FINALIZERS[operation.resource.group_resource])
