"""One served resource: a group, version and plural, with everything a request to it needs.

Several resources may share a `Storage`: the versions of a custom resource, `events` in two groups, the two versions of
HorizontalPodAutoscaler. Each object is stored in one version, and converted for the others. What was stored as this
resource shows it is shown as it was stored; all else is decoded, converted and encoded again.
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
from setpoint.schema.weight import HEAVY
from setpoint.server.message import Response
from setpoint.server.registry.conversion.pending import Fetch, Held, NotConverted, Wanted
from setpoint.server.registry.shape import Shape
from setpoint.server.registry.storage import Encoding, Storage
from setpoint.server.registry.strategy import Strategy
from setpoint.server.watch.fanout import Fanouts
from setpoint.server.watch.frames import Changes
from setpoint.store.contract import Item

T = TypeVar("T")
# Answers a request to a subresource: a `Verb` of `server.request.extension`.
Answer: TypeAlias = Callable[..., Awaitable[Response]]

# How often work is done again that needs one conversion more each time: no more than there are versions and managers.
_ROUNDS = 100
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# What is answered and not stored: reviews, and bindings.
CREATE_ONLY = ("create",)
SUBRESOURCE_VERBS = ("get", "patch", "update")


@dataclass(frozen=True)
class Subresource:
    """A further endpoint below an object; its kind is the object's own unless it says otherwise."""

    name: str
    verbs: Sequence[str] = SUBRESOURCE_VERBS
    kind: GroupVersionKind | None = None
    # What answers there, by verb, where that is not the server itself.
    answers: Mapping[str, Answer] = field(default_factory=dict, repr=False)


def _shapeless() -> Shape:
    raise TypeError("this resource was made without a shape: its objects can be read but not written")


@dataclass(frozen=True, eq=False)
class Resource:
    """What the registry serves under one group, version and plural. Never changed; replaced when its definition is."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    storage: Storage
    # Makes the rules of the kind, when they are first needed: a server starts without those that nobody asks for.
    make_strategy: Callable[[], Strategy] = field(repr=False)
    singular: str = ""
    list_kind: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    verbs: Sequence[str] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    # The name of the built-in definition of the kind; empty for custom resources.
    definition: str = ""
    # Makes the shape of the objects, when it is first needed.
    make_shape: Callable[[], Shape] = field(default=_shapeless, repr=False)
    # The definition of a custom resource; None for built-in kinds.
    crd: CustomResourceDefinition | None = None
    # Brings an object of one of the versions that share the storage to another. Raises NotConverted where `fetch` has
    # to be asked first, as `converting` does; most have none.
    convert: Convert = same_version
    fetch: Fetch | None = None
    # The first revision from which on what is stored surely has the shape it is served in.
    since: int = 0
    # The versions that share the storage, this one included, by `apiVersion`. Filled once all of them are made.
    family: "dict[str, Resource]" = field(default_factory=dict, repr=False)
    deprecation_warning: str = ""
    # The field managers of the endpoints, by subresource, made when they are needed: they are those of one server.
    field_managers: dict[str, FieldManager] = field(default_factory=dict, repr=False)
    # What higher layers found out about the resource and keep with it, since it goes with the resource. The admission
    # plugins that concern it, by phase and operation:
    admitting: dict[tuple[str, str], Sequence[Any]] = field(default_factory=dict, repr=False)
    # The reactions to its writes, by the services of each server:
    reacting: dict[object, Sequence[Any]] = field(default_factory=dict, repr=False)
    # Its routes, by in namespace, named, subresource and verb: the rows of `server.routes`.
    routes: dict[tuple[bool, bool, str, str], Any] = field(default_factory=dict, repr=False)
    # What the watches of the resource share.
    changes: Changes = field(default_factory=Changes, repr=False)
    fanouts: Fanouts = field(default_factory=Fanouts, repr=False)

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
        """The kind under which rules speak of an object: that of its storage, where groups share one."""
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
        """What is written for an object that nobody has set anything of. Shared: copy what you take."""
        return self.shape.empty()

    @lazy
    def encoding(self) -> Encoding:
        """How objects are written in this version."""
        return Encoding(self.api_version, self.kind)

    @property
    def in_storage_version(self) -> "Resource":
        """The same in the version that objects are stored in, whether or not it is served."""
        return self.family.get(self.storage.api_version, self)

    @lazy
    def is_custom(self) -> bool:
        return not self.definition

    @property
    def weight(self) -> int:
        """About how many times as long as others an object of some size may take to read, to merge or to validate."""
        return HEAVY if self.strategy.is_heavy else self.shape.weight

    def shows(self, value: bytes, revision: int) -> bool:
        """Whether stored bytes are what this resource shows, but for the revision."""
        return revision >= self.since and value.startswith(self.encoding.head)

    def render(self, value: bytes, revision: int) -> bytes:
        """The finished JSON of a stored value, in this version."""
        encoding = self.encoding
        # As `shows`: every answer with one object comes through here.
        if revision < self.since or not value.startswith(encoding.head):
            value = encoding.encode(self.decode(value, revision))
        return encoding.render(value, revision)

    def render_replaced(self, value: bytes, revision: int, end: int) -> bytes:
        """The same of a value of some revision that is there no more: it shows the revision that ended it."""
        if not self.shows(value, revision):
            value = self.encoding.encode(self.decode(value, revision))
        return self.encoding.render(value, end)

    def render_list_items(self, items: Iterable[Item]) -> list[bytes]:
        """The same as the items of a list: those of built-in kinds do not repeat their kind."""
        if self.is_custom:
            return [self.render(value, revision) for _, value, revision, _ in items]
        encoding, since = self.encoding, self.since
        return encoding.render_list_items(
            [
                # As `shows`, which would be called for each of very many.
                (value, revision)
                if revision >= since and value.startswith(encoding.head)
                else (encoding.encode(self.decode(value, revision)), revision)
                for _, value, revision, _ in items
            ]
        )

    def decode(self, value: bytes, revision: int) -> Object:
        """The object in this version, with its resource version. The tree is the caller's own."""
        tree = self.storage.decode(value, revision) if revision >= self.since else self._stored(value, revision)
        stored = tree["apiVersion"]
        return tree if stored == self.api_version else self._converted(tree, stored, self)

    def _stored(self, value: bytes, revision: int) -> Object:
        """The object in the version that it was stored in, in the shape that it has today."""
        tree = self.storage.decode(value, revision)
        stored = tree["apiVersion"]
        if revision < self.since and stored in self.family:
            self.family[stored].shape.renormalize(tree)
        return tree

    def item(self, item: Item) -> Object:
        """The object that the store holds, as `decode`."""
        return self.decode(item.value, item.revision)

    def encode(self, tree: Object, *, large: bool = False) -> bytes:
        """The bytes to store for an object of this version. With `large`, other threads can run meanwhile."""
        stored = self.storage.api_version
        if stored != self.api_version:
            tree = self._converted(copy(tree), self.api_version, self.family[stored])
        return self.storage.encode(tree, large=large)

    def to(self, other: "Resource", tree: Object) -> Object:
        """An object of this version as another of the family shows it. The tree is used up."""
        return self._converted(tree, self.api_version, other)

    async def converting(self, work: Callable[[], T], items: Iterable[Item] = (), also: Iterable[Wanted] = ()) -> T:
        """What some work gives that converts objects: it is done again and again, each time with more of what it needs
        at hand, so it must leave no traces. `items` are those that it is going to decode, and `also` what else it
        converts: they are asked for together. Raises ConversionFailed."""
        if self.fetch is None:
            return work()
        held: list[Held] = []
        for _ in range(_ROUNDS):
            try:
                return work()
            except NotConverted as missing:
                wanted = [missing.wanted] if held else [missing.wanted, *self._to_decode(items), *also]
                held.append(await self.fetch(wanted))
        raise APIError(f"{self.gvk} takes more than {_ROUNDS} conversions of one object: there is no end to it")

    async def encoded(self, tree: Object) -> bytes:
        """As `encode`, for who can wait. Raises ConversionFailed."""
        return self.encode(tree) if self.fetch is None else await self.converting(lambda: self.encode(tree))

    async def decoded(self, item: Item) -> Object:
        """As `item`, for who can wait. Raises ConversionFailed."""
        return self.item(item) if self.fetch is None else await self.converting(lambda: self.item(item))

    async def prepare(self, items: Iterable[Item]) -> Held:
        """Has what the store holds converted: while what comes back is kept, it can be decoded. Raises
        ConversionFailed."""
        return () if self.fetch is None else await self.fetch(self._to_decode(items))

    def _to_decode(self, items: Iterable[Item]) -> list[Wanted]:
        found: list[Wanted] = []
        for _, value, revision, _ in items:
            if not self.shows(value, revision):
                tree = self._stored(value, revision)
                if tree["apiVersion"] != self.api_version:
                    found.append(Wanted(tree, tree["apiVersion"], self.api_version))
        return found

    def kind_at(self, subresource: str) -> GroupVersionKind:
        """The kind of what is written through an endpoint: the resource itself, or what lies below it."""
        below = self.subresources.get(subresource)
        return self.gvk if below is None or below.kind is None else below.kind

    def _converted(self, tree: Object, version: str, to: "Resource") -> Object:
        tree = self.convert(tree, version, to.api_version)
        tree["kind"] = to.kind
        to.shape.trim(tree)
        return tree

    def field_manager(self, subresource: str, clock: Clock) -> FieldManager:
        """Who keeps `managedFields` for writes through an endpoint of this resource."""
        found = self.field_managers.get(subresource)
        if found is None:
            found = self.field_managers[subresource] = FieldManager(
                api_version=self.api_version,
                kind=self.kind,
                types={version: member.shape.type for version, member in self.family.items()},
                clock=clock,
                convert=self.convert,
                reset_fields={version: member.reset_fields(subresource) for version, member in self.family.items()},
                subresource=subresource,
                empty=self.empty,
            )
        return found

    def reset_fields(self, subresource: str) -> fieldset.FieldSet:
        """The fields that a write through the endpoint leaves alone, whatever it says."""
        paths = self.strategy.reset_fields.get(subresource, ())
        return fieldset.from_paths(*(tuple(f"f:{name}" for name in path.split(".")) for path in paths))
