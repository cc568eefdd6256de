"""References to kinds: a class, a GroupVersionKind, or a string such as `apps/v1/Deployment`.

With a class the client returns typed objects, otherwise plain JSON trees; with `metadata_only`, it returns only the
metadata of objects. The modules for classes are imported with the first class, so that clients without classes start
faster.
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
# An object in any form; the result has the same form.
Obj = TypeVar("Obj", bound="Resource | dict[str, Any]")


class KindRef(NamedTuple):
    """A kind, and the form of its objects."""

    gvk: GroupVersionKind
    cls: "type[Resource] | None" = None
    metadata_only: bool = False

    @property
    def code(self) -> str:
        """The notation of the kind in code: the name of the class, or the text in quotes."""
        return self.cls.__name__ if self.cls is not None else f'"{self}"'

    def read(self, tree: Object) -> Any:
        """Converts a tree to an object of this kind. The tree must not be used afterwards."""
        return tree if self.cls is None or self.metadata_only else self.cls.from_json(tree)

    def decode(self, data: bytes) -> Any:
        """Decodes an object of this kind from the bytes of a server."""
        return _decode(data) if self.cls is None or self.metadata_only else self.cls.decode(data)

    @property
    def is_custom(self) -> bool:
        """True for a custom resource: its group has a domain other than `k8s.io`."""
        return "." in self.gvk.group and not self.gvk.group.endswith(".k8s.io")

    def __str__(self) -> str:
        return f"{self.gvk.api_version}/{self.gvk.kind}"


Kind: TypeAlias = type[R] | GroupVersionKind | str | KindRef
AnyObject: TypeAlias = Union["Resource", Object]


def kind_of(kind: Kind[Any]) -> KindRef:
    """Returns the reference for an argument. Raises ValueError for an invalid reference."""
    if isinstance(kind, type):
        return _of_class(cast(Any, kind))
    if isinstance(kind, str):
        return _of_text(kind)
    if isinstance(kind, GroupVersionKind):
        return KindRef(kind)
    return kind


@lru_cache(maxsize=1024)
def _of_class(cls: Any) -> KindRef:
    """Returns the reference for a class. The class of frozen objects stands for its mutable class, because objects from
    a server are never frozen."""
    from setpoint.schema.types.frozen import plain_class
    from setpoint.schema.types.resource import Resource

    cls = plain_class(cls)
    if not issubclass(cls, Resource):
        raise ValueError(f"{cls.__name__} is not a kind: a kind is a subclass of Resource")
    return KindRef(cls.gvk(), cls)


@lru_cache(maxsize=1024)
def _of_text(text: str) -> KindRef:
    api_version, slash, kind = text.rpartition("/")
    if not slash or not kind or not api_version:
        raise ValueError(f"invalid kind {text!r}: expected VERSION/Kind or GROUP/VERSION/Kind")
    return KindRef(GroupVersion.parse(api_version).with_kind(kind))


def metadata_only(kind: Kind[Any]) -> KindRef:
    """Returns a reference to the metadata alone of a kind's objects: trees with `apiVersion`, `kind` and `metadata`."""
    return kind_of(kind)._replace(metadata_only=True)


def tree_of(obj: AnyObject) -> Object:
    """Returns the object as a tree to send: a copy if the object is frozen, and the same tree if the argument is a
    mutable tree."""
    if type(obj) is dict:
        return obj
    if not isinstance(obj, dict):
        return obj.to_json()
    return cast(Object, thaw(obj)) if is_frozen(obj) else obj


def metadata_of(obj: AnyObject) -> Object:
    """Returns a tree with at least the metadata of the object, for reading only."""
    return obj if isinstance(obj, dict) else {"metadata": obj.metadata.to_json()}


def ref_of(obj: AnyObject) -> KindRef:
    """Returns the kind of an object. Raises ValueError for a tree without apiVersion and kind."""
    if not isinstance(obj, dict):
        return _of_class(type(obj))
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    return _of_fields(api_version if isinstance(api_version, str) else "", kind if isinstance(kind, str) else "")


@lru_cache(maxsize=1024)
def _of_fields(api_version: str, kind: str) -> KindRef:
    version = GroupVersion.parse(api_version)
    if not kind or not version.version:
        raise ValueError("the object has no apiVersion and kind")
    if kind == "PartialObjectMetadata":
        raise ValueError("cannot write a metadata-only object: patch or delete the object by its kind and name")
    return KindRef(version.with_kind(kind))
