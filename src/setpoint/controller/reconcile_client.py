"""The client of a reconcile: it reads from the cache what the controller has declared, and writes to the server.

What it reads shows what this process wrote; it notes what was looked up, so that the request runs again when that
changes; it does not send what would change nothing. A kind that was not declared is read from the server, and its
changes bring nobody back: declare it (`reads=[...]`) where they should.

What comes from the cache is shared and cannot be changed: `obj.edit()`, or `thaw(tree)`, makes a copy that can.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Unpack, cast, overload

from setpoint.cache.cache import Cache, NotCached
from setpoint.cache.entry import Held
from setpoint.cache.informer import Informer
from setpoint.cache.revision import number
from setpoint.cache.writes import Target
from setpoint.cache.writes import Write as Written
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of, ref_of, tree_of
from setpoint.client.list_result import Listing
from setpoint.client.mapper import NoMatch
from setpoint.client.options import ListOptions, Options, WriteOptions
from setpoint.client.requests import place_of
from setpoint.client.selectors import LabelsArgument, labels_text
from setpoint.client.write_verbs import configuration
from setpoint.controller.expectations import Expectations
from setpoint.controller.read_tracker import Look
from setpoint.controller.recording_client import Noting, NotingClient, Placed, placed
from setpoint.controller.run_record import Read, Write
from setpoint.merge.equality import equal
from setpoint.objects import labels as label_selectors
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupResource, GroupVersionKind
from setpoint.objects.tree import Object

# How many applied configurations are remembered.
MOST_APPLIED = 20_000
# What only the server can answer.
_LIVE = ("limit", "continue_", "resource_version", "resource_version_match", "at")


class Applied:
    """What was written, and the versions that came of it: the same again to the same version changes nothing. And
    notes, which those above keep from reconcile to reconcile. Of very much, what was learnt last is known."""

    def __init__(self) -> None:
        # Only whether something is the same has to be found out: of each the hash will do, and takes little room.
        self._known: dict[int, int] = {}
        self._notes: dict[object, Any] = {}

    def is_known(self, place: tuple[object, ...], what: object, version: str) -> bool:
        return self._known.get(hash(place)) == hash((what, version))

    def learn(self, place: tuple[object, ...], what: object, version: str) -> None:
        _put_last(self._known, hash(place), hash((what, version)))

    def note(self, about: object) -> Any:
        """What was noted last about something; None: nothing is known."""
        return self._notes.get(about)

    def put_note(self, about: object, note: Any) -> None:
        """Notes something; None forgets it."""
        if note is None:
            self._notes.pop(about, None)
        else:
            _put_last(self._notes, about, note)


def _put_last(known: dict[Any, Any], key: object, value: object) -> None:
    known.pop(key, None)
    if len(known) >= MOST_APPLIED:
        del known[next(iter(known))]
    known[key] = value


class Reader(Noting, Protocol):
    """The reconcile, as its client knows it."""

    def looked(self, look: Look) -> None:
        """Something was looked up."""

    def undeclared(self, kind: KindRef) -> None:
        """A kind was read that the controller has not declared."""


class ReconcileClient(NotingClient):
    """The client that a reconcile is given, as `ctx.client`."""

    def __init__(
        self,
        client: Client,
        options: Options,
        reader: Reader,
        expectations: Expectations,
        primary: GroupVersionKind | None,
        *,
        cache: Cache,
        applied: Applied,
        cluster: str = "",
    ) -> None:
        super().__init__(client, options, reader, expectations, primary)
        self._reader = reader
        self._cache = cache
        self._applied = applied
        self._cluster = cluster

    @property
    def applied(self) -> Applied:
        """What the controller has written before, for those above who leave out writes by it."""
        return self._applied

    @property
    def cache(self) -> Cache:
        """What it reads from."""
        return self._cache

    @property
    def has_doubts(self) -> bool:
        """Whether the outcome of a write is not known: then only the server can tell."""
        return self._expectations.is_unsure(self._reader.request)

    @property
    def _live(self) -> NotingClient:
        """The same without the cache."""
        return NotingClient(self, self.options, self._noting, self._expectations, self._primary)

    # Reading

    @overload
    async def get(
        self,
        kind: type[R],
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> R: ...
    @overload
    async def get(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Object: ...
    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Any:
        """One object, from the cache where the kind is declared. Raises NotFound."""
        ref = kind_of(kind)
        if at is None and not resource_version and not subresource:
            found = await self._cached(ref, name, namespace or self.options.namespace)
            if found is not None:
                return found
        return await super().get(
            ref, name, namespace, at=at, resource_version=resource_version, subresource=subresource
        )

    async def find(self, kind: Kind[Any], name: str, namespace: str = "", *, labels: LabelsArgument = None) -> Any:
        """The same, but None where there is no such object. `labels` are those that it has if it is there: then a cache
        that has only those with such labels can tell as well."""
        ref = kind_of(kind)
        try:
            found = await self._cached(ref, name, namespace or self.options.namespace, labels)
            return await super().get(ref, name, namespace) if found is None else found
        except NotFound:
            return None

    def peek(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """An object as the cache has it at this moment, for code that cannot wait; None where it has none.

        Raises NotCached for a kind that the controller has not declared.
        """
        ref, namespace = kind_of(kind), namespace or self.options.namespace
        key = f"{namespace}/{name}" if namespace else name
        whole = self._whole(ref, namespace)
        informers = [whole] if whole is not None else self._parts(ref)
        if not informers:
            raise NotCached(f"{ref} is not kept: add it to `reads` of the controller")
        self._reader.looked(Look(self._cluster, ref.gvk, key))
        found = (informer.store.get(key) for informer in informers)
        held = next((each for each in found if each is not None), None)
        self._reader.saw(Read(ref.gvk, key, held.meta.resource_version if held is not None else ""))
        return held.object if held is not None else None

    async def _cached(self, ref: KindRef, name: str, namespace: str, labels: LabelsArgument = None) -> Any:
        """An object of the cache. None: only the server can tell. Raises NotFound where the cache knows that."""
        request, kind = self._reader.request, ref.gvk
        key = f"{namespace}/{name}" if namespace else name
        informer = self._whole(ref, namespace, labels)
        if informer is None:
            return self._from_part(ref, key)
        if kind != self._primary or key != request.object:
            self._reader.looked(Look(self._cluster, kind, key))
        if self._expectations.is_unsure(request, kind, key):
            return await self._ask_for(ref, name, namespace, key)
        found = await self._cache.get(ref, name, namespace, labels=labels)
        self._reader.saw(Read(kind, key, _version_of(found)))
        if found is None:
            raise NotFound.of(await self._group_resource(ref), name)
        return found

    def _from_part(self, ref: KindRef, key: str) -> Any:
        """An object of a cache that has only some of a kind: what it has is right, what it has not may still be."""
        for informer in self._parts(ref):
            held = informer.store.get(key)
            if held is not None and not self._expectations.is_unsure(self._reader.request, ref.gvk, key):
                if ref.gvk != self._primary or key != self._reader.request.object:
                    self._reader.looked(Look(self._cluster, ref.gvk, key))
                self._reader.saw(Read(ref.gvk, key, held.meta.resource_version))
                return held.object
        self._reader.undeclared(ref)
        return None

    async def _ask_for(self, ref: KindRef, name: str, namespace: str, key: str) -> Any:
        """The object as the server has it now; from then on the cache has to show it, too."""
        try:
            found = await super().get(ref, name, namespace)
        except NotFound:
            self._expectations.sure(self._reader.request, ref.gvk, key)
            raise
        await self._learn(ref, [tree_of(found)])
        self._expectations.sure(self._reader.request, ref.gvk, key)
        return found

    def current(self, kind: GroupVersionKind, plural: str, name: str, namespace: str) -> Object | None:
        """An object as the cache has it, at once, and noted as looked up; None where the cache has none, or where that
        may be older than what this process wrote."""
        ref, key = KindRef(kind), f"{namespace}/{name}" if namespace else name
        self._reader.looked(Look(self._cluster, kind, key))
        if self._expectations.is_unsure(self._reader.request, kind, key):
            return None
        whole = self._whole(ref, namespace)
        for informer in self._parts(ref) if whole is None else (whole,):
            held = informer.store.get(key)
            if held is not None and self._is_current(held, kind.group, plural, key):
                self._reader.saw(Read(kind, key, held.meta.resource_version))
                found: Object = held.object
                return found
        return None

    def is_declared(self, kind: GroupVersionKind, namespace: str) -> bool:
        """Whether the cache has all of a kind, in a namespace or everywhere."""
        return self._whole(KindRef(kind), namespace) is not None

    @overload
    async def list(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> Listing[Object]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]:
        """The objects of a kind, from the cache where it is declared."""
        ref = kind_of(kind)
        namespace = namespace or self.options.namespace
        informer = self._whole(ref, namespace)
        if informer is None:
            self._reader.undeclared(ref)
        if informer is None or any(how.get(option) for option in _LIVE):
            return await super().list(ref, namespace, **how)
        labels, fields = how.get("labels"), how.get("fields")
        text = labels_text(labels)
        selector = label_selectors.parse(text)
        self._reader.looked(Look(self._cluster, ref.gvk, "", namespace, None if selector.is_everything else selector))
        if self._expectations.is_unsure(self._reader.request, ref.gvk):
            found = await super().list(ref, namespace, **how)
            await self._learn(ref, [tree_of(obj) for obj in found.items])
            self._expectations.sure(self._reader.request, ref.gvk)
            return found
        items = await self._cache.list(ref, namespace, labels=labels, fields=fields)
        version = informer.resource_version
        self._reader.saw(Read(ref.gvk, "", version, False, namespace, text, len(items)))
        return Listing(items, version)

    async def _learn(self, ref: KindRef, found: Iterable[Object]) -> None:
        """Has the cache show what the server itself showed us, from now on."""
        resource = await self.mapper.resource(ref.gvk)
        for tree in found:
            place = placed(tree)
            revision = number(place.resource_version)
            if revision is not None:
                written = Written(revision, place.uid, labels=tree.get("metadata", {}).get("labels"))
                self._cache.writes.note(Target(ref.gvk.group, resource.plural), place.key, written)

    def _whole(self, ref: KindRef, namespace: str, labels: LabelsArgument = None) -> Informer[Any] | None:
        """The informer that has all of a kind, or all of it with some labels, in a namespace or everywhere."""
        try:
            return self._cache.informer(ref, namespace, labels=labels)
        except NotCached:
            return None

    def _parts(self, ref: KindRef) -> Sequence[Informer[Any]]:
        """The informers that have some objects of a kind, whole."""
        return [each for each in self._cache.informers if each.kind == ref and each.scope.transform is None]

    async def _group_resource(self, ref: KindRef) -> GroupResource:
        try:
            plural = (await self.mapper.resource(ref.gvk)).plural
        except NoMatch:
            # The definition was deleted, and its objects with it: the cache is right that there is no object.
            plural = f"{ref.gvk.kind.lower()}s"
        return GroupResource(ref.gvk.group, plural)

    # Writing

    async def edit(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str,
        change: Callable[[Any], Any],
        *,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> Any:
        """Reads an object from the server, has it changed and writes it, anew where somebody else was faster."""
        return await self._live.edit(kind_of(kind), name, namespace, change, subresource=subresource, **how)

    async def update(self, obj: Obj, *, subresource: str = "", **how: Unpack[WriteOptions]) -> Obj:
        """Puts an object in the place of what is there, unless it is the same."""
        ref, tree = ref_of(obj), tree_of(obj)
        place = placed(tree)
        held = await self._known(ref, place)
        if held is not None and place.resource_version == held.meta.resource_version:
            before = tree_of(held.object)
            same = equal(before.get("status"), tree.get("status")) if subresource == "status" else equal(before, tree)
            if same:
                self._reader.wrote(Write("update", ref.gvk, place.key, subresource, place.resource_version, True))
                return obj
        return await super().update(obj, subresource=subresource, **how)

    async def apply(self, obj: Obj, *, force: bool = False, subresource: str = "", **how: Unpack[WriteOptions]) -> Obj:
        """Server-side apply. What was applied before, to what has not changed since, is not sent again."""
        ref, tree = ref_of(obj), tree_of(obj)
        place = placed(obj)
        body = configuration(tree)
        manager = how.get("field_manager") or self.options.field_manager
        applied = (self._cluster, ref.gvk, place.key, subresource, manager)
        held = await self._known(ref, place)
        if held is not None and self._applied.is_known(applied, hash(body), held.meta.resource_version):
            self._reader.wrote(Write("apply", ref.gvk, place.key, subresource, held.meta.resource_version, True))
            return cast(Obj, _copy(ref, held))
        name, namespace = place_of(tree)
        found = await self._apply(ref, body, name, namespace, subresource, force, how)
        if not how.get("dry_run", self.options.dry_run):
            self._applied.learn(applied, hash(body), placed(found).resource_version)
        return cast(Obj, found)

    async def _known(self, ref: KindRef, place: Placed) -> Held[Any] | None:
        """An object as the cache has it, if it has it and it is no older than what we wrote."""
        if self._expectations.is_unsure(self._reader.request, ref.gvk, place.key):
            return None
        for informer in self._cache.informers:
            if informer.kind.gvk != ref.gvk or informer.kind.metadata_only or informer.scope.transform is not None:
                continue
            held = informer.store.get(place.key)
            if held is not None:
                resource = await self.mapper.resource(ref.gvk)
                if self._is_current(held, ref.gvk.group, resource.plural, place.key):
                    return held
        return None

    def _is_current(self, held: Held[Any], group: str, plural: str, key: str) -> bool:
        """Whether what the cache holds is no older than what we wrote."""
        if not self._cache.writes:
            return True
        written = self._cache.writes.of(Target(group, plural)).get(key)
        return written is None or (number(held.meta.resource_version) or 0) >= written.revision > 0


def _version_of(found: Any) -> str:
    """Which version of an object this is; of none there is none."""
    if found is None:
        return ""
    if not isinstance(found, dict):
        return str(found.metadata.resource_version)
    version: str = found.get("metadata", {}).get("resourceVersion", "")
    return version


def _copy(ref: KindRef, held: Held[Any]) -> Any:
    """An object of the cache for its reader alone, in whatever form it is held."""
    found = ref.decode(held.raw)
    # What came in a list may not say what it is.
    own = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind}
    return {**own, **found} if isinstance(found, dict) else found
