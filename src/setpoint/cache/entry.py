"""The cache's entry for one object: the metadata is decoded, the rest stays as bytes until the first read.

Most objects are never read whole. So an entry keeps the bytes of the server and decodes the metadata only; the first
reader decodes the object once for all readers, and the bytes are freed. The managed fields, which are equal for
thousands of objects, are stored separately (`managed_fields_store`).

A decoded object is about ten times as large as its bytes. A cache with a bound (`DecodedObjects`) keeps the bytes of
all objects, and only the last decoded ones beside them. Readers that need few fields of every object use a view.
"""

from collections import deque
from collections.abc import Callable
from sys import intern
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import msgspec

from setpoint.cache import managed_fields_store
from setpoint.cache.managed_fields_store import Record
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
        meta.labels = {intern(name): intern(value) for name, value in meta.labels.items()}
    for owner in meta.owner_references or ():
        owner.kind, owner.api_version = intern(owner.kind), intern(owner.api_version)
        if owner.name == meta.name:
            owner.name = meta.name
    return meta


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
    """The objects of a cache that are kept in decoded form: the last ones up to a number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: deque[CachedObject[Any]] = deque()
        # The number of objects that were decoded so far.
        self.decoded = 0

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
        self._raw: bytes | None = raw
        # The decoded object; None if not decoded.
        self._made: Any = None
        self._make = make
        self._kept = kept
        self._view: View | None = None

    @property
    def object(self) -> T:
        """The object, shared by all readers."""
        raw = self._raw
        if self._made is None and raw is not None:
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
            found = self._view = of.read(self.raw if self._raw is None else self._raw)
        return found

    @property
    def raw(self) -> bytes:
        """The object as bytes: as received, or encoded again."""
        if self._raw is None:
            return _encode(tree_of(self._made))
        return self._raw if self._record is None else managed_fields_store.join(self._raw, self._record)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, read without decoding the whole object."""
        raw, made = self._raw, self._made
        if made is None and raw is not None:
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
        if self._raw is None:
            return CachedObject(self.meta, self.raw, make, kept)
        found = CachedObject(self.meta, self._raw, make, kept)
        found._record, found.raw_size = self._record, self.raw_size
        return found
