"""PersistentVolumeClaimResize: allows claims to grow only if their StorageClass allows volume expansion."""

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.default_storage_class import BETA_CLASS
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import UPDATE, Operation
from setpoint.server.registry.kinds.validation.values import amount
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_UNSUPPORTED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize(Plugin):
    """Refuses the expansion of unbound claims and of claims whose class does not allow expansion."""

    name = "PersistentVolumeClaimResize"

    def __init__(self) -> None:
        self._expands = Lookup(
            "storage.k8s.io", "v1", "storageclasses", lambda tree: bool(tree.get("allowVolumeExpansion"))
        )

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "persistentvolumeclaims" and not resource.group and verb == UPDATE

    async def validate(self, context: Context, operation: Operation) -> None:
        new, old = operation.object, operation.old
        if operation.subresource or new is None or old is None or amount(_size(new)) <= amount(_size(old)):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(operation, "Only bound persistent volume claims can be expanded")
        name = storage_class(new)
        if not name or name != storage_class(old) or not await self._expands.get(context.services, name):
            raise forbidden(operation, _UNSUPPORTED)


def _size(tree: Object) -> str:
    requests = (tree["spec"].get("resources") or {}).get("requests") or {}
    return str(requests.get("storage", "0"))


def storage_class(tree: Object) -> str:
    """Returns the class of a claim; the beta annotation takes precedence."""
    annotations = meta.annotations(tree)
    if BETA_CLASS in annotations:
        return annotations[BETA_CLASS]
    return str(tree["spec"].get("storageClassName") or "")
