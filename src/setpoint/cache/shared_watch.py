"""The feed: follows one scope, for all informers with a copy of that scope.

A feed has a reflector for each namespace of its scope, updates the stores of its informers, and tracks its progress:
callers can wait for a resource version, or for a deletion.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from setpoint.cache.entry import CachedObject, DecodedObjects, number, read_meta
from setpoint.cache.gate import ReflectorGate
from setpoint.cache.informer_store import ObjectStore
from setpoint.cache.reflector import FAILING, LISTING, STOPPED, WAITING, WATCHING, Reflector
from setpoint.cache.scope import EVERYWHERE, Scope
from setpoint.client.client import Client
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object

# The states of reflectors, the most important first.
_GRAVEST = (FAILING, LISTING, WAITING, WATCHING, STOPPED)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class NotSynced(Exception):  # noqa: N818 - named for the state
    """The requested state did not arrive in time, or before the informer was stopped."""


class InformerTarget(Protocol):
    """The interface of an informer for the feed that updates the informer."""

    @property
    def make(self) -> Callable[[bytes], Any]: ...

    @property
    def kept(self) -> DecodedObjects | None: ...

    @property
    def store(self) -> ObjectStore[Any]: ...

    def within(self, part: str) -> Iterable[CachedObject[Any]]: ...

    def replace(
        self, items: Collection[CachedObject[Any]], part: str, *, initial: bool, resource_version: str = ""
    ) -> None: ...

    def change(self, event_type: str, entry: CachedObject[Any]) -> None: ...

    def reset(self, why: str) -> None: ...


K = TypeVar("K", bound=InformerTarget)


class SharedWatch(Generic[K]):
    """Follows one scope, from `start` to `stop`."""

    def __init__(
        self, client: Client, scope: Scope, *, clock: Clock, ids: Ids, gate: ReflectorGate | None = None
    ) -> None:
        self.client = client
        self.gate = gate
        self.scope = scope
        self.clock = clock
        self.ids = ids
        self.informers: list[K] = []
        self._running = False
        self._parts: dict[str, _FeedPart] = {}
        self._synced = asyncio.Event()
        # The waiters for the deletion of an object, by key.
        self._deletion_waiters: dict[str, list[tuple[str, asyncio.Future[None]]]] = {}
        for namespace in scope.namespaces:
            self._parts[namespace] = _FeedPart(self, namespace)

    # Running

    def start(self) -> None:
        """Starts to follow the scope. Has no effect if already started."""
        self._running = True
        for part in self._parts.values():
            part.start()

    async def stop(self) -> None:
        """Stops. The cached objects can still be read."""
        self._running = False
        await asyncio.gather(*(part.stop() for part in self._parts.values()))
        for waiting in [each for waits in self._deletion_waiters.values() for _, each in waits]:
            _fail(waiting)
        self._deletion_waiters.clear()
        # Releases the waiters for the initial sync, too.
        self._synced.set()

    async def set_namespaces(self, namespaces: Iterable[str]) -> None:
        """Changes the namespaces. The objects of removed namespaces are dropped, like missed deletions."""
        wanted = dict.fromkeys(namespaces)
        for namespace in [each for each in self._parts if each not in wanted]:
            part = self._parts.pop(namespace)
            await part.stop()
            if not part.synced:
                continue
            for informer in self.informers:
                informer.replace((), namespace, initial=False)
        for namespace in wanted:
            if namespace not in self._parts:
                part = self._parts[namespace] = _FeedPart(self, namespace)
                if self._running:
                    part.start()
        self.scope = msgspec.structs.replace(self.scope, namespaces=tuple(sorted(wanted)))
        self._synced.clear()
        self._check_synced()

    def attach(self, informer: K) -> None:
        """Adds an informer. The new informer receives the objects of the existing informers at once."""
        if self.informers:
            for namespace, part in self._parts.items():
                if part.synced:
                    known = self.informers[0].within(namespace)
                    informer.replace(
                        [entry.in_form(informer.make, informer.kept) for entry in known], namespace, initial=True
                    )
        self.informers.append(informer)

    # How it is

    @property
    def synced(self) -> bool:
        """True once everything has been listed."""
        return self._synced.is_set() and self._running

    async def wait_synced(self, seconds: float | None = None) -> None:
        """Waits until everything has been listed. Raises NotSynced with the reason on a timeout."""
        try:
            if seconds is None:
                await self._synced.wait()
            elif not self._synced.is_set():
                async with timeout(self.clock, seconds):
                    await self._synced.wait()
        except TimeoutError:
            raise NotSynced(
                f"{self.scope.kind} was not synced within {seconds:g} s: {self.problem or self.state}"
            ) from None
        if not self._running:
            raise NotSynced(f"{self.scope.kind} is no longer cached")

    @property
    def _worst_reflector(self) -> Reflector:
        parts = self._parts.values()
        return min((part.reflector for part in parts), key=lambda reflector: _GRAVEST.index(reflector.state))

    @property
    def state(self) -> str:
        return self._worst_reflector.state if self._parts else STOPPED

    @property
    def since(self) -> datetime:
        """The time of the last change of the state."""
        return self._worst_reflector.since

    @property
    def last_error(self) -> Exception | None:
        return self._worst_reflector.last_error if self._parts else None

    @property
    def problem(self) -> str:
        return self._worst_reflector.problem if self._parts else ""

    @property
    def reflectors(self) -> list[Reflector]:
        return [part.reflector for part in self._parts.values()]

    @property
    def resource_version(self) -> str:
        """The resource version that all reflectors have reached."""
        found = [part.reflector.resource_version for part in self._parts.values()]
        return min(found, key=lambda version: number(version) or 0, default="")

    def retry_now(self) -> None:
        """Makes all waiting reflectors retry at once, because the problem may be solved."""
        for part in self._parts.values():
            part.reflector.retry_now()

    # Waiting for revisions

    def has_reached(self, revision: int, namespace: str | None = None) -> bool:
        """Returns True if all changes up to a revision are known, in the namespace or in all."""
        return all(part.version >= revision for part in self._parts_of(namespace))

    async def wait_for(self, resource_version: str, namespace: str | None = None) -> None:
        """Waits until all changes up to a resource version are known. Returns at once if resource versions cannot be
        compared.

        Raises NotSynced if the feed is stopped before.
        """
        revision = number(resource_version)
        if revision is None:
            return
        for part in self._parts_of(namespace):
            await part.wait_for(revision)

    async def wait_deleted(self, key: str, uid: str) -> None:
        """Waits until an object is deleted; another object of the same name may exist. Raises NotSynced."""
        if not self._has(key, uid):
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deletion_waiters.setdefault(key, []).append((uid, waiting))
        await waiting

    def _parts_of(self, namespace: str | None) -> "list[_FeedPart]":
        if namespace is None or EVERYWHERE in self._parts:
            return list(self._parts.values())
        return [self._parts[namespace]] if namespace in self._parts else []

    def _has(self, key: str, uid: str) -> bool:
        entry = self.informers[0].store.get(key) if self.informers else None
        return entry is not None and entry.meta.uid == uid

    def _notify_deleted(self, keys: Iterable[str]) -> None:
        for key in keys:
            left = []
            for uid, waiting in self._deletion_waiters.pop(key, ()):
                if self._has(key, uid):
                    left.append((uid, waiting))
                elif not waiting.done():
                    waiting.set_result(None)
            if left:
                self._deletion_waiters[key] = left

    # Called by the parts

    def read(self, item: bytes) -> CachedObject[Any]:
        if self.scope.transform is not None:
            item = self._transformed(item)
        first = self.informers[0]
        return CachedObject(read_meta(item), item, first.make, first.kept)

    def _transformed(self, item: bytes) -> bytes:
        kind = self.scope.kind.gvk
        transform = self.scope.transform
        try:
            tree: Object = {"apiVersion": kind.api_version, "kind": kind.kind, **_decode(item)}
            return _encode(transform(tree)) if transform is not None else item
        except Exception:
            _log.exception("the transform of %s failed: the object is stored unchanged", self.scope.kind)
            return item

    def replace(
        self, items: Collection[CachedObject[Any]], namespace: str, *, initial: bool, resource_version: str
    ) -> None:
        for position, informer in enumerate(self.informers):
            own = items if position == 0 else [entry.in_form(informer.make, informer.kept) for entry in items]
            informer.replace(own, namespace, initial=initial, resource_version=resource_version)
        self._check_synced()
        if self._deletion_waiters:
            self._notify_deleted(list(self._deletion_waiters))

    def change(self, event_type: str, item: CachedObject[Any]) -> None:
        for position, informer in enumerate(self.informers):
            informer.change(event_type, item if position == 0 else item.in_form(informer.make, informer.kept))
        if self._deletion_waiters and item.meta.key in self._deletion_waiters:
            self._notify_deleted((item.meta.key,))

    def _check_synced(self) -> None:
        if all(part.synced for part in self._parts.values()):
            self._synced.set()


class _FeedPart:
    """One namespace of a feed, or all of them: the target of a reflector."""

    def __init__(self, feed: SharedWatch[Any], namespace: str) -> None:
        self._feed = feed
        self._namespace = namespace
        self.reflector = Reflector(
            feed.client, feed.scope, self, namespace=namespace, clock=feed.clock, ids=feed.ids, gate=feed.gate
        )
        self.synced = False
        # The revision up to which all changes are known, if resource versions are numbers.
        self.version = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.ensure_future(self.reflector.run())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for _, _, waiting in self._waiting:
            _fail(waiting)
        self._waiting.clear()

    async def wait_for(self, revision: int) -> None:
        if revision <= self.version:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._arrivals), waiting))
        await waiting

    # Called by the reflector.

    def read(self, item: bytes) -> CachedObject[Any]:
        return self._feed.read(item)

    def replace(self, items: Collection[CachedObject[Any]], resource_version: str) -> None:
        initial, self.synced = not self.synced, True
        # A server that lost its state counts from the beginning.
        if (number(resource_version) or 0) < self.version:
            for informer in self._feed.informers:
                informer.reset("the server has lost its state")
        self.version = 0
        self._feed.replace(items, self._namespace, initial=initial, resource_version=resource_version)
        self._advance(resource_version)

    def change(self, event_type: str, item: CachedObject[Any]) -> None:
        self._feed.change(event_type, item)
        self._advance(item.meta.resource_version)

    def on_progress(self, resource_version: str) -> None:
        self._advance(resource_version)

    def _advance(self, resource_version: str) -> None:
        revision = number(resource_version)
        if revision is None:
            return
        if revision > self.version:
            self.version = revision
        while self._waiting and self._waiting[0][0] <= self.version:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done():
                waiting.set_result(None)


def _fail(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_exception(NotSynced("the informer was stopped"))
