"""The informer: an up-to-date copy of the objects of one scope in one form, with handlers for changes.

The store is updated before the handlers are called. Each handler receives the changes of an object in order, though
intermediate states can be missing. A handler that is added later receives the existing objects first. A deletion
followed by a new object of the same name may appear as one update with different uids.

Handlers are plain functions that are called in turn: they should record the change and return. An exception of a
handler is logged and does not affect other handlers. Slow readers should use `changes`.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from setpoint.cache.change import Change, Handler
from setpoint.cache.change_stream import Changes
from setpoint.cache.entry import CachedObject, DecodedObjects, maker
from setpoint.cache.index import IndexFunction
from setpoint.cache.informer_store import ObjectStore
from setpoint.cache.journal import Journal, JournalReader
from setpoint.cache.query import Query, index_label, index_path
from setpoint.cache.scope import EVERYWHERE, Scope
from setpoint.cache.shared_watch import SharedWatch
from setpoint.client.kinds import KindRef
from setpoint.client.watch import DELETED

__all__ = ["Change", "Handler", "Informer", "Registration"]

T = TypeVar("T")
# The shortest resync interval, and the jitter of the interval as a fraction.
LEAST_RESYNC_SECONDS = 1.0
RESYNC_JITTER = 0.1

_log = logging.getLogger(__name__)


class Registration:
    """The registration of a handler; `remove` ends the registration."""

    def __init__(self, informer: "Informer[Any]", handler: Handler) -> None:
        self._informer = informer
        self.handler = handler
        # The number of calls that raised.
        self.failures = 0
        self._resyncing: asyncio.Task[None] | None = None

    def remove(self) -> None:
        self._informer.handlers.pop(self, None)
        if self._resyncing is not None:
            self._resyncing.cancel()

    def notify(self, change: Change[Any]) -> None:
        try:
            self.handler(change)
        except Exception:
            self.failures += 1
            _log.exception("a handler failed for %s", change.held.meta.key)

    def resync_every(self, seconds: float) -> None:
        self._resyncing = asyncio.ensure_future(self._resync(max(seconds, LEAST_RESYNC_SECONDS)))

    async def _resync(self, seconds: float) -> None:
        feed = self._informer.feed
        while True:
            await feed.clock.sleep(seconds * (1.0 + RESYNC_JITTER * (2.0 * feed.ids.random() - 1.0)))
            for entry in list(self._informer.store.all()):
                self.notify(Change(entry, entry, resync=True))


class Informer(Generic[T]):
    """The objects of a feed in one form. A cache starts and stops shared informers."""

    def __init__(self, feed: "SharedWatch[Informer[Any]]", kind: KindRef, decoded_limit: int | None = None) -> None:
        self.feed = feed
        self.kind = kind
        self.make = maker(kind)
        # The decoded objects, if their number is bounded.
        self.kept = None if decoded_limit is None else DecodedObjects(decoded_limit)
        self.store: ObjectStore[T] = ObjectStore()
        self.handlers: dict[Registration, None] = {}
        # Created on first use.
        self._journal: Journal[T] | None = None
        feed.attach(self)

    @property
    def scope(self) -> Scope:
        """The scope of the feed, with the kind and form of this informer."""
        return msgspec.structs.replace(self.feed.scope, kind=self.kind)

    def detach(self) -> None:
        """Detaches the informer from its feed: the objects are no longer updated."""
        for registration in list(self.handlers):
            registration.remove()
        self.reset(f"{self.kind} is no longer cached")
        if self in self.feed.informers:
            self.feed.informers.remove(self)

    def reset(self, why: str) -> None:
        """Ends all watches by revision with a Reset, because the revisions are not continuous any more."""
        if self._journal is not None:
            self._journal.reset(why)
            self._journal = None

    # How it is

    @property
    def synced(self) -> bool:
        """True once the store has been filled completely."""
        return self.feed.synced

    async def wait_synced(self, seconds: float | None = None) -> None:
        """Waits until the store has been filled. Raises NotSynced with the reason on a timeout."""
        await self.feed.wait_synced(seconds)

    @property
    def state(self) -> str:
        """The state: `waiting`, `listing`, `watching`, `failing` or `stopped`."""
        return self.feed.state

    @property
    def since(self) -> datetime:
        """The time of the last change of the state."""
        return self.feed.since

    @property
    def last_error(self) -> Exception | None:
        """The error of the last attempt, or None."""
        return self.feed.last_error

    @property
    def problem(self) -> str:
        """The error as a sentence that says how to fix the problem."""
        return self.feed.problem

    @property
    def resource_version(self) -> str:
        return self.feed.resource_version

    async def wait_for(self, resource_version: str, namespace: str | None = None) -> None:
        """Waits until the informer has all changes up to a resource version. Returns at once if resource versions
        cannot be compared."""
        await self.feed.wait_for(resource_version, namespace)

    # Reading

    def get(self, key: str) -> T | None:
        """Returns an object by its key: `namespace/name`, or the name alone."""
        entry = self.store.get(key)
        return entry.object if entry is not None else None

    def list(self, namespace: str = EVERYWHERE) -> "list[T]":
        """Returns the objects of a namespace, or all objects."""
        found = self.store.in_namespace(namespace) if namespace else self.store.all()
        return [entry.object for entry in found]

    def query(self) -> Query[T]:
        """Returns a query for objects by any field."""
        return Query(self.store)

    def add_index(self, name: str, values_of: IndexFunction[T]) -> None:
        """Adds an index over the values that a function returns for each object; query with `query().by(name,
        value)`."""
        self.store.add_index(name, values_of)

    def index_path(self, path: str) -> None:
        """Adds an index over the values at a path; queries for that path use the index."""
        index_path(self.store, path)

    def index_label(self, label: str) -> None:
        """Adds an index over the values of a label; queries for that label use the index."""
        index_label(self.store, label)

    def within(self, part: str) -> Iterable[CachedObject[T]]:
        """Returns the objects of a part of the scope: a namespace, or all."""
        return self.store.all() if part == EVERYWHERE else self.store.in_namespace(part)

    # Listening

    def add_handler(self, handler: Handler, *, replay: bool = True, resync: float | None = None) -> Registration:
        """Calls a handler for every change from now on, and first for the existing objects, unless `replay` is False.

        With `resync`, also calls the handler for all objects at this interval in seconds.
        """
        registration = Registration(self, handler)
        self.handlers[registration] = None
        if replay:
            for entry in list(self.store.all()):
                registration.notify(Change(None, entry, initial=True))
        if resync is not None:
            registration.resync_every(resync)
        return registration

    def changes(self, *, replay: bool = True) -> Changes[T]:
        """Returns a stream of the changes for slow readers."""
        return Changes(self, replay=replay)

    def mark(self) -> str:
        """Returns the current resource version for a later `watch`, and starts to record changes."""
        if self._journal is None or not self._journal.is_complete:
            self.reset("the recording of changes restarts")
            self._journal = Journal(self.resource_version)
        return self.resource_version

    def watch(self, since: str, where: Query[T] | None = None) -> JournalReader[T]:
        """Returns the changes after a resource version (from `mark`) to the objects of a query. An object that starts
        to match appears as created, one that no longer matches as deleted. Raises Reset if some changes since then are
        not recorded; iterating raises Reset if that happens later."""
        self.mark()
        assert self._journal is not None
        return self._journal.read(since, where)

    def resync(self) -> None:
        """Calls every handler for all objects once more."""
        self._notify([Change(entry, entry, resync=True) for entry in self.store.all()])

    # Called by the feed.

    def replace(
        self, items: Collection[CachedObject[T]], part: str, *, initial: bool, resource_version: str = ""
    ) -> None:
        """Replaces all objects of a part of the scope, then calls the handlers."""
        gone = {entry.meta.key: entry for entry in self.within(part)}
        changes = []
        for entry in items:
            old = gone.pop(entry.meta.key, None)
            if old is None or is_other(old, entry):
                self.store.put(entry.meta.key, entry)
                changes.append(Change(old, entry, initial=initial and old is None))
        for key, old in gone.items():
            self.store.remove(key)
            changes.append(Change(old, None, unseen=True))
        self._record_and_notify(changes, resource_version)

    def change(self, event_type: str, entry: CachedObject[T]) -> None:
        """Processes an event of a watch."""
        key = entry.key
        if event_type == DELETED:
            if self.store.remove(key) is not None:
                self._record_and_notify((Change(entry, None),), entry.meta.resource_version)
            return
        old = self.store.get(key)
        if old is None or old.meta.resource_version != entry.meta.resource_version:
            self.store.put(key, entry)
            self._record_and_notify((Change(old, entry),), entry.meta.resource_version)

    def _record_and_notify(self, changes: Sequence[Change[T]], resource_version: str) -> None:
        if self._journal is not None:
            self._journal.record(changes, resource_version)
        if self.handlers:
            self._notify(changes)

    def _notify(self, changes: Iterable[Change[T]]) -> None:
        for change in changes:
            for registration in list(self.handlers):
                if registration in self.handlers:  # an earlier handler may have removed this one
                    registration.notify(change)


def is_other(old: CachedObject[Any], new: CachedObject[Any]) -> bool:
    """Returns True if two states of an object differ: by resource version, or by content if the server sends no
    versions."""
    version = new.meta.resource_version
    return old.meta.resource_version != version or (not version and old.object != new.object)
