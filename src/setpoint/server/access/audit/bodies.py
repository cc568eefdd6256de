"""The bodies of requests and answers as the audit log shows them: as JSON, whatever they were sent as."""

from typing import Any

import msgspec

from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.request_body import PROTOBUF, YAML, decode_protobuf
from setpoint.server.message import Response
from setpoint.server.request.context import Context

_YAML_TYPES = (YAML, "application/apply-patch+yaml")
NOTHING: Any = object()


class _Metadata(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class Named(msgspec.Struct):
    """The little of an object that a reference to it is made of."""

    metadata: _Metadata | None = None


_named = msgspec.json.Decoder(Named).decode


def names(context: Context) -> _Metadata | None:
    """The metadata in the body of a request, if it has any: with JSON that is quicker than to read it all."""
    request = context.request
    given = _media_type(request.headers.get("content-type", ""))
    try:
        if given == PROTOBUF or given in _YAML_TYPES:
            return msgspec.convert(request_body(context), Named).metadata
        return _named(request.body).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def request_body(context: Context) -> Json:
    """The body of a request; NOTHING where there is none, or none that can be read."""
    request = context.request
    if not request.body:
        return NOTHING
    return _decoded(request.body, _media_type(request.headers.get("content-type", "")), context)


def response_body(context: Context, response: Response) -> Json:
    """The body of an answer; NOTHING for a stream, and for what is no object."""
    body = response.body
    if isinstance(body, list):
        body = b"".join(body)
    if not isinstance(body, bytes) or response.content_type.startswith("text/"):
        return NOTHING
    return _decoded(body, _media_type(response.content_type), context)


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def _decoded(body: bytes, given: str, context: Context) -> Json:
    try:
        if given in _YAML_TYPES:
            from setpoint.objects import yamltext

            return yamltext.load(body).tree
        if given == PROTOBUF:
            return _from_protobuf(body, context)
        return codec.decode(body)
    except (APIError, ValueError):
        return NOTHING


def _from_protobuf(body: bytes, context: Context) -> Object:
    info = context.info
    resource = context.registry.resource(info.group, info.version, info.resource)
    if resource is None:
        raise ValueError("nobody knows the kind of this")
    return decode_protobuf(body, resource.kind_at(info.subresource))


def without_managed_fields(tree: Json) -> Json:
    """The body of an object, a list or a table without `managedFields`. The tree itself stays as it is."""
    if type(tree) is not dict:
        return tree
    made = dict(tree)
    metadata = tree.get("metadata")
    if type(metadata) is dict and "managedFields" in metadata:
        made["metadata"] = {name: value for name, value in metadata.items() if name != "managedFields"}
    if type(tree.get("items")) is list:
        made["items"] = [without_managed_fields(item) for item in tree["items"]]
    if type(tree.get("rows")) is list:
        made["rows"] = [
            {**row, "object": without_managed_fields(row["object"])} if type(row) is dict and "object" in row else row
            for row in tree["rows"]
        ]
    return made
