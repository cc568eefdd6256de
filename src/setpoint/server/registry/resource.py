"""One served resource: a group, version and plural, with all data that requests need.

Several resources may share a `Storage`: the versions of a custom resource, `events` in two groups, the two versions of
HorizontalPodAutoscaler. Each object is stored in one version, and converted for the others. An object that is stored in
the version and form of this resource is returned as stored; all others are decoded, converted and encoded again.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from setpoint.merge import fieldset
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.updater import Convert, same_version
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from setpoint.objects.lazy import lazy
from setpoint.objects.tree import Object, copy
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.message import Response
from setpoint.server.registry.conversion.pending import ConvertedObjects, Fetch, NotConverted, RequiredConversion
from setpoint.server.registry.message_cache import MessageCache
from setpoint.server.registry.shape import Shape
from setpoint.server.registry.storage import Encoding, Storage
from setpoint.server.registry.strategy import Strategy
from setpoint.server.watch.fanout import Fanouts
from setpoint.server.watch.frames import Changes
from setpoint.store.contract import Item

T = TypeVar("T")
# Answers a request to a subresource: a `Verb` of `server.request.extension`.
Answer: TypeAlias = Callable[..., Awaitable[Response]]

# The maximum number of repetitions of work that needs one more conversion each time; there are fewer versions and
# managers.
_ROUNDS = 100
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# The verbs of resources that are answered and not stored: reviews, and bindings.
CREATE_ONLY = ("create",)
SUBRESOURCE_VERBS = ("get", "patch", "update")


@dataclass(frozen=True)
class Subresource:
    """An additional endpoint of an object; its kind is the object's own unless `kind` is set."""

    name: str
    verbs: Sequence[str] = SUBRESOURCE_VERBS
    kind: GroupVersionKind | None = None
    # The handlers by verb, for endpoints that an extension serves.
    answers: Mapping[str, Answer] = field(default_factory=dict, repr=False)


def _shapeless() -> Shape:
    raise TypeError("this resource was made without a shape: its objects can be read but not written")


@dataclass(frozen=True, eq=False)
class Resource:
    """The resource that the registry serves under one group, version and plural. Immutable; replaced when its
    definition changes."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    storage: Storage
    # Creates the rules of the kind on first use, so that a server starts without unused ones.
    make_strategy: Callable[[], Strategy] = field(repr=False)
    singular: str = ""
    list_kind: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    # The name of the built-in definition of the kind; empty for custom resources.
    definition: str = ""
    # Creates the shape of the objects on first use.
    make_shape: Callable[[], Shape] = field(default=_shapeless, repr=False)
    # The definition of a custom resource; None for built-in kinds.
    crd: CustomResourceDefinition | None = None
    # Converts an object between versions that share the storage. Raises NotConverted if `fetch` has to be called first,
    # as `converting` does; most resources have no `fetch`.
    convert: Convert = same_version
    fetch: Fetch | None = None
    # Objects stored at this revision or later have the current shape.
    since: int = 0
    # The versions that share the storage, including this one, by `apiVersion`. Filled once all of them exist.
    family: "dict[str, Resource]" = field(default_factory=dict, repr=False)
    deprecation_warning: str = ""
    # True for a built-in resource that kube-apiserver does not have: a definition of the same resource replaces this
    # one.
    is_replaceable: bool = False
    # The field managers of the endpoints, by subresource, created on first use. They belong to one server.
    field_managers: dict[str, FieldManager] = field(default_factory=dict, repr=False)
    # Caches of higher layers, which end with the resource. The admission plugins for its writes, by phase and
    # operation:
    admitting: dict[tuple[str, str], Sequence[Any]] = field(default_factory=dict, repr=False)
    # The reactions to its writes and, with True, to its deletions, by the services of each server:
    reacting: dict[tuple[object, bool], Sequence[Any]] = field(default_factory=dict, repr=False)
    # Its routes (rows of `server.routes`), by: in a namespace, named, subresource, verb.
    routes: dict[tuple[bool, bool, str, str], Any] = field(default_factory=dict, repr=False)

    def for_server(self, family: "dict[str, Resource]") -> "Resource":
        """Returns a copy of a resource that no server uses, with caches of its own."""
        made = object.__new__(Resource)
        made.__dict__.update(self.__dict__, family=family, field_managers={}, admitting={}, reacting={}, routes={})
        return made

    @lazy
    def changes(self) -> Changes:
        """The frames that the watches of the resource share."""
        return Changes()

    @lazy
    def messages(self) -> MessageCache:
        """The protobuf messages of its objects."""
        return MessageCache()

    @lazy
    def fanouts(self) -> Fanouts:
        """The watches of the resource that share a cursor of the store."""
        return Fanouts()

    @lazy
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @lazy
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.resource)

    @lazy
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @lazy
    def stored_kind(self) -> GroupKind:
        """The kind of the object in policy rules: that of its storage, if several groups share one."""
        return GroupKind(GroupVersion.parse(self.storage.api_version).group, self.kind)

    @lazy
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @lazy
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @lazy
    def strategy(self) -> Strategy:
        return self.make_strategy()

    @lazy
    def shape(self) -> Shape:
        return self.make_shape()

    @lazy
    def empty(self) -> Object:
        """The encoded form of an object without any set field. Shared: copy before changing."""
        return self.shape.empty()

    @lazy
    def encoding(self) -> Encoding:
        """The encoding of objects in this version."""
        return Encoding(self.api_version, self.kind, shows_kind_first=not self.is_custom)

    @property
    def in_storage_version(self) -> "Resource":
        """The same resource in the storage version, which may not be served."""
        return self.family.get(self.storage.api_version, self)

    @lazy
    def is_custom(self) -> bool:
        return not self.definition

    def shows(self, value: bytes, revision: int) -> bool:
        """Returns True if the stored bytes, apart from the revision, are in the form that this resource serves."""
        return revision >= self.since and value.startswith(self.encoding.head)

    def render(self, value: bytes, revision: int) -> bytes:
        """Returns the JSON of a stored value in this version."""
        encoding = self.encoding
        # The same test as `shows`, inlined because every response with one object calls this.
        if revision < self.since or not value.startswith(encoding.head):
            value = encoding.encode(self.decode(value, revision))
        # The same as `Encoding.render`.
        start = len(encoding.head)
        if not revision:
            return encoding.shown + value[start:]
        return b'%b"resourceVersion":"%d",%b' % (encoding.shown, revision, value[start:])

    def render_replaced(self, value: bytes, revision: int, end: int) -> bytes:
        """Returns the JSON of a replaced or deleted value, with the revision of the write that replaced or deleted the
        value."""
        if not self.shows(value, revision):
            value = self.encoding.encode(self.decode(value, revision))
        return self.encoding.render(value, end)

    def render_list_items(self, items: Iterable[Item]) -> list[bytes]:
        """Returns the JSON of stored values as the items of a list: those of built-in kinds omit apiVersion and
        kind."""
        if self.is_custom:
            return [self.render(value, revision) for _, value, revision, _ in items]
        encoding, since = self.encoding, self.since
        return encoding.render_list_items(
            [
                # The same test as `shows`, inlined because lists may be very long.
                (value, revision)
                if revision >= since and value.startswith(encoding.head)
                else (encoding.encode(self.decode(value, revision)), revision)
                for _, value, revision, _ in items
            ]
        )

    def decode(self, value: bytes, revision: int) -> Object:
        """Returns the object in this version, with its resource version. The caller owns the tree."""
        tree = self.storage.decode(value, revision) if revision >= self.since else self._stored(value, revision)
        stored = tree["apiVersion"]
        return tree if stored == self.api_version else self._converted(tree, stored, self)

    def _stored(self, value: bytes, revision: int) -> Object:
        """Returns the object in its storage version, in the current shape."""
        tree = self.storage.decode(value, revision)
        stored = tree["apiVersion"]
        if revision < self.since and stored in self.family:
            self.family[stored].shape.renormalize(tree)
        return tree

    def item(self, item: Item) -> Object:
        """Decodes a stored item, like `decode`."""
        return self.decode(item.value, item.revision)

    def encode(self, tree: Object, *, large: bool = False) -> bytes:
        """Returns the bytes to store for an object of this version. With `large`, other threads can run meanwhile."""
        stored = self.storage.api_version
        if stored != self.api_version:
            tree = self._converted(copy(tree), self.api_version, self.family[stored])
        return self.storage.encode(tree, large=large)

    def to(self, other: "Resource", tree: Object) -> Object:
        """Converts an object of this version to another version of the family. Consumes the tree."""
        return self._converted(tree, self.api_version, other)

    async def converting(
        self, work: Callable[[], T], items: Iterable[Item] = (), also: Iterable[RequiredConversion] = ()
    ) -> T:
        """Returns the result of `work`, which converts objects. `work` is repeated after each missing conversion has
        been fetched, so `work` must have no side effects. The first fetch includes `items`, which `work` will decode,
        and `also`, further objects to convert. Raises ConversionFailed."""
        if self.fetch is None:
            return work()
        held: list[ConvertedObjects] = []
        for _ in range(_ROUNDS):
            try:
                return work()
            except NotConverted as missing:
                wanted = [missing.wanted] if held else [missing.wanted, *self._to_decode(items), *also]
                held.append(await self.fetch(wanted))
        raise APIError(f"{self.gvk} needs more than {_ROUNDS} conversions of one object: giving up")

    async def encoded(self, tree: Object) -> bytes:
        """Returns the bytes to store like `encode`, and waits for conversions. Raises ConversionFailed."""
        return self.encode(tree) if self.fetch is None else await self.converting(lambda: self.encode(tree))

    async def decoded(self, item: Item) -> Object:
        """Returns the object like `item`, and waits for conversions. Raises ConversionFailed."""
        return self.item(item) if self.fetch is None else await self.converting(lambda: self.item(item))

    async def prepare(self, items: Iterable[Item]) -> ConvertedObjects:
        """Converts stored items in advance. They can be decoded while the caller keeps the returned value. Raises
        ConversionFailed."""
        return () if self.fetch is None else await self.fetch(self._to_decode(items))

    def _to_decode(self, items: Iterable[Item]) -> list[RequiredConversion]:
        found: list[RequiredConversion] = []
        for _, value, revision, _ in items:
            if not self.shows(value, revision):
                tree = self._stored(value, revision)
                if tree["apiVersion"] != self.api_version:
                    found.append(RequiredConversion(tree, tree["apiVersion"], self.api_version))
        return found

    def kind_at(self, subresource: str) -> GroupVersionKind:
        """Returns the kind of the objects of an endpoint: the resource's own, or that of the subresource."""
        below = self.subresources.get(subresource)
        return self.gvk if below is None or below.kind is None else below.kind

    def _converted(self, tree: Object, version: str, to: "Resource") -> Object:
        tree = self.convert(tree, version, to.api_version)
        tree["kind"] = to.kind
        to.shape.trim(tree)
        return tree

    def field_manager(self, subresource: str, clock: Clock) -> FieldManager:
        """Returns the field manager that maintains `managedFields` for writes through an endpoint of this resource."""
        found = self.field_managers.get(subresource)
        if found is None:
            # As on kube-apiserver, a group does not know the owners of fields in another group of the same objects.
            family = {version: member for version, member in self.family.items() if member.group == self.group}
            found = self.field_managers[subresource] = FieldManager(
                api_version=self.api_version,
                kind=self.kind,
                types={version: member.shape.type for version, member in family.items()},
                clock=clock,
                convert=self.convert,
                reset_fields={version: member.reset_fields(subresource) for version, member in family.items()},
                subresource=subresource,
                empty=self.empty,
                is_custom=self.is_custom,
            )
        return found

    def reset_fields(self, subresource: str) -> fieldset.FieldSet:
        """Returns the fields that writes through the endpoint never change."""
        # The status of an object that is not stored has no endpoint of its own.
        paths = self.strategy.reset_fields.get(subresource, ()) if self.verbs != CREATE_ONLY else ()
        return fieldset.from_paths(*(tuple(f"f:{name}" for name in path.split(".")) for path in paths))
