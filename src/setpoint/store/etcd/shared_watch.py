"""The source of all watches of a store: one etcd watch of the whole root, and a window of the latest events in memory.

The watches are the cursors of `store.follow`. A watch that is older than the window reads from etcd itself until it has
caught up, step by step and only when the consumer asks; so a slow watch does not slow the others and needs no queue.
The feed starts with the first watch or listener, a little in the past, so that interrupted watches can resume.

Listeners receive every revision before the watches do. After revisions that the feed cannot read any more, because they
were compacted during an interruption, listeners are told to read the whole state again.
"""

import asyncio
import logging
from collections.abc import Sequence

from setpoint.store.bounds import Bounds
from setpoint.store.cached.publishing import Listener
from setpoint.store.contract import Closed, Event, StoreError, TooLate
from setpoint.store.etcd.keys import Epoch
from setpoint.store.etcd.quorum import SLOW_SECONDS
from setpoint.store.etcd.replay import Batch, LogReplay
from setpoint.store.etcd.session import StoreSession
from setpoint.store.follow import STEP, Cursor, Followers, complete_revisions, first_after

WINDOW_EVENTS = 16_384
WINDOW_BYTES = 64 << 20
BEGIN_BEFORE = 1_000  # revisions
AGAIN = 1.0  # seconds after an error until the feed of listeners begins again
CATCHING_UP = 16  # etcd watches kept open between the steps of the watches that catch up

_logger = logging.getLogger("setpoint.store")


class SharedWatch:
    """The source of all cursors of a store. Revisions are the store's."""

    def __init__(self, session: StoreSession) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._followers = Followers()
        self._listeners: list[Listener] = []
        # The epoch of the events in the window.
        self._epoch = session.epoch
        self._events: list[Event] = []
        self._sizes: list[int] = []
        self._bytes = 0
        self._start = 0  # the window holds every event after this revision,
        self._current = 0  # up to this one
        self._restored = 0
        self._failure: StoreError | None = None
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        # Looks whether the feed has reached an expected revision.
        self._overdue: asyncio.Task[None] | None = None
        # The replays of the watches that catch up, by the revision that they have reached.
        self._replays: dict[int, LogReplay] = {}

    @property
    def current(self) -> int:
        return self._current

    @property
    def bounds(self) -> Bounds:
        """The start of a new watch without a revision; only etcd knows which revisions are too late."""
        return Bounds(0, self._session.epoch.outward(self._session.highest_revision))

    @property
    def closed(self) -> bool:
        if self._failure is not None:
            raise self._failure
        return self._closed

    @property
    def restored(self) -> int:
        return self._restored

    @property
    def purged(self) -> int:
        """Always 0: a purge compacts etcd, and etcd itself rejects watches that are too late."""
        return 0

    def watch(self, prefix: str, after: int | None) -> Cursor:
        self.resume()
        return Cursor(self, self._followers, prefix, after)

    def listen(self, listener: Listener) -> None:
        self.resume()
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def resume(self) -> None:
        """Starts the feed, or starts the feed again after an error, where the feed ended."""
        if self._closed or (self._task is not None and not self._task.done()):
            return
        if self._task is None:
            self._begin()
        self._failure = None
        self._task = self._loop.create_task(self._run())

    def expect(self, revision: int) -> None:
        """Checks the members of etcd unless the events up to a revision arrive soon: the one that sends them may have
        fallen silent."""
        if self._overdue is None or self._overdue.done():
            self._overdue = self._loop.create_task(self._check_later(revision))

    async def _check_later(self, revision: int) -> None:
        await self._session.clock.sleep(SLOW_SECONDS)
        if self._current < revision:
            await self._session.client.quorum.check()

    def recent(self, after: int) -> Sequence[Event] | None:
        if after < self._start:
            return None
        return complete_revisions(self._events, first_after(self._events, after), STEP)

    async def older(self, after: int) -> Sequence[Event]:
        replay = self._replays.pop(after, None) or LogReplay(self._session, after)
        found: list[Event] = []
        try:
            while not found:
                for batch in await replay.next():
                    found.extend(batch.events)
        except BaseException:
            replay.close()
            raise
        reached = found[-1].entry.revision
        if self._closed or reached >= self._start or reached in self._replays:
            replay.close()
        else:
            self._replays[reached] = replay
            if len(self._replays) > CATCHING_UP:
                self._replays.pop(next(iter(self._replays))).close()
        return found

    def restart(self) -> None:
        """Makes every watch raise TooLate, because another past was restored."""
        self._epoch = self._session.epoch
        self._restored = self._epoch.outward(self._epoch.revision)
        self._reset(self._restored)

    def drop_compacted(self, revision: int) -> None:
        """Drops compacted events from the window."""
        number = first_after(self._events, revision)
        if number:
            self._drop(number)

    async def close(self) -> None:
        self._closed = True
        for replay in self._replays.values():
            replay.close()
        self._replays.clear()
        tasks = [each for each in (self._task, self._overdue) if each is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._followers.wake_all(self._current + 1)

    def _begin(self) -> None:
        epoch, known = self._session.epoch, self._session.highest_revision
        self._epoch = epoch
        self._start = self._current = epoch.outward(max(epoch.revision, known - BEGIN_BEFORE))

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except Closed:
                return
            except Exception as error:  # any error is passed to the waiting watches
                known = error if isinstance(error, StoreError) else None
                _logger.error("the watches of the store have ended: %s", error, exc_info=known is None)
                self._failure = known or StoreError(f"the watches have ended: {error!r}")
                self._followers.wake_all(self._current + 1)
            if not self._listeners:
                return
            # Without this feed, the listeners learn of no change.
            await self._session.clock.sleep(AGAIN)
            self._failure = None

    async def _follow(self) -> None:
        """Follows etcd until an error."""
        while True:
            if self._session.epoch.revision != self._epoch.revision:
                self.restart()  # while the feed was interrupted
            epoch = self._epoch
            replay = LogReplay(self._session, self._current)
            try:
                while True:
                    for batch in await replay.next():
                        self._append(batch, epoch)
                    if replay.compacted:
                        self.drop_compacted(epoch.outward(replay.compacted))
                        replay.compacted = 0
            except TooLate:
                # Watches that need the missed events read them from etcd, as far as they are kept.
                reading = await self._session.read(lambda _: [])
                if reading.epoch.revision != self._epoch.revision:
                    self.restart()
                elif reading.epoch.revision == epoch.revision:  # otherwise this store itself has restored
                    self._reset(reading.epoch.outward(reading.current))
            finally:
                replay.close()

    def _append(self, batch: Batch, epoch: Epoch) -> None:
        if batch.revision <= self._current:
            return  # an event of the past that a restore has just replaced
        self._session.highest_revision = max(self._session.highest_revision, epoch.inward(batch.revision))
        self._current = batch.revision
        if batch.events:
            self._extend(batch)
        for listener in self._listeners:
            listener.published(batch.events)
        self._followers.publish(batch.revision, [event.entry.key for event in batch.events])

    def _extend(self, batch: Batch) -> None:
        self._events.extend(batch.events)
        self._sizes.extend([batch.size // len(batch.events)] * len(batch.events))
        self._bytes += batch.size
        if len(self._events) > WINDOW_EVENTS or self._bytes > WINDOW_BYTES:
            self._drop(len(complete_revisions(self._events, 0, max(1, len(self._events) // 2))))

    def _drop(self, number: int) -> None:
        """Drops the oldest events of the window; the last of them ends a revision."""
        self._start = self._events[number - 1].entry.revision
        self._bytes -= sum(self._sizes[:number])
        del self._events[:number], self._sizes[:number]

    def _reset(self, revision: int) -> None:
        # Waiting watches have seen all events so far; they must read the skipped ones themselves.
        self._followers.wake_all(self._current + 1)
        self._events, self._sizes, self._bytes = [], [], 0
        self._start = self._current = revision
        for listener in self._listeners:
            listener.restored()
