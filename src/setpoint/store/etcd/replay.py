"""Reads the log from etcd: every revision after a given one, exactly once, in order and whole, across reconnects.

`Replay` is a plain etcd watch that reconnects: when its stream is lost, the replay opens another one after the last
revision that it returned. `LogReplay` converts etcd's events to the store's, and detects revisions that are too late.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import setpoint.store.etcd.envelope as envelope
from setpoint.store.contract import Event, LogEntry, TooLate
from setpoint.store.etcd.client import OutOfRange, ResponseLost, WatchStream
from setpoint.store.etcd.failures import unreachable
from setpoint.store.etcd.keys import Epoch, prefix_end
from setpoint.store.etcd.session import StoreSession
from setpoint.store.etcd.wire import Message

_DELETE = 1


class Batch(NamedTuple):
    """One revision of the store, with its events and their approximate size in bytes."""

    revision: int
    events: tuple[Event, ...]
    size: int


class Replay:
    """etcd's changes of a range of keys, revision by revision.

    `position` is the last revision returned. With a deadline, the replay fails at that time if etcd cannot be reached;
    without one, the replay retries forever.
    """

    def __init__(
        self, session: StoreSession, start: bytes, end: bytes, after: int, deadline: float | None = None
    ) -> None:
        self.position = after
        self._session = session
        self._range = start, end
        self._deadline = deadline
        self._stream: WatchStream | None = None
        self._fragments: list[Message] = []

    async def next(self) -> list[tuple[int, list[Message]]]:
        """Returns the next revisions with their events; empty after a progress notification. Raises OutOfRange."""
        pauses, refused = self._session.client.pauses(), False
        while True:
            try:
                if self._stream is None:
                    self._fragments = []
                    self._stream = await self._session.client.watch(*self._range, self.position + 1)
                response = await self._stream.read()
            except ResponseLost as lost:
                self.close()
                if self._deadline is not None and self._session.clock.monotonic() >= self._deadline:
                    raise unreachable(self._session.client.where, lost.cause) from lost
                await pauses.wait()
                continue
            except BaseException:  # cancelled during a read, which ends the stream
                self.close()
                raise
            if response.canceled:
                self.close()
                if response.compact_revision:
                    self._session.record_compacted(response.compact_revision)
                    raise OutOfRange(compacted=True)
                self._session.client.watch_refused(response.cancel_reason, again=refused)
                refused = True
                await pauses.wait()
            elif not response.created:
                return list(self._batches_in(response))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _batches_in(self, response: Message) -> Iterator[tuple[int, list[Message]]]:
        events, self._fragments = [*self._fragments, *response.events], []
        if response.fragment and events:  # the rest of the last revision is still to come
            last = events[-1].kv.mod_revision
            self._fragments = [event for event in events if event.kv.mod_revision == last]
            events = events[: -len(self._fragments)]
        for revision, group in groupby(events, key=lambda event: event.kv.mod_revision):
            if revision > self.position:
                self.position = revision
                yield revision, list(group)
        if not response.events and not self._fragments:
            self.position = max(self.position, response.header.revision)


class LogReplay:
    """The store's log after a revision, until its epoch is replaced."""

    def __init__(self, session: StoreSession, after: int, deadline: float | None = None) -> None:
        self._session = session
        self._epoch = session.epoch
        self._deadline = deadline
        self._after = after
        self.compacted = 0  # the last revision, of etcd's, that a replica recorded as compacted
        self._replay = self._open(self._epoch.inward(after))

    async def next(self) -> list[Batch]:
        """Returns the next revisions; an empty list after a progress notification without events. Raises TooLate."""
        if self._replay.position < self._epoch.revision:
            raise TooLate(self._after, await self._session.oldest())
        place = self._epoch.outward(self._replay.position)
        try:
            found = await self._replay.next()
        except OutOfRange as error:
            kept = await self._session.kept()
            if kept.epoch.revision != self._epoch.revision or kept.base > self._replay.position:
                raise TooLate(place, kept.epoch.outward(kept.base)) from error
            # No event was missed: other clients wrote to etcd, and etcd was compacted for them.
            self._replay = self._open(kept.readable(self._replay.position))
            return []
        try:
            batches = [self._batch(*revision) for revision in found]
        except _Incomplete as error:
            raise TooLate(place, await self._session.oldest()) from error
        return [batch for batch in batches if batch is not None]

    def close(self) -> None:
        self._replay.close()

    def _open(self, after: int) -> Replay:
        root = self._session.root.start
        return Replay(self._session, root, prefix_end(root), after, self._deadline)

    def _batch(self, revision: int, raw: list[Message]) -> Batch | None:
        """Returns the store's events of one of etcd's revisions, or None if the revision has none."""
        epoch, deletions = self._epoch, {}
        changes, ours = [], False
        for event in raw:
            key = event.kv.key
            if key.startswith(epoch.state):
                changes.append(event)
            elif key.startswith(epoch.deleted) and event.type != _DELETE:
                deletions[key[len(epoch.deleted) :]] = event.kv
            elif key == epoch.head:
                ours = True
            elif key == self._session.root.compact and event.type != _DELETE:
                self.compacted = envelope.open_compact(event.kv.value, key).revision
            elif key == self._session.root.epoch and revision > epoch.revision:
                raise _Incomplete("another epoch began")
        if not ours and not changes:
            return None
        events = tuple(_event(change, deletions, epoch) for change in changes)
        # etcd serves a watch from the very revision it was compacted to, without the deletions of that revision.
        if len(deletions) > sum(change.type == _DELETE for change in changes):
            raise _Incomplete("a deletion was compacted away")
        return Batch(epoch.outward(revision), events, sum(event.ByteSize() for event in changes))


class _Incomplete(Exception):
    """etcd returned an incomplete revision."""


def _event(change: Message, deletions: dict[bytes, Message], epoch: Epoch) -> Event:
    """Returns the store's event for a change of its state."""
    now, before = change.kv, change.prev_kv
    replaced = bool(before.mod_revision)
    if change.type == _DELETE:
        record = deletions.get(now.key[len(epoch.state) :])
        # A deletion made in etcd directly leaves no record.
        meta = envelope.open_(record.value, record.key).meta if record is not None else envelope.BY_HAND
        value, created = None, before.create_revision
    else:
        value, meta = envelope.open_(now.value, now.key)
        created = now.create_revision
    if not replaced and (change.type == _DELETE or now.version > 1):
        raise _Incomplete("what was replaced was compacted away")
    return Event(
        LogEntry(
            epoch.outward(now.mod_revision),
            epoch.key(now.key),
            value,
            epoch.outward(before.mod_revision) if replaced else 0,
            epoch.outward(created),
            meta.time,
            meta.actor,
            meta.cause,
        ),
        envelope.value_of(before.value, before.key) if replaced else None,
    )
