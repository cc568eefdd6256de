"""ExtendedResourceToleration: lets pods that request extended resources run on the nodes dedicated to these
resources."""

from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.kinds.core.pod.resources import is_extended
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class ExtendedResourceToleration(Plugin):
    """Adds a toleration for the taint of each extended resource that a pod requests."""

    name = "ExtendedResourceToleration"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        spec = operation.object["spec"]
        asked = {
            name
            for field in ("containers", "initContainers")
            for container in spec.get(field) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name)
        }
        for name in sorted(asked):
            _tolerate(spec, {"key": name, "operator": "Exists", "effect": "NoSchedule"})


def _tolerate(spec: Object, toleration: Object) -> None:
    """Replaces the toleration for the same taint, or appends the new one."""
    found = spec.get("tolerations") or []
    replaced = [toleration if _same(other, toleration) else other for other in found]
    spec["tolerations"] = replaced if toleration in replaced else [*found, toleration]


def _same(one: Object, other: Object) -> bool:
    return all((one.get(name) or "") == (other.get(name) or "") for name in ("key", "operator", "effect", "value"))
