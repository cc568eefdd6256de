"""The store in one SQLite file, the default backend.

Reads go straight to the file on connections of their own; commits go to the writer's thread, which groups them. The
newest events are also kept in memory, for watches; a watch that is further behind reads them from the file.
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from setpoint.objects.clock import Clock, SystemClock
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
    StoreError,
    TooEarly,
    Write,
)
from setpoint.store.dump import Dumped, dump, load
from setpoint.store.files import make_private
from setpoint.store.follow import STEP, Cursor, Followers, complete_revisions, first_after
from setpoint.store.keys import check_key, check_writes
from setpoint.store.sqlite.check import SMALL, check, check_length
from setpoint.store.sqlite.checkpoint import Checkpointer
from setpoint.store.sqlite.errors import FAILURES, Damaged, translate
from setpoint.store.sqlite.layout import Durability, connect, prepare
from setpoint.store.sqlite.lock import Lock
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.rows import FORGOTTEN
from setpoint.store.sqlite.writer import (
    Commit,
    Compact,
    Expire,
    FindKeys,
    Job,
    Published,
    PurgeValues,
    Restore,
    Retain,
    Scrub,
    Writer,
)
from setpoint.store.upkeep import Upkeep

# The part of the newest log that is kept in memory for watches: events, and bytes of their values.
_RECENT_EVENTS = 5_000
_RECENT_SIZE = 16 * 1024 * 1024
# Both limits may be exceeded by this fraction, so that few commits drop events from memory.
_EXCESS = 0.25
_READERS = 2
# Compaction by age starts when the oldest entry exceeds the age by this fraction.
_SLACK = 4

_T = TypeVar("_T")

_logger = logging.getLogger("setpoint.store")


class SqliteStore:
    """The log in a file. Belongs to the event loop that opened the store."""

    @classmethod
    async def open(
        cls,
        path: Path | str,
        *,
        clock: Clock | None = None,
        retention: Retention = Retention(size=1024 * 1024 * 1024),  # noqa: B008 - immutable
        durability: Durability = "full",
        sparse: bool = False,
        threaded: bool = True,
    ) -> Self:
        """Opens the store in a file, and creates the file if there is none.

        `durability` determines when a commit is acknowledged: `full`, after the disk confirmed the write; `normal`,
        when a crash of the process cannot lose the commit, but a crash of the machine may lose the last ones; `off`,
        the same without ever waiting for the disk, so that a crash of the machine may also damage the file. `sparse` is
        for a file that was filled with a part of another's log (`filling.py`): missing revisions are then not treated
        as damage. `threaded=False` runs all work in the event loop, in the order of the calls, as simulations require.

        Raises InUse, Damaged, UnknownLayout, NoSpace or DiskFailed.
        """
        if durability not in get_args(Durability):
            raise ValueError(f"durability is one of {', '.join(get_args(Durability))}; not {durability!r}")
        # SQLite puts its other files beside the target of a symbolic link; the lock file is put there too.
        made = Path(path).resolve()
        loop = asyncio.get_running_loop()
        clock = clock or SystemClock()
        if not threaded:
            return cls(made, clock, retention, durability, loop, sparse, threaded=False)
        return await loop.run_in_executor(None, cls, made, clock, retention, durability, loop, sparse)

    def __init__(
        self,
        path: Path,
        clock: Clock,
        retention: Retention,
        durability: Durability,
        loop: asyncio.AbstractEventLoop,
        sparse: bool = False,
        *,
        threaded: bool = True,
    ) -> None:
        self.path = path
        self.closed = False
        self._clock = clock
        self._retention = retention
        self._sparse = sparse
        self._threaded = threaded
        self._loop = loop
        self._damage: StoreError | None = None
        self._stop_checking = threading.Event()
        self._checking: threading.Thread | None = None
        self._connections: list[sqlite3.Connection] = []
        self._lock = Lock.acquire(path)
        try:
            if existed := path.exists():
                for each in ("", "-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        make_private(path.with_name(path.name + each))
                self._lock.lock_file(path)
            prepare(path, durability)
            if not existed:
                self._lock.lock_file(path)
            self._own = Reader(path, self._connect(durability))
            self._check_on_open()
            self._idle = [Reader(path, self._connect(durability)) for _ in range(_READERS)]
            self._checkpointer = Checkpointer(path, self._connect(durability), threaded=threaded)
            self._writer = Writer(
                Reader(path, self._connect(durability)),
                self._lock if durability == "full" else None,
                self._checkpointer,
                retention,
                self._publish_from_thread,
                threaded=threaded,
            )
        except BaseException as error:
            self._stop_checking.set()
            for connection in self._connections:
                connection.close()
            self._lock.release(clean=self._lock.acknowledged == 0)
            if isinstance(error, FAILURES):
                raise translate(error, path) from error
            raise
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix=f"reader of {path.name}")
        self._followers = Followers()
        self._listeners: list[Listener] = []
        self._upkeep = Upkeep(clock, self._due, self.maintain)
        self._jobs: list[Job] = []
        # The bounds as seen by the event loop: the file may be one commit ahead.
        self.bounds: Bounds = self._writer.bounds
        self.current = self.bounds.current
        self.restored = 0
        self.purged = self._writer.purged
        # Every event after `_recent_from`.
        self._recent: list[Event] = []
        self._recent_from = self.current
        self._recent_size = 0
        self._checkpointer.start()
        self._writer.start()
        loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        """Starts the background work of the store. Runs on the event loop."""
        self._expect_upkeep()
        if self._writer.must_scrub and not self.closed:
            self._submit(Scrub(self._future(), always=False)).add_done_callback(_log_failure)

    def _connect(self, durability: Durability) -> sqlite3.Connection:
        connection = connect(self.path, durability)
        self._connections.append(connection)
        return connection

    def _check_on_open(self) -> None:
        """Raises Damaged for a file that lost revisions or is damaged; a large file is checked in the background."""
        current = self._own.bounds().current
        if self._lock.acknowledged > current:
            lock = self.path.name + ".lock"
            raise Damaged(
                self.path,
                f"it ends at revision {current}, but {self._lock.acknowledged} was acknowledged by the process that "
                f"used it last and did not close it (if you put an older copy there on purpose, remove {lock})",
            )
        log = self.path.with_name(self.path.name + "-wal")
        logged = log.stat().st_size if log.exists() else 0
        if not logged:
            check_length(self.path, self._own.connection)
        if self.path.stat().st_size + logged <= SMALL or not self._threaded:
            check(self.path, self._own.connection, sparse=self._sparse)
        else:
            self._checking = threading.Thread(target=self._check_in_background, daemon=True)
            self._checking.start()

    def _check_in_background(self) -> None:
        connection = connect(self.path)
        try:
            check(self.path, connection, lambda: not self._stop_checking.wait(0.001), sparse=self._sparse)
        except StoreError as error:
            if not self._stop_checking.is_set():
                self._damage = error
        finally:
            connection.close()

    async def checked(self) -> None:
        """Waits until the background check of a large file is complete. Raises Damaged."""
        if self._checking is not None:
            await self._loop.run_in_executor(None, self._checking.join)
        self.check_open()

    # Reading

    async def revision(self) -> int:
        return self._read(Reader.bounds).current

    async def oldest(self) -> int:
        return self._read(Reader.bounds).oldest

    async def get(self, key: str, at: int | None = None) -> Item | None:
        if at is not None:
            return self._read(lambda reader: reader.get(key, at))
        return self.peek(key)

    def peek(self, key: str) -> Item | None:
        """Returns the current item of a key as `get` does, synchronously."""
        self.check_open()
        try:
            return self._own.get(key, None)  # one statement needs no transaction
        except FAILURES as error:
            raise translate(error, self.path) from error

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        return await self._read_in_thread(lambda reader: reader.range(prefix, after, limit, at))

    async def uncounted(self, prefix: str, after: str, limit: int, at: int | None = None) -> Page:
        """Returns the page of `range`. `remaining` is 1 if there may be further items."""
        return await self._read_in_thread(lambda reader: reader.range(prefix, after, limit, at, counted=False))

    async def count(self, prefix: str, at: int | None = None) -> int:
        return await self._read_in_thread(lambda reader: reader.count(prefix, at))

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[LogEntry]:
        return await self._read_in_thread(lambda reader: reader.history(key, before, limit))

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[LogEntry]:
        return await self._read_in_thread(lambda reader: reader.log(after, limit))

    async def times(self, after: int, limit: int) -> Sequence[tuple[int, float]]:
        """Returns only the revisions and times of entries after a revision."""
        return await self._read_in_thread(lambda reader: reader.times_after(after, limit))

    def _read(self, read: Callable[[Reader], _T]) -> _T:
        """Reads a few rows synchronously: switching to a thread and back would cost several times as much."""
        self.check_open()
        return self._in_one_state(self._own, read)

    async def _read_in_thread(self, read: Callable[[Reader], _T]) -> _T:
        """Reads any number of rows, on a thread."""
        self.check_open()

        def read_rows() -> _T:
            reader = self._idle.pop()
            try:
                return self._in_one_state(reader, read)
            finally:
                self._idle.append(reader)

        return await self._call(self._readers, read_rows)

    async def _call(self, executor: ThreadPoolExecutor | None, work: Callable[[], _T]) -> _T:
        return await self._loop.run_in_executor(executor, work) if self._threaded else work()

    def _in_one_state(self, reader: Reader, read: Callable[[Reader], _T]) -> _T:
        try:
            reader.connection.execute("BEGIN")
            try:
                return read(reader)
            finally:
                reader.connection.execute("COMMIT")
        except FAILURES as error:
            raise translate(error, self.path) from error

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
        self.check_open()
        check_key(key)
        revision: int = await self._commit([Write(key, value, expect, ttl)], actor, cause, alone=True)
        return revision

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        self.check_open()
        check_writes(writes)
        if len(writes) > FORGOTTEN:
            raise ValueError(f"a transaction writes at most {FORGOTTEN} keys; this one writes {len(writes)}")
        revision: int = await self._commit(writes, actor, cause, alone=False)
        return revision

    def _commit(
        self, writes: Sequence[Write], actor: Actor, cause: Cause | None, *, alone: bool
    ) -> asyncio.Future[Any]:
        time = self._clock.now().timestamp()
        for write in writes:
            if write.ttl is not None:
                self._upkeep.expect(time + write.ttl)
        return self._submit(Commit(self._loop.create_future(), writes, actor, cause, time, alone))

    def _submit(self, job: Job) -> asyncio.Future[Any]:
        """Queues a job for the writer. The jobs of one iteration of the event loop are sent together."""
        if not self._jobs:
            self._loop.call_soon(self._send)
        self._jobs.append(job)
        return job.future

    def _future(self) -> asyncio.Future[Any]:
        self.check_open()
        return self._loop.create_future()

    def _send(self) -> None:
        jobs, self._jobs = self._jobs, []
        if jobs:
            self._writer.put(jobs)

    def _publish_from_thread(self, published: Published) -> None:
        """Passes the outcome of a transaction to the event loop. Runs on the writer's thread."""
        try:
            self._loop.call_soon_threadsafe(self._published, published)
        except RuntimeError:  # the loop has ended without closing the store; no task is left to be informed
            return

    def _published(self, published: Published) -> None:
        """Makes committed events visible to watches, then completes the commits. Runs on the event loop."""
        self.bounds = published.bounds
        self.current = published.bounds.current
        if published.restored:
            self.restored = self.current
            self._recent, self._recent_from, self._recent_size = [], self.current, 0
            for listener in self._listeners:
                listener.restored()
            self._followers.wake_all(self.current)
            self._expect_upkeep()
        if published.purged > self.purged or published.restored:
            # Watches that are further behind read from the file.
            self.purged = published.purged
            self._evict_recent(published.purged)
        events = published.events
        if events:
            self._cache_recent(events)
            for listener in self._listeners:
                listener.published(events)
            if self._followers.waiting:
                for event in events:
                    self._followers.publish(event.entry.revision, (event.entry.key,))
            if self._retention.age is not None:
                self._upkeep.expect(events[0].entry.time + self._retention.age * (1 + 1 / _SLACK))
        for future, result, error in published.outcomes:
            if future.done():  # the caller was cancelled
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    # Following

    def listen(self, listener: Listener) -> None:
        """Reports all further revisions to a listener, before commits return and before watches receive events."""
        self._listeners.append(listener)

    def unlisten(self, listener: Listener) -> None:
        """Ends the reports to a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def watch(self, prefix: str, after: int | None = None) -> Cursor:
        return Cursor(self, self._followers, prefix, after)

    def recent(self, after: int) -> Sequence[Event] | None:
        if after < max(self._recent_from, self.bounds.oldest):
            return None
        return complete_revisions(self._recent, first_after(self._recent, after), STEP)

    async def older(self, after: int) -> Sequence[Event]:
        return await self._read_in_thread(lambda reader: reader.events(after, STEP))

    def _cache_recent(self, events: list[Event]) -> None:
        self._recent += events
        self._recent_size += _size(events)
        if len(self._recent) > _RECENT_EVENTS * (1 + _EXCESS) or self._recent_size > _RECENT_SIZE * (1 + _EXCESS):
            size, cut = self._recent_size, 0
            while cut < len(self._recent) - 1 and (len(self._recent) - cut > _RECENT_EVENTS or size > _RECENT_SIZE):
                size -= _size(self._recent[cut : cut + 1])
                cut += 1
            # To the end of a revision.
            self._evict_recent(self._recent[cut - 1].entry.revision)

    def _evict_recent(self, revision: int) -> None:
        """Drops the events up to a revision from memory."""
        if revision > self._recent_from:
            self._recent = self._recent[first_after(self._recent, revision) :]
            self._recent_from = revision
            self._recent_size = _size(self._recent)

    # Purging

    @property
    def purges_single_keys(self) -> bool:
        return True

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        self.check_open()
        keys = [selection.key]
        if selection.is_prefix:
            keys = await self._submit(FindKeys(self._future(), selection.key, after, limit))
        removed = await self._submit(PurgeValues(self._future(), selection, purge, keys))
        more = selection.is_prefix and limit and len(keys) == limit
        return PurgedPage(removed, keys[-1] if more else None)

    async def scrub(self, *, always: bool = False) -> None:
        await self._submit(Scrub(self._future(), always))

    # Compaction

    async def compact(self, to: int) -> None:
        current = self._read(Reader.bounds).current
        if to > current:
            raise TooEarly(to, current)
        await self._submit(Compact(self._future(), to))

    async def maintain(self) -> None:
        now = self._clock.now().timestamp()
        await self._submit(Expire(self._future(), now))
        await self._submit(Retain(self._future(), now))

    def _due(self) -> float | None:
        """Returns the time of the next expiry or compaction by age, or None."""
        times = [self._read(Reader.next_expiry)]
        if self._retention.age is not None:
            oldest = self._read(lambda reader: reader.time_after(reader.bounds().oldest))
            times.append(None if oldest is None else oldest + self._retention.age * (1 + 1 / _SLACK))
        return min((time for time in times if time is not None), default=None)

    def _expect_upkeep(self) -> None:
        due = None if self.closed else self._due()
        if due is not None:
            self._upkeep.expect(due)

    # Snapshots

    async def snapshot(self) -> Dumped:
        def dumped(reader: Reader) -> Dumped:
            contents = reader.contents()
            return Dumped(contents.bounds.current, dump(contents))

        return await self._read_in_thread(dumped)

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        self.check_open()
        data = snapshot if isinstance(snapshot, bytes) else snapshot.dump()
        contents = await self._call(self._readers, lambda: load(data))
        revision: int = await self._submit(Restore(self._future(), contents))
        return revision

    async def close(self) -> None:
        if self.closed:
            return
        self._send()
        self.closed = True
        self._followers.wake_all(self.current)
        await self._upkeep.close()
        await self._call(None, self._close)

    def _close(self) -> None:
        self._stop_checking.set()
        self._writer.close()
        self._checkpointer.close()
        self._readers.shutdown()
        if self._checking is not None:
            self._checking.join()
        for connection in self._connections:
            connection.close()
        self._lock.release(clean=self._damage is None)

    def check_open(self) -> None:
        """Raises Closed, or the damage that the background check has found."""
        if self.closed:
            raise Closed("the store is closed")
        if self._damage is not None:
            raise self._damage


def _log_failure(future: asyncio.Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        _logger.warning("values that were purged may still be in the file: %s; trying again at the next start", error)


def _size(events: list[Event]) -> int:
    """Returns the number of bytes of the values of events, and of those that they replaced."""
    return sum([len(entry[2] or b"") + len(previous_value or b"") for entry, previous_value in events])
