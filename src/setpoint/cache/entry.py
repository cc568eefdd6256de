"""The cache's entry for one object: the metadata is decoded, the rest stays as bytes until the first read.

Most objects are never read whole. So an entry keeps the bytes of the server and decodes the metadata only; the first
reader decodes the object once for all readers, and the bytes are freed. The managed fields, which are equal for
thousands of objects, are stored separately (`managed_fields_store`).
"""

from collections.abc import Callable
from sys import intern
from typing import Any, Generic, TypeVar, cast

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


class CachedObject(Generic[T]):
    """One object of a cache."""

    __slots__ = ("_made", "_make", "_record", "key", "meta", "raw_size")

    def __init__(self, meta: Meta, raw: bytes, make: Make[T]) -> None:
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
        # Either the bytes, or the decoded object (then `_make` is None).
        self._made: Any = raw
        self._make: Make[T] | None = make

    @property
    def object(self) -> T:
        """The object, shared by all readers."""
        if self._make is not None:
            made = self._make(self._made)
            if isinstance(made, Resource):
                _share_texts(self.meta, made.metadata)
            if self._record is not None:
                managed_fields_store.attach(made, self._record)
                self._record = None
            self._made = made
            self._make = None
        return cast(T, self._made)

    @property
    def raw(self) -> bytes:
        """The object as bytes: as received, or encoded again."""
        if self._make is None:
            return _encode(tree_of(self._made))
        return self._made if self._record is None else managed_fields_store.join(self._made, self._record)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, read without decoding the whole object."""
        made = self._made
        if self._make is not None:
            return _read_annotated(made).metadata.annotations or {}
        if isinstance(made, Resource):
            return made.metadata.annotations or {}
        return made.get("metadata", {}).get("annotations") or {}

    @property
    def is_made(self) -> bool:
        """True if the object has been decoded."""
        return self._make is None

    def in_form(self, make: Make[U]) -> "CachedObject[U]":
        """Returns the same object in another form. Both share the metadata, and the bytes until they are decoded."""
        if self._make is None:
            return CachedObject(self.meta, self.raw, make)
        found = CachedObject(self.meta, self._made, make)
        found._record, found.raw_size = self._record, self.raw_size
        return found
