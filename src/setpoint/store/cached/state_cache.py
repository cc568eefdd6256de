"""The cache of the current state: reads of the newest and of recent revisions come from memory.

The cache is a store itself, above a store that reports every revision (`Publishing`). A store of this process alone
reports a revision before the commit returns, so the cache always has all acknowledged writes. A store that other
servers write to (`SharedPublishing`) reports revisions later: before a read from memory, the cache asks the store for a
revision that includes all acknowledged writes, once for all reads that wait, and waits for that revision. If that takes
too long, the read goes to the store. A read of the store itself may return a revision that was not reported yet; such a
read waits until the cache has reached the revision, so that no client goes back in time.

The objects of a resource are either complete in memory, or read from the store. `fill` reads all resources in the
background, as far as the limit of memory allows; a list of a resource that is not complete reads the resource at
once, for all lists that arrive meanwhile.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.cached.collection import Collection, collection_of, cost
from setpoint.store.cached.disposal import Disposal
from setpoint.store.cached.past import Past, Pasts
from setpoint.store.cached.publishing import Listener, Publishing, SharedPublishing
from setpoint.store.cached.revision_waits import RevisionWaits
from setpoint.store.cached.shared_read import SharedRead
from setpoint.store.contract import (
    Closed,
    Event,
    Expect,
    Item,
    LogEntry,
    NotHeld,
    Page,
    Purge,
    PurgedPage,
    Selection,
    Snapshot,
    StoreError,
    Watch,
    Write,
)
from setpoint.store.uncounted import uncounted_page

# Greater than the last character of any key of a resource.
_LAST = chr(sys.maxunicode)
# The bytes of the objects in memory, approximately.
LIMIT = 256 * 1024 * 1024
# The number of objects that are read from the store at once, and of those that are added before other tasks run.
_CHUNK, _STEP = 1000, 250
# The seconds that a client waits for a revision. For a store that other servers write to: the seconds that a read waits
# for events, and the seconds before the cache tries again to read the resources after an error.
_PATIENCE = _LATE = 3.0
_AGAIN = 1.0
# A dropped resource is read again if it leaves this part of the limit free: one object more or less must not read all
# objects each time.
_FREE = 8


class StateCache:
    """A store with its current state in memory. Belongs to the event loop of the store."""

    def __init__(self, store: Publishing, limit: int = LIMIT, group: Callable[[str], str] = collection_of) -> None:
        """`group` returns the part of a key, or of a prefix of keys, that all objects of its collection begin with, and
        an empty string for keys outside all collections."""
        self._group = group
        self._store = store
        self._limit = limit
        self._collections: dict[str, Collection] = {}
        self._size = 0
        # True if a resource without a collection has no objects; before that, the resources without a collection that
        # have changed.
        self._knows_all = False
        self._changed: set[str] = set()
        self._loading: dict[str, asyncio.Task[None]] = {}
        # The shared reads of the newest revision; None if the store reports every revision before the commit returns.
        self._newest = SharedRead(store.confirmed) if isinstance(store, SharedPublishing) else None
        # True once the cache has reached a revision that the store returned: first, events of the past are reported.
        self.has_begun = self._newest is None
        self._pasts = Pasts()
        self._disposal = Disposal()
        self._waits = RevisionWaits(lambda: store.current, _LATE if self._newest is not None else None)
        self._filling: asyncio.Task[None] | None = None
        store.listen(self)

    def start(self) -> None:
        """Begins to read all objects in the background."""
        if self._filling is None:
            self._filling = asyncio.ensure_future(self._fill_all())
            self._filling.add_done_callback(_note_end)

    @property
    def current(self) -> int:
        """The revision up to which the cache has all events."""
        return self._store.current

    @property
    def bounds(self) -> Bounds:
        """The readable revisions, as far as the cache knows."""
        return self._store.bounds

    @property
    def is_shared(self) -> bool:
        """True if other servers write to the store, so that the state in memory may lack acknowledged writes."""
        return self._newest is not None

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener, after the cache has them."""
        self._store.listen(listener)

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""
        self._store.unlisten(listener)

    def detach(self) -> None:
        """Ends the cache. The store stays open."""
        self._store.unlisten(self)
        for task in (*self._loading.values(), *((self._filling,) if self._filling is not None else ())):
            task.cancel()
        if self._newest is not None:
            self._newest.close()

    @property
    def size(self) -> int:
        """The approximate number of bytes of the objects in memory."""
        return self._size

    @property
    def is_filled(self) -> bool:
        """True if all resources have been read, as far as the limit allows."""
        return self._knows_all

    # Following

    def published(self, events: Sequence[Event]) -> None:
        for event in events:
            name = self._group(event.entry.key)
            collection = self._collections.get(name)
            if collection is None:
                if not self._knows_all or not name:
                    self._changed.add(name)
                    continue
                collection = self._collections[name] = Collection(is_complete=True)
            elif collection.estimate:
                collection.estimate = max(1, collection.estimate + _growth(event))
                continue
            before = collection.size
            collection.apply(event)
            self._size += collection.size - before
            if self._size > self._limit and collection.size > before:
                self._drop_largest()
        self._pasts.published(len(events))
        self._waits.advanced()

    def restored(self) -> None:
        # Loads under way end by themselves: their collections are no longer used.
        for collection in self._collections.values():
            self._disposal.add(collection.release())
        self._collections.clear()
        self._pasts.clear()
        self._loading.clear()
        self._changed.clear()
        self._size = 0
        self._knows_all = False
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None
            self.start()
        self.published(())

    def _drop_largest(self) -> None:
        """Removes the objects of the resource with the most bytes, because all together exceed the limit: a large
        resource must not displace the small ones."""
        name = max(self._collections, key=lambda each: self._collections[each].size)
        self._drop(name, self._collections[name].size)

    def _drop(self, name: str, estimate: int) -> None:
        """Removes the objects of a resource from memory; `estimate` is their size."""
        self._size -= self._collections[name].size
        self._disposal.add(self._collections[name].release())
        dropped = self._collections[name] = Collection()
        dropped.estimate = estimate

    async def reach(self, revision: int) -> bool:
        """Waits for some seconds until the cache has all events up to a revision that a client has named. Returns False
        if that takes too long."""
        return await self._waits.within(revision, _PATIENCE)

    async def _reach_existing(self, revision: int) -> bool:
        """Waits until the cache has all events up to a revision that the store returned. Returns False if the store is
        shared and that takes too long."""
        return revision <= self._store.current or await self._waits.until(revision)

    async def _reach_newest(self, revision: int) -> bool:
        """Waits until the cache has reached a revision that the store returned as its current one."""
        reached = await self._reach_existing(revision)
        self.has_begun = self.has_begun or reached
        return reached

    async def _is_fresh(self, at: int | None) -> bool:
        """Waits until memory can answer a read of the current state, or of a past one: until memory has every write
        that was acknowledged before the call, and no value that was purged. Returns False if that takes too long."""
        if self._newest is None:
            return True
        return await self._reach_newest(await self._newest.result())

    def when_fresh(self, call: Callable[[bool], None]) -> None:
        """Calls a function once `peek` returns a state with every write that was acknowledged before; with False if the
        state of that moment is not known yet. Only for a shared store."""
        assert self._newest is not None
        self._newest.next(lambda found: call(isinstance(found, int) and found <= self._store.current))

    # Loading

    async def _fill_all(self) -> None:
        """Reads all resources; again after an error if the store is shared, because its servers may be restarted."""
        while True:
            try:
                return await self._fill()
            except Closed:
                raise
            except StoreError:
                if self._newest is None:
                    raise
            await asyncio.sleep(_AGAIN)

    async def _fill(self) -> None:
        """Reads all resources, one after the other."""
        after = ""
        while (page := await uncounted_page(self._store, "", after, 1)).items:
            key = page.items[0].key
            name = self._group(key)
            # A key outside of all collections is passed alone.
            after = key
            if name:
                await self._complete(name)
                after = max(key, name + _LAST)
        # The page had no objects of a resource whose deletion may not have been reported yet.
        while not await self._reach_newest(page.revision):
            await asyncio.sleep(_AGAIN)
        # The resources that had no objects when they were passed, and have some now.
        while changed := [name for name in self._changed if name and name not in self._collections]:
            for name in changed:
                await self._complete(name)
        self._changed.clear()
        self._knows_all = True

    async def _complete(self, name: str) -> Collection | None:
        """Returns the complete collection, after reading the objects if necessary; None if they exceed the limit."""
        collection = self._collections.get(name)
        estimate = 0 if collection is None else collection.estimate
        if estimate > 1 and self._size + estimate > self._limit - self._limit // _FREE:
            return None
        if collection is None or not collection.is_complete:
            task = self._loading.get(name)
            if task is None:
                task = self._loading[name] = asyncio.ensure_future(self._load(name))
                task.add_done_callback(lambda done: self._loaded(name, done))
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                if task.cancelled():
                    raise Closed("the cache is closed") from None
                raise
            except NotHeld:
                return None
            collection = self._collections.get(name)
        return collection if collection is not None and collection.is_complete else None

    def _loaded(self, name: str, task: asyncio.Task[None]) -> None:
        if self._loading.get(name) is task:
            del self._loading[name]
        if not task.cancelled():
            task.exception()  # the waiting readers raise the error; without one, the error is unimportant

    async def _load(self, name: str) -> None:
        if name in self._collections:
            self._size -= self._collections[name].size
        collection = self._collections[name] = Collection()
        try:
            await self._read(name, collection)
        finally:
            if not collection.is_complete and self._collections.get(name) is collection:
                self._drop(name, 1)  # the next reader tries again

    async def _read(self, name: str, collection: Collection) -> None:
        """Reads the objects of a resource into its collection, unless they exceed the limit."""
        after, number, total = "", 0, 0
        while True:
            # Only the first page is counted, for the expected size.
            read = uncounted_page(self._store, name, after, _CHUNK) if after else self._store.range(name, "", _CHUNK)
            page = await read
            # The events up to the revision of the page may still be on their way.
            if not await self._reach_newest(page.revision):
                raise NotHeld("the events of the store are late")
            for place, item in enumerate(page.items):
                if place % _STEP == _STEP - 1:
                    await asyncio.sleep(0)
                if self._collections.get(name) is not collection:
                    return  # restored, or over the limit
                before = collection.size
                collection.add_read(item)
                self._size += collection.size - before
            number += len(page.items)
            total = max(total, number + page.remaining)
            expected = collection.size * total // max(number, 1)
            if self._size - collection.size + expected > self._limit:
                self._drop(name, expected)
                return
            if not page.remaining:
                break
            after = page.items[-1].key
        if self._collections.get(name) is collection:
            collection.complete()

    # Reading

    def _held(self, key: str) -> Collection | None:
        """Returns the complete collection of a key or prefix; None if the objects are not in memory."""
        name = self._group(key)
        found = self._collections.get(name)
        if found is None:
            return _EMPTY if self._knows_all and name else None
        return found if found.is_complete else None

    def _past(self, prefix: str, at: int | None) -> Past | None:
        """Returns the past to read at a revision; None for the current one. Raises NotHeld if memory does not have the
        revision."""
        current = self._store.current
        if at is None or at == current:
            return None
        if at < current:
            self._store.bounds.check(at)
            past = self._pasts.at(self._store, self._group(prefix), at)
            if past is not None:
                return past
        raise NotHeld("the revision is not in memory")

    async def holds(self, prefix: str) -> bool:
        """Returns True if the objects with a prefix are in memory; reads them if necessary."""
        if self._held(prefix) is not None:
            return True
        self._store.check_open()
        name = self._group(prefix)
        return bool(name) and await self._complete(name) is not None

    async def revision(self) -> int:
        self._store.check_open()
        if self._newest is None:
            return self._store.current
        revision = await self._newest.result()
        await self._reach_newest(revision)
        return max(revision, self._store.current)

    async def oldest(self) -> int:
        self._store.check_open()
        return self._store.bounds.oldest if self._newest is None else await self._store.oldest()

    async def get(self, key: str, at: int | None = None) -> Item | None:
        if self._held(key) is not None and await self._is_fresh(at):
            try:
                return self.held_item(key, at)
            except NotHeld:
                pass
        item = await self._store.get(key, at)
        await self._reach_read(at, item.revision if item is not None else 0)
        return item

    async def _reach_read(self, at: int | None, seen: int) -> None:
        """Waits until the cache has reached the revision of a read of the store; at least the one that was seen, if
        asking for the current one costs another read."""
        if at is None:
            at = await self._store.revision() if self._newest is None else seen
        await self._reach_existing(at)

    def held_item(self, key: str, at: int | None) -> Item | None:
        """Returns the item of a key as the cache knows it, synchronously. Raises NotHeld, TooLate or TooEarly."""
        self._store.check_open()
        held = self._held(key)
        if held is None:
            raise NotHeld("the objects are not in memory")
        return held.get(key, self._past(key, at))

    def peek(self, key: str) -> Item | None:
        """Returns the item of a key as the cache knows it, synchronously; None also if the item is not in memory. The
        item of a shared store may be older than acknowledged writes."""
        self._store.check_open()
        held = self._held(key)
        return None if held is None else held.get(key)

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        # A page of a resource that is still being read does not wait for the whole resource.
        is_held = self._held(prefix) is not None or (not limit and await self.holds(prefix))
        if is_held and await self._is_fresh(at):
            try:
                return self.held_page(prefix, after, limit, at)
            except NotHeld:
                pass
        page = await self._store.range(prefix, after, limit, at)
        await self._reach_existing(page.revision)
        return page

    async def uncounted(self, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
        """Returns the page of `range`. `remaining` is not 0 if there may be further items."""
        if self._held(prefix) is not None:
            return await self.range(prefix, after, limit, at)
        page = await uncounted_page(self._store, prefix, after, limit, at)
        await self._reach_existing(page.revision)
        return page

    def held_page(self, prefix: str, after: str, limit: int, at: int | None) -> Page:
        """Returns the page of `range` as the cache knows it, synchronously. Raises NotHeld, TooLate or TooEarly."""
        self._store.check_open()
        held = self._held(prefix)
        if held is None:
            raise NotHeld("the objects are not in memory")
        past = self._past(prefix, at)
        items = held.items(prefix, after, limit, past)
        remaining = held.count(prefix, items[-1].key, past) if limit and len(items) == limit else 0
        return Page(items, self._store.current if at is None else at, remaining)

    def scan(self, prefix: str, after: str, limit: int, at: int | None) -> Sequence[Item]:
        """Returns the items of `range` as the cache knows them, synchronously, without counting the items after them.
        Raises NotHeld, TooLate or TooEarly."""
        self._store.check_open()
        held = self._held(prefix)
        if held is None:
            raise NotHeld("the objects are not in memory")
        return held.items(prefix, after, limit, self._past(prefix, at))

    async def count(self, prefix: str, at: int | None = None) -> int:
        if self._held(prefix) is not None and await self._is_fresh(at):
            try:
                return self.held_count(prefix, at)
            except NotHeld:
                pass
        number = await self._store.count(prefix, at)
        await self._reach_read(at, 0)
        return number

    def held_count(self, prefix: str, at: int | None) -> int:
        """Returns the number of `count` as the cache knows it, synchronously. Raises NotHeld, TooLate or TooEarly."""
        self._store.check_open()
        held = self._held(prefix)
        if held is None:
            raise NotHeld("the objects are not in memory")
        return held.count(prefix, "", self._past(prefix, at))

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[LogEntry]:
        found = await self._store.history(key, before, limit)
        if found:
            await self._reach_existing(found[0].revision)
        return found

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[LogEntry]:
        found = await self._store.log(after, limit)
        if found:
            await self._reach_existing(found[-1].revision)
        return found

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns only the revisions and times of entries after a revision."""
        return await self._store.times(after, limit)

    def watch(self, prefix: str, after: int | None = None) -> Watch:
        return self._store.watch(prefix, after)

    # Writing

    async def commit(
        self,
        key: str,
        value: bytes | None,
        expect: Expect,
        actor: Actor,
        cause: Cause | None = None,
        ttl: float | None = None,
    ) -> int:
        return await self._store.commit(key, value, expect, actor, cause, ttl)

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        return await self._store.transact(writes, actor, cause)

    # Upkeep

    async def compact(self, to: int) -> None:
        await self._store.compact(to)

    @property
    def purges_single_keys(self) -> bool:
        return self._store.purges_single_keys

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        page = await self._store.purge(selection, purge, after, limit)
        self._pasts.clear()
        return page

    async def scrub(self, *, always: bool = False) -> None:
        await self._store.scrub(always=always)

    async def maintain(self) -> None:
        await self._store.maintain()

    async def snapshot(self) -> Snapshot:
        return await self._store.snapshot()

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        return await self._store.restore(snapshot)

    async def close(self) -> None:
        self.detach()
        await self._store.close()


_EMPTY = Collection(is_complete=True)


def _growth(event: Event) -> int:
    """Returns the number of bytes by which an event changes the size of its resource."""
    entry = event.entry
    before = cost(entry.key, event.previous_value or b"") if entry.previous else 0
    return (0 if entry.value is None else cost(entry.key, entry.value)) - before


def _note_end(filling: asyncio.Task[None]) -> None:
    """Ignores an error of the store while the cache is filled: the next reader meets the same error."""
    if not filling.cancelled():
        filling.exception()
