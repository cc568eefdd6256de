"""Answers with one object, a list, or a Status, in the form that the client accepts."""

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.context import Context
from setpoint.server.exchange import Response
from setpoint.server.resource import Resource
from setpoint.server.selection import Selected

_encode = msgspec.json.Encoder().encode


def object_answer(context: Context, resource: Resource, body: bytes, status: int = 200) -> Response:
    """The answer with an object of the resource, given as finished JSON."""
    return Response(status, "application/json", body + b"\n")


def json_answer(context: Context, tree: Object, status: int = 200) -> Response:
    """The answer with an object of another kind."""
    return Response(status, "application/json", _encode(tree) + b"\n")


def list_answer(context: Context, resource: Resource, selected: Selected) -> Response:
    """The answer with the list of what was selected."""
    items = b",".join(resource.render_list_item(item.value, item.revision) for item in selected.items)
    head = _encode({"kind": resource.list_kind, "apiVersion": resource.api_version})
    metadata = {"resourceVersion": str(selected.revision)}
    if resource.is_custom:
        metadata["continue"] = ""
    body = b'%b,"metadata":%b,"items":[%b]}\n' % (head[:-1], _encode(metadata), items)
    return Response(200, "application/json", body)
