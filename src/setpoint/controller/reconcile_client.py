"""The client of a reconcile: reads declared kinds from the cache, and writes to the server.

Reads show the writes of this process. Lookups are recorded, so that the request runs again when a looked-up object
changes. Writes that would change no field are not sent. Undeclared kinds are read from the server, and their changes do
not trigger the request: declare such kinds with `reads=[...]` if they should.

Objects from the cache are shared and read-only: use `obj.edit()` or `thaw(tree)` for a mutable copy.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, Unpack, cast, overload

from setpoint.cache.cache import Cache, NotCached
from setpoint.cache.entry import CachedObject, number
from setpoint.cache.informer import Informer
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
from setpoint.controller.child_apply import Child, apply_child, owner_in
from setpoint.controller.expectations import Expectations
from setpoint.controller.read_tracker import Lookup
from setpoint.controller.recording_client import RecordingClient, RunRecorder, metadata_of
from setpoint.controller.run_record import Read, Write
from setpoint.merge.equality import equal
from setpoint.objects import labels as label_selectors
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupResource, GroupVersionKind
from setpoint.objects.tree import Object

# The number of applied configurations that are kept.
MOST_APPLIED = 20_000
# Options that only the server supports.
_LIVE = ("limit", "continue_", "resource_version", "resource_version_match", "at")


class Applied:
    """The configurations written so far with the resulting versions, and notes that outlive a reconcile.

    Applying the same configuration to the same version has no effect and can be skipped. The number of entries is
    limited; the oldest are dropped.
    """

    def __init__(self) -> None:
        # Only equality matters, so a hash is enough and saves memory.
        self._versions: dict[int, int] = {}
        self._notes: dict[object, Any] = {}

    def is_applied(self, place: tuple[object, ...], what: object, version: str) -> bool:
        return self._versions.get(hash(place)) == hash((what, version))

    def record(self, place: tuple[object, ...], what: object, version: str) -> None:
        _put_last(self._versions, hash(place), hash((what, version)))

    def get(self, about: object) -> Any:
        """Returns the note about a subject; None if there is none."""
        return self._notes.get(about)

    def put(self, about: object, note: Any) -> None:
        """Stores a note about a subject; None removes the note."""
        if note is None:
            self._notes.pop(about, None)
        else:
            _put_last(self._notes, about, note)


def _put_last(known: dict[Any, Any], key: object, value: object) -> None:
    known.pop(key, None)
    if len(known) >= MOST_APPLIED:
        del known[next(iter(known))]
    known[key] = value


class Reader(RunRecorder, Protocol):
    """The reconcile, as seen by its client."""

    # Records a read of the whole reconciled object.
    record_primary: Callable[[Any], None]

    def record_lookup(self, lookup: Lookup) -> None:
        """Records a lookup."""

    def undeclared(self, kind: KindRef) -> None:
        """Reports the read of a kind that the controller has not declared."""


class ReconcileClient(RecordingClient):
    """The client of a reconcile, `ctx.client`.

    website = await ctx.client.get(Website, "a", "default")
    pods = await ctx.client.list("v1/Pod", "default", labels={"app": "a"})
    await ctx.client.apply(ctx.own(config_map))
    """

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
        """The configurations that the controller has written, for callers that skip unchanged writes."""
        return self._applied

    @property
    def cache(self) -> Cache:
        """The cache that the client reads from."""
        return self._cache

    @property
    def has_uncertain_writes(self) -> bool:
        """True if the outcome of a write is unknown, so that reads must ask the server."""
        return self._expectations.is_uncertain(self._reader.request)

    @property
    def _live(self) -> RecordingClient:
        """A client for the same reconcile without the cache."""
        return RecordingClient(self, self.options, self._recorder, self._expectations, self._primary)

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
        """Returns one object, from the cache if the kind is declared. Raises NotFound."""
        ref = kind if isinstance(kind, KindRef) else kind_of(kind)
        if at is None and not resource_version and not subresource:
            found = await self._cached(ref, name, namespace or self.options.namespace)
            if found is not None:
                return found
        return await super().get(
            ref, name, namespace, at=at, resource_version=resource_version, subresource=subresource
        )

    @overload
    async def find(
        self, kind: type[R], name: str, namespace: str = "", *, labels: LabelsArgument = None
    ) -> R | None: ...
    @overload
    async def find(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        *,
        labels: LabelsArgument = None,
    ) -> Object | None: ...
    async def find(self, kind: Kind[Any], name: str, namespace: str = "", *, labels: LabelsArgument = None) -> Any:
        """Returns one object like `get`, but None if there is no such object.

        `labels` are labels that the object has if present: a cache restricted to these labels can then answer as well.
        """
        ref = kind_of(kind)
        try:
            found = await self._cached(ref, name, namespace or self.options.namespace, labels)
            return await super().get(ref, name, namespace) if found is None else found
        except NotFound:
            return None

    @overload
    def peek(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    def peek(self, kind: GroupVersionKind | str | KindRef, name: str, namespace: str = "") -> Object | None: ...
    def peek(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """Returns an object from the cache without waiting; None if the cache has no such object.

        Raises NotCached for a kind that the controller has not declared.
        """
        ref, namespace = kind_of(kind), namespace or self.options.namespace
        if not namespace:
            self._require_namespace(ref, name)
        key = f"{namespace}/{name}" if namespace else name
        informers = self._synced_informers(ref, namespace)
        if not informers:
            raise NotCached(f"{ref} is not cached: add it to the controller's `reads`")
        self._reader.record_lookup(Lookup(self._cluster, ref.gvk, key))
        found = (informer.store.get(key) for informer in informers)
        entry = next((each for each in found if each is not None), None)
        self._reader.record_read(Read(ref.gvk, key, entry.meta.resource_version if entry is not None else ""))
        return self._recorded(ref, key, entry.object) if entry is not None else None

    async def _cached(self, ref: KindRef, name: str, namespace: str, labels: LabelsArgument = None) -> Any:
        """Returns an object from the cache; None if only the server can answer. Raises NotFound."""
        request, kind = self._reader.request, ref.gvk
        if not namespace:
            self._require_namespace(ref, name)
        key = f"{namespace}/{name}" if namespace else name
        informer = self._full_informer(ref, namespace, labels)
        if informer is None:
            return self._from_part(ref, key)
        is_own = kind == self._primary and name == request.name and namespace == request.namespace
        if not is_own:
            self._reader.record_lookup(Lookup(self._cluster, kind, key))
        if self._expectations.uncertain and self._expectations.is_uncertain(request, kind, key):
            return await self._get_live(ref, name, namespace, key)
        found = await self._cache.get(ref, name, namespace, labels=labels)
        self._reader.record_read(Read(kind, key, _version_of(found)))
        if found is None:
            raise NotFound.of(await self._group_resource(ref), name)
        if is_own and not ref.metadata_only:
            self._reader.record_primary(found)
        return found

    def _from_part(self, ref: KindRef, key: str) -> Any:
        """Returns an object from a cache of only a part of a kind; None if the object is not in that part."""
        for informer in self._parts(ref):
            entry = informer.store.get(key)
            if entry is not None and not self._expectations.is_uncertain(self._reader.request, ref.gvk, key):
                if ref.gvk != self._primary or key != self._reader.request.object:
                    self._reader.record_lookup(Lookup(self._cluster, ref.gvk, key))
                self._reader.record_read(Read(ref.gvk, key, entry.meta.resource_version))
                return self._recorded(ref, key, entry.object)
        self._reader.undeclared(ref)
        return None

    def _recorded(self, ref: KindRef, key: str, found: Any) -> Any:
        """Records a read of the whole reconciled object, and returns the object."""
        if ref.gvk == self._primary and not ref.metadata_only and key == self._reader.request.object:
            self._reader.record_primary(found)
        return found

    async def _get_live(self, ref: KindRef, name: str, namespace: str, key: str) -> Any:
        """Returns the object from the server. Later cache reads wait until the cache shows this version."""
        try:
            found = await super().get(ref, name, namespace)
        except NotFound:
            self._expectations.mark_certain(self._reader.request, ref.gvk, key)
            raise
        await self._expect_versions(ref, [tree_of(found)])
        self._expectations.mark_certain(self._reader.request, ref.gvk, key)
        return self._recorded(ref, key, found)

    def current(self, kind: GroupVersionKind, plural: str, name: str, namespace: str) -> Object | None:
        """Returns an object from the cache without waiting, and records the lookup.

        Returns None if the cache has no such object, or only a version older than this process's own write.
        """
        ref, key = KindRef(kind), f"{namespace}/{name}" if namespace else name
        self._reader.record_lookup(Lookup(self._cluster, kind, key))
        if self._expectations.is_uncertain(self._reader.request, kind, key):
            return None
        for informer in self._synced_informers(ref, namespace):
            entry = informer.store.get(key)
            if entry is not None and self._is_current(entry, kind.group, plural, key):
                self._reader.record_read(Read(kind, key, entry.meta.resource_version))
                found: Object = entry.object
                return found
        return None

    def is_declared(self, kind: GroupVersionKind, namespace: str) -> bool:
        """Returns True if the cache has all objects of a kind, in a namespace or everywhere."""
        return self._full_informer(KindRef(kind), namespace) is not None

    @overload
    async def list(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> Listing[Object]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]:
        """Returns the objects of a kind, from the cache if the kind is declared."""
        ref = kind_of(kind)
        namespace = namespace or self.options.namespace
        informer = self._full_informer(ref, namespace)
        if informer is None:
            self._reader.undeclared(ref)
        if informer is None or any(how.get(option) for option in _LIVE):
            return await super().list(ref, namespace, **how)
        labels, fields = how.get("labels"), how.get("fields")
        text = labels_text(labels)
        selector = label_selectors.parse(text)
        self._reader.record_lookup(
            Lookup(self._cluster, ref.gvk, "", namespace, None if selector.is_everything else selector)
        )
        if self._expectations.is_uncertain(self._reader.request, ref.gvk):
            found = await super().list(ref, namespace, **how)
            await self._expect_versions(ref, [tree_of(obj) for obj in found.items])
            self._expectations.mark_certain(self._reader.request, ref.gvk)
            return found
        items = await self._cache.list(ref, namespace, labels=labels, fields=fields)
        version = informer.resource_version
        self._reader.record_read(Read(ref.gvk, "", version, False, namespace, text, len(items)))
        return Listing(items, version)

    async def _expect_versions(self, ref: KindRef, found: Iterable[Object]) -> None:
        """Makes later cache reads wait until the cache shows these versions."""
        resource = await self.mapper.resource(ref.gvk)
        for tree in found:
            place = metadata_of(tree)
            revision = number(place.resource_version)
            if revision is not None:
                written = Written(revision, place.uid, labels=tree.get("metadata", {}).get("labels"))
                self._cache.writes.record(Target(ref.gvk.group, resource.plural), place.key, written)

    def _synced_informers(self, ref: KindRef, namespace: str) -> Sequence[Informer[Any]]:
        """Returns the informer of a whole kind, or those of its parts. An informer that another controller of the same
        cache has just started is left out as long as it has not all objects."""
        whole = self._full_informer(ref, namespace)
        if whole is not None and whole.synced:
            return [whole]
        parts = [each for each in self._parts(ref) if each is not whole]
        return parts or ([] if whole is None else [whole])

    def _full_informer(self, ref: KindRef, namespace: str, labels: LabelsArgument = None) -> Informer[Any] | None:
        """Returns the informer of all objects of a kind, or all with some labels, in a namespace or everywhere."""
        try:
            return self._cache.informer(ref, namespace, labels=labels)
        except NotCached:
            return None

    def _parts(self, ref: KindRef) -> Sequence[Informer[Any]]:
        """Returns the informers that have some objects of a kind, untransformed."""
        return [each for each in self._cache.informers if each.kind == ref and each.scope.transform is None]

    async def _group_resource(self, ref: KindRef) -> GroupResource:
        try:
            plural = (await self.mapper.resource(ref.gvk)).plural
        except NoMatch:
            # The definition was deleted, and its objects with it: the cache is right that there is no object.
            plural = f"{ref.gvk.kind.lower()}s"
        return GroupResource(ref.gvk.group, plural)

    # Writing

    async def _get_editable(self, ref: KindRef, name: str, namespace: str) -> Any:
        """Returns an object from the server: objects in the cache are shared, and may be older."""
        return await self._live.get(ref, name, namespace)

    async def update(self, obj: Obj, *, subresource: str = "", **how: Unpack[WriteOptions]) -> Obj:
        """Replaces an object. Not sent if the object is equal to the cached one."""
        ref, tree = ref_of(obj), tree_of(obj)
        place = metadata_of(tree)
        entry = await self._current_entry(ref, place.key)
        if entry is not None and place.resource_version == entry.meta.resource_version:
            before = tree_of(entry.object)
            same = equal(before.get("status"), tree.get("status")) if subresource == "status" else equal(before, tree)
            if same:
                self._reader.record_write(
                    Write("update", ref.gvk, place.key, subresource, place.resource_version, True)
                )
                return obj
        return await super().update(obj, subresource=subresource, **how)

    async def apply(
        self,
        obj: Obj,
        *,
        force: bool | None = None,
        recreate: bool = False,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> Obj:
        """Applies an object (server-side apply). Not sent if already applied and the object is unchanged since.

        A child (`ctx.own`) that the reconciled object controls gets its fields back from other managers; `force=False`
        leaves them. Raises ChildError if another object has the name of the child, or if the server rejects a change of
        the child; `recreate=True` then replaces the child. The controller reports a ChildError as a condition and an
        event.
        """
        ref, tree = ref_of(obj), tree_of(obj)
        name, namespace = place_of(tree)
        body = configuration(tree)
        manager = how.get("field_manager") or self.options.field_manager
        key = f"{namespace}/{name}" if namespace else name
        applied = (self._cluster, ref.gvk, key, subresource, manager)
        entry = await self._current_entry(ref, key)
        if entry is not None and self._applied.is_applied(applied, hash(body), entry.meta.resource_version):
            self._reader.record_write(Write("apply", ref.gvk, key, subresource, entry.meta.resource_version, True))
            return cast(Obj, _copy(ref, entry))
        is_owned = not subresource and "ownerReferences" in tree["metadata"]
        owner = owner_in(tree, self._primary, self._reader.request.name) if is_owned else None
        if owner is None:
            found = await self._apply(ref, body, name, namespace, subresource, bool(force), how)
        else:

            def send(is_forced: bool) -> Awaitable[Any]:
                return self._apply(ref, body, name, namespace, subresource, is_forced, how)

            child = Child(ref, tree, name, namespace, owner)
            found = await apply_child(self, self._live, child, send, force=force, recreate=recreate, how=how)
        if not how.get("dry_run", self.options.dry_run):
            self._applied.record(applied, hash(body), _version_of(found))
        return cast(Obj, found)

    async def _current_entry(self, ref: KindRef, key: str) -> CachedObject[Any] | None:
        """Returns an object from the cache, if present and not older than this process's own write."""
        expectations = self._expectations
        if expectations.uncertain and expectations.is_uncertain(self._reader.request, ref.gvk, key):
            return None
        for informer in self._cache.informers:
            if informer.kind.gvk != ref.gvk or informer.kind.metadata_only or informer.scope.transform is not None:
                continue
            entry = informer.store.get(key)
            if entry is not None:
                resource = await self.mapper.resource(ref.gvk)
                if self._is_current(entry, ref.gvk.group, resource.plural, key):
                    return entry
        return None

    def _is_current(self, entry: CachedObject[Any], group: str, plural: str, key: str) -> bool:
        """Returns True if a cache entry is not older than this process's own write."""
        if not self._cache.writes:
            return True
        written = self._cache.writes.of(Target(group, plural)).get(key)
        return written is None or (number(entry.meta.resource_version) or 0) >= written.revision > 0


def _version_of(found: Any) -> str:
    """Returns the resource version of an object; empty for None."""
    if found is None:
        return ""
    if not isinstance(found, dict):
        return str(found.metadata.resource_version)
    version: str = found.get("metadata", {}).get("resourceVersion", "")
    return version


def _copy(ref: KindRef, entry: CachedObject[Any]) -> Any:
    """Returns a private copy of a cached object."""
    found = ref.decode(entry.raw)
    # Items of a list may lack apiVersion and kind.
    own = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind}
    return {**own, **found} if isinstance(found, dict) else found
