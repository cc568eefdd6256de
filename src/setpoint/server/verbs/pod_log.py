"""GET of the log of a pod. The agent of the node of the pod has the log; the request is checked as on kube-apiserver.
The log of a pod without a node is empty."""

from datetime import datetime, timedelta
from typing import cast

from setpoint.node.log_options import LogOptions, LogSource
from setpoint.objects.errors import BadRequest, Invalid, NotFound, ServiceUnavailable
from setpoint.objects.field import FieldError, forbidden, invalid, not_supported
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import parse_time
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import parse_number
from setpoint.server.request.write_options import is_requested
from setpoint.server.verbs.get import read
from setpoint.server.verbs.pod_container import chosen_container
from setpoint.server.verbs.text_stream import TextStream

_STREAMS = ("All", "Stderr", "Stdout")
_NO_CONTENT = Response(204, "", b"")


async def pod_log(context: Context, resource: Resource) -> Response:
    """Answers with the log of a container, or with the reason why there is none."""
    name = context.info.name
    options, errors = _options(context)
    if errors:
        raise Invalid.of(GroupKind("", "PodLogOptions"), name, errors)
    pod = resource.item(await read(context, resource))
    container = chosen_container(pod, context.parameter("container"))
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return _NO_CONTENT
    nodes = context.registry.resource("", "v1", "nodes")
    if nodes is None or await context.services.store.get(nodes.storage.key("", node)) is None:
        raise NotFound.of(resource.group_resource, node)
    agent = context.services.nodes.of(node)
    if agent is None:
        raise ServiceUnavailable(f"the server does not connect to nodes: read the log of pod {name} on node {node}")
    return Response(200, "text/plain", TextStream(await agent.logs(pod, container, options)))


def _options(context: Context) -> tuple[LogOptions, list[FieldError]]:
    """Returns the options, and their errors. Raises BadRequest for a value that cannot be read."""
    numbers = {
        field: parse_number(context.parameter(field))
        for field in ("tailLines", "limitBytes", "sinceSeconds")
        if context.parameter(field)
    }
    since, moment = context.parameter("sinceTime"), None
    if since:
        try:
            moment = parse_time(since)
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
    elif "sinceSeconds" in numbers:
        moment = _before(context, numbers["sinceSeconds"])
    stream = context.parameter("stream") or "All"
    if stream not in _STREAMS:
        found.append(not_supported("stream", stream, _STREAMS))
    if stream != "All" and "tailLines" in numbers:
        found.append(forbidden("[]", "`tailLines` and specific `stream` are mutually exclusive for now"))
    options = LogOptions(
        previous=is_requested(context, "previous"),
        follow=is_requested(context, "follow"),
        tail_lines=numbers.get("tailLines"),
        since=moment,
        timestamps=is_requested(context, "timestamps"),
        limit_bytes=numbers.get("limitBytes"),
        source=cast(LogSource, stream),
    )
    return options, found


def _before(context: Context, seconds: int) -> datetime | None:
    """Returns the time some seconds ago; None before all times."""
    try:
        return context.services.clock.now() - timedelta(seconds=seconds)
    except OverflowError:
        return None
