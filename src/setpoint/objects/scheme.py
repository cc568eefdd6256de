"""Which Python type an object of a kind becomes: typed objects and plain trees side by side.

A `Scheme` belongs to whoever made it; there is no global one. A kind that nobody registered stays a tree. Types are
anything `msgspec` converts (a Struct, a dataclass), with fields for what they care about.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind, GroupVersionKind, version_priority
from setpoint.objects.tree import Json, Object

T = TypeVar("T")


class Scheme:
    """Kinds and their types, both ways."""

    def __init__(self) -> None:
        self._types: dict[GroupVersionKind, type[Any]] = {}
        self._kinds: dict[type[Any], GroupVersionKind] = {}
        self._versions: dict[GroupKind, list[str]] = {}

    def register(self, gvk: GroupVersionKind, type_: type[Any]) -> None:
        """Binds a kind to a type. A kind has one type and a type one kind; doing it again changes nothing."""
        if self._types.get(gvk, type_) is not type_:
            raise ValueError(f"{gvk} is registered already, as {self._types[gvk].__name__}")
        if self._kinds.get(type_, gvk) != gvk:
            raise ValueError(f"{type_.__name__} is registered already, for {self._kinds[type_]}")
        self._types[gvk] = type_
        self._kinds[type_] = gvk
        versions = self._versions.setdefault(gvk.group_kind, [])
        if gvk.version not in versions:
            versions.append(gvk.version)
            versions.sort(key=version_priority)

    def type_of(self, gvk: GroupVersionKind) -> type[Any] | None:
        """The type of a kind; None where its objects stay trees."""
        return self._types.get(gvk)

    def kind_of(self, value: object) -> GroupVersionKind:
        """The kind of a typed object, of a type, or of a tree. Raises ValueError where it has none."""
        if isinstance(value, dict):
            gvk = GroupVersionKind.of(value)
            if not gvk.kind or not gvk.version:
                raise ValueError("the object does not say its apiVersion and kind")
            return gvk
        type_ = value if isinstance(value, type) else type(value)
        try:
            return self._kinds[type_]
        except KeyError:
            raise ValueError(f"no kind is registered for the type {type_.__name__}") from None

    def kinds(self) -> Iterator[GroupVersionKind]:
        """Every registered kind, the preferred version of each first."""
        for group_kind in sorted(self._versions):
            for version in self._versions[group_kind]:
                yield GroupVersionKind(group_kind.group, version, group_kind.kind)

    def preferred_version(self, group_kind: GroupKind) -> str | None:
        """The newest stable of the registered versions of a kind; None where there is none."""
        versions = self._versions.get(group_kind)
        return versions[0] if versions else None

    def decode(self, tree: Object) -> Any:
        """The object as its registered type, or the tree itself. Raises BadRequest where the type does not take it."""
        try:
            type_ = self._types.get(self.kind_of(tree))
        except ValueError as error:
            raise BadRequest(str(error)) from None
        return tree if type_ is None else self.decode_as(tree, type_)

    def decode_as(self, tree: Json, type_: type[T]) -> T:
        """The tree as that type. Raises BadRequest, naming the field, where it does not fit."""
        try:
            return msgspec.convert(tree, type_)
        except msgspec.ValidationError as error:
            raise BadRequest(f"the object does not decode as {type_.__name__}: {error}") from None

    def encode(self, value: object) -> Object:
        """The tree of a typed object, with its apiVersion and kind; a tree is given back as it is."""
        if isinstance(value, dict):
            return value
        gvk = self.kind_of(value)
        tree: Object = msgspec.to_builtins(value)
        return {"apiVersion": gvk.api_version, "kind": gvk.kind} | tree
