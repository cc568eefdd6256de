"""PodTopologyLabels: copies the zone and region of a node to its pods."""

from setpoint.objects import meta
from setpoint.server.admission.plugins.pods import is_pods
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    """Copies the two labels of a node to a pod created on that node, or to the Binding that assigns a pod to the
    node."""

    name = "PodTopologyLabels"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb == CREATE

    async def mutate(self, context: Context, operation: Operation) -> None:
        tree, nodes = operation.object, context.registry.resource("", "v1", "nodes")
        if tree is None or nodes is None:
            return
        if operation.subresource == "binding":
            target = tree.get("target") or {}
            name = target.get("name") if target.get("kind", "Node") == "Node" else None
        else:
            name = None if operation.subresource else tree["spec"].get("nodeName")
        item = await context.services.store.get(nodes.storage.key("", name)) if name else None
        if item is None:
            return
        found = meta.labels(nodes.item(item))
        copied = {label: found[label] for label in _LABELS if label in found}
        if copied:
            metadata = tree.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **copied}
