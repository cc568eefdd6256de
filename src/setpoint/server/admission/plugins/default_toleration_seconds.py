"""DefaultTolerationSeconds: lets pods stay on a not-ready or unreachable node for a limited time."""

from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations, unless the pod already tolerates these taints."""

    name = "DefaultTolerationSeconds"

    def __init__(self, not_ready_seconds: int = 300, unreachable_seconds: int = 300) -> None:
        self._seconds = dict(zip(_TAINTS, (not_ready_seconds, unreachable_seconds), strict=True))

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        spec = operation.object["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [taint for taint in _TAINTS if not any(_covers(toleration, taint) for toleration in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(self._toleration(taint) for taint in missing)]

    def _toleration(self, taint: str) -> Object:
        return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._seconds[taint]}


def _covers(toleration: Object, taint: str) -> bool:
    return toleration.get("key", "") in (taint, "") and toleration.get("effect", "") in ("NoExecute", "")
