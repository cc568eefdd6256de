"""Objects as they lie in the log: their keys, and their bytes.

An object is encoded once, when it is written, in the storage version of its resource and without its resource version,
which only the log knows. Every encoding begins with the same head, so that a reader gets the finished JSON by putting
the revision in behind it: no answer decodes an object to encode it again. Keys and fields are in sorted order below the
head, so that equal objects are equal bytes, and a write that changes nothing is seen to change nothing.
"""

from collections.abc import Callable, Iterable
from typing import Final

from setpoint.objects import pieces
from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Json, Object

_encode: Final = encode_sorted


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
            return self._encode(tree, pieces.encode_sorted)
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
        tree: Object = pieces.decode(value)
        tree["metadata"]["resourceVersion"] = str(revision)
        return tree
