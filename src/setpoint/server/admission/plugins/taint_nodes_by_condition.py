"""TaintNodesByCondition: taints new nodes, so that no pods are scheduled before the node is ready."""

from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_NOT_READY = "node.kubernetes.io/not-ready"


class TaintNodesByCondition(Plugin):
    """Adds the not-ready taint to new nodes; the node lifecycle controller removes the taint."""

    name = "TaintNodesByCondition"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "nodes" and not resource.group and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        taints = operation.object["spec"].setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            taints.append({"key": _NOT_READY, "effect": "NoSchedule"})
