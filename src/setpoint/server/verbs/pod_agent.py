"""The agent of the node of a pod."""

from setpoint.node.functions import NodeFunctions
from setpoint.objects.errors import BadRequest, ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.server.request.context import Context


def agent_of(context: Context, found: Object, singular: str) -> NodeFunctions:
    """Returns the agent of the node of a pod. Raises BadRequest for a pod without a node, and ServiceUnavailable for a
    node without an agent."""
    action, name = context.info.subresource, found["metadata"]["name"]
    node = (found.get("spec") or {}).get("nodeName")
    if not node:
        raise BadRequest(f"{singular} {name} does not have a host assigned")
    agent = context.services.nodes.of(node)
    if agent is None:
        text = f"the server does not connect to nodes: {action} of pod {name} is possible only on node {node}"
        raise ServiceUnavailable(text)
    return agent
