"""The writer: one thread that makes all changes to the file, with one sync for many commits.

While a sync runs, arriving commits wait; the next transaction takes them all. So concurrent writers share the cost of
durability, and no commit is acknowledged before it is durable. Between transactions the thread removes compacted rows,
a few at a time.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.contract import (
    Closed,
    Event,
    ExpectationFailed,
    Purge,
    Retention,
    Selection,
    StoreError,
    Write,
)
from setpoint.store.dump import Contents
from setpoint.store.sqlite.checkpoint import Checkpointer
from setpoint.store.sqlite.errors import FAILURES, translate
from setpoint.store.sqlite.journal import Journal, PurgeProgress
from setpoint.store.sqlite.layout import BUSY_TIMEOUT
from setpoint.store.sqlite.lock import Lock
from setpoint.store.sqlite.reader import Reader

# The maximum number of commits in one transaction, which bounds the wait of each.
GROUP = 1000
# The number of rows that are swept, or of keys that expire, in one transaction.
_STRIDE = 200
# The past is compacted automatically when its bounds are exceeded by this fraction.
_SLACK = 4
# The number of log entries that a purge visits in one transaction.
_VISITED = 500
# The milliseconds that the writer waits for readers of an older state before serving other jobs.
_PATIENCE = 200

_T = TypeVar("_T")


@dataclass(slots=True)
class Job:
    """A job for the writer. The writer passes `future` back to its event loop, together with the outcome."""

    future: asyncio.Future[Any]


@dataclass(slots=True)
class Commit(Job):
    writes: Sequence[Write]
    actor: Actor
    cause: Cause | None
    time: float
    alone: bool


@dataclass(slots=True)
class Expire(Job):
    now: float


@dataclass(slots=True)
class Compact(Job):
    to: int


@dataclass(slots=True)
class Retain(Job):
    now: float


@dataclass(slots=True)
class Restore(Job):
    contents: Contents


@dataclass(slots=True)
class PurgeValues(Job):
    """The purge of some keys, and its progress."""

    selection: Selection
    purge: Purge
    keys: list[str]
    place: int = 0
    walk: PurgeProgress = field(default_factory=PurgeProgress)
    removed: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class FindKeys(Job):
    prefix: str
    after: str
    limit: int


@dataclass(slots=True)
class Scrub(Job):
    """Removes the bytes of purged values; `rewritten` is True when only the write-ahead log is left to do."""

    always: bool
    rewritten: bool = False


class Outcome(NamedTuple):
    """The outcome of a job: its result, or an error."""

    future: asyncio.Future[Any]
    result: object = None
    error: Exception | None = None


@dataclass(slots=True)
class Published:
    """The effects of a transaction: its events, the bounds after the transaction, and the outcomes of its jobs."""

    events: list[Event]
    bounds: Bounds
    outcomes: list[Outcome] = field(default_factory=list)
    restored: bool = False
    purged: int = 0  # no event after this revision has lost a value in a purge


class Writer:
    """The thread, its queue, and the journal that only this thread uses. `threaded=False` runs each job inline."""

    def __init__(
        self,
        reader: Reader,
        lock: Lock | None,
        checkpointer: Checkpointer,
        retention: Retention,
        publish: Callable[[Published], None],
        *,
        threaded: bool = True,
    ) -> None:
        self._path = reader.path
        self._connection = reader.connection
        self._journal = Journal(reader)
        self._lock = lock  # None: no commit is promised to survive a power failure
        self._checkpointer = checkpointer
        self._retention = retention
        self._publish = publish
        self._jobs: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        # The futures that wait for a sweep to reach a revision.
        self._sweeping: list[tuple[int, asyncio.Future[Any]]] = []
        self._closing = False
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name=f"writer of {self._path.name}", daemon=True)

    @property
    def bounds(self) -> Bounds:
        return self._journal.bounds

    @property
    def purged(self) -> int:
        return self._journal.purged

    @property
    def must_scrub(self) -> bool:
        """Returns True if a purge was interrupted before its bytes were removed."""
        return bool(self._journal.scrub)

    def start(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def put(self, jobs: list[Job]) -> None:
        """Queues jobs for the thread; without a thread, runs them before returning."""
        self._jobs.put(jobs)
        if self._thread is None:
            self._run(wait=False)

    def close(self) -> None:
        """Completes the queued jobs, and ends the thread."""
        self._jobs.put(None)
        if self._thread is None:
            self._run(wait=False)
        else:
            self._thread.join()

    # The thread

    def _run(self, *, wait: bool = True) -> None:
        """Runs jobs until the writer is closed; without `wait`, until no work is left."""
        while True:
            idle = self._journal.swept >= self._journal.bounds.oldest
            jobs = self._next_jobs(wait=wait and idle and not self._closing)
            if not jobs and self._closing:
                self._resolve_sweeps(Closed("the store was closed before all of it was forgotten"))
                return
            if not jobs and idle:
                return
            self._execute(jobs)
            try:
                self._retain_by_itself()
                if self._journal.swept < self._journal.bounds.oldest:
                    self._in_transaction(lambda: self._journal.sweep(_STRIDE))
                self._resolve_sweeps()
            except Exception as error:
                # Compacted rows that are not yet swept do no harm: a later sweep removes them.
                self._resolve_sweeps(error)
                if not jobs and not self._closing:
                    if not wait:
                        return
                    self._execute(self._next_jobs(wait=True))
            self._checkpointer.finish_if_requested(self._connection)

    def _next_jobs(self, *, wait: bool) -> list[Job]:
        """Returns all waiting jobs, up to the size of a group."""
        taken: list[Job] = []
        while len(taken) < GROUP:
            try:
                jobs = self._jobs.get(block=wait and not taken)
            except queue.Empty:
                break
            if jobs is None:
                self._closing = True
                break
            taken += jobs
        return taken

    def _execute(self, jobs: list[Job]) -> None:
        """Runs the jobs: consecutive commits share a transaction; every other job has its own."""
        commits: list[Commit] = []
        for job in jobs:
            if isinstance(job, Commit):
                commits.append(job)
                continue
            self._commit(commits)
            commits = []
            try:
                self._execute_one(job)
            except Exception as error:
                self._fail([job], error)
        self._commit(commits)

    def _execute_one(self, job: Job) -> None:
        match job:
            case Expire(future, now):
                if self._expire(now):
                    self._jobs.put([job])  # the rest after the waiting jobs
                else:
                    self._publish(Published([], self._journal.bounds, [Outcome(future)]))
            case Compact(future, to):
                self._compact(to)
                self._sweeping.append((to, future))
            case Retain(future, now):
                if self._retain(now):
                    self._jobs.put([job])
                else:
                    self._sweeping.append((self._journal.bounds.oldest, future))
            case Restore(future, contents):
                self._in_transaction(lambda: self._journal.restore(contents))
                bounds = self._journal.bounds
                self._acknowledge(bounds.current)
                purged = self._journal.purged
                self._publish(Published([], bounds, [Outcome(future, bounds.current)], restored=True, purged=purged))
            case FindKeys(future, prefix, after, limit):
                keys = self._in_transaction(lambda: self._journal.keys_after(prefix, after, limit))
                self._publish(Published([], self._journal.bounds, [Outcome(future, keys)]))
            case PurgeValues():
                self._purge(job)
            case Scrub():
                self._scrub(job)

    def _commit(self, commits: list[Commit]) -> None:
        """Runs one transaction for all commits: each applies all its writes or none, and all are durable or none."""
        if not commits:
            return
        journal = self._journal
        events: list[Event] = []
        outcomes: list[Outcome] = []

        def each() -> None:
            for commit in commits:
                try:
                    revision, happened = journal.transact(
                        commit.writes, commit.actor, commit.cause, commit.time, alone=commit.alone
                    )
                except ExpectationFailed as error:
                    outcomes.append(Outcome(commit.future, error=error))
                else:
                    events.extend(happened)
                    outcomes.append(Outcome(commit.future, revision))

        try:
            self._in_transaction(each)
        except Exception as error:
            if isinstance(error, StoreError) or len(commits) == 1:
                self._fail(commits, error)
                return
            # One of the commits is at fault, not the file: the others are retried one by one.
            for commit in commits:
                self._commit([commit])
            return
        if events:
            self._acknowledge(journal.bounds.current)
        self._publish(Published(events, journal.bounds, outcomes))

    def _in_transaction(self, change: Callable[[], _T]) -> _T:
        """Runs a change in a durable transaction, or rolls back."""
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            result = change()
            self._journal.flush()
            execute("COMMIT")
        except BaseException as error:
            try:
                if self._connection.in_transaction:
                    execute("ROLLBACK")
                self._journal.refresh()
            except FAILURES as later:
                raise translate(later, self._path) from error
            if isinstance(error, FAILURES):
                raise translate(error, self._path) from error
            raise
        return result

    def _acknowledge(self, revision: int) -> None:
        if self._lock is not None:
            self._lock.acknowledge(revision)
        self._checkpointer.notice()

    # Purging

    def _purge(self, job: PurgeValues) -> None:
        """Runs one step of a purge; waiting jobs run before the next step."""
        journal, left = self._journal, _VISITED

        def some() -> None:
            nonlocal left
            while job.place < len(job.keys) and left > 0:
                before = job.walk.visited
                more = journal.purge(job.keys[job.place], job.selection, job.purge, job.walk, left)
                left -= max(1, job.walk.visited - before)
                if more:
                    break
                if job.walk.removed:
                    job.removed.append((job.keys[job.place], job.walk.removed))
                job.place, job.walk = job.place + 1, PurgeProgress()

        self._in_transaction(some)
        if job.place < len(job.keys):
            self._publish(Published([], journal.bounds, purged=journal.purged))
            self._jobs.put([job])
        else:
            outcome = Outcome(job.future, job.removed)
            self._publish(Published([], journal.bounds, [outcome], purged=journal.purged))

    def _scrub(self, job: Scrub) -> None:
        """Rewrites the file, which leaves no remains in its free space, and then truncates the write-ahead log, once no
        reader uses an older state. Completion is recorded only after that: a killed process repeats the scrub when the
        file is opened."""
        execute = self._connection.execute
        if self._journal.scrub or job.always:
            try:
                if not job.rewritten:
                    execute("VACUUM")
                    job.rewritten = True
                execute(f"PRAGMA busy_timeout = {_PATIENCE}")
                try:
                    busy = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                finally:
                    execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000}")
            except FAILURES as error:
                raise translate(error, self._path) from error
            if busy:
                self._jobs.put([job])
                return
            self._in_transaction(self._journal.scrubbed)
        self._publish(Published([], self._journal.bounds, [Outcome(job.future)]))

    # Expiry and retention

    def _expire(self, now: float) -> bool:
        events, more = self._in_transaction(lambda: self._journal.expire(now, _STRIDE))
        if events:
            self._acknowledge(self._journal.bounds.current)
            self._publish(Published(events, self._journal.bounds))
        return more

    def _compact(self, to: int) -> None:
        if to > self._journal.bounds.oldest:
            self._in_transaction(lambda: self._journal.compact(to))
            self._publish(Published([], self._journal.bounds))

    def _retain(self, now: float) -> bool:
        """Compacts to the retention policy; returns True if there is more to do. Compaction by size takes one step at a
        time, because the size is known only after the rows are removed."""
        age, revisions, size = self._retention
        journal = self._journal
        self._compact(journal.first_beyond(age, revisions, now))
        if size is None or (oldest := journal.bounds.oldest) == journal.bounds.current or not journal.exceeds(size):
            return False
        if journal.swept >= oldest:
            # Never much more than needed: entries are about as long as the mean one.
            excess = (journal.size - size) * (journal.bounds.current - oldest) // (2 * journal.size)
            self._compact(journal.step_beyond(min(max(1, excess), _STRIDE)))
        return True

    def _retain_by_itself(self) -> None:
        _, revisions, size = self._retention
        oldest, current, _ = self._journal.bounds
        if revisions is not None and current - oldest > revisions + revisions // _SLACK:
            self._compact(current - revisions)
        if size is not None and self._journal.swept >= oldest and self._journal.exceeds(size + size // _SLACK):
            self._compact(self._journal.step_beyond(_STRIDE))

    def _resolve_sweeps(self, error: Exception | None = None) -> None:
        swept = self._journal.swept
        waiting, self._sweeping = self._sweeping, []
        outcomes = [Outcome(future, error=error) for to, future in waiting if error is not None or to <= swept]
        if error is None:
            self._sweeping = [(to, future) for to, future in waiting if to > swept]
        if outcomes:
            self._publish(Published([], self._journal.bounds, outcomes))

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Completes the jobs with an error."""
        known = error if isinstance(error, StoreError) else StoreError(f"{self._path}: the write failed: {error!r}")
        self._publish(Published([], self._journal.bounds, [Outcome(job.future, error=known) for job in jobs]))
