"""Protobuf bodies: the envelope with the kind, and in it the message of that kind."""

from setpoint.objects import codec
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.server.protobuf.generate import reader
from setpoint.server.protobuf.table import ENVELOPE, nests, table
from setpoint.server.protobuf.wire import PADDING, MalformedError

MAGIC = b"k8s\0"
# Messages that cannot contain themselves are nested less deep than this; the rest is left to JSON in them.
_MESSAGE_DEPTH = 64
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def decode(body: bytes, default: GroupVersionKind | None = None, limit: int = codec.MAX_BODY) -> Object:
    """The object in a protobuf body, as the JSON that Go would write. Raises RequestEntityTooLarge or BadRequest.

    `default` is the kind that the endpoint takes: what a body is that does not say, and what errors say it should be.
    """
    if len(body) > limit:
        raise RequestEntityTooLarge.body(limit)
    claimed = None
    try:
        raw, api_version, kind = _open(body)
        claimed = _claimed(api_version, kind, default)
        message = table().message_of(claimed.api_version, claimed.kind)
        if message is None:
            where = quote(claimed.api_version)
            raise MalformedError(
                f"no kind {quote(claimed.kind)} is registered for version {where} in scheme {quote(_SCHEME)}"
            )
        tree = _read(message, raw, 0)
    except MalformedError as error:
        raise _refusal(str(error), body, claimed, default) from None
    meta = {name: value for name, value in (("apiVersion", api_version), ("kind", kind)) if value}
    return meta | tree


def _open(body: bytes) -> tuple[bytes, str, str]:
    """What is in an envelope: the bytes of the message, and the `apiVersion` and `kind` it has been given."""
    if not body:
        raise MalformedError("empty data")
    if not body.startswith(MAGIC):
        raise MalformedError(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
        )
    if len(body) == len(MAGIC):
        raise MalformedError("empty body")
    found = _read(ENVELOPE, body, len(MAGIC))
    return found["raw"] or b"", found.get("apiVersion", ""), found.get("kind", "")


def _claimed(api_version: str, kind: str, default: GroupVersionKind | None) -> GroupVersionKind:
    """The kind of the body, with what it does not say taken from the endpoint."""
    try:
        claimed = GroupVersion.parse(api_version)
    except ValueError:
        claimed = GroupVersion("", "")
    if default is not None:
        kind = kind or default.kind
        claimed = claimed if claimed.version else default.group_version
    if not kind or not claimed.version:
        missing = "apiVersion" if kind else "Kind"
        given = f"runtime.TypeMeta{{APIVersion:{quote(api_version)}, Kind:{quote(kind)}}}"
        raise MalformedError(f"Object '{missing}' is missing in '{given}'")
    return claimed.with_kind(kind)


def _read(message: str, data: bytes, pos: int) -> Object:
    """Reads a message, in bounded depth."""
    try:
        tree: Object = reader(message)(data + PADDING, pos, len(data))
    except RecursionError:
        raise MalformedError(codec.TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise MalformedError(f"invalid UTF-8 in a string: {error.reason}") from None
    # To look is dear; trees grow deep only where messages contain themselves, or where there is JSON in them.
    has_json = data.count(b"{") + data.count(b"[") > codec.MAX_DEPTH - _MESSAGE_DEPTH
    if (has_json or nests(message)) and codec.is_too_deep(tree):
        raise MalformedError(codec.TOO_DEEP)
    return tree


def _refusal(why: str, body: bytes, claimed: GroupVersionKind | None, default: GroupVersionKind | None) -> BadRequest:
    """The error of the API for a body that cannot be read."""
    if default is None:
        return BadRequest(why)
    if claimed is None:
        return BadRequest.unrecognized(default.kind, why, body)
    return BadRequest(
        f"{claimed.kind} in version {quote(claimed.version)} cannot be handled as a {default.kind}: {why}"
    )
