"""Converted objects, kept for a while: reading the same again asks nobody.

What becomes of an object depends on nothing but the object, so conversions are remembered by what was converted (its
revision and who owns which field apart) and into what. What somebody holds on to is found as long as they do, however
full the memory is: so whoever has had something converted can be sure to find it. A minute is enough to serve lists and
watches, and short enough for a webhook that was mended to be asked again.
"""

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.sorted_json import encode_sorted
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.conversion.pending import Wanted
from setpoint.server.registry.conversion.review import CHANGEABLE

_BYTES = 64 << 20
_SECONDS = 60.0
# What an entry costs besides the bytes of the object.
_OVERHEAD = 400
_NEITHER = ("resourceVersion", "managedFields")

_encode = encode_sorted
_decode = msgspec.json.Decoder(dict).decode


class Converted:
    """What an object has become."""

    __slots__ = ("__weakref__", "_body", "made_at")

    def __init__(self, tree: Object, made_at: float) -> None:
        # Of the metadata only what the converter has a say in: the rest is that of whatever is converted.
        metadata = {name: tree["metadata"][name] for name in CHANGEABLE if name in tree["metadata"]}
        self._body = _encode({**tree, "metadata": metadata})
        self.made_at = made_at

    @property
    def size(self) -> int:
        return len(self._body) + _OVERHEAD

    def of(self, original: Object) -> Object:
        """The original, converted. The tree is the caller's own."""
        tree: Object = _decode(self._body)
        kept = {name: value for name, value in (original.get("metadata") or {}).items() if name not in CHANGEABLE}
        tree["metadata"] = {**copy(kept), **tree["metadata"]}
        return tree


class Key(NamedTuple):
    """What a conversion is remembered by, and how much there is to convert."""

    digest: bytes
    size: int


def key_of(scope: bytes, wanted: Wanted) -> Key:
    """`scope` is whose conversion it is."""
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
    """The conversions of one server."""

    def __init__(self, clock: Clock, *, limit: int = _BYTES) -> None:
        self._clock = clock
        self._limit = limit
        self._bytes = 0
        self._kept: OrderedDict[bytes, Converted] = OrderedDict()
        self._held: WeakValueDictionary[bytes, Converted] = WeakValueDictionary()

    def find(self, digest: bytes) -> Converted | None:
        """What was converted before, lately or by somebody who still needs it."""
        found = self._kept.get(digest)
        if found is None:
            return self._held.get(digest)
        if self._clock.monotonic() - found.made_at <= _SECONDS:
            self._kept.move_to_end(digest)
            return found
        self._forget(digest)
        # From here on only those keep it who need it.
        del found
        return self._held.get(digest)

    def put(self, digest: bytes, tree: Object) -> Converted:
        """Remembers what an object has become."""
        made = Converted(tree, self._clock.monotonic())
        self._forget(digest)
        self._kept[digest] = self._held[digest] = made
        self._bytes += made.size
        while self._bytes > self._limit and self._kept:
            self._forget(next(iter(self._kept)))
        return made

    def clear(self) -> None:
        """Forgets everything that nobody holds on to."""
        self._kept.clear()
        self._bytes = 0

    def _forget(self, digest: bytes) -> None:
        old = self._kept.pop(digest, None)
        if old is not None:
            self._bytes -= old.size
