"""Finds out whether a write was applied when the connection was lost before etcd answered.

Reading back is not sufficient: the write may still be in transit. So every write checks a key of its client, the fence,
and a client in doubt first raises the fence. A write that was not applied before that can never be applied; a write
that was applied has recorded its id in the head, and the versions of the head up to that revision are then searched.
The result that the caller receives is therefore certain.
"""

import asyncio

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.wire as wire
from setpoint.store.contract import OutcomeUnknown, StoreError
from setpoint.store.etcd.client import OutOfRange, ResponseLost
from setpoint.store.etcd.keys import Epoch
from setpoint.store.etcd.replay import Replay
from setpoint.store.etcd.session import StoreSession
from setpoint.store.etcd.wire import Message

# A raised fence exists much longer than any request that checks the fence, and then expires.
LEASE_SECONDS = 3600


class Fence:
    """One client's fence, and the pending writes that check the fence."""

    def __init__(self, session: StoreSession, client: str) -> None:
        self.version = 0  # the number of times the fence was raised, as etcd last reported
        self.key = session.root.fence(client)
        self._session = session
        self._sent: dict[bytes, tuple[bytes, int]] = {}
        self._landed: dict[bytes, int] = {}
        self._raising = asyncio.Lock()
        self._searched = 0  # all pending writes that checked a lower version than this one were looked up
        self._heads: set[bytes] = set()  # the head keys that the last lookup searched

    def observe(self, version: int) -> None:
        """Sets the version that etcd reported."""
        if version < self.version:
            # The fence expired, and its versions begin again: no write of the new ones was looked up.
            self._searched = 0
        self.version = version

    def check(self) -> Message:
        """Returns the comparison that makes a write fail once the fence has been raised."""
        return wire.version_is(self.key, self.version)

    def record_sent(self, write: bytes, epoch: Epoch) -> int:
        """Registers a write that is about to be sent; the result is an argument of `resolve` if the answer is lost."""
        self._sent[write] = epoch.head, self._session.seen
        return self.version

    def record_answered(self, write: bytes) -> None:
        del self._sent[write]
        self._landed.pop(write, None)

    async def resolve(self, write: bytes, checked: int, is_lost: ResponseLost) -> int | None:
        """Returns etcd's revision of a write, or None if it will never be applied. Raises OutcomeUnknown. `checked` is
        the version of the fence that the write checked: a raise covers only the writes that checked an earlier one."""
        try:
            async with self._raising:
                if checked >= self._searched or self._sent[write][0] not in self._heads:
                    await self._raise()
        except (StoreError, OutOfRange) as error:
            reason = str(error) or "etcd was compacted in the meantime"
            raise OutcomeUnknown(
                f"the connection to etcd was lost while it was writing ({is_lost}); whether the write was made "
                f"is not known: {reason}"
            ) from error
        return self._landed.get(write)

    async def _raise(self) -> None:
        client = self._session.client
        deadline = client.deadline()
        lease = await client.grant(LEASE_SECONDS)
        # The heads are read in the transaction that raises the fence. Later writes begin after these revisions.
        heads: dict[bytes, int] = {}
        for head, seen in self._sent.values():
            heads[head] = min(seen, heads.get(head, seen))
        request = wire.txn([], [wire.put(self.key, b"", lease), wire.get(self.key), *map(wire.get, heads)], [])
        response = await client.txn(request, once=False, deadline=deadline)
        raised, *found = map(wire.first, response.responses[1:])
        for last in found:
            if last is not None:
                await self._find_pending(last.key, heads[last.key], last.mod_revision, deadline)
        assert raised is not None
        self.version, self._heads = raised.version, set(heads)
        self._searched = raised.version

    async def _find_pending(self, head: bytes, since: int, until: int, deadline: float) -> None:
        """Searches the versions of a head after one revision and up to another for pending writes of this client."""
        replay = Replay(self._session, head, b"", since, deadline)
        try:
            while replay.position < until:
                for revision, events in await replay.next():
                    write = envelope.open_head(events[0].kv.value, head).write
                    if write in self._sent:
                        self._landed[write] = revision
        finally:
            replay.close()
