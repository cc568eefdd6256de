"""StorageObjectInUseProtection: what is in use is not deleted under those who use it."""

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
    """Gives new volumes, claims and attribute classes a finalizer, which a controller takes away when nobody uses them
    any more."""

    name = "StorageObjectInUseProtection"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.group_resource in _FINALIZERS and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.object is not None and not operation.subresource:
            meta.add_finalizer(operation.object, _FINALIZERS[operation.resource.group_resource])
