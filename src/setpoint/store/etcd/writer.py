"""Commits: each is one etcd transaction that checks all expectations and applies all writes, or none.

A write that names its expected revision is sent at once, and etcd itself compares whether the write would change the
value. A write without an expectation reads the key first, and then expects the read revision: every entry of the log
names the revision that it replaced.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.wire as wire
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import ABSENT, ANY, Expect, ExpectationFailed, OutcomeUnknown, Write
from setpoint.store.etcd.client import ResponseLost
from setpoint.store.etcd.failures import unreachable
from setpoint.store.etcd.fence import Fence
from setpoint.store.etcd.keys import Epoch
from setpoint.store.etcd.session import StoreSession, item_of
from setpoint.store.etcd.wire import Message

# The attempts to find out about a write in doubt, and the seconds between two of them.
_ATTEMPTS, _PAUSE = 10, 1.0

_log = logging.getLogger("setpoint.store")


class EtcdWrite(NamedTuple):
    """A write together with etcd's revision that the write replaces, 0 if the key is absent."""

    write: Write
    previous: int


class Request(NamedTuple):
    """A transaction before sending: its checks, its operations, and its reads for the case of a failed check."""

    compare: list[Message]
    success: list[Message]
    failure: list[Message]


class Result(NamedTuple):
    """The outcome of a transaction. `answers` are the reads after a failed check; None if the transaction succeeded."""

    epoch: Epoch
    revision: int  # etcd's, of the transaction
    done: Message | None = None  # the answer to the operations, unless the answer was lost
    answers: Sequence[Message] | None = None


class Writer:
    """One client's writes."""

    def __init__(self, session: StoreSession) -> None:
        self._session = session
        client = session.ids.uid()
        self._fence = Fence(session, client)
        self._id = bytes.fromhex(client.replace("-", ""))[:8]
        self._numbers = count(1)
        # The searches for writes of unknown outcome.
        self._searches: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Ends the searches for writes of unknown outcome."""
        for search in self._searches:
            search.cancel()
        await asyncio.gather(*self._searches, return_exceptions=True)

    async def commit(
        self, key: str, value: bytes | None, expect: Expect, actor: Actor, cause: Cause | None, ttl: float | None
    ) -> int:
        write = Write(key, value, expect, ttl)
        if expect is ANY:
            return await self._replace([write], actor, cause)
        result = await self._send(lambda epoch, head: self._expecting(write, actor, cause, epoch, head))
        epoch = result.epoch
        if result.answers is not None:
            found = wire.first(result.answers[0])
            raise ExpectationFailed(key, expect, item_of(found, epoch) if found else None)
        if value is None and expect == ABSENT:
            return await self._current()
        # The inner transaction succeeds if the value is unchanged, and then writes no key.
        if value is not None and expect and result.done is not None and result.done.response_txn.succeeded:
            return expect
        return self._committed(result)

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None) -> int:
        return await self._replace(writes, actor, cause) if writes else await self._current()

    async def delete_expired(self, key: str, revision: int, index: Sequence[bytes], actor: Actor) -> bool:
        """Deletes a key if its revision (in etcd's numbering) is still the given one, together with its index keys."""

        def make(epoch: Epoch, head: Message) -> Request:
            change = EtcdWrite(Write(key, None), revision)
            ops = [*self._ops(change, actor, None, epoch), *map(wire.delete, index), head]
            return Request([wire.mod_is(epoch.of_state(key), revision)], ops, [])

        result = await self._send(make)
        if result.answers is None:
            self._committed(result)
        return result.answers is None

    async def _current(self) -> int:
        reading = await self._session.read(lambda _: [])
        return reading.epoch.outward(reading.current)

    def _expecting(self, write: Write, actor: Actor, cause: Cause | None, epoch: Epoch, head: Message) -> Request:
        """Returns the transaction for one write with an expectation."""
        key, value, expect, _ = write
        state = epoch.of_state(key)
        # No key has a revision of -1: the expected revision is not of this epoch.
        previous = max(-1, epoch.inward(expect) or -1) if expect else 0
        checks, failure = [wire.mod_is(state, previous)], [wire.get(state)]
        if value is None and expect == ABSENT:
            return Request(checks, [], failure)
        ops = [*self._ops(EtcdWrite(write, previous), actor, cause, epoch), head]
        if value is not None and expect != ABSENT:
            same = envelope.unchanged_from(value)
            unchanged = wire.value_between(state, same, envelope.unchanged_to(same))
            ops = [wire.nested(unchanged, [], ops)]
        return Request(checks, ops, failure)

    async def _replace(self, writes: Sequence[Write], actor: Actor, cause: Cause | None) -> int:
        """Applies several writes, or one without an expectation: reads and checks the keys, then writes if
        unchanged."""
        while True:
            reading = await self._session.read(lambda epoch: [wire.get(epoch.of_state(write.key)) for write in writes])
            epoch, found = reading.epoch, [wire.first(answer) for answer in reading.answers]
            changes = []
            for write, kv in zip(writes, found, strict=True):
                item = item_of(kv, epoch) if kv else None
                if write.expect is not ANY and write.expect != (item.revision if item else ABSENT):
                    raise ExpectationFailed(write.key, write.expect, item)
                if write.value != (item.value if item else None):
                    changes.append(EtcdWrite(write, kv.mod_revision if kv else 0))
            if not changes:
                if len(writes) == 1 and found[0] is not None:
                    return epoch.outward(found[0].mod_revision)
                return epoch.outward(reading.current)
            result = await self._send_read(writes, found, changes, epoch, actor, cause)
            if result is not None:
                return self._committed(result)

    async def _send_read(
        self,
        writes: Sequence[Write],
        found: Sequence[Message | None],
        changes: Sequence[EtcdWrite],
        read_in: Epoch,
        actor: Actor,
        cause: Cause | None,
    ) -> Result | None:
        """Applies changes if all keys are still as they were read; returns None if they are not."""

        def make(epoch: Epoch, head: Message) -> Request:
            if epoch.revision != read_in.revision:
                return Request([wire.mod_is(epoch.head, -1)], [], [])  # another epoch: read again
            same = [
                wire.mod_is(epoch.of_state(write.key), kv.mod_revision if kv else 0)
                for write, kv in zip(writes, found, strict=True)
            ]
            ops = [op for change in changes for op in self._ops(change, actor, cause, epoch)]
            return Request(same, [*ops, head], [])

        result = await self._send(make)
        return None if result.answers is not None else result

    def _ops(self, change: EtcdWrite, actor: Actor, cause: Cause | None, epoch: Epoch) -> list[Message]:
        """Returns etcd's operations for one change."""
        key, value, _, ttl = change.write
        now = self._session.now()
        expires = None if ttl is None or value is None else now + ttl
        sealed = envelope.seal(value or b"", envelope.Meta(now, actor, cause, expires, change.previous))
        if value is None:
            return [wire.delete(epoch.of_state(key)), wire.put(epoch.of_deletion(key), sealed)]
        written = wire.put(epoch.of_state(key), sealed)
        return [written] if expires is None else [written, wire.put(epoch.of_expiry(expires, key), b"")]

    def _committed(self, result: Result) -> int:
        self._session.highest_revision = max(self._session.highest_revision, result.revision)
        return result.epoch.outward(result.revision)

    async def _send(self, make: Callable[[Epoch, Message], Request]) -> Result:
        """Sends a transaction until its success, or the failure of one of its own checks, is certain."""
        session, fence = self._session, self._fence
        deadline = session.client.deadline()
        while True:
            epoch, version = session.epoch, fence.version
            write = self._id + next(self._numbers).to_bytes(6, "big")
            head = wire.put(epoch.head, envelope.seal_head(envelope.Head(write, session.now())))
            compare, success, failure = make(epoch, head)
            request = wire.txn(
                [session.same_epoch(epoch), fence.check(), *compare],
                success,
                [wire.get(session.root.epoch), wire.get(fence.key), *failure],
            )
            sent = fence.record_sent(write, epoch)
            is_in_doubt = False
            try:
                response = await session.client.txn(request, once=True, deadline=deadline)
            except ResponseLost as lost:
                try:
                    landed = await fence.resolve(write, sent, lost)
                except OutcomeUnknown:
                    is_in_doubt = True
                    self._search_later(write, sent, lost)
                    raise
                if landed is not None:
                    return Result(epoch, landed)
                if session.clock.monotonic() >= deadline:
                    raise unreachable(session.client.where, lost.cause) from lost
                continue
            finally:
                if not is_in_doubt:
                    fence.record_answered(write)
            session.observe_revision(response)
            if response.succeeded:
                return Result(epoch, response.header.revision, response.responses[0] if response.responses else None)
            found, raised = wire.first(response.responses[0]), wire.first(response.responses[1])
            if found is None or found.mod_revision != epoch.revision:
                session.switch_epoch(response.responses[0])
            elif (raised.version if raised else 0) != version:
                fence.observe(raised.version if raised else 0)
            else:
                return Result(epoch, response.header.revision, answers=response.responses[2:])

    def _search_later(self, write: bytes, sent: int, lost: ResponseLost) -> None:
        """Finds out about a write after its caller was told that its outcome is unknown. From then on the write can no
        longer be applied."""
        search = asyncio.create_task(self._search(write, sent, lost))
        self._searches.add(search)
        search.add_done_callback(self._searches.discard)

    async def _search(self, write: bytes, sent: int, lost: ResponseLost) -> None:
        session, fence = self._session, self._fence
        try:
            for _ in range(_ATTEMPTS):
                await session.client.quorum.recovered()
                try:
                    landed = await fence.resolve(write, sent, lost)
                except OutcomeUnknown as error:
                    _log.warning("the outcome of a write is still unknown: %s", error)
                    await session.clock.sleep(_PAUSE)
                    continue
                made = "was not made" if landed is None else f"was made at revision {session.epoch.outward(landed)}"
                _log.warning("a write whose outcome was unknown %s", made)
                return
        finally:
            fence.record_answered(write)
