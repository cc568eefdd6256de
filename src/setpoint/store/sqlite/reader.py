"""Reading the file: the state and the past, each call on a connection of its own turn.

A writer never stands in the way: SQLite's write-ahead log gives every reader the state of the last commit before it
began. Every row is checked against its checksum on the way.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.bounds import Bounds
from setpoint.store.contract import Entry, Event, Item, Page
from setpoint.store.dump import Contents
from setpoint.store.keys import prefix_end
from setpoint.store.sqlite.delta import decode, is_difference
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

# The form of the newest entry of an item at a revision; NULL if it had none. 0 is a deletion.
_FORM_AT = "(SELECT form FROM entry WHERE entry.key = item.id AND entry.id < ? ORDER BY entry.id DESC LIMIT 1)"


class Reader:
    """Reads on one connection. Not to be used by two threads at a time."""

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
        if meta != self._meta:  # checked once for as long as it stays the same
            if not meta.is_sound():
                raise Damaged(self.path, "the checksum of its meta data does not match")
            self._meta = meta
        return meta

    def bounds(self) -> Bounds:
        newest = self._execute("SELECT max(id) FROM entry").fetchone()[0]
        return self.meta().bounds(revision_of(newest or 0))

    # The state

    def item(self, key: str) -> ItemRow | None:
        """The row of a key, live or not."""
        row = self._execute(f"SELECT {ITEM_COLUMNS} FROM item WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._sound_item(ItemRow._make(row))

    def get(self, key: str, at: int | None) -> Item | None:
        if at is not None:
            self.bounds().check(at)
        row = self.item(key)
        return None if row is None else self._item_at(row, at)

    def range(self, prefix: str, after: str, limit: int, at: int | None) -> Page:
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
        remaining = self._count(prefix, items[-1].key, None if now else at) if limit and len(items) == limit else 0
        return Page(items, bounds.current if at is None else at, remaining)

    def count(self, prefix: str, at: int | None) -> int:
        if at is not None:
            self.bounds().check(at)
        return self._count(prefix, "", at)

    def _count(self, prefix: str, after: str, at: int | None) -> int:
        where, arguments = _within(prefix, after)
        if at is None:
            where += " AND live"
        else:
            where += f" AND {_FORM_AT} > 0"
            arguments = (*arguments, entry_id(at + 1))
        count: int = self._execute(f"SELECT count(*) FROM item WHERE {where}", arguments).fetchone()[0]
        return count

    def _item_at(self, row: ItemRow, at: int | None) -> Item | None:
        if at is None or row.revision <= at:
            return None if row.value is None else Item(row.key, row.value, row.revision, row.created)
        rows = self._execute(
            f"SELECT {ENTRY_COLUMNS} FROM entry WHERE key = ? AND id < ? ORDER BY id DESC", (row.id, entry_id(at + 1))
        )
        newest = next(rows, None)
        if newest is None:
            return None
        entry = self._sound_entry(EntryRow._make(newest))
        value = self._value(entry, rows)
        rows.close()
        return None if value is None else Item(row.key, value, revision_of(entry.id), entry.created)

    # The past

    def value_at(self, key: int, revision: int) -> bytes | None:
        """The value that an item (by its id) was given at exactly this revision."""
        rows = self._execute(
            f"SELECT {ENTRY_COLUMNS} FROM entry WHERE key = ? AND id < ? ORDER BY id DESC",
            (key, entry_id(revision + 1)),
        )
        newest = next(rows, None)
        if newest is None or revision_of(newest[0]) != revision:
            raise Damaged(self.path, f"revision {revision}, on which a later one rests, is missing")
        value = self._value(self._sound_entry(EntryRow._make(newest)), rows)
        rows.close()
        return value

    def _value(self, entry: EntryRow, older: Iterator[Sequence[object]]) -> bytes | None:
        """The value of an entry; `older` gives the rows before it, newest first, down to a whole value."""
        chain = [entry]
        while is_difference(chain[-1].form):
            row = next(older, None)
            if row is None:
                break
            chain.append(self._sound_entry(EntryRow._make(row)))
        value: bytes | None = None
        for link in reversed(chain):
            value = self._decode(link, value)
        return value

    def history(self, key: str, before: int | None, limit: int) -> list[Entry]:
        row = self.item(key)
        if row is None:
            return []
        oldest = self.bounds().oldest
        rows = self._execute(
            f"SELECT {ENTRY_COLUMNS} FROM entry WHERE key = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (row.id, entry_id(before) if before is not None else 2**62, limit or -1),
        )
        kept: list[EntryRow] = []
        for found in map(EntryRow._make, rows):
            kept.append(found)
            if revision_of(found.id) <= oldest:
                break
        return [event.entry for event in self._events(_state_of_oldest(kept[::-1], oldest))][::-1]

    def log(self, after: int, limit: int) -> list[Entry]:
        bounds = self.bounds()
        rows = self._rows_after(after, limit, bounds.oldest)
        return [event.entry for event in self._events(rows)]

    def events(self, after: int, limit: int) -> list[Event]:
        """About `limit` events after a revision, of whole revisions. Raises TooLate."""
        late = self.bounds().too_late(after)
        if late is not None:
            raise late
        return self._events(self._rows_after(after, limit, 0))

    def contents(self) -> Contents:
        """All there is."""
        bounds = self.bounds()
        entries = [event.entry for event in self._events(self._rows_after(0, 0, bounds.oldest))]
        deadlines = dict(self._execute("SELECT key, expires FROM item WHERE expires IS NOT NULL ORDER BY key"))
        return Contents(bounds, entries, deadlines)

    def next_expiry(self) -> float | None:
        row = self._execute("SELECT min(expires) FROM item WHERE expires IS NOT NULL").fetchone()
        return None if row is None else row[0]

    def time_after(self, revision: int) -> float | None:
        """The time of the first entry after a revision."""
        row = self._execute("SELECT time FROM entry WHERE id >= ? ORDER BY id LIMIT 1", (entry_id(revision + 1),))
        found = row.fetchone()
        return None if found is None else found[0]

    def _rows_after(self, after: int, limit: int, oldest: int) -> list[EntryRow]:
        """The entries after a revision. Of those up to the oldest, only what makes up its state: a sweep may not have
        come to the others yet."""
        query = f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id >= ? ORDER BY id"
        rows: list[EntryRow] = []
        if after < oldest and self.meta().swept < oldest:
            rows = self._state_rows(after, oldest)
            after = oldest
        cursor = self._execute(query, (entry_id(after + 1),))
        for row in map(EntryRow._make, cursor):
            if limit and len(rows) >= limit and revision_of(row.id) != revision_of(rows[-1].id):
                break
            rows.append(row)
        cursor.close()
        return rows if not limit else _cut(rows, limit)

    def _state_rows(self, after: int, oldest: int) -> list[EntryRow]:
        """The entries after a revision that make up the state of the oldest one."""
        rows = self._execute(
            f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id >= ? AND id < ? AND form > 0 AND NOT EXISTS ("
            "SELECT 1 FROM entry AS later WHERE later.key = entry.key AND later.id > entry.id AND later.id < ?"
            ") ORDER BY id",
            (entry_id(after + 1), entry_id(oldest + 1), entry_id(oldest + 1)),
        )
        return [EntryRow._make(row) for row in rows]

    # From rows to entries

    def _events(self, rows: list[EntryRow]) -> list[Event]:
        """Rows, oldest first, as events. A value is worked out from the one before it where that is at hand."""
        values: dict[int, tuple[int, bytes | None]] = {}
        keys: dict[int, str] = {}
        events = []
        for row in rows:
            self._sound_entry(row)
            revision = revision_of(row.id)
            known, previous_value = values.get(row.key, (0, None))
            if row.previous != known:
                previous_value = self._previous_value(row)
            value = self._decode(row, previous_value)
            values[row.key] = (0, None) if value is None else (revision, value)
            if row.key not in keys:
                keys[row.key] = self._key(row.key)
            cause = None if row.cause is None else Cause.decode(row.cause)
            entry = Entry(
                revision, keys[row.key], value, row.previous, row.created, row.time, self._actor(row.actor), cause
            )
            events.append(Event(entry, previous_value))
        return events

    def _previous_value(self, row: EntryRow) -> bytes | None:
        """The value that an entry replaced; None if compaction has forgotten it, which is never one that is needed."""
        if not row.previous:
            return None
        exists = self._execute(
            "SELECT 1 FROM entry WHERE key = ? AND id >= ? AND id < ?",
            (row.key, entry_id(row.previous), entry_id(row.previous + 1)),
        ).fetchone()
        if exists is None and not is_difference(row.form) and revision_of(row.id) <= self.bounds().oldest:
            return None
        return self.value_at(row.key, row.previous)

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
            raise Damaged(self.path, f"the value of revision {revision_of(row.id)} cannot be read: {error}") from None

    def _sound_entry(self, row: EntryRow) -> EntryRow:
        if not row.is_sound():
            raise Damaged(self.path, f"the checksum of an entry of revision {revision_of(row.id)} does not match")
        return row

    def _sound_item(self, row: ItemRow) -> ItemRow:
        if not row.is_sound():
            raise Damaged(self.path, f"the checksum of the key {row.key!r} does not match")
        return row


def _within(prefix: str, after: str) -> tuple[str, tuple[object, ...]]:
    """The condition for keys with a prefix that come after a key."""
    end = prefix_end(prefix)
    where, arguments = ("key > ?", (after,)) if after >= prefix else ("key >= ?", (prefix,))
    if end is None:
        return where, arguments
    return f"{where} AND key < ?", (*arguments, end)


def _cut(rows: list[EntryRow], limit: int) -> list[EntryRow]:
    """At least `limit` rows, to the end of a revision."""
    end = limit
    while 0 < end < len(rows) and revision_of(rows[end].id) == revision_of(rows[end - 1].id):
        end += 1
    return rows[:end]


def _state_of_oldest(rows: list[EntryRow], oldest: int) -> list[EntryRow]:
    """Rows of one key, oldest first, without a deletion at or before the oldest revision."""
    if rows and revision_of(rows[0].id) <= oldest and rows[0].form == 0:
        return rows[1:]
    return rows
