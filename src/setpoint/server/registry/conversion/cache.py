"""A cache of converted objects: repeated reads need no call of the webhook.

A conversion depends only on the object, so the cache key is the object (without its revision and managed fields) and
the target version. An entry that is referenced remains available even if the cache is full: a caller that has fetched a
conversion will find the entry. A minute is long enough to serve lists and watches, and short enough for calling a
webhook again after a fix.
"""

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.conversion.pending import RequiredConversion
from setpoint.server.registry.conversion.review import CHANGEABLE

_BYTES = 64 << 20
_SECONDS = 60.0
# The cost of an entry besides the bytes of the object.
_OVERHEAD = 400
_NEITHER = ("resourceVersion", "managedFields")

_encode = encode_sorted
_decode = msgspec.json.Decoder(dict).decode


class Converted:
    """A converted object."""

    __slots__ = ("__weakref__", "_body", "made_at")

    def __init__(self, tree: Object, made_at: float) -> None:
        # Only the metadata that the converter may change; the rest comes from the original.
        metadata = {name: tree["metadata"][name] for name in CHANGEABLE if name in tree["metadata"]}
        self._body = _encode({**tree, "metadata": metadata})
        self.made_at = made_at

    @property
    def size(self) -> int:
        return len(self._body) + _OVERHEAD

    def of(self, original: Object) -> Object:
        """Returns the converted original. The caller owns the tree."""
        tree: Object = _decode(self._body)
        kept = {name: value for name, value in (original.get("metadata") or {}).items() if name not in CHANGEABLE}
        tree["metadata"] = {**copy(kept), **tree["metadata"]}
        return tree


class Key(NamedTuple):
    """The key of a conversion, and the size of the object."""

    digest: bytes
    size: int


def key_of(scope: bytes, wanted: RequiredConversion) -> Key:
    """Returns the key of a conversion; `scope` identifies the converter."""
    tree = wanted.tree
    metadata = tree.get("metadata")
    if type(metadata) is dict:
        tree = {**tree, "metadata": {name: value for name, value in metadata.items() if name not in _NEITHER}}
    body = _encode(tree)
    digest = blake2b(scope, digest_size=16)
    digest.update(wanted.to_version.encode() + b"\0")
    digest.update(body)
    return Key(digest.digest(), len(body))


class Memory:
    """The cached conversions of one server."""

    def __init__(self, clock: Clock, *, limit: int = _BYTES) -> None:
        self._clock = clock
        self._limit = limit
        self._bytes = 0
        self._kept: OrderedDict[bytes, Converted] = OrderedDict()
        self._cached: WeakValueDictionary[bytes, Converted] = WeakValueDictionary()

    def find(self, digest: bytes) -> Converted | None:
        """Returns a recent conversion, or an older one that is still referenced."""
        found = self._kept.get(digest)
        if found is None:
            return self._cached.get(digest)
        if self._clock.monotonic() - found.made_at <= _SECONDS:
            self._kept.move_to_end(digest)
            return found
        self._evict(digest)
        # From here on, only references of callers keep the conversion.
        del found
        return self._cached.get(digest)

    def put(self, digest: bytes, tree: Object) -> Converted:
        """Stores a converted object."""
        made = Converted(tree, self._clock.monotonic())
        self._evict(digest)
        self._kept[digest] = self._cached[digest] = made
        self._bytes += made.size
        while self._bytes > self._limit and self._kept:
            self._evict(next(iter(self._kept)))
        return made

    def clear(self) -> None:
        """Removes all entries; referenced ones remain available to their holders."""
        self._kept.clear()
        self._bytes = 0

    def _evict(self, digest: bytes) -> None:
        old = self._kept.pop(digest, None)
        if old is not None:
            self._bytes -= old.size
