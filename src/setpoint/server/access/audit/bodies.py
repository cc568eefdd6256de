"""Request and response bodies as the audit log shows them: always as JSON, independent of the encoding on the wire."""

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
    """The metadata that an object reference needs."""

    metadata: _Metadata | None = None


_named = msgspec.json.Decoder(Named).decode


def names(context: Context) -> _Metadata | None:
    """Returns the metadata in the body of a request, or None. For JSON, only the metadata is decoded, which is
    faster."""
    request = context.request
    given = _media_type(request.headers.get("content-type", ""))
    try:
        if given == PROTOBUF or given in _YAML_TYPES:
            return msgspec.convert(request_body(context), Named).metadata
        return _named(request.body).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def request_body(context: Context) -> Json:
    """Returns the decoded body of a request, or `NOTHING` if the body is empty or cannot be decoded."""
    request = context.request
    if not request.body:
        return NOTHING
    return _decoded(request.body, _media_type(request.headers.get("content-type", "")), context)


def response_body(context: Context, response: Response) -> Json:
    """Returns the decoded body of a response, or `NOTHING` for streams, plain text and undecodable bodies."""
    body = response.body
    if isinstance(body, list):
        body = b"".join(body)
    if not isinstance(body, bytes) or response.content_type.startswith("text/"):
        return NOTHING
    return _decoded(body, _media_type(response.content_type), context)


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def _decoded(body: bytes, media_type: str, context: Context) -> Json:
    try:
        if media_type in _YAML_TYPES:
            from setpoint.objects import yamltext

            return yamltext.load(body).tree
        if media_type == PROTOBUF:
            return _from_protobuf(body, context)
        return codec.decode(body)
    except (APIError, ValueError):
        return NOTHING


def _from_protobuf(body: bytes, context: Context) -> Object:
    info = context.info
    resource = context.registry.resource(info.group, info.version, info.resource)
    if resource is None:
        raise ValueError("unknown resource")
    return decode_protobuf(body, resource.kind_at(info.subresource))


def without_managed_fields(tree: Json) -> Json:
    """Returns a copy of an object, a list or a table without `managedFields`. The given tree does not change."""
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
