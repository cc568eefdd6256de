"""Serves `/api` and `/apis`, and the groups and versions below them."""

from setpoint.objects.errors import NotAcceptable, NotFound
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.codec.negotiation import MEDIA_TYPES, Clause, check_produced, clauses
from setpoint.server.codec.request_body import JSON, PROTOBUF, YAML
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.publish.discovery import aggregated, legacy
from setpoint.server.publish.read_only import check_consumed, check_method, is_not_modified
from setpoint.server.request.context import Context

_JSON = ("application", "json")
_CONSUMED = frozenset((JSON, YAML, PROTOBUF))
_TRANSFORMS = frozenset(("as", "g", "v"))


class Discovery:
    """Discovery of the served kinds: aggregated in one document, or without `aggregated` only group by group, as on
    older servers."""

    def __init__(self, aggregated: bool = True) -> None:
        self._aggregated = aggregated

    async def respond(self, context: Context) -> Response | None:
        parts = context.request.path.strip("/").split("/")
        if parts[0] not in ("api", "apis"):
            return None
        # As on kube-apiserver, the list of groups, each group and the versions of custom groups answer every method.
        if len(parts) == 1:
            if parts[0] == "api":
                check_method(context, head=False)
                check_consumed(context, _CONSUMED)
            return await _root(context, core=parts[0] == "api", at_once=self._aggregated)
        found = _document(context, parts)
        if found is None:
            _refuse_unknown(context, parts)
            return None
        if parts[0] == "api" or (len(parts) > 2 and legacy.is_builtin_group(context.registry, parts[1])):
            check_method(context, head=False)
            check_consumed(context, _CONSUMED)
        header = context.request.headers.get("accept", "")
        check_produced(header)
        _refuse_transforms(header)
        return await json_answer(context, found)


def _refuse_transforms(header: str) -> None:
    """Raises NotAcceptable if the header accepts only other forms, such as a Table."""
    if header and not any(
        clause.covers(produced) and _TRANSFORMS.isdisjoint(clause.parameters)
        for clause in clauses(header)
        for produced in MEDIA_TYPES
    ):
        raise NotAcceptable.of(MEDIA_TYPES)


def _document(context: Context, parts: list[str]) -> Object | None:
    match parts:
        case ["api", version]:
            return legacy.resource_list(context.registry, GroupVersion("", version))
        case ["apis", group]:
            return legacy.group(context.registry, group)
        case ["apis", group, version] if group:
            return legacy.resource_list(context.registry, GroupVersion(group, version))
        case _:
            return None


def _refuse_unknown(context: Context, parts: list[str]) -> None:
    """Raises NotFound for an unknown path of a built-in group; all other unknown paths get the plain 404 page."""
    if legacy.is_builtin_group(context.registry, "" if parts[0] == "api" else parts[1]):
        raise NotFound.resource()


async def _root(context: Context, *, core: bool, at_once: bool) -> Response:
    """Returns `/api` or `/apis`, in the form that the client prefers."""
    if _wants_aggregated(context.request.headers.get("accept", ""), at_once):
        found = aggregated.document(context.registry, core=core)
        return _cached(context, found)
    address = context.request.headers.get("host", "")
    tree = legacy.api_versions(address) if core else legacy.group_list(context.registry)
    answer = await json_answer(context, tree)
    return answer._replace(headers=[*answer.headers, ("Vary", "Accept")])


def _cached(context: Context, found: aggregated.Document) -> Response:
    """Returns the document, or 304 if the client already has the document."""
    headers = (("Cache-Control", "public"), ("ETag", found.etag), ("Vary", "Accept"))
    if is_not_modified(context, found.etag):
        return Response(304, "", b"", headers)
    return Response(200, aggregated.CONTENT_TYPE, found.body, headers)


def _wants_aggregated(header: str, at_once: bool) -> bool:
    """Returns True if the first acceptable clause requests the aggregated form. Raises NotAcceptable."""
    check_produced(header)
    if not header:
        return False
    for clause in clauses(header):
        if not any(clause.covers(media_type) for media_type in MEDIA_TYPES):
            continue
        if not any(name in clause.parameters for name in ("as", "g", "v")):
            return False
        if at_once and _is_aggregated(clause):
            return True
    raise NotAcceptable.of(MEDIA_TYPES)


def _is_aggregated(clause: Clause) -> bool:
    wanted = {"g": aggregated.GROUP, "v": aggregated.VERSION, "as": aggregated.KIND}
    return (clause.type, clause.subtype) == _JSON and all(
        clause.parameters.get(name) == value for name, value in wanted.items()
    )
