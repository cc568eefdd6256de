"""DefaultStorageClass: assigns the default StorageClass to PersistentVolumeClaims without a class."""

from functools import partial

from setpoint.objects import meta
from setpoint.server.admission.plugins.default_class import candidate, default_of
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class DefaultStorageClass(Plugin):
    """Fills in `spec.storageClassName`. An empty name is a valid choice and is kept."""

    name = "DefaultStorageClass"

    def __init__(self) -> None:
        self._classes = Lookup("storage.k8s.io", "v1", "storageclasses", partial(candidate, annotations=_DEFAULT))

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "persistentvolumeclaims" and not resource.group and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        tree = operation.object
        if tree is None or operation.subresource:
            return
        if "storageClassName" in tree["spec"] or BETA_CLASS in meta.annotations(tree):
            return
        default = default_of((await self._classes.all(context.services)).values())
        if default is not None:
            tree["spec"]["storageClassName"] = default
