"""Objects as they lie in the log: their keys, and their bytes.

An object is encoded once, when it is written, in the storage version of its resource and without its resource version,
which only the log knows. Every encoding begins with the same head, so that a reader gets the finished JSON by putting
the revision in behind it: no answer decodes an object to encode it again. Keys and fields are in sorted order below the
head, so that equal objects are equal bytes, and a write that changes nothing is seen to change nothing.
"""

from typing import Final

import msgspec

from setpoint.objects.tree import Object
from setpoint.store.contract import Entry, Item

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder(dict).decode


class Storage:
    """Where and how the objects of one resource are kept; several versions, or groups, of a resource may share one."""

    def __init__(self, group: str, resource: str, namespaced: bool, api_version: str, kind: str) -> None:
        self.prefix: Final = f"/{group or 'core'}/{resource}/"
        self.namespaced: Final = namespaced
        self.api_version: Final = api_version
        self.kind: Final = kind
        self._identity: Final = b'{"apiVersion":%b,"kind":%b,' % (_encode(api_version), _encode(kind))
        self._head: Final = self._identity + b'"metadata":{'

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else self.prefix + name

    def scope(self, namespace: str) -> str:
        """The prefix of all keys in a namespace, or of all there are."""
        return f"{self.prefix}{namespace}/" if namespace and self.namespaced else self.prefix

    def encode(self, tree: Object) -> bytes:
        """The bytes to store. The tree is of the storage version; its resource version is left out."""
        metadata = {name: value for name, value in tree["metadata"].items() if name != "resourceVersion"}
        rest = {name: value for name, value in tree.items() if name not in ("apiVersion", "kind", "metadata")}
        body = self._head + _encode(metadata)[1:]
        return body + b"," + _encode(rest)[1:] if rest else body + b"}"

    def decode(self, item: Item) -> Object:
        """The object, with its resource version. The tree is the caller's own."""
        tree: Object = _decode(item.value)
        tree["metadata"]["resourceVersion"] = str(item.revision)
        return tree

    def render(self, value: bytes, revision: int) -> bytes:
        """The finished JSON of a stored value."""
        head = len(self._head)
        return b'%b"resourceVersion":"%d",%b' % (value[:head], revision, value[head:])

    def render_list_item(self, value: bytes, revision: int) -> bytes:
        """The same without `apiVersion` and `kind`, as the items of a built-in list are."""
        return b'{"metadata":{"resourceVersion":"%d",%b' % (revision, value[len(self._head) :])

    def previous(self, entry: Entry, previous_value: bytes) -> bytes:
        """What a watcher is shown of a deleted object: its last state, at the revision of its deletion."""
        return self.render(previous_value, entry.revision)
