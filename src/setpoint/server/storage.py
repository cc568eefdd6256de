"""Objects as they lie in the log: their keys, and their bytes.

An object is encoded once, when it is written, in the storage version of its resource and without its resource version,
which only the log knows. Every encoding begins with the same head, so that a reader gets the finished JSON by putting
the revision in behind it: no answer decodes an object to encode it again. Keys and fields are in sorted order below the
head, so that equal objects are equal bytes, and a write that changes nothing is seen to change nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from setpoint.objects.ordered import encode_sorted
from setpoint.objects.tree import Json, Object

_encode: Final = encode_sorted
_decode: Final = msgspec.json.Decoder(dict).decode


# An object or list with more members than this is encoded so many at a time.
_MANY = 256


def _encode_large(value: Json) -> bytes:
    """The same as `_encode`, in many calls: in one, no other thread could run until all of it is done."""
    parts: list[bytes] = []
    _pieces(value, parts, _DEPTH)
    return b"".join(parts)


# So many levels are gone through one by one whatever their size: what takes long is at the bottom.
_DEPTH = 3


def _pieces(value: Json, parts: list[bytes], depth: int) -> None:
    if type(value) not in (dict, list) or (depth <= 0 and len(value) <= _MANY):
        parts.append(_encode(value))
        return
    is_dict = type(value) is dict
    names = sorted(value) if is_dict else range(len(value))
    parts.append(b"{" if is_dict else b"[")
    pending: list[Any] = []
    first = True

    def flush() -> None:
        nonlocal first
        if pending:
            encoded = _encode({name: value[name] for name in pending} if is_dict else [value[name] for name in pending])
            parts.append(encoded[1:-1] if first else b"," + encoded[1:-1])
            first = False
            pending.clear()

    for name in names:
        inner = value[name]
        if type(inner) in (dict, list) and (len(inner) > _MANY or depth > 1):
            flush()
            if not first:
                parts.append(b",")
            if is_dict:
                parts.append(_encode(name) + b":")
            _pieces(inner, parts, depth - 1)
            first = False
        else:
            pending.append(name)
            if len(pending) >= _MANY:
                flush()
    flush()
    parts.append(b"}" if is_dict else b"]")


class Encoding:
    """How objects of one version of a kind are written."""

    __slots__ = ("_start", "head")

    def __init__(self, api_version: str, kind: str) -> None:
        # What every encoding begins with. Metadata is never empty, so that a field follows.
        self.head: Final = b'{"apiVersion":%b,"kind":%b,"metadata":{' % (_encode(api_version), _encode(kind))
        self._start: Final = len(self.head)

    def encode(self, tree: Object, *, large: bool = False) -> bytes:
        """The bytes of an object, without its resource version. A large one is encoded piece by piece."""
        if large:
            return self._encode(tree, _encode_large)
        return self._encode(tree, _encode)

    def _encode(self, tree: Object, _encode: Callable[[Json], bytes]) -> bytes:
        metadata = tree["metadata"]
        if "resourceVersion" in metadata:
            metadata = metadata.copy()
            del metadata["resourceVersion"]
        rest = tree.copy()
        del rest["metadata"]
        rest.pop("apiVersion", None)
        rest.pop("kind", None)
        body = self.head + _encode(metadata)[1:]
        return body + b"," + _encode(rest)[1:] if rest else body + b"}"

    def render(self, value: bytes, revision: int) -> bytes:
        """The finished JSON of a value in this encoding. A revision of 0 is one that nothing was written at."""
        if not revision:
            return value
        start = self._start
        return b'%b"resourceVersion":"%d",%b' % (value[:start], revision, value[start:])

    def render_list_items(self, values: Iterable[tuple[bytes, int]]) -> list[bytes]:
        """The same of many values with their revisions, without `apiVersion` and `kind`, as the items of a built-in
        list are."""
        start = self._start
        return [b'{"metadata":{"resourceVersion":"%d",%b' % (revision, value[start:]) for value, revision in values]


class Storage:
    """Where and how the objects of one resource are kept; several versions, or groups, of a resource may share one."""

    def __init__(self, group: str, resource: str, namespaced: bool, api_version: str, kind: str) -> None:
        self.prefix: Final = f"/{group or 'core'}/{resource}/"
        self.namespaced: Final = namespaced
        self.api_version: Final = api_version
        self.kind: Final = kind
        self.encode: Final = Encoding(api_version, kind).encode

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else self.prefix + name

    def scope(self, namespace: str) -> str:
        """The prefix of all keys in a namespace, or of all there are."""
        return f"{self.prefix}{namespace}/" if namespace and self.namespaced else self.prefix

    def decode(self, value: bytes, revision: int) -> Object:
        """The object as it is stored, with its resource version. The tree is the caller's own."""
        tree: Object = _decode(value)
        tree["metadata"]["resourceVersion"] = str(revision)
        return tree
