"""GET of the log of a pod. Only a node has the log of a container, and Setpoint has no nodes of its own: the request is
checked as on kube-apiserver, and the log of a pod without a node is empty."""

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest, Invalid, NotFound, ServiceUnavailable
from setpoint.objects.field import FieldError, forbidden, invalid, not_supported
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import parse_number
from setpoint.server.verbs.get import read

_STREAMS = ("All", "Stderr", "Stdout")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_NO_CONTENT = Response(204, "", b"")


async def pod_log(context: Context, resource: Resource) -> Response:
    """Answers with an empty log, or with the reason why there is none."""
    name = context.info.name
    errors = _errors(context)
    if errors:
        raise Invalid.of(GroupKind("", "PodLogOptions"), name, errors)
    pod = resource.item(await read(context, resource))
    _check_container(pod, context.parameter("container"))
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return _NO_CONTENT
    nodes = context.registry.resource("", "v1", "nodes")
    if nodes is None or await context.services.store.get(nodes.storage.key("", node)) is None:
        raise NotFound.of(resource.group_resource, node)
    raise ServiceUnavailable(f"the server does not connect to nodes: read the log of pod {name} on node {node}")


def _errors(context: Context) -> list[FieldError]:
    """Returns the errors of the options. Raises BadRequest for a value that cannot be read."""
    numbers = {
        field: parse_number(context.parameter(field))
        for field in ("tailLines", "limitBytes", "sinceSeconds")
        if context.parameter(field)
    }
    since = context.parameter("sinceTime")
    if since:
        try:
            parse_time(since)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    found: list[FieldError] = []
    if numbers.get("tailLines", 0) < 0:
        found.append(invalid("tailLines", numbers["tailLines"], "must be greater than or equal to 0"))
    if numbers.get("limitBytes", 1) < 1:
        found.append(invalid("limitBytes", numbers["limitBytes"], "must be greater than 0"))
    if since and "sinceSeconds" in numbers:
        found.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif numbers.get("sinceSeconds", 1) < 1:
        found.append(invalid("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0"))
    stream = context.parameter("stream") or "All"
    if stream not in _STREAMS:
        found.append(not_supported("stream", stream, _STREAMS))
    if stream != "All" and "tailLines" in numbers:
        found.append(forbidden("[]", "`tailLines` and specific `stream` are mutually exclusive for now"))
    return found


def _check_container(pod: Object, wanted: str) -> None:
    """Raises BadRequest unless the container exists, or the pod has only one."""
    spec, name = pod.get("spec") or {}, meta.name(pod)
    names = [container["name"] for kind in _CONTAINERS for container in spec.get(kind) or ()]
    if wanted:
        if wanted not in names:
            raise BadRequest(f"container {wanted} is not valid for pod {name}")
    elif len(spec.get("containers") or ()) != 1:
        choice = f", choose one of: [{' '.join(names)}]" if spec.get("containers") else ""
        raise BadRequest(f"a container name must be specified for pod {name}{choice}")
