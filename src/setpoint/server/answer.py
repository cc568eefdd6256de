"""Answers with one object, a list, or a Status, in the form that the client accepts.

Objects come here as finished JSON. Who wants just that gets just that; what is decoded here is decoded for YAML and for
tables.
"""

from functools import partial
from urllib.parse import parse_qs

import msgspec

from setpoint.objects.errors import APIError, NotAcceptable
from setpoint.objects.tree import Json, Object
from setpoint.server import negotiate, table
from setpoint.server.context import Context
from setpoint.server.exchange import Request, Response
from setpoint.server.listing import JsonText, PrettyText, YamlText, listing
from setpoint.server.negotiate import JSON, PARTIAL, PARTIAL_LIST, PROTOBUF, TABLE, YAML, Accepted
from setpoint.server.partial import partial as partial_object
from setpoint.server.protobuf_status import encode_status
from setpoint.server.resource import Resource
from setpoint.server.selection import Selected
from setpoint.server.slices import slices, weighed

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_INDENT = 2
_new = tuple.__new__  # makes a named tuple in half the time


def object_answer(context: Context, resource: Resource, body: bytes, status: int = 200) -> Response:
    """The answer with an object of the resource, given as finished JSON."""
    accepted = negotiate.negotiate(context, resource)
    if accepted.form == PARTIAL:
        body = partial_object(resource, body, accepted.api_version)
    elif accepted.form == TABLE:
        maker = table.TableMaker(resource, accepted.api_version, table.included(context))
        body = _encode(maker.of_object(_decode(body), context.services.clock.now()))
    elif accepted.form == PARTIAL_LIST:
        what = f"you requested {PARTIAL_LIST}, but the requested object is not a list ({_go_type(resource)})"
        raise NotAcceptable(what)
    return _written(context, accepted, body, status)


async def list_answer(context: Context, resource: Resource, selected: Selected) -> Response:
    """The answer with the list of what was selected. Large ones are written in slices, between which others run."""
    accepted = negotiate.negotiate(context, resource)
    if accepted.form == PARTIAL:
        what = f"you requested {PARTIAL}, but the requested object is a list ({_go_type(resource, is_list=True)})"
        raise NotAcceptable(what)
    made = listing(context, resource, accepted, list_metadata(selected))
    items = selected.items
    if context.seat is not None:
        await context.seat.reserve(await weighed(context, items))
    query_value = context.parameter("pretty") if "pretty" in context.request.query else ""
    pretty = accepted.pretty or negotiate.wants_indents(context.request, query_value)
    text = YamlText(made) if accepted.media_type == YAML else PrettyText(made) if pretty else JsonText(made)
    held = await resource.prepare(items)
    pieces: list[bytes] = []
    for part in slices(items, text.objects, text.size):
        if pieces:
            await context.pause()
        rendered = await resource.converting(partial(made.render, part), part)
        pieces.append(text.part(rendered, is_first=not pieces))
    del held
    body = text.whole(pieces)
    return _new(Response, (200, accepted.media_type, body[0] if len(body) == 1 else body, ()))


def list_metadata(selected: Selected) -> Object:
    """The metadata of a list, as those of built-in kinds show it."""
    metadata: Object = {"resourceVersion": str(selected.revision)}
    if selected.continue_token:
        metadata["continue"] = selected.continue_token
    if selected.remaining is not None:
        metadata["remainingItemCount"] = selected.remaining
    return metadata


def json_answer(context: Context, tree: Object, status: int = 200) -> Response:
    """The answer with an object of another kind, which has no other form."""
    yaml = _plain_media_type(context.request) == YAML
    return _written(context, Accepted(YAML if yaml else JSON), _encode(tree), status)


def error_answer(request: Request, error: APIError) -> Response:
    """An error as the API answers it."""
    headers = (("Retry-After", str(error.retry_after_seconds)),) if error.retry_after_seconds else ()
    status = error.to_status()
    media_type = _plain_media_type(request)
    if media_type == YAML:
        body = _yaml(status)
    elif media_type == PROTOBUF:
        body = encode_status(status)
    else:
        query = parse_qs(request.query).get("pretty", ("",)) if "pretty" in request.query else ("",)
        body = _json(_encode(status), pretty=negotiate.wants_indents(request, query[0]))
    return Response(error.code, media_type, body, headers)


def _plain_media_type(request: Request) -> str:
    """The media type of an answer that there is only one form of."""
    header = request.headers.get("accept", "")
    return negotiate.plain_media_type(header) if "yaml" in header or "protobuf" in header else JSON


def _written(context: Context, accepted: Accepted, body: bytes, status: int) -> Response:
    if accepted.media_type == YAML:
        return Response(status, YAML, _yaml(_decode(body)))
    request = context.request
    query_value = context.parameter("pretty") if "pretty" in request.query else ""
    pretty = accepted.pretty or negotiate.wants_indents(request, query_value)
    return _new(Response, (status, JSON, _json(body, pretty=pretty), ()))


def _json(body: bytes, *, pretty: bool) -> bytes:
    """JSON as it is sent: on one line, or with indents for people."""
    if pretty:
        return msgspec.json.format(body, indent=_INDENT)
    return body if body.endswith(b"\n") else body + b"\n"


def _yaml(tree: Json) -> bytes:
    from setpoint.objects import yamltext  # few ask for YAML, and the start of a server need not wait for it

    return yamltext.dump(tree).encode()


def _go_type(resource: Resource, *, is_list: bool = False) -> str:
    """The name of the type that the real server keeps such objects in."""
    if resource.is_custom:
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    # Both groups of events share the older one's type.
    group = "" if resource.group == "events.k8s.io" else resource.group
    package = group.partition(".")[0] or "core"
    return f"*{package}.{resource.kind}{'List' if is_list else ''}"
