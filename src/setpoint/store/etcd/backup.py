"""Snapshots of a store in etcd: writes all kept entries as bytes that every backend can load, and restores them.

etcd's past cannot be written, so restoring brings back only the state, as new writes with their old time, actor, cause
and deadline. The new state is staged beside the current one and activated in one transaction: other replicas see the
old state or the new one, never a mixture, and an interrupted restore changes no visible key.
"""

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.past as past
import setpoint.store.etcd.wire as wire
from setpoint.store.bounds import Bounds
from setpoint.store.contract import LogEntry, Snapshot, StoreError
from setpoint.store.dump import Contents, Dumped, dump, load
from setpoint.store.etcd.client import OutOfRange
from setpoint.store.etcd.keys import Epoch, prefix_end
from setpoint.store.etcd.session import StoreSession
from setpoint.store.etcd.wire import Message

# The limits of one transaction of a restore, well within etcd's default limits.
CHUNK_OPS = 100
CHUNK_BYTES = 512 << 10


async def snapshot(session: StoreSession) -> Dumped:
    while True:
        entries, kept = await past.log(session, 0, 0)
        epoch = kept.epoch
        deadlines = {}
        try:
            async for kv in past.state_at(session, epoch, kept.readable(kept.current)):
                expires = envelope.open_(kv.value, kv.key).meta.expires
                if expires is not None:
                    deadlines[epoch.key(kv.key)] = expires
        except OutOfRange:  # compacted during the read
            continue
        bounds = Bounds(epoch.outward(kept.base), epoch.outward(kept.current))
        return Dumped(bounds.current, dump(Contents(bounds, entries, deadlines)))


async def restore(session: StoreSession, source: Snapshot | bytes) -> int:
    contents = load(source if isinstance(source, bytes) else source.dump())
    state: dict[str, LogEntry] = {}
    for entry in contents.entries:
        if entry.value is None:
            state.pop(entry.key, None)
        else:
            state[entry.key] = entry
    while True:
        current = (await session.read(lambda _: [])).epoch
        name = session.ids.uid()
        if not await _stage(session, current, Epoch(session.root, name, 0, 0), state, contents):
            continue
        switched = await _switch(session, current, name, contents.bounds.current)
        if switched is not None:
            return switched


async def _stage(
    session: StoreSession, current: Epoch, epoch: Epoch, state: dict[str, LogEntry], contents: Contents
) -> bool:
    """Writes the state of a new epoch; returns False if another epoch became current meanwhile."""
    ops: list[Message] = []
    size = 0
    for key, entry in state.items():
        assert entry.value is not None
        expires = contents.deadlines.get(key)
        sealed = envelope.seal(entry.value, envelope.Meta(entry.time, entry.actor, entry.cause, expires))
        if ops and (len(ops) >= CHUNK_OPS or size + len(sealed) > CHUNK_BYTES):
            if not await _put(session, current, ops):
                return False
            ops, size = [], 0
        ops.append(wire.put(epoch.of_state(key), sealed))
        if expires is not None:
            ops.append(wire.put(epoch.of_expiry(expires, key), b""))
        size += len(sealed)
    return not ops or await _put(session, current, ops)


async def _put(session: StoreSession, current: Epoch, ops: list[Message]) -> bool:
    # The check also rejects a delayed copy of this request: no copy can take effect after the switch.
    response = await session.client.txn(wire.txn([session.same_epoch(current)], ops, []), once=False)
    session.observe_revision(response)
    return bool(response.succeeded)


async def _switch(session: StoreSession, current: Epoch, name: str, snapshot_revision: int) -> int | None:
    """Makes a new epoch the current one and removes all others. Returns the store's revision; None if another epoch
    became current first."""
    # The switch gets etcd's next revision or a later one; the store's revision must exceed the snapshot's and the
    # current one.
    shift = max(current.shift, snapshot_revision - session.seen)
    epoch = Epoch(session.root, name, 0, shift)
    record = envelope.seal_record(envelope.EpochRecord(name, shift))
    head = envelope.seal_head(envelope.Head(b"", session.now()))
    request = wire.txn(
        [session.same_epoch(current)],
        [
            wire.put(session.root.epoch, record),
            wire.put(epoch.head, head),
            wire.delete(session.root.epochs, epoch.base),
            wire.delete(prefix_end(epoch.base), prefix_end(session.root.epochs)),
        ],
        [],
    )
    await session.client.txn(request, once=False)
    # The epoch shows whether this request or a copy of this request was applied.
    reading = await session.read(lambda _: [])
    if reading.epoch.name == name:
        return reading.epoch.outward(reading.epoch.revision)
    if reading.epoch.revision == current.revision:
        raise StoreError("the snapshot could not be restored: etcd did not take up the new state")
    return None
