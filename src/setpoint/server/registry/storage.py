"""The storage form of objects: their keys and bytes.

An object is encoded once, when written, in the storage version of its resource and without its resource version, which
only the log knows. Every encoding begins with the same head, so that a reader gets the final JSON by inserting the
revision after the head: no response decodes an object just to encode it again. Keys and fields are sorted below the
head, so that equal objects have equal bytes, and a write without changes is detected by comparing bytes.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from setpoint.objects import pieces
from setpoint.objects.sorted_json import SMALL, encode_small, encode_sorted
from setpoint.objects.tree import Json, Object

_encode: Final = msgspec.json.Encoder().encode


class Encoding:
    """The encoding of objects of one version of a kind."""

    __slots__ = ("_start", "head", "shown")

    def __init__(self, api_version: str, kind: str, *, shows_kind_first: bool = False) -> None:
        version, name = _encode(api_version), _encode(kind)
        # The start of every encoding. Metadata is never empty, so a field always follows.
        self.head: Final = b'{"apiVersion":%b,"kind":%b,"metadata":{' % (version, name)
        # The start of every response. kube-apiserver sends the kind of built-in objects first.
        kind_first = b'{"kind":%b,"apiVersion":%b,"metadata":{' % (name, version)
        self.shown: Final = kind_first if shows_kind_first else self.head
        self._start: Final = len(self.head)

    def encode(self, tree: Object, *, large: bool = False) -> bytes:
        """Returns the bytes of an object, without its resource version. A large object is encoded in pieces."""
        encode: Callable[[Json], bytes] = pieces.encode_sorted
        if not large:
            encode = encode_small if len(_encode(tree)) < SMALL else encode_sorted
        metadata = tree["metadata"]
        if "resourceVersion" in metadata:
            metadata = metadata.copy()
            del metadata["resourceVersion"]
        rest = tree.copy()
        del rest["metadata"]
        rest.pop("apiVersion", None)
        rest.pop("kind", None)
        body = self.head + encode(metadata)[1:]
        return body + b"," + encode(rest)[1:] if rest else body + b"}"

    def render(self, value: bytes, revision: int) -> bytes:
        """Returns the JSON of a value in this encoding. Revision 0 stands for an unwritten object, which has no
        resource version."""
        start = self._start
        if not revision:
            return self.shown + value[start:]
        return b'%b"resourceVersion":"%d",%b' % (self.shown, revision, value[start:])

    def render_unstored(self, tree: Object) -> bytes:
        """Returns the JSON of an object that is not stored, with the resource version that the client sent."""
        body, version = self.render(self.encode(tree), 0), tree["metadata"].get("resourceVersion")
        if not version:
            return body
        start = self._start
        return b'%b"resourceVersion":%b,%b' % (body[:start], _encode(version), body[start:])

    def render_list_items(self, values: Iterable[tuple[bytes, int]]) -> list[bytes]:
        """Returns the JSON of many values with their revisions, without `apiVersion` and `kind`, like the items of a
        built-in list."""
        start = self._start
        return [
            b'{"metadata":{"resourceVersion":"%d",%b' % (revision, value[start:])
            if revision
            else b'{"metadata":{%b' % value[start:]
            for value, revision in values
        ]


class Storage:
    """The location and encoding of the objects of one resource; several versions or groups of a resource may share
    one."""

    def __init__(self, group: str, resource: str, namespaced: bool, api_version: str, kind: str) -> None:
        self.prefix: Final = f"/{group or 'core'}/{resource}/"
        self.namespaced: Final = namespaced
        self.api_version: Final = api_version
        self.kind: Final = kind
        self.encode: Final = Encoding(api_version, kind).encode

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else self.prefix + name

    def scope(self, namespace: str) -> str:
        """Returns the prefix of all keys in a namespace, or of all keys if the namespace is empty."""
        return f"{self.prefix}{namespace}/" if namespace and self.namespaced else self.prefix

    def decode(self, value: bytes, revision: int) -> Object:
        """Returns the object in its storage version, with its resource version. The caller owns the tree."""
        tree: Object = pieces.decode(value)
        tree["metadata"]["resourceVersion"] = str(revision)
        return tree
