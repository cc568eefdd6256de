"""The cache: shared informers, started for their first user and stopped after their last.

    cache = Cache(client)
    async with cache.use(Website, "shop") as websites:
        found = await cache.get(Website, "blog", "shop")

A read of a kind that is not declared (with `use` or `acquire`) queries the server, so that a cache never copies a whole
kind by accident. The returned objects are shared and immutable. Reads reflect the writes of this process through
`cache.client`: they wait for those writes, up to a limit; `consistency="any"` does not wait.
"""

import asyncio
import copy
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, overload

import msgspec

from setpoint.cache.entry import CachedObject, maker, number, read_meta
from setpoint.cache.gate import ReflectorGate
from setpoint.cache.informer import Informer
from setpoint.cache.informer_store import ObjectStore
from setpoint.cache.query import Query
from setpoint.cache.scope import EVERYWHERE, Scope, Transform, scope_of
from setpoint.cache.shared_watch import NotSynced, SharedWatch
from setpoint.cache.writes import RecordingTransport, Target, Write, Writes
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.client.list_result import PAGE, decode_raw
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects import labels as label_selectors
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.tree import Object
from setpoint.schema.types.frozen import freeze

# `own`: a read reflects the earlier writes of this process. `any`: a read returns the current content of the cache.
Consistency: TypeAlias = Literal["own", "any"]
Namespaces: TypeAlias = "str | Iterable[str]"

# Seconds: the time that an unused informer is kept; the time that a read waits for the initial sync, and for a write.
GRACE_SECONDS = 10.0
SYNC_SECONDS = 120.0
PATIENCE_SECONDS = 10.0

_MAX_ANSWERING = 10_000
_log = logging.getLogger(__name__)


class NotCached(LookupError):  # noqa: N818 - named for the state
    """The kind is not declared in the cache."""


class Counts(msgspec.Struct):
    """Counts of reads, for metrics."""

    # Reads answered by the server, because the kind is not declared.
    live: int = 0
    # Reads that waited for an own write; and those that waited too long and queried the server instead.
    waited: int = 0
    late: int = 0


class _Shared:
    """A feed, and the number of its users."""

    __slots__ = ("ending", "feed", "spans_all_namespaces", "users")

    def __init__(self, feed: SharedWatch[Informer[Any]], spans_all_namespaces: bool) -> None:
        self.feed = feed
        # True if the feed follows the cache's namespaces, rather than explicit ones.
        self.spans_all_namespaces = spans_all_namespaces
        self.users = 0
        # Set after the last user has released the feed.
        self.ending: asyncio.Task[None] | None = None


class Cache:
    """The informers of one client.

    `namespaces` are the default namespaces; empty means all namespaces. `transform` is applied to every object before
    the object is stored (see `cache.transforms`); `transforms` overrides the transform for single kinds.
    """

    def __init__(
        self,
        client: Client,
        *,
        # The clock; by default that of the client.
        clock: Clock | None = None,
        # The source of randomness for jitter.
        ids: Ids | None = None,
        # The default namespaces; empty: all namespaces.
        namespaces: Iterable[str] = (),
        # A function that changes every object before the cache stores the object (see `cache.transforms`).
        transform: Transform | None = None,
        # The transforms of single kinds, instead of `transform`.
        transforms: Mapping[Kind[Any], Transform] | None = None,
        # The seconds for which an informer without users keeps its objects.
        grace: float = GRACE_SECONDS,
        # The seconds within which a read waits for the first list.
        sync_timeout: float = SYNC_SECONDS,
        # The seconds for which a read waits until the cache shows a write of this client.
        write_wait: float = PATIENCE_SECONDS,
        # The number of objects of each kind that stay decoded; None: every object that was read. Other objects are
        # decoded again by each reader, and need less memory.
        decoded_limit: int | None = None,
    ) -> None:
        self.writes = Writes(seen=self._seen_by_all)
        # The client with the writes that reads wait for.
        self.client = self.recorded(client)
        self.counts = Counts()
        self._reader = client
        self._clock = clock or client.clock
        # All informers wait at this gate while the server does not answer.
        self.gate = ReflectorGate(client, self._clock)
        self._ids = ids or SystemIds()
        self._decoded_limit = decoded_limit
        self._namespaces = tuple(sorted(set(namespaces))) or (EVERYWHERE,)
        self._transform = transform
        self._transforms = {kind_of(kind).gvk: each for kind, each in (transforms or {}).items()}
        self._grace = grace
        self._sync_timeout = sync_timeout
        self._write_wait = write_wait
        self._shared: dict[Scope, _Shared] = {}
        # Informers that answer reads, by kind, namespace and labels. Cleared whenever an informer starts or stops.
        self._answering: dict[tuple[Any, str, str], Informer[Any] | None] = {}

    def recorded(self, client: Client) -> Client:
        """Returns a copy of a client of the same server, perhaps with another user. Reads of this cache wait for the
        writes of the copy."""
        made = copy.copy(client)
        made.transport = RecordingTransport(client.transport, self.writes)
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops all informers."""
        shared, self._shared = list(self._shared.values()), {}
        self._answering.clear()
        await asyncio.gather(*(_end(each) for each in shared))
        await self.gate.close()

    @property
    def informers(self) -> list[Informer[Any]]:
        """The running informers."""
        return [informer for each in self._shared.values() for informer in each.feed.informers]

    @property
    def bytes(self) -> int:
        """The total size in bytes of the cached objects, as sent by the server."""
        return sum(each.feed.informers[0].store.bytes for each in self._shared.values())

    # Keeping

    def acquire(
        self,
        kind: Kind[Any],
        namespace: Namespaces = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        transform: Transform | None = None,
    ) -> Informer[Any]:
        """Returns an informer, and starts the informer for its first user. The caller must release the informer."""
        ref = kind_of(kind)
        is_clusterwide = ref.cls is not None and ref.cls.__resource__.scope == "Cluster"
        spans_all_namespaces = namespace == EVERYWHERE and not is_clusterwide
        scope = scope_of(
            ref,
            self._namespaces if spans_all_namespaces else namespace,
            labels,
            fields,
            transform or self._transform_of(ref),
        )
        shared = self._share(scope.without_form, spans_all_namespaces)
        shared.users += 1
        if shared.ending is not None:
            shared.ending.cancel()
            shared.ending = None
        return self._with_form(shared.feed, ref)

    def _transform_of(self, ref: KindRef) -> Transform | None:
        """Returns the default transform of a kind."""
        return self._transforms.get(ref.gvk, self._transform)

    def _share(self, scope: Scope, spans_all_namespaces: bool) -> _Shared:
        """Returns the feed of a scope. Metadata alone is read from whole objects if those are cached already."""
        whole = msgspec.structs.replace(scope, kind=scope.kind._replace(metadata_only=False))
        shared = self._shared.get(scope) or self._shared.get(whole)
        if shared is None:
            feed: SharedWatch[Informer[Any]] = SharedWatch(
                self._reader, scope, clock=self._clock, ids=self._ids, gate=self.gate
            )
            shared = self._shared[scope] = _Shared(feed, spans_all_namespaces)
        return shared

    def _with_form(self, feed: SharedWatch[Informer[Any]], ref: KindRef) -> Informer[Any]:
        """Returns the informer of a feed that has objects in the given form."""
        for informer in feed.informers:
            if informer.kind == ref:
                return informer
        informer = Informer(feed, ref, self._decoded_limit)
        feed.start()
        self._answering.clear()
        return informer

    async def release(self, informer: Informer[Any]) -> None:
        """Releases an informer. After the last release, the informer keeps running for a grace period, in case it is
        acquired again."""
        for shared in self._shared.values():
            if shared.feed is informer.feed:
                shared.users -= 1
                if shared.users <= 0 and shared.ending is None:
                    if self._grace <= 0:
                        await self._stop(shared)
                    else:
                        shared.ending = asyncio.ensure_future(self._stop_later(shared))
                return

    async def _stop_later(self, shared: _Shared) -> None:
        await self._clock.sleep(self._grace)
        shared.ending = None
        await self._stop(shared)

    async def _stop(self, shared: _Shared) -> None:
        self._shared = {scope: each for scope, each in self._shared.items() if each is not shared}
        self._answering.clear()
        await _end(shared)

    @asynccontextmanager
    async def use(
        self,
        kind: Kind[Any],
        namespace: Namespaces = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        transform: Transform | None = None,
    ) -> AsyncIterator[Informer[Any]]:
        """Yields a synced informer for the duration of the context. Raises NotSynced with the reason."""
        informer = self.acquire(kind, namespace, labels=labels, fields=fields, transform=transform)
        try:
            await informer.wait_synced(self._sync_timeout)
            yield informer
        finally:
            await self.release(informer)

    async def set_namespaces(self, namespaces: Iterable[str]) -> None:
        """Changes the default namespaces, for all informers without explicit namespaces."""
        before, self._namespaces = self._namespaces, tuple(sorted(set(namespaces))) or (EVERYWHERE,)
        for shared in list(self._shared.values()):
            if shared.spans_all_namespaces and shared.feed.scope.namespaces == before:
                await shared.feed.set_namespaces(self._namespaces)
        self._shared = {shared.feed.scope: shared for shared in self._shared.values()}
        self._answering.clear()

    # Reading

    def informer(self, kind: Kind[Any], namespace: str = EVERYWHERE, *, labels: LabelsArgument = None) -> Informer[Any]:
        """Returns the informer for a kind, or for its objects with some labels, in one namespace or in all. Raises
        NotCached."""
        found = self._find(kind, namespace, labels_text(labels) if labels else "")
        if found is None:
            raise NotCached(f"{kind_of(kind)} is not cached: declare the kind with `use`, or use the client")
        return found

    def _find(self, kind: Kind[Any], namespace: str, labels: str = "") -> Informer[Any] | None:
        """Returns the informer that can answer every read of a kind in a namespace, or of its objects with some
        labels."""
        asked = kind, namespace, labels
        if asked in self._answering:
            return self._answering[asked]
        ref, found = kind_of(kind), None
        for scope, shared in self._shared.items():
            has_enough = scope.kind.gvk == ref.gvk and (ref.metadata_only or not scope.kind.metadata_only)
            is_there = scope.covers(namespace) or (namespace == EVERYWHERE and scope.namespaces == self._namespaces)
            is_whole = scope.labels in ("", labels) and not scope.fields and scope.transform == self._transform_of(ref)
            if has_enough and is_there and is_whole:
                found = self._with_form(shared.feed, ref)
                break
        if len(self._answering) >= _MAX_ANSWERING:
            self._answering.clear()
        self._answering[asked] = found
        return found

    def entry(self, kind: KindRef, name: str, namespace: str = EVERYWHERE) -> CachedObject[Any] | None:
        """Returns an object as stored, without waiting. An informer that has only some objects of the kind answers if
        there is no other one."""
        informer = self._find(kind, namespace)
        if informer is None:
            informer = next((each for each in self.informers if each.kind == kind), None)
            if informer is None:
                return None
        return informer.store.get(f"{namespace}/{name}" if namespace else name)

    @overload
    async def get(
        self,
        kind: type[R],
        name: str,
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        consistency: Consistency = "own",
    ) -> R | None: ...
    @overload
    async def get(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        consistency: Consistency = "own",
    ) -> Object | None: ...
    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        consistency: Consistency = "own",
    ) -> Any:
        """Returns an object, or None if the object does not exist. Queries the server for a kind that is not declared.

        `labels` are labels that the object is known to have: with them, an informer that is limited to those labels can
        answer too.
        """
        informer = self._find(kind, namespace, labels_text(labels) if labels else "")
        if informer is None:
            self.counts.live += 1
            return await self._live_get(kind, name, namespace)
        if not informer.feed.synced:
            await informer.wait_synced(self._sync_timeout)
        key = f"{namespace}/{name}" if namespace else name
        if self.writes.by_target and consistency == "own" and not await self._is_visible(informer, key):
            return await self._live_get(kind, name, namespace)
        entry = informer.store.get(key)
        return None if entry is None else entry.object

    @overload
    async def list(
        self,
        kind: type[R],
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        consistency: Consistency = "own",
    ) -> "list[R]": ...
    @overload
    async def list(
        self,
        kind: GroupVersionKind | str | KindRef,
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        consistency: Consistency = "own",
    ) -> "list[Object]": ...
    async def list(
        self,
        kind: Kind[Any],
        namespace: str = EVERYWHERE,
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        consistency: Consistency = "own",
    ) -> "list[Any]":
        """Returns the matching objects of a kind. A field selector can use any field."""
        informer = await self._ready(kind, namespace, consistency)
        if informer is None:
            found = await self._live_list(kind, namespace, labels, fields)
            return [entry.object for entry in found.all()]
        query: Query[Any] = informer.query().in_namespace(namespace)
        if labels:
            query = query.labels(labels)
        return query.fields(fields).objects() if fields else query.objects()

    async def query(
        self, kind: Kind[Any], namespace: str = EVERYWHERE, *, consistency: Consistency = "own", min_revision: str = ""
    ) -> Query[Any]:
        """Returns a query for objects by any field. For a kind that is not declared, fetches all objects first.

        With `min_revision`, waits until the cache has at least that revision, so that a reader does not go back in
        time. Raises NotSynced if the cache does not reach the revision in time.
        """
        informer = await self._ready(kind, namespace, consistency)
        store = await self._live_list(kind, namespace) if informer is None else informer.store
        if informer is not None and min_revision:
            try:
                async with timeout(self._clock, self._write_wait):
                    await informer.wait_for(min_revision, namespace or None)
            except TimeoutError:
                raise NotSynced(
                    f"{informer.kind} is at revision {informer.resource_version}, but {min_revision} is required"
                ) from None
        return Query(store).in_namespace(namespace)

    async def by_index(
        self,
        kind: Kind[Any],
        index: str,
        values_of: Callable[[CachedObject[Any]], Iterable[Hashable]],
        values: Iterable[Hashable],
        namespace: str = EVERYWHERE,
    ) -> Sequence[CachedObject[Any]]:
        """Returns the entries with one of some values in an index over entries, which is created on first use. Shows
        the own writes in a namespace; if they are not visible in time, all its objects are fetched."""
        informer = await self._ready(kind, namespace, "own")
        store = await self._live_list(kind, namespace) if informer is None else informer.store
        store.ensure_index(index, values_of, values_of)
        return [entry for value in values for entry in store.by_index(index, value)]

    async def _ready(self, kind: Kind[Any], namespace: str, consistency: Consistency) -> Informer[Any] | None:
        """Returns a synced informer that can list a kind, or None if the server must be queried."""
        informer = self._find(kind, namespace)
        if informer is None:
            self.counts.live += 1
            return None
        if not informer.synced:
            await informer.wait_synced(self._sync_timeout)
        if self.writes.by_target and consistency == "own" and not await self._is_visible(informer, namespace=namespace):
            return None
        return informer

    # Own writes

    async def at_least(self, kind: Kind[Any], key: str, resource_version: str, *, seconds: float | None = None) -> bool:
        """Waits until the cached object is at least as new as a resource version. Returns False on a timeout.

        Returns True at once if resource versions cannot be compared.
        """
        namespace = key.rpartition("/")[0]
        informer = self.informer(kind, namespace)
        revision = number(resource_version)
        if revision is None:
            return True
        return await self._wait(informer, {key: Write(revision)}, self._write_wait if seconds is None else seconds)

    async def _is_visible(self, informer: Informer[Any], key: str = "", namespace: str = EVERYWHERE) -> bool:
        """Waits until the own writes to an object, or to a namespace, are visible. Returns False on a timeout."""
        gvk = informer.kind.gvk
        resource = self._reader.mapper.known.get(gvk) or await self._reader.resource(informer.kind)
        target = Target(gvk.group, resource.plural)
        notes: Mapping[str, Write] = self.writes.by_target.get(target) or {}
        if key:
            found = {key: notes[key]} if key in notes else {}
        else:
            prefix = f"{namespace}/" if namespace else ""
            found = {each: write for each, write in notes.items() if each.startswith(prefix)}
        if not found:
            return True
        if not await self._wait(informer, found, self._write_wait):
            return False
        # With a single feed of a kind, a write that the feed has seen can be forgotten.
        if sum(scope.kind.gvk == informer.kind.gvk for scope in self._shared) == 1 and not informer.scope.is_filtered:
            for each, write in found.items():
                self.writes.discard(target, each, write)
        return True

    def _seen_by_all(self, target: Target, notes: Mapping[str, Write]) -> Iterable[str]:
        """Returns the keys of the writes that all feeds of the resource have seen."""
        feeds = [shared.feed for shared in self._shared.values() if self._target_of(shared.feed) == target]
        if len(feeds) != 1 or feeds[0].scope.is_filtered or not feeds[0].informers:
            return []
        return [key for key, write in notes.items() if _is_seen(feeds[0].informers[0], key, write)]

    def _target_of(self, feed: SharedWatch[Informer[Any]]) -> Target | None:
        resource = self._reader.mapper.known.get(feed.scope.kind.gvk)
        return None if resource is None else Target(resource.gvk.group, resource.plural)

    async def _wait(self, informer: Informer[Any], writes: Mapping[str, Write], seconds: float) -> bool:
        """Waits for writes to become visible. Returns False on a timeout."""
        waiting = {key: write for key, write in writes.items() if not _is_seen(informer, key, write)}
        if not waiting:
            return True
        self.counts.waited += 1
        try:
            async with timeout(self._clock, seconds):
                for key, write in waiting.items():
                    if write.deleted:
                        await informer.feed.wait_deleted(key, write.uid)
                    else:
                        await informer.feed.wait_for(str(write.revision), key.rpartition("/")[0])
        except (TimeoutError, NotSynced):
            self.counts.late += 1
            _log.warning("%s: an own write is not visible after %g s; querying the server", informer.kind, seconds)
            return False
        return True

    # The server

    async def _live_get(self, kind: Kind[Any], name: str, namespace: str) -> Any:
        try:
            return freeze(await self._reader.get(kind, name, namespace))
        except NotFound:
            return None

    async def _live_list(
        self, kind: Kind[Any], namespace: str, labels: LabelsArgument = None, fields: FieldsArgument = None
    ) -> ObjectStore[Any]:
        ref, continue_ = kind_of(kind), ""
        store: ObjectStore[Any] = ObjectStore()
        make = maker(ref)
        while True:
            body = await self._reader.raw_list(
                ref, namespace, labels=labels_text(labels), fields=fields_text(fields), limit=PAGE, continue_=continue_
            )
            page = decode_raw(body)
            for item in page.items or ():
                entry = CachedObject(read_meta(item), bytes(item), make)
                store.put(entry.meta.key, entry)
            continue_ = page.metadata.continue_
            if not continue_:
                return store


async def _end(shared: _Shared) -> None:
    if shared.ending is not None:
        shared.ending.cancel()
        await asyncio.gather(shared.ending, return_exceptions=True)
    await shared.feed.stop()
    for informer in list(shared.feed.informers):
        informer.detach()


def _is_seen(informer: Informer[Any], key: str, write: Write) -> bool:
    """Returns True if a write is visible in the cache, or never will be."""
    entry = informer.store.get(key)
    if write.deleted:
        return entry is None or entry.meta.uid != write.uid
    if entry is not None and (number(entry.meta.resource_version) or 0) >= write.revision:
        return True
    if informer.feed.has_reached(write.revision, key.rpartition("/")[0]):
        return True
    labels = informer.scope.labels
    return bool(labels) and entry is None and not label_selectors.parse(labels).matches(write.labels)
