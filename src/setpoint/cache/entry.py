"""The cache's entry for one object: the metadata is decoded, the rest stays as bytes until the first read.

Most objects are never read whole. So an entry keeps the bytes of the server and decodes the metadata only; the first
reader decodes the object once for all readers, and the bytes are freed. The managed fields, which are equal for
thousands of objects, are stored separately (`managed_fields_store`).

A decoded object is about ten times as large as its bytes. A cache with a bound (`DecodedObjects`) keeps the bytes of
all objects, compressed except those of the last ones, and only the last decoded ones beside them. Readers that need few
fields of every object use a view.
"""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import msgspec

from setpoint.cache import managed_fields_store
from setpoint.cache.managed_fields_store import Record
from setpoint.cache.packed_bytes import PackedBytes, Packer
from setpoint.client.kinds import KindRef, tree_of
from setpoint.objects.frozen import freeze as freeze_tree
from setpoint.schema.types.frozen import freeze
from setpoint.schema.types.meta import ObjectMeta
from setpoint.schema.types.resource import Resource

T = TypeVar("T")
U = TypeVar("U")

# Decodes an object from its bytes: immutable, in the form that its readers requested.
Make = Callable[[bytes], T]


class OwnerRef(msgspec.Struct, rename="camel", gc=False):
    """An owner reference."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool | None = None


class Meta(msgspec.Struct, rename="camel", gc=False):
    """The metadata for finding and comparing objects. Annotations, which may be long, stay in the object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    owner_references: list[OwnerRef] | None = None
    finalizers: list[str] | None = None
    # Set only until they are cut out.
    managed_fields: msgspec.Raw = msgspec.Raw()

    @property
    def key(self) -> str:
        """The key of the object: `namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Head(msgspec.Struct):
    metadata: Meta


class _Annotated(msgspec.Struct):
    class Metadata(msgspec.Struct):
        annotations: dict[str, str] | None = None

    metadata: Metadata


_NOTHING = msgspec.Raw()
_ANNOTATIONS = b'"annotations"'
_read_head = msgspec.json.Decoder(_Head).decode
_read_annotated = msgspec.json.Decoder(_Annotated).decode
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_set_field = msgspec.Struct.__setattr__


def number(resource_version: str) -> int | None:
    """Returns the resource version as a number, or None if it cannot be compared."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdecimal() else None


def read_meta(raw: bytes) -> Meta:
    """Decodes the metadata of an object. Strings that thousands of objects have in common are interned."""
    meta = _read_head(raw).metadata
    if meta.namespace:
        meta.namespace = intern(meta.namespace)
    if meta.labels:
        meta.labels = _shared_labels(tuple(meta.labels.items()))
    if meta.owner_references:
        meta.owner_references = _shared_owners(
            tuple(
                [(each.uid, each.kind, each.name, each.api_version, each.controller) for each in meta.owner_references]
            )
        )
    return meta


@lru_cache(maxsize=512)
def _shared_labels(labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Returns one shared instance of equal labels, which the replicas of a template have."""
    return {intern(name): intern(value) for name, value in labels}


@lru_cache(maxsize=512)
def _shared_owners(owners: tuple[tuple[str, str, str, str, bool | None], ...]) -> list[OwnerRef]:
    """Returns one shared instance of equal owner references, which the replicas of an owner have."""
    return [
        OwnerRef(uid, intern(kind), name, intern(api_version), controller)
        for uid, kind, name, api_version, controller in owners
    ]


def _share_texts(meta: Meta, made: ObjectMeta) -> None:
    """Makes a frozen object share the strings of its decoded metadata."""
    _set_field(made, "name", meta.name)
    _set_field(made, "namespace", meta.namespace)
    _set_field(made, "uid", meta.uid)
    _set_field(made, "resource_version", meta.resource_version)


def maker(kind: KindRef) -> Make[Any]:
    """Returns the decoder for the objects of a kind, into the frozen form that the readers of a cache requested."""
    cls = kind.cls
    if cls is not None and not kind.metadata_only:
        decode = cls.decode
        return lambda raw: freeze(decode(raw))
    # Items in lists of built-in kinds have no apiVersion and kind, and metadata-only objects have those of
    # PartialObjectMetadata.
    own = {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind}

    def tree(raw: bytes) -> Any:
        return freeze_tree(own | _decode(raw))

    def metadata(raw: bytes) -> Any:
        return freeze_tree({**own, "metadata": _decode(raw).get("metadata", {})})

    return metadata if kind.metadata_only else tree


class View(Protocol):
    """A few fields of an object, decoded from its bytes."""

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """Decodes the fields from the bytes of an object, which are without managed fields."""


V = TypeVar("V", bound=View)


class DecodedObjects:
    """The objects of a cache that are kept in decoded form, and those that are kept as plain bytes: the last ones up to
    a number. The bytes of all others are compressed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: deque[CachedObject[Any]] = deque()
        self._received: deque[CachedObject[Any]] = deque()
        self._packer = Packer()
        # The number of objects that were decoded so far.
        self.decoded = 0

    def receive(self, entry: "CachedObject[Any]") -> None:
        """Keeps the bytes of a new object, and compresses those of the oldest one beyond the limit: the handlers have
        examined that object."""
        self._received.append(entry)
        if len(self._received) > self._limit:
            self._received.popleft().pack(self._packer)

    def add(self, entry: "CachedObject[Any]") -> None:
        """Keeps a decoded object, and drops the oldest one beyond the limit."""
        self.decoded += 1
        self._entries.append(entry)
        if len(self._entries) > self._limit:
            self._entries.popleft().drop_decoded()


class CachedObject(Generic[T]):
    """One object of a cache."""

    __slots__ = ("_kept", "_made", "_make", "_raw", "_record", "_view", "key", "meta", "raw_size")

    def __init__(self, meta: Meta, raw: bytes, make: Make[T], kept: DecodedObjects | None = None) -> None:
        self.meta = meta
        # The key of the object; the indexes of a cache share this text.
        self.key = meta.key
        self.raw_size = len(raw)
        self._record: Record | None = None
        if meta.managed_fields:
            found = managed_fields_store.split(raw, bytes(meta.managed_fields))
            meta.managed_fields = _NOTHING
            if found is not None:
                raw, self._record = found
        # The bytes; None if the object is decoded and `_kept` sets no bound.
        self._raw: bytes | PackedBytes | None = raw
        # The decoded object; None if not decoded.
        self._made: Any = None
        self._make = make
        self._kept = kept
        self._view: View | None = None
        if kept is not None:
            kept.receive(self)

    def pack(self, packer: Packer) -> None:
        """Compresses the bytes of the object."""
        if type(self._raw) is bytes:
            self._raw = packer.pack(self._raw)

    def _bytes(self) -> bytes | None:
        """Returns the bytes without managed fields; None if only the decoded object is kept."""
        raw = self._raw
        return raw.unpack() if isinstance(raw, PackedBytes) else raw

    @property
    def object(self) -> T:
        """The object, shared by all readers."""
        raw = self._bytes() if self._made is None else None
        if raw is not None:
            made: Any = self._make(raw)
            if isinstance(made, Resource):
                _share_texts(self.meta, made.metadata)
            if self._record is not None:
                managed_fields_store.attach(made, self._record)
            self._made = made
            if self._kept is None:
                self._raw = self._record = None
            else:
                self._kept.add(self)
        return cast(T, self._made)

    def drop_decoded(self) -> None:
        """Drops the decoded object, which the next reader decodes again from the bytes."""
        if self._raw is not None:
            self._made = None

    def view(self, of: type[V]) -> V:
        """Returns a view of the object, decoded once. An object keeps one view: that of the last requested class."""
        found = self._view
        if not isinstance(found, of):
            found = self._view = of.read(self._bytes() or self.raw)
        return found

    @property
    def raw(self) -> bytes:
        """The object as bytes: as received, or encoded again."""
        raw = self._bytes()
        if raw is None:
            return _encode(tree_of(self._made))
        return raw if self._record is None else managed_fields_store.join(raw, self._record)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, read without decoding the whole object."""
        made = self._made
        raw = self._bytes() if made is None else None
        if raw is not None:
            return _read_annotated(raw).metadata.annotations or {} if _ANNOTATIONS in raw else {}
        if isinstance(made, Resource):
            return made.metadata.annotations or {}
        return made.get("metadata", {}).get("annotations") or {}

    @property
    def is_made(self) -> bool:
        """True if the object has been decoded."""
        return self._made is not None

    def in_form(self, make: Make[U], kept: DecodedObjects | None = None) -> "CachedObject[U]":
        """Returns the same object in another form. Both share the metadata, and the bytes until they are decoded."""
        raw = self._bytes()
        if raw is None:
            return CachedObject(self.meta, self.raw, make, kept)
        found = CachedObject(self.meta, raw, make, kept)
        found._record, found.raw_size = self._record, self.raw_size
        return found
