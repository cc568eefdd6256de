"""The past: of one key, followed back from version to version; of all keys, replayed from etcd.

An entry of the state names the revision it replaced, and a deletion leaves its own record, so each step back is one
read by key. Of the entries before the oldest kept revision, only those that were not superseded by then are left.
"""

from collections.abc import AsyncIterator, Sequence

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.wire as wire
from setpoint.store.contract import LogEntry, TooLate
from setpoint.store.etcd.client import OutOfRange
from setpoint.store.etcd.keys import Epoch, prefix_end
from setpoint.store.etcd.replay import LogReplay
from setpoint.store.etcd.session import ReadableHistory, StoreSession
from setpoint.store.etcd.wire import Message

CHUNK = 2_000  # keys read at once


async def history(session: StoreSession, key: str, before: int | None, limit: int) -> Sequence[LogEntry]:
    while True:
        entries: list[LogEntry] = []
        try:
            async for entry in _backwards(session, key, before):
                entries.append(entry)
                if len(entries) == limit:
                    break
        except OutOfRange:  # compacted during the reads
            continue
        return entries


async def log(session: StoreSession, after: int, limit: int) -> tuple[list[LogEntry], ReadableHistory]:
    """Returns the entries, and the kept range at the time of the read: the entries reach up to its current revision."""
    while True:
        found = await session.kept()
        try:
            return await _log(session, found, after, limit), found
        except (OutOfRange, TooLate):  # compacted or restored during the read
            continue


async def state_at(session: StoreSession, epoch: Epoch, revision: int) -> AsyncIterator[Message]:
    """Yields every key of the state at one of etcd's revisions, in chunks. Raises OutOfRange."""
    start, end = epoch.state, prefix_end(epoch.state)
    while True:
        request = wire.txn([], [wire.range_(start, end, limit=CHUNK, revision=revision)], [])
        found = (await session.client.txn(request, once=False)).responses[0].response_range
        for kv in found.kvs:
            yield kv
        if not found.more:
            return
        start = found.kvs[-1].key + b"\0"


async def _log(session: StoreSession, found: ReadableHistory, after: int, limit: int) -> list[LogEntry]:
    epoch, wanted = found.epoch, found.epoch.inward(after)
    entries: list[LogEntry] = []
    if wanted < found.base:
        state = [kv async for kv in state_at(session, epoch, found.readable(found.base)) if kv.mod_revision > wanted]
        for kv in sorted(state, key=lambda kv: kv.mod_revision):
            if limit and len(entries) >= limit and entries[-1].revision != epoch.outward(kv.mod_revision):
                return entries
            entries.append(_written(kv, epoch))
    place = max(found.base, wanted)
    if place >= found.current or (limit and len(entries) >= limit):
        return entries
    position, until = epoch.outward(place), epoch.outward(found.current)
    replay = LogReplay(session, position, session.client.deadline())
    try:
        while position < until:
            for batch in await replay.next():
                if batch.revision > until or (limit and len(entries) >= limit):
                    return entries
                entries.extend(event.entry for event in batch.events)
                position = batch.revision
    finally:
        replay.close()
    return entries


async def _backwards(session: StoreSession, key: str, before: int | None) -> AsyncIterator[LogEntry]:
    found = await session.kept()
    epoch = found.epoch
    end = found.current + 1 if before is None else min(epoch.inward(before), found.current + 1)
    place = max(found.base, end - 1)
    while place >= found.base:
        written, deletion = await _versions(session, epoch, key, found.readable(place))
        if written is not None:
            if written.mod_revision >= end:
                return
            yield _written(written, epoch)
            place = written.mod_revision - 1
            continue
        if deletion is None or not found.base < deletion.mod_revision < end:
            return
        place = deletion.mod_revision - 1
        deleted, _ = await _versions(session, epoch, key, found.readable(place))
        if deleted is None:
            return
        yield _deleted(key, deletion, deleted, epoch)


async def _versions(session: StoreSession, epoch: Epoch, key: str, revision: int) -> Sequence[Message | None]:
    """Returns a key of the state, and the record of its last deletion, as of one of etcd's revisions."""
    reads = [wire.get(epoch.of_state(key), revision), wire.get(epoch.of_deletion(key), revision)]
    response = await session.client.txn(wire.txn([], reads, []), once=False)
    return [wire.first(answer) for answer in response.responses]


def _written(kv: Message, epoch: Epoch) -> LogEntry:
    """Returns the entry that wrote a key of the state."""
    value, meta = envelope.open_(kv.value, kv.key)
    return LogEntry(
        epoch.outward(kv.mod_revision),
        epoch.key(kv.key),
        value,
        epoch.outward(meta.previous) if meta.previous else 0,
        epoch.outward(kv.create_revision),
        meta.time,
        meta.actor,
        meta.cause,
    )


def _deleted(key: str, deletion: Message, deleted: Message, epoch: Epoch) -> LogEntry:
    """Returns the entry that deleted a key, from the record of the deletion and the deleted key."""
    meta = envelope.open_(deletion.value, deletion.key).meta
    return LogEntry(
        epoch.outward(deletion.mod_revision),
        key,
        None,
        epoch.outward(deleted.mod_revision),
        epoch.outward(deleted.create_revision),
        meta.time,
        meta.actor,
        meta.cause,
    )
