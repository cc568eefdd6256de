"""How code names a kind to the client: by a class, by its coordinates, or by a text such as `apps/v1/Deployment`.

A class gives typed objects, the others plain JSON trees; `metadata_only` gives the metadata alone of either. What
makes classes of kinds is imported when the first one comes: who reads trees does not wait for it.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, Union, cast

import msgspec

from setpoint.objects.frozen import is_frozen, thaw
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.schema.types.resource import Resource

_decode = msgspec.json.Decoder().decode

R = TypeVar("R", bound="Resource")
# An object of whichever form, where the same form comes back.
Obj = TypeVar("Obj", bound="Resource | dict[str, Any]")


class KindRef(NamedTuple):
    """A kind, and what its objects become."""

    gvk: GroupVersionKind
    cls: "type[Resource] | None" = None
    metadata_only: bool = False

    def read(self, tree: Object) -> Any:
        """An object as its users want it. The tree is used up."""
        return tree if self.cls is None or self.metadata_only else self.cls.from_json(tree)

    def decode(self, data: bytes) -> Any:
        """The same, from what a server sent."""
        return _decode(data) if self.cls is None or self.metadata_only else self.cls.decode(data)

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}"


Kind: TypeAlias = type[R] | GroupVersionKind | str | KindRef
AnyObject: TypeAlias = Union["Resource", Object]


def kind_of(kind: Kind[Any]) -> KindRef:
    """What an argument means. Raises ValueError for what names no kind."""
    if isinstance(kind, type):
        return _of_class(cast(Any, kind))
    if isinstance(kind, str):
        return _of_text(kind)
    if isinstance(kind, GroupVersionKind):
        return KindRef(kind)
    return kind


@lru_cache(maxsize=1024)
def _of_class(cls: Any) -> KindRef:
    """What a class means. That of frozen objects means the class they were made of: what is read is never frozen."""
    from setpoint.schema.types.frozen import plain_class
    from setpoint.schema.types.resource import Resource

    cls = plain_class(cls)
    if not issubclass(cls, Resource):
        raise ValueError(f"{cls.__name__} is no kind: a kind is a class that derives from Resource")
    return KindRef(cls.gvk(), cls)


@lru_cache(maxsize=1024)
def _of_text(text: str) -> KindRef:
    api_version, slash, kind = text.rpartition("/")
    if not slash or not kind or not api_version:
        raise ValueError(f"{text!r} names no kind: it should read VERSION/Kind or GROUP/VERSION/Kind")
    return KindRef(GroupVersion.parse(api_version).with_kind(kind))


def metadata_only(kind: Kind[Any]) -> KindRef:
    """The metadata alone of the objects of a kind: trees with `apiVersion`, `kind` and `metadata`."""
    return kind_of(kind)._replace(metadata_only=True)


def tree_of(obj: AnyObject) -> Object:
    """An object as the tree that is sent; a tree is what it is, if it is not frozen."""
    if not isinstance(obj, dict):
        return obj.to_json()
    return cast(Object, thaw(obj)) if is_frozen(obj) else obj


def metadata_of(obj: AnyObject) -> Object:
    """An object as a tree with nothing but its metadata, to be read."""
    return obj if isinstance(obj, dict) else {"metadata": obj.metadata.to_json()}


def ref_of(obj: AnyObject) -> KindRef:
    """The kind of an object. Raises ValueError for a tree that does not say it."""
    if not isinstance(obj, dict):
        return _of_class(type(obj))
    gvk = GroupVersionKind.of(obj)
    if not gvk.kind or not gvk.version:
        raise ValueError("the object does not say its apiVersion and kind")
    if gvk.kind == "PartialObjectMetadata":
        raise ValueError(
            "the object is metadata alone, and that cannot be written: patch or delete it by its kind and name"
        )
    return KindRef(gvk)
