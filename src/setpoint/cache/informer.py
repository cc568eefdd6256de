"""The informer: the objects of one scope in one form, kept up to date, and whoever wants to know told of every change.

What is told follows what is kept: when a handler hears of a change, the store has it. Each handler hears of each object
in the order of its history, though maybe not of every step in it; one that comes late hears of what is there first. An
object that was deleted and made anew may look like an update: its uid tells.

Handlers are plain functions, called in turn: they note what they hear and return. What one of them raises is logged and
harms nobody else. Who wants to take his time reads `changes`.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from setpoint.cache.change import Change, Handler
from setpoint.cache.change_stream import Changes
from setpoint.cache.decoder import maker
from setpoint.cache.entry import Held
from setpoint.cache.index import IndexFunction
from setpoint.cache.journal import Journal, Watching
from setpoint.cache.query import Query, index_label, index_path
from setpoint.cache.scope import EVERYWHERE, Scope
from setpoint.cache.shared_watch import SharedWatch
from setpoint.cache.store import ObjectStore
from setpoint.client.kinds import KindRef
from setpoint.client.watch import DELETED

__all__ = ["Change", "Handler", "Informer", "Registration"]

T = TypeVar("T")
# Nobody is told everything anew more often than this; and by how much of the time the moment differs, by chance.
LEAST_RESYNC_SECONDS = 1.0
RESYNC_JITTER = 0.1

_log = logging.getLogger(__name__)


class Registration:
    """A handler's place; `remove` gives it up."""

    def __init__(self, informer: "Informer[Any]", handler: Handler) -> None:
        self._informer = informer
        self.handler = handler
        # How often it raised.
        self.failures = 0
        self._resyncing: asyncio.Task[None] | None = None

    def remove(self) -> None:
        self._informer.handlers.pop(self, None)
        if self._resyncing is not None:
            self._resyncing.cancel()

    def tell(self, change: Change[Any]) -> None:
        try:
            self.handler(change)
        except Exception:
            self.failures += 1
            _log.exception("a handler failed at %s", change.held.meta.key)

    def resync_every(self, seconds: float) -> None:
        self._resyncing = asyncio.ensure_future(self._resync(max(seconds, LEAST_RESYNC_SECONDS)))

    async def _resync(self, seconds: float) -> None:
        feed = self._informer.feed
        while True:
            await feed.clock.sleep(seconds * (1.0 + RESYNC_JITTER * (2.0 * feed.ids.random() - 1.0)))
            for held in list(self._informer.store.all()):
                self.tell(Change(held, held, resync=True))


class Informer(Generic[T]):
    """One form of what a feed follows. Whoever shares it counts on the cache to start and to stop it."""

    def __init__(self, feed: "SharedWatch[Informer[Any]]", kind: KindRef) -> None:
        self.feed = feed
        self.kind = kind
        self.make = maker(kind)
        self.store: ObjectStore[T] = ObjectStore()
        self.handlers: dict[Registration, None] = {}
        # Kept once somebody has asked for it.
        self._journal: Journal[T] | None = None
        feed.join(self)

    @property
    def scope(self) -> Scope:
        """What it has, and in which form."""
        return msgspec.structs.replace(self.feed.scope, kind=self.kind)

    def leave(self) -> None:
        """Is kept up to date no more."""
        for registration in list(self.handlers):
            registration.remove()
        self.reset(f"{self.kind} is not followed any more")
        if self in self.feed.informers:
            self.feed.informers.remove(self)

    def reset(self, why: str) -> None:
        """Tells who follows from revision to revision that they lead no further."""
        if self._journal is not None:
            self._journal.reset(why)
            self._journal = None

    # How it is

    @property
    def synced(self) -> bool:
        """Whether the store has had everything once."""
        return self.feed.synced

    async def wait_synced(self, seconds: float | None = None) -> None:
        """Returns once the store has everything. Raises NotSynced, with the reason, if that takes too long."""
        await self.feed.wait_synced(seconds)

    @property
    def state(self) -> str:
        """`waiting`, `listing`, `watching`, `failing` or `stopped`."""
        return self.feed.state

    @property
    def since(self) -> datetime:
        """When it came into that state."""
        return self.feed.since

    @property
    def last_error(self) -> Exception | None:
        """Why it does not get on; None when all is well."""
        return self.feed.last_error

    @property
    def problem(self) -> str:
        """The same as a sentence that says what to do about it."""
        return self.feed.problem

    @property
    def resource_version(self) -> str:
        return self.feed.resource_version

    async def wait_for(self, resource_version: str, namespace: str | None = None) -> None:
        """Returns once everything up to a revision is known. At once where revisions cannot be compared."""
        await self.feed.wait_for(resource_version, namespace)

    # Reading

    def get(self, key: str) -> T | None:
        """An object by its key: `namespace/name`, or the name alone."""
        held = self.store.get(key)
        return held.object if held is not None else None

    def list(self, namespace: str = EVERYWHERE) -> "list[T]":
        """The objects of a namespace, or all."""
        found = self.store.in_namespace(namespace) if namespace else self.store.all()
        return [held.object for held in found]

    def query(self) -> Query[T]:
        """Asks for objects by anything in them."""
        return Query(self.store)

    def add_index(self, name: str, values_of: IndexFunction[T]) -> None:
        """Keeps an index of what a function gives for each object; `query().by(name, value)` asks it."""
        self.store.add_index(name, values_of)

    def index_path(self, path: str) -> None:
        """Keeps an index of what is at a path; queries for that path are answered by it."""
        index_path(self.store, path)

    def index_label(self, label: str) -> None:
        """Keeps an index of the values of a label; queries for that label are answered by it."""
        index_label(self.store, label)

    def within(self, part: str) -> Iterable[Held[T]]:
        """What came with a part of the scope."""
        return self.store.all() if part == EVERYWHERE else self.store.in_namespace(part)

    # Listening

    def add_handler(self, handler: Handler, *, replay: bool = True, resync: float | None = None) -> Registration:
        """Tells a handler of everything from now on, and first, unless it does not want that, of what is there.

        With `resync` it is told of everything again every so many seconds, though nothing happened.
        """
        registration = Registration(self, handler)
        self.handlers[registration] = None
        if replay:
            for held in list(self.store.all()):
                registration.tell(Change(None, held, initial=True))
        if resync is not None:
            registration.resync_every(resync)
        return registration

    def changes(self, *, replay: bool = True) -> Changes[T]:
        """The changes for a reader who takes his time."""
        return Changes(self, replay=replay)

    def mark(self) -> str:
        """The revision of what is there, to `watch` from later: from now on changes are kept for that."""
        if self._journal is None or not self._journal.is_complete:
            self.reset("changes are kept anew")
            self._journal = Journal(self.resource_version)
        return self.resource_version

    def watch(self, since: str, where: Query[T] | None = None) -> Watching[T]:
        """The changes after a revision (`mark`) of what a query asks for; what comes into its answer comes, what leaves
        it goes. Raises Reset where not all of them are known; the reader is told the same when that becomes so."""
        self.mark()
        assert self._journal is not None
        return self._journal.read(since, where)

    def resync(self) -> None:
        """Tells every handler of everything once more."""
        self._hand_out([Change(held, held, resync=True) for held in self.store.all()])

    # What the feed calls.

    def replace(self, items: Collection[Held[T]], part: str, *, initial: bool, resource_version: str = "") -> None:
        """All that came with a part of the scope, in the place of what was there. Told when it is done."""
        gone = {held.meta.key: held for held in self.within(part)}
        changes = []
        for held in items:
            old = gone.pop(held.meta.key, None)
            if old is None or is_other(old, held):
                self.store.put(held.meta.key, held)
                changes.append(Change(old, held, initial=initial and old is None))
        for key, old in gone.items():
            self.store.remove(key)
            changes.append(Change(old, None, unseen=True))
        self._tell(changes, resource_version)

    def change(self, event_type: str, held: Held[T]) -> None:
        """An event of a watch."""
        key = held.meta.key
        if event_type == DELETED:
            if self.store.remove(key) is not None:
                self._tell((Change(held, None),), held.meta.resource_version)
            return
        old = self.store.get(key)
        if old is None or old.meta.resource_version != held.meta.resource_version:
            self.store.put(key, held)
            self._tell((Change(old, held),), held.meta.resource_version)

    def _tell(self, changes: Sequence[Change[T]], resource_version: str) -> None:
        if self._journal is not None:
            self._journal.record(changes, resource_version)
        if self.handlers:
            self._hand_out(changes)

    def _hand_out(self, changes: Iterable[Change[T]]) -> None:
        for change in changes:
            for registration in list(self.handlers):
                if registration in self.handlers:  # an earlier one may have removed it
                    registration.tell(change)


def is_other(old: Held[Any], new: Held[Any]) -> bool:
    """Whether two states of an object differ: by their versions, or, where a server gives none, in themselves."""
    version = new.meta.resource_version
    return old.meta.resource_version != version or (not version and old.object != new.object)
