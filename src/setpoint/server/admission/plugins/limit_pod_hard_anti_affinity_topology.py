"""LimitPodHardAntiAffinityTopology: required pod anti-affinity may use only the topology key of the node."""

from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_HOST = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(Plugin):
    """Refuses pods whose required anti-affinity has a topology larger than a node."""

    name = "LimitPodHardAntiAffinityTopology"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        affinity = (operation.object["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey") or ""
            if key != _HOST:
                text = "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey"
                raise forbidden(operation, f"{text} {key} but only key {_HOST} is allowed")
