"""Protobuf bodies: the envelope with the kind, which contains the message of that kind."""

from functools import lru_cache
from typing import NamedTuple

from setpoint.objects import codec
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.server.codec.protobuf.generate import reader
from setpoint.server.codec.protobuf.message_table import ENVELOPE, TYPE_META, nests, table
from setpoint.server.codec.protobuf.wire import Buffer, MalformedError, span

MAGIC = b"k8s\0"
# Messages that cannot contain themselves are nested less deeply than this; deeper trees come from embedded JSON.
_MESSAGE_DEPTH = 64
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def decode(body: bytes, default: GroupVersionKind | None = None, limit: int = codec.MAX_BODY) -> Object:
    """Returns the object of a protobuf body, in the JSON form that Go would write. Raises RequestEntityTooLarge or
    BadRequest.

    `default` is the kind of the endpoint: used for a body without a kind, and named in errors as the expected kind.
    """
    if len(body) > limit:
        raise RequestEntityTooLarge.body(limit)
    claimed = None
    try:
        found = _open(body)
        claimed = _claimed(found.api_version, found.kind, default)
        message = table().message_of(claimed.api_version, claimed.kind)
        if message is None:
            where = quote(claimed.api_version)
            raise MalformedError(
                f"no kind {quote(claimed.kind)} is registered for version {where} in scheme {quote(_SCHEME)}"
            )
        tree = _read(message, found.data, found.pos, found.end)
    except MalformedError as error:
        raise _refusal(str(error), body, claimed, default) from None
    made: Object = {}
    if found.api_version:
        made["apiVersion"] = found.api_version
    if found.kind:
        made["kind"] = found.kind
    made.update(tree)
    return made


class _Opened(NamedTuple):
    """The content of an envelope: the position of the message, and its `apiVersion` and `kind`."""

    data: Buffer
    pos: int
    end: int
    api_version: str
    kind: str


def _open(body: bytes) -> _Opened:
    if not body:
        raise MalformedError("empty data")
    if not body.startswith(MAGIC):
        raise MalformedError(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
        )
    if len(body) == len(MAGIC):
        raise MalformedError("empty body")
    data, end = Buffer.of(body), len(body)
    # The form that client-go writes, which needs no copy of the message: a short type, the message, two empty strings.
    size = data[5]
    after = 6 + size
    if data[4] == 0x0A and size < 0x80 and after < end and data[after] == 0x12:
        api_version, kind = _type_meta(data[6:after])
        pos, stop = span(data, after + 1, end)
        if body[stop:] == b'\x1a\0"\0':
            return _Opened(data, pos, stop, api_version, kind)
    found = _read(ENVELOPE, data, len(MAGIC), end)
    raw = found["raw"] or b""
    return _Opened(Buffer.of(raw), 0, len(raw), found.get("apiVersion", ""), found.get("kind", ""))


@lru_cache(1024)
def _type_meta(message: bytes) -> tuple[str, str]:
    """Returns the `apiVersion` and `kind` of an envelope. Cached, as few different ones occur."""
    found = _read(TYPE_META, Buffer.of(message), 0, len(message))
    return found.get("apiVersion", ""), found.get("kind", "")


def _claimed(api_version: str, kind: str, default: GroupVersionKind | None) -> GroupVersionKind:
    """Returns the kind of the body; missing parts are taken from the endpoint."""
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


def _read(message: str, data: Buffer, pos: int, end: int) -> Object:
    """Reads a message of limited depth."""
    try:
        tree: Object = reader(message)(data, pos, end)
    except RecursionError:
        raise MalformedError(codec.TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise MalformedError(f"invalid UTF-8 in a string: {error.reason}") from None
    # The depth test is expensive; trees are deep only if messages contain themselves or embedded JSON.
    has_json = data.count(b"{") + data.count(b"[") > codec.MAX_DEPTH - _MESSAGE_DEPTH
    if (has_json or nests(message)) and codec.is_too_deep(tree):
        raise MalformedError(codec.TOO_DEEP)
    return tree


def _refusal(why: str, body: bytes, claimed: GroupVersionKind | None, default: GroupVersionKind | None) -> BadRequest:
    """Returns the API error for an unreadable body."""
    if default is None:
        return BadRequest(why)
    if claimed is None:
        return BadRequest.unrecognized(default.kind, why, body)
    return BadRequest(
        f"{claimed.kind} in version {quote(claimed.version)} cannot be handled as a {default.kind}: {why}"
    )
