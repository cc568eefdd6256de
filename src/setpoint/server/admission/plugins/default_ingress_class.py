"""DefaultIngressClass: assigns the default IngressClass to Ingresses without a class."""

from functools import partial

from setpoint.objects import meta
from setpoint.server.admission.plugins.default_class import candidate, default_of
from setpoint.server.admission.plugins.lookup import Lookup
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_DEFAULT = ("ingressclass.kubernetes.io/is-default-class",)
_OLD_CLASS = "kubernetes.io/ingress.class"


class DefaultIngressClass(Plugin):
    """Fills in `spec.ingressClassName`, unless the legacy annotation names a class."""

    name = "DefaultIngressClass"

    def __init__(self) -> None:
        self._classes = Lookup("networking.k8s.io", "v1", "ingressclasses", partial(candidate, annotations=_DEFAULT))

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "ingresses" and resource.group == "networking.k8s.io" and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        tree = operation.object
        if tree is None or operation.subresource:
            return
        spec = tree.setdefault("spec", {})
        if "ingressClassName" in spec or _OLD_CLASS in meta.annotations(tree):
            return
        default = default_of((await self._classes.all(context.services)).values())
        if default is not None:
            spec["ingressClassName"] = default
