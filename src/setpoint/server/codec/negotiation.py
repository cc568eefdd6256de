"""Content negotiation: the media type of a response, and the choice of the object, a Table or the metadata alone.

The clauses of an Accept header are tried in the order of their weight; a clause that an endpoint cannot satisfy is
skipped: custom resources have no protobuf, except as metadata alone, and Tables have none. Clauses with weight 0 count
like any other, as on kube-apiserver.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from setpoint.objects.errors import NotAcceptable
from setpoint.server.registry.resource import CREATE_ONLY, Resource
from setpoint.server.request.context import Context

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")

META_GROUP = "meta.k8s.io"
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"
_FORMS = (TABLE, PARTIAL, PARTIAL_LIST)
_VERSIONS = ("v1", "v1beta1")

# Longer headers are not cached, so that the cache stays small.
_REMEMBERED = 512


class Accepted(NamedTuple):
    """The form of a response. Without a `form`, the response is the object or list itself."""

    media_type: str = JSON
    form: str = ""  # Table, PartialObjectMetadata or PartialObjectMetadataList
    version: str = ""  # of meta.k8s.io, where there is a form
    pretty: bool = False

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the form."""
        return f"{META_GROUP}/{self.version}"


class Clause(NamedTuple):
    """One part of an Accept header."""

    type: str
    subtype: str
    weight: float
    parameters: dict[str, str]

    def covers(self, media_type: str) -> bool:
        if self.type == "*":
            return self.subtype == "*"
        type_, _, subtype = media_type.partition("/")
        return self.type == type_ and self.subtype in (subtype, "*")

    @property
    def transforms(self) -> bool:
        """True if the clause requests another form than the object itself."""
        return any(name in self.parameters for name in ("as", "g", "v"))


PLAIN = Accepted()
# The subresources without a Table, and the resources whose status has none.
_WITHOUT_TABLES = frozenset(
    ("approval", "binding", "ephemeralcontainers", "eviction", "finalize", "log", "resize", "token")
)
_STATUS_WITHOUT_TABLES = frozenset(("apiservices", "customresourcedefinitions", "devicetaintrules", "resourceclaims"))
# Headers that accept plain JSON.
UNDEMANDING = ("", JSON, "*/*")
# The verbs of a collection; their errors name the media types of streams too.
_LISTED = frozenset(("list", "watch"))


def negotiate(context: Context, resource: Resource) -> Accepted:
    """Returns the form of the response to a request for a resource. Raises NotAcceptable."""
    header = context.request.headers.get("accept", "")
    if header in UNDEMANDING:
        return PLAIN
    tables = TABLE not in header or _has_tables(resource, context.info.subresource)
    return accepted(header, custom=resource.is_custom, tables=tables, listed=context.info.verb in _LISTED)


def _has_tables(resource: Resource, subresource: str) -> bool:
    """Returns True if an endpoint can answer with a Table. As on kube-apiserver, endpoints for actions have none."""
    if resource.is_custom:
        return True
    if subresource == "status":
        return resource.resource not in _STATUS_WITHOUT_TABLES
    return subresource not in _WITHOUT_TABLES and resource.verbs != CREATE_ONLY


def negotiate_stream(context: Context, resource: Resource) -> Accepted:
    """Returns the form of a watch, which cannot be YAML. Raises NotAcceptable."""
    found = negotiate(context, resource)
    if found.media_type == YAML:
        raise NotAcceptable.of(_STREAMS)
    return found


def accepted(header: str, *, custom: bool = False, tables: bool = True, listed: bool = False) -> Accepted:
    """Returns the best form that an Accept header allows; `listed` if the request lists or watches a collection.
    Raises NotAcceptable."""
    if header in UNDEMANDING:
        return PLAIN
    if len(header) <= _REMEMBERED:
        return _accepted(header, custom, tables, listed)
    return _accepted.__wrapped__(header, custom, tables, listed)


@lru_cache(maxsize=256)
def _accepted(header: str, custom: bool, tables: bool, listed: bool) -> Accepted:
    if not custom:
        check_produced(header, (*MEDIA_TYPES, *_STREAMS) if listed else MEDIA_TYPES)
    for clause in clauses(header):
        for media_type in MEDIA_TYPES:
            if clause.covers(media_type) and (found := _transform(clause, media_type, custom, tables)) is not None:
                return found
    raise NotAcceptable.of(MEDIA_TYPES)


def check_produced(header: str, accepted: Sequence[str] = MEDIA_TYPES) -> None:
    """Raises NotAcceptable if the header contains no full name of a media type of the server, as kube-apiserver's
    router does. The error names the types in `accepted`."""
    if not header:
        return
    for part in header.split(","):
        name = part.partition(";")[0].strip(" ")
        if name == "*/*" or name in MEDIA_TYPES:
            return
    raise NotAcceptable(
        f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}",
        details=True,
    )


def _transform(clause: Clause, media_type: str, custom: bool, tables: bool) -> Accepted | None:
    """Returns the form that the parameters of a clause request, or None if the server does not support that form."""
    if not _allows(clause, media_type):
        return None
    parameters = clause.parameters
    pretty = parameters.get("pretty") == "1"
    if not clause.transforms:
        return None if custom and media_type == PROTOBUF else Accepted(media_type, pretty=pretty)
    form, group, version = (parameters.get(name, "") for name in ("as", "g", "v"))
    if form not in _FORMS or group != META_GROUP or version not in _VERSIONS:
        return None
    if form == TABLE and (media_type == PROTOBUF or not tables):
        return None
    return Accepted(media_type, form, version, pretty)


def _allows(clause: Clause, media_type: str) -> bool:
    """Returns True if the server supports the stream and the server version of a clause."""
    stream = clause.parameters.get("stream")
    return not clause.parameters.get("sv") and (not stream or (stream == "watch" and media_type != YAML))


def clauses(header: str) -> Sequence[Clause]:
    """Returns the clauses of a header: higher weights first, then specific types before wildcards."""
    found = [clause for part in header.split(",") if (clause := _clause(part)) is not None]
    return sorted(found, key=lambda clause: (-clause.weight, clause.type == "*", clause.subtype == "*"))


def _clause(part: str) -> Clause | None:
    name, *rest = part.split(";")
    type_, slash, subtype = (piece.strip(" ") for piece in name.partition("/"))
    if not slash and type_ == "*":
        subtype = "*"
    if not type_ or not subtype or "/" in subtype:
        return None
    weight, parameters = 1.0, {}
    for piece in rest:
        key, _, value = (text.strip(" ") for text in piece.partition("="))
        if not value or "=" in value:
            continue
        if key == "q":
            weight = _weight(value)
        else:
            parameters[key] = value
    return Clause(type_, subtype, weight, parameters)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def plain_media_type(header: str, supported: Sequence[str] = MEDIA_TYPES) -> str:
    """Returns the best of the supported media types for a response that has only one form; JSON if the header accepts
    none of them in this form."""
    for clause in clauses(header):
        for media_type in supported:
            if clause.covers(media_type) and _allows(clause, media_type) and not clause.transforms:
                return media_type
    return JSON
