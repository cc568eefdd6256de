"""Background maintenance: deletes expired keys, compacts by retention, and removes obsolete records.

Every replica runs the maintenance; no step is applied twice. An expired key is deleted only if its version is still the
expired one. The first replica that compacts records the revision, with a check that no other replica has done so.
etcd's leases are not used for expiry: they know neither the injected clock nor an actor, and a deletion by a lease
would be a revision without a transaction of the store.

etcd can only be compacted as a whole: a `Retention` here applies to all users of the same cluster.
"""

from collections.abc import Callable

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.wire as wire
from setpoint.store.contract import EXPIRY, Retention, TooLate
from setpoint.store.etcd.client import OutOfRange
from setpoint.store.etcd.keys import prefix_end
from setpoint.store.etcd.replay import LogReplay
from setpoint.store.etcd.session import ReadableHistory, StoreSession
from setpoint.store.etcd.wire import Message
from setpoint.store.etcd.writer import Writer

POLL = 1.0  # seconds between two checks for expired keys
COMPACT_EVERY = 60.0  # seconds between two compactions, by any replica
AT_ONCE = 40  # keys handled in one transaction
# Removing obsolete index keys costs a revision of etcd's, so they are collected first.
LEFTOVERS = 40


class Maintenance:
    """The maintenance of one replica."""

    def __init__(
        self, session: StoreSession, writer: Writer, retention: Retention, on_compacted: Callable[[int], None]
    ) -> None:
        self._session = session
        self._on_compacted = on_compacted  # called with the compacted revision, in the store's numbering
        self._writer = writer
        self._retention = retention
        self._meter = SizeMeter(session, retention.size) if retention.size is not None else None
        self._compacts = session.clock.monotonic() + COMPACT_EVERY

    async def poll(self) -> None:
        """Runs the maintenance that is due."""
        await self.expire()
        now = self._session.clock.monotonic()
        if now >= self._compacts:
            self._compacts = now + COMPACT_EVERY
            await self.compact(at_once=False)
            await self.clear()

    async def expire(self) -> None:
        while await self._expire_some():
            pass

    async def _expire_some(self) -> bool:
        """Deletes some of the expired keys; returns True if there may be more."""
        now = self._session.now()
        due = await self._session.read(
            lambda epoch: [
                wire.range_(epoch.expiry, prefix_end(epoch.expires_at(now)), limit=2 * AT_ONCE, keys_only=True)
            ]
        )
        epoch, index = due.epoch, [bytes(kv.key) for kv in due.answers[0].response_range.kvs]
        expired, leftover = [], []
        for start in range(0, len(index), AT_ONCE):
            some = index[start : start + AT_ONCE]
            states = await self._session.client.txn(
                wire.txn([], [wire.get(epoch.of_state(epoch.expiring_key(key))) for key in some], []), once=False
            )
            for key, kv in zip(some, map(wire.first, states.responses), strict=True):
                expires = envelope.open_(kv.value, kv.key).meta.expires if kv is not None else None
                name = epoch.expiring_key(key)
                if kv is not None and expires is not None and epoch.of_expiry(expires, name) == key:
                    expired.append((name, kv.mod_revision, key))
                else:
                    leftover.append(key)
        for name, revision, key in expired:
            # Each deletion also removes one obsolete index key.
            await self._writer.delete_expired(name, revision, [key, *([leftover.pop()] if leftover else [])], EXPIRY)
        if len(leftover) >= LEFTOVERS:
            await self._session.client.txn(wire.txn([], [wire.delete(key) for key in leftover], []), once=False)
        return len(index) == 2 * AT_ONCE

    async def compact(self, at_once: bool) -> None:
        """Compacts as far as retention allows, unless another replica just did."""
        found = await self._session.kept()
        try:
            target = await self._target(found)
        except (OutOfRange, TooLate):  # another replica compacts at this moment
            return
        if target is None or target <= found.base:
            return
        key, now = self._session.root.compact, self._session.now()
        agreed = wire.first((await self._session.read(lambda _: [wire.get(key)])).answers[0])
        if agreed is not None and not at_once:
            record = envelope.open_compact(agreed.value, key)
            if record.time > now - COMPACT_EVERY / 2:
                return
        record = envelope.CompactRecord(target, now)
        response = await self._session.client.txn(
            wire.txn(
                [wire.mod_is(key, agreed.mod_revision if agreed is not None else 0)],
                [wire.put(key, envelope.seal_record(record))],
                [],
            ),
            once=False,
        )
        if response.succeeded:
            await self.compact_etcd(target)

    async def purge(self, revision: int) -> None:
        """Compacts etcd to one of its revisions until all values replaced by then are removed. Every replica drops them
        from memory when it reads the record."""
        await self.compact_etcd(revision, physical=True)
        record = envelope.CompactRecord(revision, self._session.now())
        put = wire.put(self._session.root.compact, envelope.seal_record(record))
        await self._session.client.txn(wire.txn([], [put], []), once=False)

    async def compact_etcd(self, revision: int, *, physical: bool = False) -> None:
        """Compacts etcd to one of its revisions; has no effect if that revision is compacted already."""
        try:
            await self._session.client.compact(revision, physical=physical)
        except OutOfRange:
            return
        self._session.record_compacted(revision)
        self._on_compacted(self._session.epoch.outward(revision))

    async def clear(self) -> None:
        """Removes the records of deletions that are compacted, once there are many."""
        compacted = await self._session.compacted()
        if compacted <= self._session.epoch.revision:
            return
        found = await self._session.read(
            lambda epoch: [
                wire.range_(
                    epoch.deleted,
                    prefix_end(epoch.deleted),
                    limit=1_000 * LEFTOVERS,
                    keys_only=True,
                    written_by=compacted,
                )
            ]
        )
        old = list(found.answers[0].response_range.kvs)
        if len(old) < LEFTOVERS:
            return
        for start in range(0, len(old), AT_ONCE):
            some = old[start : start + AT_ONCE]
            ops = [wire.nested([wire.mod_is(kv.key, kv.mod_revision)], [wire.delete(kv.key)], []) for kv in some]
            await self._session.client.txn(wire.txn([], ops, []), once=False)

    async def _target(self, found: ReadableHistory) -> int | None:
        """Returns etcd's revision up to which retention allows compaction, or None."""
        targets = []
        age, revisions, _ = self._retention
        if revisions is not None:
            reading = await self._session.read(lambda _: [])
            last = reading.transactions - revisions
            if last > 0:
                targets.append(await self._last_head(found, lambda head: head.version <= last))
        if age is not None:
            until = self._session.now() - age
            targets.append(
                await self._last_head(found, lambda head: envelope.open_head(head.value, head.key).time <= until)
            )
        if self._meter is not None:
            targets.append(await self._meter.target(found))
        return max((target for target in targets if target is not None), default=None)

    async def _last_head(self, found: ReadableHistory, condition: Callable[[Message], bool]) -> int | None:
        """Returns the last kept transaction's revision for which `condition`, a monotonic condition, is True, or
        None."""
        low, high = found.base, found.current + 1
        last = None
        while low < high:
            middle = (low + high) // 2
            request = wire.txn([], [wire.get(found.epoch.head, found.readable(middle))], [])
            head = wire.first((await self._session.client.txn(request, once=False)).responses[0])
            if head is None or condition(head):
                low = middle + 1
                last = head.mod_revision if head is not None else last
            else:
                high = min(middle, head.mod_revision)
        return last


class SizeMeter:
    """The bytes of the entries after each revision, read once from the log as it grows, and kept as sums of blocks."""

    def __init__(self, session: StoreSession, limit: int) -> None:
        self._session = session
        self._limit = limit
        self._blocks: list[tuple[int, int]] = []  # the last revision of each block, and its bytes
        self._epoch = self._measured = 0

    async def target(self, found: ReadableHistory) -> int | None:
        """Returns etcd's revision after which the entries are within the limit."""
        if self._epoch != found.epoch.revision or self._measured < found.base:
            self._blocks, self._epoch, self._measured = [], found.epoch.revision, found.base
        if self._measured < found.current:
            await self._measure(found)
        self._blocks = [block for block in self._blocks if block[0] > found.base]
        total, forgotten = sum(size for _, size in self._blocks), None
        for last, size in self._blocks[:-1]:
            if total <= self._limit:
                break
            forgotten, total = last, total - size
        return forgotten

    async def _measure(self, found: ReadableHistory) -> None:
        replay = LogReplay(self._session, found.epoch.outward(self._measured), self._session.client.deadline())
        try:
            while self._measured < found.current:
                for batch in await replay.next():
                    size = sum(len(event.entry.key) + len(event.entry.value or b"") for event in batch.events)
                    self._measured = found.epoch.inward(batch.revision)
                    if self._blocks and self._blocks[-1][1] < self._limit // 64:
                        size += self._blocks.pop()[1]
                    self._blocks.append((self._measured, size))
        finally:
            replay.close()
