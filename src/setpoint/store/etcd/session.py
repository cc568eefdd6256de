"""The state that all parts of the store share: the client, the current epoch, and the last known revision of the log.

Every read is one transaction that first checks that its epoch is still current; if the epoch was replaced, the session
switches to the new epoch and repeats the read. Reads are linearizable: they see every commit that has returned, of any
replica.
"""

from collections.abc import Callable
from typing import NamedTuple

import setpoint.store.etcd.envelope as envelope
import setpoint.store.etcd.wire as wire
from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.store.contract import Item, TooEarly, TooLate
from setpoint.store.etcd.client import EtcdClient, OutOfRange
from setpoint.store.etcd.keys import FIRST_EPOCH, Epoch, Root
from setpoint.store.etcd.wire import Message


class Reading(NamedTuple):
    """The answers to a read, and the state of the store at the same moment."""

    answers: list[Message]
    epoch: Epoch
    current: int  # the revision of the last transaction of the epoch, or the epoch's own if there was none
    transactions: int  # the number of transactions in the epoch
    etcd_revision: int  # etcd's own revision; other clients write to etcd too


class ReadableHistory(NamedTuple):
    """The part of the past that can be read, in etcd's revisions.

    etcd is compacted as a whole, also to revisions between two transactions of the store. The state of the store at
    such a revision is that of the last transaction before: that is the store's oldest revision, though etcd refuses to
    read at that revision.
    """

    epoch: Epoch
    base: int  # the oldest revision of the store
    current: int
    compacted: int  # the oldest revision of etcd

    def readable(self, revision: int) -> int:
        """Returns etcd's revision at which to read the state of one of the store's kept revisions."""
        return max(revision, self.compacted)


class StoreSession:
    """One client's view of the store's position."""

    def __init__(self, client: EtcdClient, clock: Clock, ids: Ids) -> None:
        self.client = client
        self.clock = clock
        self.ids = ids
        self.root = Root(client.config.root)
        self.epoch = Epoch(self.root, FIRST_EPOCH, 0, 0)
        self.highest_revision = 0  # the highest known revision of the store
        self.seen = 0  # etcd's highest known revision; every later write of this client comes after this revision
        # The request of `position`, and its epoch.
        self._position: tuple[Epoch | None, Message] = None, None
        self._compacted = 1  # etcd's first revision is 1: no revision has been compacted yet

    async def open(self) -> None:
        """Begins the first epoch if there is none, and reads the current position of the store."""
        begin = wire.put(self.root.epoch, envelope.seal_record(envelope.EpochRecord(FIRST_EPOCH)))
        await self.client.txn(wire.txn([wire.mod_is(self.root.epoch, 0)], [begin], []), once=False)
        await self.read(lambda _: [])

    def now(self) -> float:
        return self.clock.now().timestamp()

    async def read(self, ops: Callable[[Epoch], list[Message]]) -> Reading:
        """Runs the operations that `ops` returns for the current epoch, and reads the current position of the store."""
        while True:
            epoch = self.epoch
            response = await self.client.txn(self._request(epoch, ops(epoch)), once=False)
            reading = self._reading(epoch, response)
            if reading is not None:
                return reading

    async def position(self) -> Reading:
        """Reads the current position of the store, and the record of the last compaction, at the least cost."""
        while True:
            epoch = self.epoch
            if self._position[0] is not epoch:
                self._position = epoch, self._request(epoch, [wire.get(self.root.compact)])
            reading = self._reading(epoch, await self.client.small_read(self._position[1]))
            if reading is not None:
                return reading

    def _request(self, epoch: Epoch, ops: list[Message]) -> Message:
        return wire.txn([self.same_epoch(epoch)], [*ops, wire.get(epoch.head)], [wire.get(self.root.epoch)])

    def _reading(self, epoch: Epoch, response: Message) -> Reading | None:
        """Returns the answers to a request; None if its epoch was replaced, after switching to the new one."""
        self.observe_revision(response)
        if not response.succeeded:
            self.switch_epoch(response.responses[0])
            return None
        head = wire.first(response.responses[-1])
        current, transactions = (head.mod_revision, head.version) if head else (epoch.revision, 0)
        self.highest_revision = max(self.highest_revision, current)
        return Reading(list(response.responses[:-1]), epoch, current, transactions, response.header.revision)

    async def read_at(self, ops: Callable[[Epoch, int], list[Message]], at: int) -> Reading:
        """As `read`, at a revision of the store. Raises TooLate or TooEarly."""
        try:
            reading = await self.read(lambda epoch: ops(epoch, max(1, epoch.inward(at))))
        except OutOfRange:
            return await self._read_compacted(ops, at)
        wanted = reading.epoch.inward(at)
        if wanted > reading.current:
            raise TooEarly(at, reading.epoch.outward(reading.current))
        if wanted < reading.epoch.revision:
            raise TooLate(at, await self.oldest())
        return reading

    async def _read_compacted(self, ops: Callable[[Epoch, int], list[Message]], at: int) -> Reading:
        """Reads at a revision that etcd refuses, possibly only because other clients use and compact the cluster."""
        kept = await self.kept()
        wanted = kept.epoch.inward(at)
        if wanted > kept.current:
            raise TooEarly(at, kept.epoch.outward(kept.current))
        if wanted < kept.base:
            raise TooLate(at, kept.epoch.outward(kept.base))
        try:
            reading = await self.read(lambda epoch: ops(epoch, kept.readable(wanted)))
        except OutOfRange:  # compacted again
            return await self.read_at(ops, at)
        return reading if reading.epoch.revision == kept.epoch.revision else await self.read_at(ops, at)

    async def oldest(self) -> int:
        """Returns the oldest revision of the store that can be read."""
        kept = await self.kept()
        return kept.epoch.outward(kept.base)

    async def kept(self) -> ReadableHistory:
        """Returns the part of the past that can be read at this moment."""
        compacted = await self.compacted()
        try:
            reading = await self.read(lambda epoch: [wire.get(epoch.head, compacted, keys_only=True)])
        except OutOfRange:  # compacted again
            return await self.kept()
        head = wire.first(reading.answers[0])
        base = max(reading.epoch.revision, head.mod_revision if head is not None else 0)
        return ReadableHistory(reading.epoch, base, reading.current, compacted)

    async def compacted(self) -> int:
        """Returns the revision that etcd is compacted to. etcd does not report that revision, but refuses reads before
        it, so the method searches by bisection."""
        low = self._compacted
        if await self._readable(low):
            return low
        await self._readable(0)  # updates `seen` to etcd's current revision
        high = self.seen
        while high - low > 1:  # low is refused, high is not
            middle = (low + high) // 2
            if await self._readable(middle):
                high = middle
            else:
                low = middle
        self.record_compacted(high)
        return high

    def record_compacted(self, revision: int) -> None:
        """Records that etcd has been compacted up to a revision."""
        self._compacted = max(self._compacted, revision)

    def same_epoch(self, epoch: Epoch) -> Message:
        """Returns the check that an epoch is still the current one."""
        return wire.mod_is(self.root.epoch, epoch.revision)

    def switch_epoch(self, response: Message) -> None:
        """Switches to the epoch that a `get` of the epoch key returned."""
        found = wire.first(response)
        if found is None:
            raise envelope.foreign(self.root.epoch)
        record = envelope.open_epoch(found.value, self.root.epoch)
        shift = -found.mod_revision if record.shift is None else record.shift
        self.epoch = Epoch(self.root, record.name, found.mod_revision, shift)
        self.highest_revision = max(self.highest_revision, found.mod_revision)

    def observe_revision(self, response: Message) -> None:
        self.seen = max(self.seen, response.header.revision)

    async def _readable(self, revision: int) -> bool:
        probe = wire.txn([], [wire.get(self.root.compact, revision, keys_only=True)], [])
        try:
            self.observe_revision(await self.client.txn(probe, once=False))
        except OutOfRange as error:
            return not error.compacted
        return True


def item_of(found: Message, epoch: Epoch) -> Item:
    """Returns the item for a key of the state."""
    value = envelope.value_of(found.value, found.key)
    return Item(epoch.key(found.key), value, epoch.outward(found.mod_revision), epoch.outward(found.create_revision))
