"""Rows of a store file: damage that a read finds by itself, and the cost of a read in statements and rows."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Purge, Selection, Write
from setpoint.store.sqlite import Damaged, SqliteStore
from setpoint.store.sqlite.delta import is_difference
from setpoint.store.sqlite.journal import Journal, PurgeProgress
from setpoint.store.sqlite.layout import connect, prepare
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.rows import ENTRY_COLUMNS, EntryRow, entry_checksum, entry_id

ACTOR = Actor("alice")
LONG = b"x" * 200
PURGE = Purge("root", 1000.0, "leaked")


class Rows:
    """A store file without a store: the rows, the reader and the journal."""

    def __init__(self, path: Path) -> None:
        prepare(path, "off")
        self.connection = connect(path, "off")
        self.reader = Reader(path, self.connection)
        self.journal = Journal(self.reader)

    def write(self, key: str, value: bytes | None, actor: Actor = ACTOR) -> int:
        revision, _ = self.journal.transact([Write(key, value)], actor, None, 0.0)
        self.journal.flush()
        return revision

    def change(self, revision: int, **columns: Any) -> None:
        """Changes columns of an entry, with a checksum that matches."""
        (row,) = self.connection.execute(f"SELECT {ENTRY_COLUMNS} FROM entry WHERE id = ?", (entry_id(revision),))
        changed = EntryRow._make(row)._replace(**columns)
        changed = changed._replace(checksum=entry_checksum(*changed[:-1]))
        names = ", ".join(f"{name} = ?" for name in EntryRow._fields)
        self.connection.execute(f"UPDATE entry SET {names} WHERE id = ?", (*changed, row[0]))


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Rows]:
    made = Rows(tmp_path / "store.db")
    yield made
    made.connection.close()


def test_an_entry_with_a_wrong_checksum_is_reported_by_every_read(rows: Rows) -> None:
    for number in range(3):
        rows.write("a", LONG + b"%d" % number)
    rows.connection.execute("UPDATE entry SET time = 5 WHERE id = ?", (entry_id(2),))
    damaged = "checksum of an entry of revision 2"
    for read in (
        lambda: rows.reader.log(0, 0),
        lambda: rows.reader.log(1, 1),
        lambda: rows.reader.events(0, 10),
        lambda: rows.reader.history("a", None, 0),
        lambda: rows.reader.get("a", 2),
        lambda: rows.reader.contents(),
        lambda: rows.reader.entry(entry_id(2)),
    ):
        with pytest.raises(Damaged, match=damaged):
            read()
    assert rows.reader.get("a", None) is not None


def test_the_checksum_of_a_deletion_is_verified_as_well(rows: Rows) -> None:
    rows.write("a", b"1")
    rows.write("a", None)
    rows.connection.execute("UPDATE entry SET time = 5 WHERE id = ?", (entry_id(2),))
    with pytest.raises(Damaged, match="checksum of an entry of revision 2"):
        rows.reader.log(0, 0)


def test_a_key_with_a_wrong_checksum_is_reported_by_every_read(rows: Rows) -> None:
    rows.write("a", b"1")
    rows.connection.execute("UPDATE item SET value = x'32'")
    for read in (lambda: rows.reader.get("a", None), lambda: rows.reader.range("", "", 0, None)):
        with pytest.raises(Damaged, match="checksum of the key 'a'"):
            read()


@pytest.mark.parametrize("change", ["oldest = 1", "swept = 1", "restored = 1", "gaps = '[[1,2]]'", "purged = 1"])
def test_meta_data_with_a_wrong_checksum_is_reported(rows: Rows, change: str) -> None:
    rows.reader.meta()  # verified once, which must not hide a later change
    rows.connection.execute(f"UPDATE meta SET {change}")
    with pytest.raises(Damaged, match="checksum of its meta data"):
        rows.reader.meta()


def test_an_entry_that_rests_on_another_key_is_reported(rows: Rows) -> None:
    rows.write("a", LONG + b"1")
    rows.write("b", LONG + b"2")
    rows.write("b", LONG + b"3")
    rows.change(3, previous=entry_id(1))
    reads: list[Callable[[], object]] = [
        lambda: rows.reader.history("b", None, 0),
        lambda: rows.reader.log(2, 0),
        lambda: rows.reader.value(entry(rows, 3)),
    ]
    for read in reads:
        with pytest.raises(Damaged, match="revision 3 rests on an entry of another key"):
            read()


def test_a_difference_without_the_value_before_is_reported(rows: Rows) -> None:
    for number in range(3):
        rows.write("a", LONG + b"%d" % number)
    assert is_difference(entry(rows, 3).form)
    rows.connection.execute("DELETE FROM entry WHERE id = ?", (entry_id(1),))
    with pytest.raises(Damaged, match="an entry on which revision 2 rests is missing"):
        rows.reader.get("a", 2)
    rows.connection.execute("DELETE FROM entry WHERE id = ?", (entry_id(2),))
    with pytest.raises(Damaged, match="revision 2, on which a later one rests, is missing"):
        rows.reader.log(2, 0)


def test_an_entry_without_its_key_or_its_actor_is_reported(rows: Rows) -> None:
    rows.write("a", b"1")
    rows.connection.execute("DELETE FROM item")
    with pytest.raises(Damaged, match="the key 1 of an entry is missing"):
        rows.reader.log(0, 0)
    rows.write("b", b"1")
    rows.connection.execute("DELETE FROM actor")
    with pytest.raises(Damaged, match="the actor 1 of an entry is missing"):
        rows.reader.log(1, 0)


def test_a_value_that_cannot_be_decoded_is_reported(rows: Rows) -> None:
    rows.write("a", LONG + b"1")
    rows.write("a", LONG + b"2")
    rows.change(2, value=b"")
    with pytest.raises(Damaged, match="the value of revision 2 cannot be read: its beginning is damaged"):
        rows.reader.log(0, 0)


def test_a_key_whose_row_vanished_fails_the_write(rows: Rows) -> None:
    rows.write("a", b"1")
    rows.connection.execute("DELETE FROM item")
    with pytest.raises(Damaged, match="the row of a key that was there is missing"):
        rows.write("a", b"2")


def entry(rows: Rows, revision: int) -> EntryRow:
    found = rows.reader.entry(entry_id(revision))
    assert found is not None
    return found


# The cost of a read


def test_the_log_of_a_key_is_decoded_with_few_statements(rows: Rows) -> None:
    for number in range(40):
        rows.write("a", LONG + b"%d" % number)
    rows.reader.log(0, 0)
    statements: list[str] = []
    rows.connection.set_trace_callback(statements.append)
    assert [each.value for each in rows.reader.log(0, 0)] == [LONG + b"%d" % number for number in range(40)]
    assert len(statements) < 8, "each value is decoded from the one before, which is known"


def test_a_part_of_the_log_reads_few_rows(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        rows.write(f"k{number}", b"1")
    made: list[int] = []
    real = EntryRow._make

    def make(row: Any) -> EntryRow:
        made.append(row[0])
        return real(row)

    monkeypatch.setattr(EntryRow, "_make", make)
    assert [each.revision for each in rows.reader.log(10, 3)] == [11, 12, 13]
    assert len(made) == 4, "one more row shows that the revision is complete"


def test_actors_are_read_once(rows: Rows) -> None:
    for number in range(3):
        rows.write("a", b"%d" % number)
    statements: list[str] = []
    rows.connection.set_trace_callback(statements.append)
    assert {each.actor for each in rows.reader.log(0, 0)} == {ACTOR}
    assert sum("FROM actor" in each for each in statements) == 1


def test_many_actors_are_told_apart(rows: Rows) -> None:
    names = [f"user-{number}" for number in range(1002)]
    for name in names:
        rows.write("a", name.encode(), Actor(name))
    assert [each.actor.user for each in rows.reader.log(0, 0)] == names
    assert [each.actor.user for each in rows.reader.log(0, 0)] == names
    assert len(rows.reader._actors) <= 1000, "the cache of actors is bounded"


@pytest.mark.parametrize(
    ("after", "limit", "revisions"),
    [
        (0, 1, [1, 1]),
        (0, 2, [1, 1]),
        (0, 3, [1, 1, 2]),
        (0, 4, [1, 1, 2, 3, 3, 3]),
        (1, 1, [2]),
        (2, 1, [3, 3, 3]),
        (2, 9, [3, 3, 3]),
        (3, 5, []),
    ],
)
def test_a_part_of_the_log_ends_with_a_whole_revision(rows: Rows, after: int, limit: int, revisions: list[int]) -> None:
    for number, keys in enumerate(("ab", "a", "abc"), 1):
        rows.journal.transact([Write(key, b"%d" % number) for key in keys], ACTOR, None, float(number))
    rows.journal.flush()
    assert [each.revision for each in rows.reader.log(after, limit)] == revisions
    assert [event.entry.revision for event in rows.reader.events(after, limit)] == revisions
    assert rows.reader.times_after(after, limit) == [(revision, float(revision)) for revision in revisions]
    assert rows.reader.time_after(after) == (float(after + 1) if after < 3 else None)


# The journal


def test_the_counted_size_of_the_log_follows_every_change(rows: Rows) -> None:
    def counted_anew() -> int:
        return Journal(rows.reader).size

    for number in range(5):
        rows.write("a", LONG + b"%d" % number)
    rows.write("b", b"short")
    assert rows.journal.size == counted_anew() > 0
    rows.write("a", LONG * 2)
    rows.write("b", None)
    assert rows.journal.size == counted_anew()
    progress = PurgeProgress()
    assert rows.journal.purge("a", Selection("a", through=3), PURGE, progress, 100) is False
    assert (progress.removed, progress.visited) == (3, 6)
    assert rows.journal.size == counted_anew()
    rows.journal.compact(6)
    while rows.journal.swept < 6:
        rows.journal.sweep(2)
    assert rows.journal.size == counted_anew()


def test_a_purge_in_steps_removes_the_same_values(rows: Rows) -> None:
    for number in range(7):
        rows.write("a", LONG + b"%d" % number)
    progress, steps = PurgeProgress(), 0
    while rows.journal.purge("a", Selection("a"), PURGE, progress, 2):
        steps += 1
    assert (steps, progress.visited, progress.removed) == (3, 7, 6)
    assert [each.value is None for each in rows.reader.log(0, 0)] == [True] * 6 + [False]
    assert (rows.journal.purged, rows.journal.scrub) == (7, 1)
    assert Journal(rows.reader).purged == 7, "recorded in the file"
    assert Journal(rows.reader).scrub
    rows.journal.scrubbed()
    assert not Journal(rows.reader).scrub


def test_a_purge_of_an_unknown_key_or_without_past_values_changes_nothing(rows: Rows) -> None:
    rows.write("a", b"1")
    progress = PurgeProgress()
    assert rows.journal.purge("unknown", Selection("unknown"), PURGE, progress, 10) is False
    assert progress == PurgeProgress()
    assert rows.journal.purge("a", Selection("a"), PURGE, progress, 10) is False
    assert (progress.visited, progress.removed, rows.journal.scrub, rows.journal.purged) == (1, 0, 0, 0)


def test_cached_values_are_bounded(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.store.sqlite.journal._REMEMBERED", 1000)
    for number in range(30):
        rows.write(f"k{number}", b"x" * 100)
        assert (
            sum(len(item.value or b"") for item in rows.journal._items.values()) == rows.journal._cached_bytes <= 1000
        )
    assert len(rows.journal._items) == 10
    rows.write("k0", b"y" * 150)
    rows.write("k0", None)
    assert sum(len(item.value or b"") for item in rows.journal._items.values()) == rows.journal._cached_bytes
    assert "k0" not in rows.journal._items, "a sweep may remove the row of a deleted key"


def test_keys_expire_in_the_order_of_their_deadlines(rows: Rows) -> None:
    for key, ttl in (("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 1.0), ("e", None)):
        rows.journal.transact([Write(key, b"1", ttl=ttl)], ACTOR, None, 10.0)
    rows.journal.flush()
    assert rows.reader.next_expiry() == 11.0
    events, more = rows.journal.expire(12.0, 2)
    assert ([event.entry.key for event in events], more) == (["b", "d"], True)
    rows.journal.flush()
    events, more = rows.journal.expire(12.0, 2)
    assert ([event.entry.key for event in events], more) == (["c"], False)
    rows.journal.flush()
    assert rows.reader.next_expiry() == 13.0


@pytest.mark.parametrize(
    ("age", "revisions", "now", "expected"),
    [
        (None, None, 100.0, 0),
        (None, 2, 100.0, 3),
        (None, 9, 100.0, 0),
        (None, 0, 100.0, 5),
        (10.0, None, 12.0, 2),
        (10.0, None, 12.5, 2),
        (10.0, None, 11.9, 1),
        (10.0, None, 99.0, 5),
        (10.0, 2, 12.0, 3),
        (10.0, 4, 12.0, 2),
    ],
)
def test_the_revision_beyond_a_retention(
    rows: Rows, age: float | None, revisions: int | None, now: float, expected: int
) -> None:
    for number in range(1, 6):
        rows.journal.transact([Write("a", b"%d" % number)], ACTOR, None, float(number))
    rows.journal.flush()
    assert rows.journal.first_beyond(age, revisions, now) == expected


def test_a_step_of_a_compaction_by_size_counts_entries(rows: Rows) -> None:
    rows.journal.transact([Write("a", b"1"), Write("b", b"1")], ACTOR, None, 0.0)
    for number in range(2, 5):
        rows.write("a", b"%d" % number)
    assert [rows.journal.step_beyond(entries) for entries in (1, 2, 3, 5, 6, 100)] == [1, 1, 2, 4, 4, 4]
    rows.journal.compact(2)
    assert [rows.journal.step_beyond(entries) for entries in (1, 2, 3)] == [3, 4, 4]


async def test_a_store_without_a_purge_reports_none(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", durability="off")
    assert store.purged == 0
    await store.commit("a", b"1", ANY, ACTOR)
    await store.commit("a", b"2", ANY, ACTOR)
    assert store.purged == 0
    assert store.recent(0) is not None, "watches read recent events from memory"
    await store.purge(Selection("a"), PURGE)
    assert store.purged == 2
    await store.commit("a", b"3", ANY, ACTOR)
    assert store.purged == 2
    await store.close()


def test_a_sqlite_connection_never_checkpoints_by_itself_and_keeps_the_log_short(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    prepare(path, "off")
    connection = connect(path, "normal")

    def setting(name: str) -> int:
        value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    assert [setting(name) for name in ("synchronous", "wal_autocheckpoint", "secure_delete")] == [1, 0, 2]
    assert setting("journal_size_limit") == 16 * 1024 * 1024
    assert setting("busy_timeout") == 10_000
    connection.close()
    missing = tmp_path / "missing.db"
    with pytest.raises(sqlite3.OperationalError):
        connect(missing)
    assert not missing.exists()
