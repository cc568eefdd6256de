"""The subresources that connect a client to a node: exec, attach, port-forward and proxy."""

from setpoint.node.functions import NodeFunctions
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import Response
from setpoint.server.ports import CONNECT, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import is_requested, truth
from setpoint.server.verbs.channels import chosen_protocol
from setpoint.server.verbs.conversation import ConversationStream, WantedStreams
from setpoint.server.verbs.get import read
from setpoint.server.verbs.pod_agent import agent_of
from setpoint.server.verbs.pod_container import chosen_container
from setpoint.server.verbs.port_forward import forwarded
from setpoint.server.verbs.proxy import proxied

# Parameters of CONNECT that are not plain text.
_FLAGS, _LISTS = frozenset(("stdin", "stdout", "stderr", "tty")), frozenset(("command", "ports"))
# The resources with applications behind their proxy.
_PROXIED = frozenset(("pods", "services"))
_NO_STREAM = "you must specify at least 1 of stdin, stdout, stderr"


async def connect(context: Context, resource: Resource) -> Response:
    """Runs admission, and connects the client by the agent of the node."""
    info, admission = context.info, context.services.admission
    operation = Operation(
        CONNECT, resource, info.namespace, info.name, info.subresource, _connect_options(context, resource), None
    )
    await admission.mutate(context, operation)
    await admission.validate(context, operation)
    action = info.subresource
    if action == "proxy" and info.resource in _PROXIED:
        return await proxied(context, resource)
    found = resource.item(await read(context, resource))
    container = chosen_container(found, context.parameter("container")) if action in ("exec", "attach") else ""
    agent = agent_of(context, found, resource.singular)
    if container:
        return await _converse(context, agent, found, container)
    return await forwarded(context, agent, found)


async def _converse(context: Context, agent: NodeFunctions, pod: Object, container: str) -> Response:
    """Runs a command in a container, or attaches to its main process."""
    wanted = WantedStreams(*(is_requested(context, name) for name in WantedStreams._fields))
    if not (wanted.stdin or wanted.stdout or wanted.stderr):
        raise BadRequest(_NO_STREAM)
    if context.info.subresource == "exec":
        command = context.query.get("command") or ()
        if not command:
            raise BadRequest("command: required, once for each word of the command")
        conversation = await agent.exec(pod, container, tuple(command), stdin=wanted.stdin, tty=wanted.tty)
    else:
        conversation = await agent.attach(pod, container, stdin=wanted.stdin, tty=wanted.tty)
    chosen = chosen_protocol(context, context.info.subresource)
    return Response(200, "text/plain", ConversationStream(conversation, wanted), [(PROTOCOL, chosen)])


def _connect_options(context: Context, resource: Resource) -> Object:
    """Returns the options of the URL as an object."""
    kind = resource.kind_at(context.info.subresource)
    found: Object = {"kind": kind.kind, "apiVersion": kind.api_version}
    for name, values in context.query.items():
        if name in _FLAGS:
            found[name] = truth(values[0])
        elif name in _LISTS:
            found[name] = [int(value) if value.isdecimal() else value for value in values]
        elif name in ("container", "path"):
            found[name] = values[0]
    if context.info.subresource == "proxy" and context.info.subpath:
        found["path"] = "/".join(("", *context.info.subpath))
    return found
