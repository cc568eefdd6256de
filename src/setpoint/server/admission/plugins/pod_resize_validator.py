"""PodResizeValidator: allows resizes of assigned pods only up to the resources of their node."""

from setpoint.objects import meta
from setpoint.objects.errors import Forbidden, StatusCause
from setpoint.objects.gotext import quote
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import UPDATE, Operation
from setpoint.server.registry.kinds.core.pod.resources import add_amounts, total_requests
from setpoint.server.registry.kinds.validation.values import amount
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_SYSTEM_LABEL = "kubernetes.io/os"
_MILLI = -3


class PodResizeValidator(Plugin):
    """Refuses the resize of a pod on a node that does not exist, does not run Linux or has fewer resources."""

    name = "PodResizeValidator"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb == UPDATE

    async def validate(self, context: Context, operation: Operation) -> None:
        new, old = operation.object, operation.old
        if operation.subresource != "resize" or new is None or old is None:
            return
        name, nodes = new["spec"].get("nodeName"), context.registry.resource("", "v1", "nodes")
        if not name or nodes is None or meta.generation(new) == meta.generation(old):
            return
        item = await context.services.store.get(nodes.storage.key("", name))
        if item is None:
            raise forbidden(operation, f"node {quote(name)} not found")
        node = nodes.item(item)
        system = meta.labels(node).get(_SYSTEM_LABEL, "linux")
        if system != "linux":
            why = f"pod resize is only supported on linux nodes, node {quote(name)} is {quote(system)}"
            raise _refused(operation, why, "UnsupportedPlatform")
        if lacking := _lacking(new["spec"], (node.get("status") or {}).get("allocatable") or {}):
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise _refused(operation, why, "NodeCapacity")


def _refused(operation: Operation, why: str, reason: str) -> Forbidden:
    error = forbidden(operation, why)
    error.causes = (StatusCause(reason),)
    return error


def _lacking(spec: Object, allocatable: Object) -> list[str]:
    """Returns a text for each resource that a pod requests more of than its node has."""
    wanted = total_requests(spec)
    own = (spec.get("resources") or {}).get("requests") or {}
    wanted |= {name: amount(value) for name, value in own.items()}
    add_amounts(wanted, spec.get("overhead") or {})
    found = []
    for name, scale in (("cpu", _MILLI), ("memory", 0)):
        asked, there = wanted.get(name, Quantity(0)), amount(allocatable.get(name, "0"))
        if asked > there:
            found.append(f"{name}, requested: {asked.value(scale)}, allocatable: {there.value(scale)}")
    return found
