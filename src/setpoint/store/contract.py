"""The store: one append-only log of revisions, with a current state, a past and followers.

All other layers read this log: GET and LIST read its current state or its state at a revision, WATCH follows it,
history and diff read its past, `why` follows its causes. Values are bytes; the store does not depend on Kubernetes'
types.

Every backend guarantees the following, and one test suite checks all backends:

* There is one revision for the whole store. A transaction that changes at least one key makes exactly one new revision,
  however many keys the transaction writes; a write without a change makes none. Revisions only grow; where other
  clients share the backend, numbers may be skipped.
* A transaction with a failed expectation leaves the store unchanged.
* A commit that has returned is durable (as far as the backend is configured to be) and visible to every later read.
* A watcher receives each revision after its start revision exactly once, in order and whole, or receives TooLate. A
  slow watcher never slows a writer or another watcher, and the memory of a watcher is bounded.
* The current state survives every compaction and every purge.
* A purged value is never returned again: a read or a watch that needs the value raises Purged. The entry stays in the
  log with its revision, time, actor and cause, and carries the tombstone.

Keys are text and ordered by code point, which is also the order of their UTF-8 bytes. A key that is empty or cannot be
written as UTF-8, and a transaction that names a key twice, are errors of the caller and raise ValueError.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from setpoint.objects.provenance import Actor, Cause


class StoreError(Exception):
    """Any failure of a store."""


class ExpectationFailed(StoreError):
    """The key was not in the state that the write expected. `actual` is its current item, so a retry need not read."""

    def __init__(self, key: str, expected: "Expect", actual: "Item | None") -> None:
        found = f"revision {actual.revision}" if actual else "nothing"
        wanted = "nothing" if expected == ABSENT else f"revision {expected}"
        super().__init__(f"{key}: expected {wanted}, found {found}")
        self.key = key
        self.expected = expected
        self.actual = actual


class NotHeld(StoreError):
    """The objects, or the revision, are not in memory."""


class TooLate(StoreError):
    """The requested revision is no longer kept. `oldest` is the first one that can still be read or watched from."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is no longer kept; the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Purged(TooLate):
    """The requested value was removed by a purge. `purge` is its tombstone; None where the backend keeps none beside
    the log. A read at `oldest`, or a watch from there, does not need the value."""

    def __init__(self, revision: int, oldest: int, key: str, purge: "Purge | None") -> None:
        super().__init__(revision, oldest)
        by = f" by {purge.user}: {purge.reason}" if purge is not None else ""
        self.args = (f"the value of {key} at revision {revision} was purged{by}",)
        self.key = key
        self.purge = purge


class TooEarly(StoreError):
    """The requested revision does not exist yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} does not exist yet; the current one is {current}")
        self.revision = revision
        self.current = current


class Unreachable(StoreError):
    """The store could not be reached in time. The call has changed nothing."""


class OutcomeUnknown(StoreError):
    """The store could not be reached in time to find out whether a write was applied."""


class Closed(StoreError):
    """The store, or the watch, has been closed."""


# The actor that deletes expired keys; such an entry has no cause.
EXPIRY = Actor(user="system:expiry")

# The state of its key that a write expects: absent, at the given revision, or any state.
Expect: TypeAlias = int | None
ABSENT: Expect = 0
ANY: Expect = None


class Item(NamedTuple):
    """A key that exists, with its value, as of some revision."""

    key: str
    value: bytes
    revision: int  # the revision that wrote this value
    created: int  # the revision that created the key, after its last deletion


class Purge(NamedTuple):
    """The tombstone of a purged value: the user that requested the purge, the time, and the reason given."""

    user: str
    time: float
    reason: str


class Selection(NamedTuple):
    """The past values that a purge removes: of one key, or of every key with a prefix. The current value of a key is
    never among them. With `since`, only values written at or after that revision; with `through`, only values written
    at or before that revision; with `before`, only values that were replaced or deleted at or before that time."""

    key: str
    is_prefix: bool = False
    since: int = 0
    through: int | None = None
    before: float | None = None


class PurgedPage(NamedTuple):
    """A part of a purge: the keys that lost values, with the number of values, and the key to continue after; None
    when the purge has visited every selected key."""

    removed: Sequence[tuple[str, int]]
    after: str | None


class LogEntry(NamedTuple):
    """One entry of the log: the change of one key in one revision, with its actor and its cause."""

    revision: int
    key: str
    value: bytes | None  # None: the key was deleted, or the value was purged
    previous: int  # the revision that this one replaced, 0 if the key was absent
    created: int  # as in Item; for a deletion, of the key that was deleted
    time: float  # seconds since the epoch, by the store's clock
    actor: Actor
    cause: Cause | None
    purged: Purge | None = None  # the tombstone of a value that was purged


class Event(NamedTuple):
    """An event for a watcher: an entry, and the value that the entry replaced. An event that lost one of its values in
    a purge is never sent to a watcher."""

    entry: LogEntry
    previous_value: bytes | None


class Write(NamedTuple):
    """One write of a transaction. A value of None deletes the key; with `ttl` the store deletes the key that much
    later.

    The expiry, in seconds, belongs to the write that set the ttl: a later write without a ttl removes the expiry, and a
    write without a change keeps the current expiry.
    """

    key: str
    value: bytes | None
    expect: Expect = ANY
    ttl: float | None = None


class Page(NamedTuple):
    """A part of a range: its items in key order, the revision of the read, and the number of items after them."""

    items: Sequence[Item]
    revision: int
    remaining: int


class Retention(NamedTuple):
    """The part of the past that is kept: entries beyond any of these bounds may be compacted. None: no such bound."""

    age: float | None = None  # seconds
    revisions: int | None = None
    size: int | None = None  # bytes


class Watch(Protocol):
    """A follower of the log: a cursor into the shared log, without a queue of its own."""

    @property
    def revision(self) -> int:
        """The revision up to which every matching event has been returned. The revision advances with the log, also
        without matching events."""

    async def next(self) -> Sequence[Event]:
        """Waits for the next events and returns them, of one or more whole revisions. Raises TooLate or Closed. Only
        one task may wait at a time; cancelling that task loses no event."""

    def close(self) -> None:
        """Ends the watch; a waiting `next` raises Closed."""


class Snapshot(Protocol):
    """The whole store at one revision, independent of later changes."""

    @property
    def revision(self) -> int: ...

    def dump(self) -> bytes:
        """Returns the snapshot as bytes, which any backend can load."""


@runtime_checkable
class SharedIdentity(Protocol):
    """A store with a place for what its servers have in common. The place is not part of the log: no read, history or
    snapshot of the store has its content."""

    async def identity(self) -> bytes | None:
        """Returns the content; None without one."""

    async def keep_identity(self, own: bytes) -> bytes:
        """Stores the content unless there is one. Returns the stored content."""


class StateReads(Protocol):
    """The reads of states, as in `Store`."""

    async def revision(self) -> int: ...

    async def get(self, key: str, at: int | None = None) -> Item | None: ...

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page: ...


class Store(Protocol):
    """The log. All times are those of the injected clock."""

    async def revision(self) -> int:
        """Returns the current revision; 0 in a store that was never written to."""

    async def oldest(self) -> int:
        """Returns the oldest revision that can still be read at or watched from."""

    async def get(self, key: str, at: int | None = None) -> Item | None:
        """Returns the key's current item, or its item at a revision. Raises TooLate or TooEarly."""

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        """Returns the keys with a prefix, in order, beginning after a key; all if the limit is 0. Raises as `get`."""

    async def count(self, prefix: str, at: int | None = None) -> int:
        """Returns the number of keys with the prefix."""

    async def commit(
        self,
        key: str,
        value: bytes | None,
        expect: Expect,
        actor: Actor,
        cause: Cause | None = None,
        ttl: float | None = None,
    ) -> int:
        """Writes or deletes one key. Returns the revision of the key's state: a new one, or the existing one if the
        write changed no key (for a key that is and stays absent, the store's current revision)."""

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        """Writes several keys in one revision, all or none. Returns that revision, or the current one if unchanged."""

    def watch(self, prefix: str, after: int | None = None) -> Watch:
        """Follows the keys with a prefix, starting after the given revision or after the current one. `next` raises
        TooLate; for a revision that does not exist yet, the watch waits."""

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[LogEntry]:
        """Returns the kept entries of a key, including those before its deletions, newest first; with `before`, only
        the entries older than that revision."""

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[LogEntry]:
        """Returns the kept entries of all keys after a revision, oldest first. The limit is extended to the end of a
        revision. Of the entries at or before `oldest`, only those that were not superseded by then are kept."""

    async def compact(self, to: int) -> None:
        """Removes the entries that were superseded at or before a revision; reads at that revision and watches from
        there are still possible. Has no effect up to a revision that is compacted already; raises TooEarly for one that
        does not exist yet."""

    @property
    def purges_single_keys(self) -> bool:
        """Returns True if a purge removes the past of the selected keys only. Otherwise a purge removes the whole past
        of the store, and that of all other users of the same cluster."""

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        """Removes past values of at most `limit` keys after a key, in steps that let other writes run in between. The
        values can no longer be read afterwards; `scrub` removes their bytes from the disk. Idempotent: an interrupted
        caller calls again."""

    async def scrub(self, *, always: bool = False) -> None:
        """Removes the bytes of purged values from the files of the store, and returns when they are removed. A store
        that is closed before that continues when it is opened again. With `always`, rewrites the files even without a
        purge: they may hold remains of values that compaction removed."""

    async def maintain(self) -> None:
        """Deletes expired keys and compacts by the retention policy now. The store also does both periodically."""

    async def snapshot(self) -> Snapshot:
        """Returns a snapshot of the whole store at the current revision."""

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        """Replaces the state and the kept past by those of the snapshot. Returns the new revision, which is greater
        than any revision returned before. Watches raise TooLate, as do reads at a revision between the snapshot's and
        the new one, which belonged to the replaced past. A backend that cannot write the past restores only the state,
        as new writes."""

    async def close(self) -> None:
        """Completes the acknowledged writes and releases all resources. Watches raise Closed."""
