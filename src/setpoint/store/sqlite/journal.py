"""Writes the rows of the file for a commit, an expiry, a compaction and a restore.

All methods run inside a transaction that the writer begins and ends. The commits of one transaction work on the rows in
memory; `flush` writes them at its end, and a key that was written ten times is written once. There is no other writer,
so rows may be cached from one transaction to the next; after a rollback, `refresh` clears them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.contract import EXPIRY, Event, ExpectationFailed, LogEntry, Purge, Selection, Write
from setpoint.store.dump import Contents
from setpoint.store.purge_rules import is_selected
from setpoint.store.sqlite.delta import DELETED, PURGED, encode_difference, encode_full, is_difference
from setpoint.store.sqlite.errors import Damaged
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.rows import (
    ENTRY_COLUMNS,
    FORGOTTEN,
    ITEM_COLUMNS,
    EntryRow,
    ItemRow,
    MetaRow,
    entry_checksum,
    entry_id,
    item_checksum,
    revision_of,
)

# A value is stored whole at least this often, which bounds the steps of reading an old value.
KEYFRAME = 16
# The approximate bytes of a row of the log beside its value and cause.
_OVERHEAD = 90
_SIZES = f"count(*) * {_OVERHEAD} + coalesce(sum(length(value)), 0) + coalesce(sum(length(cause)), 0)"

_INSERT_ENTRY = f"INSERT INTO entry ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_ITEM = f"INSERT INTO item ({ITEM_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# SQLite does not update the indexes of a column that is not named; most changes need only these columns.
_UPDATE_VALUE = "UPDATE item SET entry = ?, depth = ?, value = ?, checksum = ? WHERE id = ?"
_UPDATE_ITEM = (
    "UPDATE item SET entry = ?, created = ?, expires = ?, depth = ?, live = ?, value = ?, checksum = ? WHERE id = ?"
)
_UPDATE_META = "UPDATE meta SET oldest = ?, swept = ?, restored = ?, gaps = ?, purged = ?, scrub = ?, checksum = ?"

# The bytes of values that are cached, so that writing a key again does not read the key.
_REMEMBERED = 16 * 1024 * 1024

_new = tuple.__new__  # makes a named tuple in half the time


class Value(NamedTuple):
    """A value in its stored form: its form, its bytes, and the number of differences before the value."""

    form: int
    data: bytes | None
    depth: int


def encode(value: bytes | None, old: bytes | None, depth: int) -> Value:
    """Encodes a value that follows another one of the given depth."""
    if value is not None and old is not None and depth + 1 < KEYFRAME:
        difference = encode_difference(old, value)
        if difference is not None:
            return Value(*difference, depth + 1)
    return Value(*encode_full(value), 0)


@dataclass(slots=True)
class PurgeProgress:
    """The progress of the purge of one key: the last entry visited, and the numbers of entries visited and purged."""

    later: int = 0
    visited: int = 0
    removed: int = 0


class Journal:
    """The rows of one store, on the writer's connection."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._execute = reader.connection.execute
        self.refresh()

    def refresh(self) -> None:
        """Reads the state from the file again, and clears the caches of a transaction that was rolled back."""
        self.bounds: Bounds = self._reader.bounds()
        _, self.swept, self._restored, _, self.purged, self.scrub, _ = self._reader.meta()
        self._actors: dict[Actor, int] = {}
        self._size: int | None = None
        # Rows as this transaction leaves them, without their checksums, and the bytes of their values.
        self._items: dict[str, ItemRow] = {}
        self._cached_bytes = 0
        # The pending writes of `flush`: new rows of the log, and keys with their row in the file (None: no row).
        self._entries: list[tuple[object, ...]] = []
        self._changed: dict[str, ItemRow | None] = {}
        self._next_item: int = self._execute("SELECT coalesce(max(id), 0) + 1 FROM item").fetchone()[0]

    @property
    def size(self) -> int:
        """The approximate bytes of the log. Counted on the first access, and updated from then on."""
        if self._size is None:
            self._size = self._execute(f"SELECT {_SIZES} FROM entry").fetchone()[0]
        return self._size

    def exceeds(self, size: int) -> bool:
        """Returns True if the log is longer than `size`. A file that is smaller needs no counting."""
        if self._size is None:
            pages, page_size = (self._execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            if pages * page_size <= size:
                return False
        return self.size > size

    # Committing

    def transact(
        self, writes: Sequence[Write], actor: Actor, cause: Cause | None, time: float, *, alone: bool = False
    ) -> tuple[int, list[Event]]:
        """Applies all writes in one new revision. Returns that revision, or the current one without a change, and the
        events. For a single write without a change, returns the revision of its key instead."""
        changes: list[tuple[Write, ItemRow | None]] = []
        row = None
        for write in writes:
            row = self._item(write.key)
            if write.expect is not None and write.expect != (row.revision if row is not None and row.live else 0):
                raise ExpectationFailed(write.key, write.expect, None if row is None else row.item())
            if write.value != (None if row is None else row.value):
                changes.append((write, row))
        if not changes:
            return row.revision if alone and row is not None and row.live else self.bounds.current, []
        revision = self.bounds.current + 1
        actor_id = self._actor(actor)
        cause_bytes = None if cause is None else cause.encode()
        events = []
        for place, (write, row) in enumerate(changes):
            events.append(self._write(entry_id(revision, place), write, row, time, actor, actor_id, cause, cause_bytes))
        self.bounds = Bounds(self.bounds.oldest, revision, self.bounds.gaps)
        return revision, events

    def _write(
        self,
        id: int,  # noqa: A002 - the column's own name
        write: Write,
        row: ItemRow | None,
        time: float,
        actor: Actor,
        actor_id: int,
        cause: Cause | None,
        cause_bytes: bytes | None,
    ) -> Event:
        revision, key, value = revision_of(id), write.key, write.value
        expires = None if write.ttl is None or value is None else time + write.ttl
        if row is not None and row.live:
            previous, created, old, depth = row.entry, row.created, row.value, row.depth
        else:
            previous, created, old, depth = 0, revision, None, 0
        kept = encode(value, old, depth)
        if row is None:
            item = self._next_item
            self._next_item += 1
        else:
            item = row.id
        self._changed.setdefault(key, row)
        self._cached_bytes += len(value or b"") - len(old or b"")
        self._items[key] = _new(ItemRow, (item, key, id, created, expires, kept.depth, value is not None, value, 0))
        self._add_entry(id, item, previous, created, time, actor_id, cause_bytes, kept)
        entry = _new(LogEntry, (revision, key, value, revision_of(previous), created, time, actor, cause, None))
        return _new(Event, (entry, old))

    def _item(self, key: str) -> ItemRow | None:
        row = self._items.get(key)
        if row is None:
            row = self._reader.item(key)
            if row is not None and row.live:  # a sweep may remove the row of a deleted key
                self._items[key] = row
                self._cached_bytes += len(row.value or b"")
        return row

    def _add_entry(
        self,
        id: int,  # noqa: A002 - the column's own name
        item: int,
        previous: int,
        created: int,
        time: float,
        actor_id: int,
        cause_bytes: bytes | None,
        kept: Value,
    ) -> None:
        form, data, _ = kept
        checksum = entry_checksum(id, item, previous, created, time, actor_id, cause_bytes, form, data)
        self._entries.append((id, item, previous, created, time, actor_id, cause_bytes, form, data, checksum))
        if self._size is not None:
            self._size += _OVERHEAD + len(data or b"") + len(cause_bytes or b"")

    def flush(self) -> None:
        """Writes the pending changes of the transaction."""
        many = self._reader.connection.executemany
        if self._entries:
            many(_INSERT_ENTRY, self._entries)
            self._entries = []
        new, values, whole = [], [], []
        for key, before in self._changed.items():
            id, _, entry, created, expires, depth, live, value, _ = self._items[key]  # noqa: A001 - the column's name
            checksum = item_checksum(key, entry, created, expires, depth, value)
            if before is None:
                new.append((id, key, entry, created, expires, depth, live, value, checksum))
            elif (before.created, before.expires, bool(before.live)) == (created, expires, live):
                values.append((entry, depth, value, checksum, id))
            else:
                whole.append((entry, created, expires, depth, live, value, checksum, id))
            if not live:
                del self._items[key]
        for statement, rows in ((_INSERT_ITEM, new), (_UPDATE_VALUE, values), (_UPDATE_ITEM, whole)):
            if rows and many(statement, rows).rowcount != len(rows):
                raise Damaged(self._reader.path, "the row of a key that was there is missing")
        self._changed = {}
        while self._cached_bytes > _REMEMBERED:
            oldest = next(iter(self._items))
            self._cached_bytes -= len(self._items.pop(oldest).value or b"")

    def expire(self, now: float, limit: int) -> tuple[list[Event], bool]:
        """Deletes expired keys, each in its own revision; returns the events, and True if there may be more."""
        keys = self._execute(
            "SELECT key FROM item WHERE expires <= ? ORDER BY expires, key LIMIT ?", (now, limit)
        ).fetchall()
        events: list[Event] = []
        for (key,) in keys:
            events += self.transact([Write(key, None)], EXPIRY, None, now)[1]
        return events, len(keys) == limit

    def _actor(self, actor: Actor) -> int:
        """Returns the id of an actor's row, and inserts the row if missing."""
        known = self._actors.get(actor)
        if known is None:
            data = actor.encode()
            self._execute("INSERT OR IGNORE INTO actor (data) VALUES (?)", (data,))
            if len(self._actors) >= 1000:
                self._actors.clear()
            known = self._actors[actor] = self._execute("SELECT id FROM actor WHERE data = ?", (data,)).fetchone()[0]
        return known

    # Compaction

    def compact(self, to: int) -> None:
        """Ends reads before a revision; `sweep` removes the rows."""
        self.bounds = self.bounds.compacted(to)
        self._write_meta()

    def first_beyond(self, age: float | None, revisions: int | None, now: float) -> int:
        """Returns the revision to compact to by age and count."""
        oldest, current, _ = self.bounds
        to = oldest if revisions is None else max(oldest, current - revisions)
        if age is not None:
            rows = self._execute("SELECT id, time FROM entry WHERE id >= ? ORDER BY id", (entry_id(to + 1),))
            for id, time in rows:  # noqa: A001 - the column's own name
                if time > now - age:
                    break
                to = revision_of(id)
            rows.close()
        return to

    def step_beyond(self, entries: int) -> int:
        """Returns the revision that is `entries` entries after the oldest, for compacting by size."""
        row = self._execute(
            "SELECT id FROM entry WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?",
            (entry_id(self.bounds.oldest + 1), entries - 1),
        ).fetchone()
        return self.bounds.current if row is None else revision_of(row[0])

    def sweep(self, limit: int) -> None:
        """Removes about `limit` compacted rows."""
        oldest = self.bounds.oldest
        rows = self._execute(
            "SELECT id, key FROM entry WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            (entry_id(self.swept + 1), entry_id(oldest + 1), limit),
        ).fetchall()
        reached = oldest
        if len(rows) == limit:
            reached = revision_of(rows[-1][0])
            rows += self._execute(
                "SELECT id, key FROM entry WHERE id > ? AND id < ?", (rows[-1][0], entry_id(reached + 1))
            ).fetchall()
        for key, newest in {key: id for id, key in rows}.items():  # noqa: A001 - the column's own name
            self._sweep_key(key, newest)
        self.swept = reached
        self._write_meta()

    def _sweep_key(self, key: int, newest: int) -> None:
        """Removes all entries of a key before one, and that one too if it is a deletion."""
        entry = self._reader.entry(newest)
        if entry is None:
            raise Damaged(self._reader.path, f"an entry of revision {revision_of(newest)} is missing")
        gone = [entry] if entry.form == DELETED else []
        before = self._reader.before(entry)
        while before is not None:
            gone.append(before)
            before = self._reader.before(before)
        if is_difference(entry.form):
            self._store_full(entry)
        self._reader.connection.executemany("DELETE FROM entry WHERE id = ?", [(row.id,) for row in gone])
        if self._size is not None:
            self._size -= sum(_OVERHEAD + len(row.value or b"") + len(row.cause or b"") for row in gone)
        if entry.form == DELETED:
            self._execute("DELETE FROM item WHERE id = ? AND entry = ?", (key, newest))

    def _store_full(self, entry: EntryRow) -> None:
        """Stores a difference as a whole value, before the values that the difference needs are removed."""
        id, key, previous, created, time, who, why, *_ = entry  # noqa: A001 - the column's own name
        form, data = encode_full(self._reader.value(entry))
        checksum = entry_checksum(id, key, previous, created, time, who, why, form, data)
        self._execute("UPDATE entry SET form = ?, value = ?, checksum = ? WHERE id = ?", (form, data, checksum, id))
        if self._size is not None:
            self._size += len(data or b"") - len(entry.value or b"")

    # Purging

    def keys_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """Returns at most `limit` keys with a prefix after a key, including deleted keys that have entries."""
        return self._reader.keys(prefix, after, limit)

    def purge(self, key: str, selection: Selection, purge: Purge, walk: PurgeProgress, limit: int) -> bool:
        """Visits about `limit` entries of a key, from the newest to the oldest, and removes the selected values.

        The entry after a removed value is stored whole first, so that every remaining value can be read at any moment,
        and an interrupted purge can be repeated. Returns True if there are more entries.
        """
        item = self._reader.item(key)
        if item is None:
            return False
        later = self._reader.entry(walk.later) if walk.later else None
        entry = self._reader.entry(item.entry) if later is None else self._reader.before(later)
        removed = 0
        for _ in range(limit):
            if entry is None:
                break
            walk.visited += 1
            # The newest entry is the current value, or a deletion, which has no value.
            has_value = later is not None and entry.form not in (DELETED, PURGED)
            if later is not None and has_value and is_selected(selection, entry.revision, later.time):
                self._remove_value(entry, later, purge)
                removed += 1
                self.purged = max(self.purged, later.revision)
            later, entry = entry, self._reader.before(entry)
        if removed:
            walk.removed += removed
            self.scrub = 1
            self._write_meta()
        walk.later = later.id if later is not None else 0
        return entry is not None

    def _remove_value(self, entry: EntryRow, later: EntryRow, purge: Purge) -> None:
        later = self._reader.entry(later.id) or later  # the entry may have changed since the read
        if is_difference(later.form):
            self._store_full(later)
        data = msgspec.msgpack.encode(purge)
        id, key, previous, created, time, who, why, *_ = entry  # noqa: A001 - the column's own name
        checksum = entry_checksum(id, key, previous, created, time, who, why, PURGED, data)
        self._execute("UPDATE entry SET form = ?, value = ?, checksum = ? WHERE id = ?", (PURGED, data, checksum, id))
        if self._size is not None:
            self._size += len(data) - len(entry.value or b"")

    def scrubbed(self) -> None:
        """Records that no bytes of purged values are left."""
        self.scrub = 0
        self._write_meta()

    # Snapshots

    def restore(self, contents: Contents) -> None:
        """Replaces all rows by the contents of the snapshot, under a new revision."""
        for table in ("entry", "item", "actor"):
            self._execute(f"DELETE FROM {table}")
        self._actors.clear()
        self._items.clear()
        self._cached_bytes = 0
        self._size = None
        self.purged = 0
        self.fill(contents.entries, contents.deadlines)
        self.begin_at(self.bounds.restored(contents.bounds))

    def fill(self, entries: Iterable[LogEntry], deadlines: Mapping[str, float]) -> None:
        """Inserts the rows of entries, in the order of the log, into an empty store. Only the newest entry of each key
        is held in memory: all entries may not fit."""
        items: dict[str, int] = {}
        newest: dict[str, tuple[LogEntry, int, int]] = {}  # with its depth and its id
        place = last = 0
        for entry in entries:
            place = place + 1 if entry.revision == last else 0
            last = entry.revision
            id = entry_id(entry.revision, place)  # noqa: A001 - the column's own name
            item = items.setdefault(entry.key, len(items) + 1)
            before, depth, previous = newest.get(entry.key, (None, 0, 0))
            if before is None or before.revision != entry.previous:
                # The entry created the key, or the replaced entry is not kept: the value is stored whole.
                before, previous = None, entry_id(entry.previous, FORGOTTEN) if entry.previous else 0
            kept = encode(entry.value, before.value if before else None, depth)
            if entry.purged is not None:
                kept = Value(PURGED, msgspec.msgpack.encode(entry.purged), 0)
            if entry.purged is not None or (before is not None and before.purged is not None):
                self.purged = entry.revision
            why = None if entry.cause is None else entry.cause.encode()
            who = self._actor(entry.actor)
            self._add_entry(id, item, previous, entry.created, entry.time, who, why, kept)
            newest[entry.key] = entry, kept.depth, id
            if len(self._entries) >= 1000:
                self.flush()
        self.flush()
        for key, (entry, depth, id) in newest.items():  # noqa: A001 - the column's own name
            expires = deadlines.get(key)
            checksum = item_checksum(key, id, entry.created, expires, depth, entry.value)
            live = entry.value is not None
            row = (items[key], key, id, entry.created, expires, depth, live, entry.value, checksum)
            self._execute(_INSERT_ITEM, row)
        self._next_item = len(items) + 1

    def begin_at(self, bounds: Bounds) -> None:
        """Sets the readable bounds after `fill`; later revisions begin after the newest one."""
        self.bounds = bounds
        self.swept = bounds.oldest
        self._restored = bounds.current
        self._write_meta()

    def _write_meta(self) -> None:
        meta = MetaRow.of(self.bounds, self.swept, self._restored, self.purged, self.scrub)
        self._execute(_UPDATE_META, meta)
