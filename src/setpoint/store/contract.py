"""The store: one append-only log of revisions, with a current state, a past and followers.

Everything above reads this log: GET and LIST read its current state or its state at a revision, WATCH follows it,
history and diff read its past, `why` walks its causes. Values are bytes; the store knows nothing of Kubernetes.

What every backend promises, and one test suite checks:

* There is one revision for the whole store. A transaction that changes something makes exactly one new revision,
  however many keys it writes; a write that changes nothing makes none. Revisions only grow; where others share the
  backend, numbers may be skipped.
* A failed expectation changes nothing.
* A commit that has returned is durable (as far as the backend was told to be) and visible to every later read.
* A watcher sees each revision after the one it named exactly once, in order and whole, or is told it is too late.
  However slow it is, it never slows a writer or another watcher, and the memory it holds is bounded.
* The current state survives every compaction and every purge.
* A purged value is never handed out again: a read that would need it raises Purged, and so does a watch that would
  replay it. The entry stays in the log with its revision, time, actor and cause, and carries the tombstone.

Keys are text and ordered by code point, which is also the order of their UTF-8 bytes. A key that is empty or cannot be
written as UTF-8, and a transaction that names a key twice, are mistakes of the caller: ValueError.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from setpoint.objects.provenance import Actor, Cause


class StoreError(Exception):
    """Any failure of a store."""


class ExpectationFailed(StoreError):
    """The key was not in the state that the write expected. Carries what is there, so that a retry need not read."""

    def __init__(self, key: str, expected: "Expect", actual: "Item | None") -> None:
        found = f"revision {actual.revision}" if actual else "nothing"
        wanted = "nothing" if expected == ABSENT else f"revision {expected}"
        super().__init__(f"{key}: expected {wanted}, found {found}")
        self.key = key
        self.expected = expected
        self.actual = actual


class TooLate(StoreError):
    """The revision asked for is no longer kept. `oldest` is the first one that can still be read or watched from."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is no longer kept; the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Purged(TooLate):
    """The value asked for was removed by a purge. `purge` is its tombstone; None where the backend keeps none beside
    the log. A read at `oldest`, or a watch from it, does not need the value."""

    def __init__(self, revision: int, oldest: int, key: str, purge: "Purge | None") -> None:
        super().__init__(revision, oldest)
        by = f" by {purge.user}: {purge.reason}" if purge is not None else ""
        self.args = (f"the value of {key} at revision {revision} was purged{by}",)
        self.key = key
        self.purge = purge


class TooEarly(StoreError):
    """The revision asked for does not exist yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} does not exist yet; the current one is {current}")
        self.revision = revision
        self.current = current


class Closed(StoreError):
    """The store, or the watch, has been closed."""


# Who deletes what has expired; such an entry has no cause.
EXPIRY = Actor(user="system:expiry")

# What a write expects of its key: that it is absent, that it is at this revision, or nothing at all.
Expect: TypeAlias = int | None
ABSENT: Expect = 0
ANY: Expect = None


class Item(NamedTuple):
    """A key that is there, as of some revision."""

    key: str
    value: bytes
    revision: int  # the revision that wrote this value
    created: int  # the revision that created the key, after its last deletion


class Purge(NamedTuple):
    """The tombstone of a purged value: the user who had it removed, the time, and the reason given."""

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


class Entry(NamedTuple):
    """One line of the log: what one revision did to one key, who did it and what it came from."""

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
    """The news for a watcher: an entry, and the value it replaced. A watcher is never told an event that lost one of
    its values in a purge."""

    entry: Entry
    previous_value: bytes | None


class Write(NamedTuple):
    """One write of a transaction. A value of None deletes the key; `ttl` seconds later the store deletes it by itself.

    Expiry belongs to the write that asked for it: a later write without a ttl ends it, and a write that changes nothing
    leaves it as it was.
    """

    key: str
    value: bytes | None
    expect: Expect = ANY
    ttl: float | None = None


class Page(NamedTuple):
    """A part of a range: its items in key order, the revision they were read at, and how many come after them."""

    items: Sequence[Item]
    revision: int
    remaining: int


class Retention(NamedTuple):
    """How much of the past is kept: what lies beyond any of these bounds may be compacted. None: no such bound."""

    age: float | None = None  # seconds
    revisions: int | None = None
    size: int | None = None  # bytes


class Watch(Protocol):
    """A follower of the log: a cursor into it, not a queue of its own."""

    @property
    def revision(self) -> int:
        """Every matching event up to this revision has been handed out. It advances with the log, events or not."""

    async def next(self) -> Sequence[Event]:
        """The next events, of one or more whole revisions, as soon as there are any. Raises TooLate or Closed. One
        task waits at a time; if it is cancelled, nothing is lost."""

    def close(self) -> None:
        """Ends the watch; a waiting `next` raises Closed."""


class Snapshot(Protocol):
    """The whole store at one revision, kept apart from it."""

    @property
    def revision(self) -> int: ...

    def dump(self) -> bytes:
        """The snapshot as bytes, which any backend can load."""


class Store(Protocol):
    """The log. All times are the injected clock's."""

    async def revision(self) -> int:
        """The current revision; 0 in a store that was never written to."""

    async def oldest(self) -> int:
        """The oldest revision that can still be read at or watched from."""

    async def get(self, key: str, at: int | None = None) -> Item | None:
        """The key now, or as it was at a revision. Raises TooLate or TooEarly."""

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        """The keys with a prefix, in order, beginning after a key; all of them if the limit is 0. Raises as `get`."""

    async def count(self, prefix: str, at: int | None = None) -> int:
        """How many keys have the prefix."""

    async def commit(
        self,
        key: str,
        value: bytes | None,
        expect: Expect,
        actor: Actor,
        cause: Cause | None = None,
        ttl: float | None = None,
    ) -> int:
        """Writes one key, or deletes it. Returns the revision of the key's state: a new one, or the one it already
        had if nothing changed (for a key that is and stays absent, the store's current one)."""

    async def transact(self, writes: Sequence[Write], actor: Actor, cause: Cause | None = None) -> int:
        """Writes several keys in one revision, all or none. Returns that revision, or the current one if nothing
        changed."""

    def watch(self, prefix: str, after: int | None = None) -> Watch:
        """Follows the keys with a prefix from just after a revision, or from now on. TooLate comes from `next`; a
        revision that does not exist yet is waited for."""

    async def history(self, key: str, before: int | None = None, limit: int = 0) -> Sequence[Entry]:
        """The kept past of a key, all its lives, newest first; with `before`, only what is older than that revision."""

    async def log(self, after: int = 0, limit: int = 0) -> Sequence[Entry]:
        """The kept entries of all keys after a revision, oldest first; a limit is stretched to the end of
        the revision it falls into. Before `oldest` there is only what was not superseded by then."""

    async def compact(self, to: int) -> None:
        """Forgets what was superseded at or before a revision: reads at it and watches from it are still possible.
        What is forgotten already stays so; a revision that does not exist yet is TooEarly."""

    @property
    def purges_single_keys(self) -> bool:
        """Tells whether a purge removes the past of the selected keys alone. Otherwise it removes the whole past of the
        store, and that of everything else in the same cluster."""

    async def purge(self, selection: Selection, purge: Purge, after: str = "", limit: int = 0) -> PurgedPage:
        """Removes past values, of at most `limit` keys after a key, in steps that let others write in between. The
        values can no longer be read afterwards; `scrub` removes their bytes from the disk. Idempotent: whoever is
        interrupted asks again."""

    async def scrub(self, *, always: bool = False) -> None:
        """Removes the bytes of purged values from the files of the store, and returns when they are gone. A store that
        ends before continues when it is opened again. With `always` also where nothing was purged: the files may hold
        remains of values that compaction forgot."""

    async def maintain(self) -> None:
        """Deletes what has expired and compacts by the retention policy, now. The store also does it by itself."""

    async def snapshot(self) -> Snapshot:
        """The whole store as it is now."""

    async def restore(self, snapshot: Snapshot | bytes) -> int:
        """Makes the state and the kept past those of the snapshot, and returns the new revision, which is greater than
        any that was handed out. Watchers are told they are too late; so is who asks for a revision between the
        snapshot's and the new one, for those were of another past. A backend that cannot write the past restores
        the state alone, as new writes."""

    async def close(self) -> None:
        """Finishes what was acknowledged and releases everything. Watchers see Closed."""
