"""Reads the file: the state and the past, in one read transaction per call.

A writer never blocks a reader: SQLite's write-ahead log gives every reader the state of the last commit before the read
began. Every row is verified against its checksum.
"""

import sqlite3
from pathlib import Path

import msgspec

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.contract import Event, Item, LogEntry, Page, Purge, Purged
from setpoint.store.dump import Contents
from setpoint.store.keys import prefix_end
from setpoint.store.sqlite.delta import PURGED, decode, is_difference
from setpoint.store.sqlite.errors import Damaged
from setpoint.store.sqlite.rows import (
    ENTRY_COLUMNS,
    ITEM_COLUMNS,
    META_COLUMNS,
    EntryRow,
    ItemRow,
    MetaRow,
    entry_id,
    revision_of,
)

# The self-contained entries, by key; the condition must equal that of their index.
_BY_KEY = "FROM entry WHERE key = ? AND form < 3"
# From an entry back through the entries that it replaced, to the first self-contained one before an id.
_CHAIN = (
    "WITH RECURSIVE chain (id, previous, form) AS (SELECT id, previous, form FROM entry WHERE id = ? UNION ALL "
    "SELECT entry.id, entry.previous, entry.form FROM chain JOIN entry ON entry.id = chain.previous "
    "WHERE chain.id >= ? OR chain.form >= 3) "
    f"SELECT {', '.join('entry.' + name for name in EntryRow._fields)} FROM chain JOIN entry USING (id) WHERE id < ? "
    "ORDER BY id DESC"
)
# The form of the newest of them at a revision; NULL if there was none. 0 is a deletion.
_FORM_AT = (
    "(SELECT form FROM entry WHERE entry.key = item.id AND form < 3 AND entry.id < ? ORDER BY entry.id DESC LIMIT 1)"
)


class Reader:
    """Reads on one connection. Not thread-safe."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._execute = connection.execute
        self._actors: dict[int, Actor] = {}
        self._meta: MetaRow | None = None

    def meta(self) -> MetaRow:
        row = self._execute(f"SELECT {META_COLUMNS} FROM meta").fetchone()
        if row is None:
            raise Damaged(self.path, "its only row of meta data is missing")
        meta = MetaRow._make(row)
        if meta != self._meta:  # verified once for as long as the row stays the same
            if not meta.is_sound():
                raise Damaged(self.path, "the checksum of its meta data does not match")
            self._meta = meta
        return meta

    def bounds(self) -> Bounds:
        newest = self._execute("SELECT max(id) FROM entry").fetchone()[0]
        return self.meta().bounds(revision_of(newest or 0))

    # The state

    def item(self, key: str) -> ItemRow | None:
        """Returns the row of a key, live or deleted."""
        row = self._execute(f"SELECT {ITEM_COLUMNS} FROM item WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._sound_item(ItemRow._make(row))

    def get(self, key: str, at: int | None) -> Item | None:
        if at is not None:
            self.bounds().check(at)
        row = self.item(key)
        return None if row is None else self._item_at(row, at)

    def range(self, prefix: str, after: str, limit: int, at: int | None, *, counted: bool = True) -> Page:
        """Returns a page. Without `counted`, `remaining` is 1 if there may be further items."""
        bounds = self.bounds()
        if at is not None:
            bounds.check(at)
        where, arguments = _within(prefix, after)
        now = at is None or at >= bounds.current
        if now:
            where += " AND live"
        rows = self._execute(f"SELECT {ITEM_COLUMNS} FROM item WHERE {where} ORDER BY key", arguments)
        items: list[Item] = []
        for row in rows:
            item = self._item_at(self._sound_item(ItemRow._make(row)), None if now else at)
            if item is not None:
                items.append(item)
                if len(items) == limit:
                    break
        rows.close()
        remaining = int(bool(limit) and len(items) == limit)
        if remaining and counted:
            remaining = self._count(prefix, items[-1].key, None if now else at)
        return Page(items, bounds.current if at is None else at, remaining)

    def keys(self, prefix: str, after: str, limit: int) -> list[str]:
        """Returns the keys with a prefix after a key, including deleted keys that have entries."""
        where, arguments = _within(prefix, after)
        rows = self._execute(f"SELECT key FROM item WHERE {where} ORDER BY key LIMIT ?", (*arguments, limit or -1))
        return [key for (key,) in rows]

    def count(self, prefix: str, at: int | None) -> int:
        if at is not None:
            self.bounds().check(at)
        return self._count(prefix, "", at)

    def _count(self, prefix: str, after: str, at: int | None) -> int:
        where, arguments = _within(prefix, after)
        if at is None:
            where += " AND live"
        else:
            where += f" AND {_FORM_AT} != 0"
            arguments = (*arguments, entry_id(at + 1))
        count: int = self._execute(f"SELECT count(*) FROM item WHERE {where}", arguments).fetchone()[0]
        return count

    def _item_at(self, row: ItemRow, at: int | None) -> Item | None:
        if at is None or row.revision <= at:
            return row.item()
        chain = self._chain(self._start(row, at), entry_id(at + 1))
        if chain and chain[0].form == PURGED:
            raise Purged(at, self.meta().purged, row.key, tombstone(chain[0]))
        value = self._value(chain)
        return None if value is None else Item(row.key, value, chain[0].revision, chain[0].created)

    # The past

    def entry(self, id: int) -> EntryRow | None:  # noqa: A002 - the column's own name
        row = self._execute(f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id = ?", (id,)).fetchone()
        return None if row is None else self._sound_entry(EntryRow._make(row))

    def before(self, entry: EntryRow) -> EntryRow | None:
        """Returns the entry of the same key before this one, if kept."""
        if entry.previous:
            replaced = self.entry(entry.previous)
            if replaced is not None and replaced.key != entry.key:
                raise Damaged(self.path, f"revision {entry.revision} rests on an entry of another key")
            return replaced
        row = self._execute(
            f"SELECT {ENTRY_COLUMNS} {_BY_KEY} AND id < ? ORDER BY id DESC LIMIT 1", (entry.key, entry.id)
        ).fetchone()
        return None if row is None else self._sound_entry(EntryRow._make(row))

    def value(self, entry: EntryRow) -> bytes | None:
        """Decodes the value of an entry, starting at the whole value before."""
        return self._value(self._chain(entry.id, entry.id + 1))

    def _start(self, row: ItemRow, at: int) -> int:
        """Returns the entry of an item from which to follow the chain back to a revision: the first self-contained one
        after the revision, or the newest. The distance is at most that between two whole values."""
        later = self._execute(f"SELECT id {_BY_KEY} AND id >= ? ORDER BY id LIMIT 1", (row.id, entry_id(at + 1)))
        return (later.fetchone() or (row.entry,))[0]

    def _chain(self, start: int, end: int) -> list[EntryRow]:
        """Returns the entries of a key before the id `end`, newest first, from `start` back to a self-contained one.
        Empty if the key did not exist yet."""
        chain = [self._sound_entry(EntryRow._make(row)) for row in self._execute(_CHAIN, (start, end, end))]
        if len({link.key for link in chain}) > 1:
            raise Damaged(self.path, f"revision {chain[0].revision} rests on an entry of another key")
        if chain and is_difference(chain[-1].form):
            raise Damaged(self.path, f"an entry on which revision {chain[-1].revision} rests is missing")
        return chain

    def _value(self, chain: list[EntryRow]) -> bytes | None:
        value: bytes | None = None
        for link in reversed(chain):
            value = self._decode(link, value)
        return value

    def history(self, key: str, before: int | None, limit: int) -> list[LogEntry]:
        row = self.item(key)
        if row is None:
            return []
        oldest = self.bounds().oldest
        entry = self.entry(row.entry if before is None else self._start(row, before - 1))
        kept: list[EntryRow] = []
        while entry is not None and before is not None and entry.revision >= before:
            entry = self.before(entry)
        while entry is not None and not (limit and len(kept) == limit):
            if entry.revision > oldest or entry.form:
                kept.append(entry)
            entry = self.before(entry) if entry.revision > oldest else None
        return [event.entry for event in self._events(kept[::-1])][::-1]

    def log(self, after: int, limit: int) -> list[LogEntry]:
        bounds = self.bounds()
        rows = self._rows_after(after, limit, bounds.oldest)
        return [event.entry for event in self._events(rows)]

    def events(self, after: int, limit: int) -> list[Event]:
        """Returns about `limit` events after a revision, of whole revisions. Raises TooLate."""
        late = self.bounds().too_late(after)
        if late is not None:
            raise late
        return self._events(self._rows_after(after, limit, 0))

    def contents(self) -> Contents:
        """Returns the complete contents of the store."""
        bounds = self.bounds()
        entries = [event.entry for event in self._events(self._rows_after(0, 0, bounds.oldest))]
        deadlines = dict(self._execute("SELECT key, expires FROM item WHERE expires IS NOT NULL ORDER BY key"))
        return Contents(bounds, entries, deadlines)

    def next_expiry(self) -> float | None:
        row = self._execute("SELECT min(expires) FROM item WHERE expires IS NOT NULL").fetchone()
        return None if row is None else row[0]

    def time_after(self, revision: int) -> float | None:
        """Returns the time of the first entry after a revision."""
        row = self._execute("SELECT time FROM entry WHERE id >= ? ORDER BY id LIMIT 1", (entry_id(revision + 1),))
        found = row.fetchone()
        return None if found is None else found[0]

    def times_after(self, after: int, limit: int) -> list[tuple[int, float]]:
        """Returns the revisions and times of about `limit` entries after a revision: whole revisions, at least one."""
        query = "SELECT id, time FROM entry WHERE id >= ? ORDER BY id LIMIT ?"
        found = [(revision_of(id), time) for id, time in self._execute(query, (entry_id(after + 1), limit))]  # noqa: A001
        if len(found) == limit:
            last = found[-1][0]
            rest = self._execute(
                "SELECT time FROM entry WHERE id >= ? AND id < ?", (entry_id(last), entry_id(last + 1))
            )
            found = [*(each for each in found if each[0] < last), *((last, time) for (time,) in rest)]
        return found

    def _rows_after(self, after: int, limit: int, oldest: int) -> list[EntryRow]:
        """Returns the entries after a revision. Of those up to the oldest, only the ones that make up its state: a
        sweep may not have removed the others yet."""
        query = f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id >= ? ORDER BY id"
        rows: list[EntryRow] = []
        if after < oldest and self.meta().swept < oldest:
            rows = self._state_rows(after, oldest)
            after = oldest
        cursor = self._execute(query, (entry_id(after + 1),))
        for row in map(EntryRow._make, cursor):
            if limit and len(rows) >= limit and row.revision != rows[-1].revision:
                break
            rows.append(row)
        cursor.close()
        return rows if not limit else _cut(rows, limit)

    def _state_rows(self, after: int, oldest: int) -> list[EntryRow]:
        """Returns the entries after a revision that make up the state of the oldest one."""
        rows = self._execute(
            f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id >= ? AND id < ? ORDER BY id",
            (entry_id(after + 1), entry_id(oldest + 1)),
        )
        newest: dict[int, EntryRow] = {}
        for row in map(EntryRow._make, rows):
            newest.pop(row.key, None)
            newest[row.key] = row
        return [row for row in newest.values() if row.form]

    # From rows to entries

    def _events(self, rows: list[EntryRow]) -> list[Event]:
        """Converts rows, oldest first, to events. A value is decoded from the value before if that is already known."""
        values: dict[int, tuple[int, bytes | None]] = {}
        keys: dict[int, str] = {}
        events = []
        for row in rows:
            self._sound_entry(row)
            known, previous_value = values.get(row.key, (0, None))
            if row.previous != known:
                previous_value = self._previous_value(row)
            value = self._decode(row, previous_value)
            values[row.key] = (0, None) if value is None else (row.id, value)
            if row.key not in keys:
                keys[row.key] = self._key(row.key)
            cause = None if row.cause is None else Cause.decode(row.cause)
            who, replaced = self._actor(row.actor), revision_of(row.previous)
            purge = tombstone(row) if row.form == PURGED else None
            entry = LogEntry(row.revision, keys[row.key], value, replaced, row.created, row.time, who, cause, purge)
            events.append(Event(entry, previous_value))
        return events

    def _previous_value(self, row: EntryRow) -> bytes | None:
        """Returns the value that an entry replaced; None if compaction has removed a value that is not needed."""
        if not row.previous:
            return None
        replaced = self.before(row)
        if replaced is not None:
            return self.value(replaced)
        if is_difference(row.form) or row.revision > self.bounds().oldest:
            raise Damaged(self.path, f"revision {revision_of(row.previous)}, on which a later one rests, is missing")
        return None

    def _key(self, id: int) -> str:  # noqa: A002 - the column's own name
        row = self._execute("SELECT key FROM item WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise Damaged(self.path, f"the key {id} of an entry is missing")
        key: str = row[0]
        return key

    def _actor(self, id: int) -> Actor:  # noqa: A002 - the column's own name
        actor = self._actors.get(id)
        if actor is None:
            row = self._execute("SELECT data FROM actor WHERE id = ?", (id,)).fetchone()
            if row is None:
                raise Damaged(self.path, f"the actor {id} of an entry is missing")
            if len(self._actors) >= 1000:
                self._actors.clear()
            actor = self._actors[id] = Actor.decode(row[0])
        return actor

    def _decode(self, row: EntryRow, previous: bytes | None) -> bytes | None:
        try:
            return decode(row.form, row.value, previous)
        except ValueError as error:
            raise Damaged(self.path, f"the value of revision {row.revision} cannot be read: {error}") from None

    def _sound_entry(self, row: EntryRow) -> EntryRow:
        if not row.is_sound():
            raise Damaged(self.path, f"the checksum of an entry of revision {row.revision} does not match")
        return row

    def _sound_item(self, row: ItemRow) -> ItemRow:
        if not row.is_sound():
            raise Damaged(self.path, f"the checksum of the key {row.key!r} does not match")
        return row


def tombstone(row: EntryRow) -> Purge:
    """Decodes the tombstone that replaces a purged value. Raises DecodeError for other data."""
    return msgspec.msgpack.decode(row.value or b"", type=Purge)


def _within(prefix: str, after: str) -> tuple[str, tuple[object, ...]]:
    """Returns the SQL condition for keys with a prefix that come after a key."""
    end = prefix_end(prefix)
    where, arguments = ("key > ?", (after,)) if after >= prefix else ("key >= ?", (prefix,))
    if end is None:
        return where, arguments
    return f"{where} AND key < ?", (*arguments, end)


def _cut(rows: list[EntryRow], limit: int) -> list[EntryRow]:
    """Returns at least `limit` rows, to the end of a revision."""
    end = limit
    while 0 < end < len(rows) and rows[end].revision == rows[end - 1].revision:
        end += 1
    return rows[:end]
