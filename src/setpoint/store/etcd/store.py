"""The store in etcd, for installations in which several servers share one store.

One transaction of the store is one of etcd's, so every guarantee of the contract rests on etcd's guarantees: reads are
linearizable, a commit that returned is on a majority of its members, and after a lost connection the store finds out
the outcome of the write before the caller receives a result. Differences from the other backends:

* The store's revisions are etcd's, shifted to begin at 1. They grow by one with each transaction as long as no other
  client writes to the cluster; otherwise there are gaps.
* etcd is compacted as a whole, by this store or by other clients: revisions may be removed that the retention policy
  would keep.
* `restore` brings back the state, not the past.
* A purge cannot select keys: it compacts the whole cluster, up to where the last selected value was replaced.
* A transaction holds as many writes as etcd takes operations: with its defaults about 120, or 60 deletions.
"""

from collections.abc import Callable, Sequence

import setpoint.store.etcd.backup as backup
import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.past as past
import setpoint.store.etcd.wire as wire
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.cached.publishing import Listener
from setpoint.store.contract import (
    Closed,
    Event,
    Expect,
    Item,
    LogEntry,
    Page,
    Purge,
    PurgedPage,
    Retention,
    Selection,
    Snapshot,
    TooEarly,
    TooLate,
    Watch,
    Write,
)
from setpoint.store.etcd.client import EtcdClient
from setpoint.store.etcd.config import EtcdConfig
from setpoint.store.etcd.keys import Epoch, prefix_end
from setpoint.store.etcd.maintenance import POLL, Maintenance
from setpoint.store.etcd.session import Reading, StoreSession, item_of
from setpoint.store.etcd.shared_watch import SharedWatch
from setpoint.store.etcd.wire import Message
from setpoint.store.etcd.writer import Writer
from setpoint.store.keys import check_key, check_writes
from setpoint.store.purge_rules import selected
from setpoint.store.upkeep import Upkeep

# The number of entries that are read at once for their times.
_TIMES = 500


# etcd refuses all writes when its file reaches the quota, 2 GB by default. A revision of an object of 1 KB takes about
# 1.3 KB. Servers write even without clients: they renew their Leases.
ETCD_RETENTION = Retention(revisions=500_000)


class EtcdStore:
    """The log in etcd. Created by `EtcdStore.open`; belongs to the event loop that opened the store."""

    def __init__(self, session: StoreSession, retention: Retention) -> None:
        self._session = session
        self._writer = Writer(session)
        self._feed = SharedWatch(session)
        self._tending = Maintenance(session, self._writer, retention, self._feed.drop_compacted)
        self._upkeep = Upkeep(session.clock, lambda: session.now() + POLL, self._tending.poll)
        self._closed = False
        # etcd's revision of the last known record of a compaction.
        self._compacted = 0

    @classmethod
    async def open(
        cls,
        config: EtcdConfig,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        retention: Retention = ETCD_RETENTION,
    ) -> "EtcdStore":
        """Connects. With `Retention()` the store never compacts: etcd's --auto-compaction can do so instead."""
        clock, ids = clock or SystemClock(), ids or SystemIds()
        client = EtcdClient(config, clock, ids)
        session = StoreSession(client, clock, ids)
        try:
            await session.open()
        except BaseException:
            await client.close()
            raise
        store = cls(session, retention)
        store._upkeep.expect(session.now() + POLL)
        return store

    # Reading

    async def revision(self) -> int:
        reading = await self._session.read(lambda _: [])
        return reading.epoch.outward(reading.current)

    async def oldest(self) -> int:
        return await self._session.oldest()

    async def get(self, key: str, at: int | None = None) -> Item | None:
        check_key(key)
        reading = await self._read(lambda epoch, revision: wire.get(epoch.of_state(key), revision), at)
        found = wire.first(reading.answers[0])
        return item_of(found, reading.epoch) if found is not None else None

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        while True:
            items: list[Item] = []
            revision, remaining = at, 1
            # A long range is read chunk by chunk, all at the revision of the first.
            while remaining and (not limit or len(items) < limit):
                start = items[-1].key if items else after
                chunk = min(limit - len(items), past.CHUNK) if limit else past.CHUNK
                try:
                    reading = await self._chunk(prefix, start, chunk, revision)
                except TooLate:
                    if at is not None:
                        raise
                    break  # compacted between two chunks
                found = reading.answers[0].response_range
                items.extend(item_of(kv, reading.epoch) for kv in found.kvs)
                remaining = found.count - len(found.kvs)
                if revision is None:
                    revision = reading.epoch.outward(reading.current)
            else:
                return Page(items, revision or 0, remaining)

    async def count(self, prefix: str, at: int | None = None) -> int:
        def op(epoch: Epoch, revision: int) -> Message:
            start = epoch.of_state(prefix)
            return wire.count(start, prefix_end(start), revision)

        return int((await self._read(op, at)).answers[0].response_range.count)

    async def _read(self, op: Callable[[Epoch, int], Message], at: int | None) -> Reading:
        if at is None:
            return await self._session.read(lambda epoch: [op(epoch, 0)])
        return await self._session.read_at(lambda epoch, revision: [op(epoch, revision)], at)

    async def _chunk(self, prefix: str, after: str, limit: int, at: int | None) -> Reading:
        def op(epoch: Epoch, revision: int) -> Message:
            start = epoch.of_state(prefix)
            end = prefix_end(start)
            if after >= prefix:
                start = min(end, epoch.of_state(after) + b"\0")
            return wire.range_(start, end, limit=limit, revision=revision)

        return await self._read(op, at)

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
        check_key(key)
        return await self._writer.commit(key, value, expect, actor, cause, ttl)

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        check_writes(writes)
        return await self._writer.transact(writes, actor, cause)

    # Following

    @property
    def current(self) -> int:
        """The revision up to which listeners have all events."""
        return self._feed.current

    @property
    def bounds(self) -> Bounds:
        """The revisions that listeners know; only etcd knows which of them are too late."""
        return Bounds(0, self._feed.current)

    def check_open(self) -> None:
        if self._closed:
            raise Closed("the store is closed")

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener, in the order of etcd's watch, and before watches receive
        them."""
        self._feed.listen(listener)

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""
        self._feed.unlisten(listener)

    def recent(self, after: int) -> Sequence[Event] | None:
        return self._feed.recent(after)

    async def confirmed(self) -> int:
        """Reads the current revision by a quorum. Every transaction of the store writes the head of the log, which the
        shared watch follows: so the watch receives that very revision, whatever else other clients write to etcd."""
        self._feed.resume()
        reading = await self._session.position()
        record = wire.first(reading.answers[0])
        if record is not None and record.mod_revision > self._compacted:
            # The values that another server purged leave the window before any read that begins after the purge.
            self._compacted = record.mod_revision
            compacted = envelope.open_compact(record.value, self._session.root.compact).revision
            self._feed.drop_compacted(reading.epoch.outward(compacted))
        revision = reading.epoch.outward(reading.current)
        if revision > self._feed.current:
            self._feed.expect(revision)
        return revision

    def watch(self, prefix: str, after: int | None = None) -> Watch:
        return self._feed.watch(prefix, after)

    # The identity of the servers

    async def identity(self) -> bytes | None:
        found = wire.first((await self._session.read(lambda _: [wire.get(self._session.root.identity)])).answers[0])
        return found.value if found is not None else None

    async def keep_identity(self, own: bytes) -> bytes:
        key = self._session.root.identity
        request = wire.txn([wire.mod_is(key, 0)], [wire.put(key, own)], [wire.get(key)])
        response = await self._session.client.txn(request, once=False)
        found = None if response.succeeded else wire.first(response.responses[0])
        return own if found is None else found.value

    # The past

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[LogEntry]:
        return await past.history(self._session, key, before, limit)

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[LogEntry]:
        return (await past.log(self._session, after, limit))[0]

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns the revisions and times of entries after a revision; etcd returns their contents too."""
        return [(entry.revision, entry.time) for entry in await self.log(after, min(limit, _TIMES))]

    async def compact(self, to: int) -> None:
        reading = await self._session.read(lambda _: [])
        revision = reading.epoch.inward(to)
        if revision > reading.current:
            raise TooEarly(to, reading.epoch.outward(reading.current))
        if revision > reading.epoch.revision:
            await self._tending.compact_etcd(revision)

    @property
    def purges_single_keys(self) -> bool:
        return False

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        """Compacts etcd. The caller must keep the tombstone, as a value of the store."""
        reading = await self._session.read(lambda _: [])
        target = reading.etcd_revision
        removed: list[tuple[str, int]] = []
        if not selection.is_prefix:
            versions = (await self.history(selection.key))[::-1]
            places = selected(selection, versions)
            if not places:
                return PurgedPage((), None)
            removed = [(selection.key, len(places))]
            target = reading.epoch.inward(versions[places[-1] + 1].revision)
        await self._tending.purge(target)
        return PurgedPage(removed, None)

    async def scrub(self, *, always: bool = False) -> None:
        await self._session.client.defragment()

    async def maintain(self) -> None:
        await self._tending.expire()
        await self._tending.compact(at_once=True)
        await self._tending.clear()

    async def snapshot(self) -> Snapshot:
        return await backup.snapshot(self._session)

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        revision = await backup.restore(self._session, snapshot)
        self._feed.restart()
        return revision

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._upkeep.close()
        await self._writer.close()
        await self._feed.close()
        await self._session.client.close()
