"""Responses with one object, a list, or a Status, in the form that the client accepts.

Objects arrive here as final JSON, which is sent unchanged to clients that accept JSON; they are decoded only for YAML,
protobuf and tables.
"""

from collections.abc import Sequence
from functools import partial
from urllib.parse import parse_qs

import msgspec

from setpoint.objects import pieces
from setpoint.objects.errors import APIError, NotAcceptable
from setpoint.objects.tree import Json, Object
from setpoint.server.codec import negotiation, table
from setpoint.server.codec.list_text import JsonText, Listing, ListText, PrettyText, YamlText, listing, protobuf_listing
from setpoint.server.codec.negotiation import JSON, PARTIAL, PARTIAL_LIST, PROTOBUF, TABLE, YAML, Accepted
from setpoint.server.codec.partial_metadata import partial as partial_object
from setpoint.server.codec.protobuf.kind_writer import kind_writer
from setpoint.server.codec.protobuf_form import PROTOBUF_FACTOR, ProtobufForm, encoded_status
from setpoint.server.message import Request, Response
from setpoint.server.offload import LEAST, YAML_FACTOR
from setpoint.server.registry.object_page import ObjectPage
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.slices import slices, weighed
from setpoint.store.contract import Item

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_INDENT = 2
# Writing a cause of an error takes about as long as reading this many bytes of JSON.
_CAUSE_BYTES = 128
_MANY_CAUSES = 500
# User agents of tools that display the response to people.
_HUMAN_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_new = tuple.__new__  # creates a named tuple in half the time


async def object_answer(
    context: Context, resource: Resource, body: bytes, status: int = 200, item: Item | None = None
) -> Response:
    """Returns the response with an object of the resource, given as final JSON. `item` is the stored object, if the
    response shows one unchanged."""
    accepted: Accepted = context.accepted or negotiation.negotiate(context, resource)
    if not accepted.form:
        if accepted.media_type == PROTOBUF:
            return await _protobuf(context, await ProtobufForm.of(context, resource, accepted), body, status, item)
        return await _written(context, accepted, body, status)
    if accepted.form == PARTIAL_LIST:
        what = f"you requested {PARTIAL_LIST}, but the requested object is not a list ({_go_type(resource)})"
        raise NotAcceptable(what)
    if accepted.media_type == PROTOBUF:
        return await _protobuf(context, await ProtobufForm.of(context, resource, accepted), body, status, item)
    if accepted.form == PARTIAL:
        made = await context.offload(lambda: partial_object(resource, body, accepted.api_version), len(body))
    else:
        maker, now = _table_maker(context, resource, accepted), context.services.clock.now()
        made = await context.offload(lambda: _encode(maker.of_object(_decode(body), now)), len(body))
    return await _written(context, accepted, made, status)


async def _protobuf(context: Context, form: ProtobufForm, body: bytes, status: int, item: Item | None) -> Response:
    work = partial(form.object, body) if item is None else partial(form.stored_object, item)
    made = await context.offload(work, len(body) * PROTOBUF_FACTOR)
    return _new(Response, (status, PROTOBUF, made, ()))


def _table_maker(context: Context, resource: Resource, accepted: Accepted) -> table.TableMaker:
    return table.TableMaker(resource, accepted.api_version, table.included(context))


async def list_answer(context: Context, resource: Resource, selected: ObjectPage) -> Response:
    """Returns the response with the list of the selected objects. Large lists are written in slices; other requests run
    between slices."""
    accepted = negotiation.negotiate(context, resource)
    if accepted.form == PARTIAL:
        what = f"you requested {PARTIAL}, but the requested object is a list ({_go_type(resource, is_list=True)})"
        raise NotAcceptable(what)
    items = selected.items
    if accepted.form == TABLE and resource.strategy.sorts_rows:
        items = sorted(items, key=lambda item: resource.strategy.row_rank(resource.item(item)))
    if context.seat is not None:
        await context.seat.reserve(await weighed(context, items))
    text: ListText
    if accepted.media_type == PROTOBUF:
        made, text = await protobuf_listing(context, resource, accepted, list_metadata(selected))
    else:
        made = listing(context, resource, accepted, list_metadata(selected))
        if not items and (accepted.form == PARTIAL_LIST or (accepted.form == TABLE and not table.has_rows(resource))):
            field = made.field.encode()
            made = made._replace(empty=made.empty.replace(b'"%b":[]' % field, b'"%b":null' % field))
        query_value = context.parameter("pretty") if "pretty" in context.request.query else ""
        pretty = accepted.pretty or is_pretty(context.request, query_value)
        text = YamlText(made) if accepted.media_type == YAML else PrettyText(made) if pretty else JsonText(made)
    held = await resource.prepare(items)
    pieces: list[bytes] = []
    for part in slices(items, text.objects, text.size):
        if pieces:
            await context.pause()
        if resource.fetch is None:
            # One of the objects of a slice may be large.
            size = max([len(item.value) for item in part]) * text.factor
            piece = await context.offload(partial(_part, text, made, part, is_first=not pieces), size)
        else:
            rendered = await resource.converting(partial(made.render, part), part)
            piece = text.part(rendered, is_first=not pieces)
        pieces.append(piece)
    del held
    body = text.complete(pieces)
    return _new(Response, (200, accepted.media_type, body[0] if len(body) == 1 else body, ()))


def _part(text: ListText, made: Listing, items: Sequence[Item], *, is_first: bool) -> bytes:
    return text.part(made.render(items), is_first=is_first)


def list_metadata(selected: ObjectPage) -> Object:
    """Returns the metadata of a list, in the form of built-in kinds."""
    metadata: Object = {"resourceVersion": str(selected.revision)} if selected.revision else {}
    if selected.continue_token:
        metadata["continue"] = selected.continue_token
    if selected.remaining is not None:
        metadata["remainingItemCount"] = selected.remaining
    return metadata


async def json_answer(context: Context, tree: Object, status: int = 200) -> Response:
    """Returns the response with an object of another kind, which has no other form."""
    media_type = _plain_media_type(context.request)
    if media_type == PROTOBUF:
        writer = kind_writer(tree.get("apiVersion", ""), tree.get("kind", ""))
        if writer is not None:
            return Response(status, PROTOBUF, writer.object(_encode(tree)))
        media_type = _plain_media_type(context.request, (JSON, YAML))
    return await _written(context, Accepted(media_type), _encode(tree), status)


async def failure_answer(context: Context, error: APIError) -> Response:
    """Returns the response with an error, which may have tens of thousands of causes."""
    size = len(error.message) + _CAUSE_BYTES * len(error.causes)
    if size >= LEAST:
        context.kept.append(error.causes)
    return await context.services.offloaded(partial(error_answer, context.request, error), size, context.user.name)


def error_answer(request: Request, error: APIError) -> Response:
    """Returns the response with an error as a Status."""
    headers = (("Retry-After", str(error.retry_after_seconds)),) if error.retry_after_seconds else ()
    status = error.to_status()
    media_type = _plain_media_type(request)
    if media_type == YAML:
        body = _yaml(status)
    elif media_type == PROTOBUF:
        body = encoded_status(status)
    else:
        query = parse_qs(request.query).get("pretty", ("",)) if "pretty" in request.query else ("",)
        encoded = pieces.encode(status) if len(error.causes) > _MANY_CAUSES else _encode(status)
        body = _json(encoded, pretty=is_pretty(request, query[0]))
    return Response(error.code, media_type, body, headers)


def _plain_media_type(request: Request, supported: Sequence[str] = negotiation.MEDIA_TYPES) -> str:
    """Returns the media type of a response that has only one form."""
    header = request.headers.get("accept", "")
    return negotiation.plain_media_type(header, supported) if "yaml" in header or "protobuf" in header else JSON


async def _written(context: Context, accepted: Accepted, body: bytes, status: int) -> Response:
    if accepted.media_type == YAML:
        text = await context.offload(lambda: _yaml(_decode(body)), len(body) * YAML_FACTOR)
        return Response(status, YAML, text)
    request = context.request
    query_value = context.parameter("pretty") if "pretty" in request.query else ""
    pretty = accepted.pretty or is_pretty(request, query_value)
    return _new(Response, (status, JSON, _json(body, pretty=pretty), ()))


def is_pretty(request: Request, query_value: str) -> bool:
    """Returns True if JSON is to be indented for a human reader; `query_value` is the query parameter `pretty`."""
    if query_value:
        return query_value in _TRUE
    return request.headers.get("user-agent", "").startswith(_HUMAN_AGENTS)


def _json(body: bytes, *, pretty: bool) -> bytes:
    """Returns the JSON to send: on one line, or with indents for human readers."""
    if pretty:
        return msgspec.json.format(body, indent=_INDENT)
    return body if body.endswith(b"\n") else body + b"\n"


def _yaml(tree: Json) -> bytes:
    from setpoint.objects import yamltext  # YAML is rarely requested: the import does not delay the start

    return yamltext.dump(tree).encode()


def _go_type(resource: Resource, *, is_list: bool = False) -> str:
    """Returns the name of the Go type of such objects in kube-apiserver, for error messages."""
    if resource.is_custom:
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    # Both groups of events share the older one's type.
    group = "" if resource.group == "events.k8s.io" else resource.group
    package = group.partition(".")[0] or "core"
    return f"*{package}.{resource.kind}{'List' if is_list else ''}"
