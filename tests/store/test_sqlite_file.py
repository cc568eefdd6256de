"""The file of a store: who holds it, its layout, its disk, and what it costs."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import ANY, Item, Retention, StoreError, TooLate, Write
from setpoint.store.sqlite import DiskFailed, Durability, InUse, NoSpace, SqliteStore, UnknownLayout, checkpoint
from setpoint.store.sqlite.delta import DELETED, encode_difference, encode_full, is_difference
from setpoint.store.sqlite.journal import KEYFRAME, Journal
from setpoint.store.sqlite.layout import APPLICATION, LAYOUT, connect, prepare
from setpoint.store.sqlite.reader import Reader
from setpoint.store.sqlite.rows import entry_checksum, entry_id

from .conftest import START

ACTOR = Actor("alice")
ROOT = Path(__file__).parents[2]


# Who holds it


async def test_a_file_in_use_is_refused_with_its_holder_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    with pytest.raises(InUse, match=rf"in use by process {os.getpid()} \(.*python") as refused:
        await SqliteStore.open(path)
    assert str(path) in str(refused.value)
    assert await store.commit("a", b"1", ANY, ACTOR) == 1
    await store.close()
    again = await SqliteStore.open(path)
    assert await again.revision() == 1
    await again.close()


HOLD = """
import asyncio, sys
from setpoint.objects.provenance import Actor
from setpoint.store.sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(sys.argv[1])
    await store.commit("a", b"1", None, Actor("x"))
    print("held", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_a_killed_holder_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InUse, match=f"process {holder.pid}"):
            await SqliteStore.open(path)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    store = await SqliteStore.open(path)
    assert await store.get("a") == Item("a", b"1", 1, 1)
    await store.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store.db"]


async def test_a_store_survives_being_closed_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for life in range(1, 4):
        store = await SqliteStore.open(path)
        assert await store.revision() == life - 1
        assert await store.commit("a", b"%d" % life, ANY, ACTOR) == life
        await store.close()
    store = await SqliteStore.open(path)
    assert [entry.value for entry in await store.history("a")] == [b"3", b"2", b"1"]
    watch = store.watch("", after=1)
    assert [event.entry.revision for event in await watch.next()] == [2, 3]
    await store.close()


async def test_a_store_that_was_restored_again_and_again_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, durability="off")
    await store.commit("a", b"1", ANY, ACTOR)
    first = await store.snapshot()
    await store.commit("a", b"2", ANY, ACTOR)
    for snapshot in (first, first, None, None, first):
        await store.restore(snapshot or await store.snapshot())
    await store.commit("a", b"3", ANY, ACTOR)
    await store.restore(await store.snapshot())
    revision, log = await store.revision(), await store.log()
    await store.close()
    store = await SqliteStore.open(path, durability="off")
    assert (await store.revision(), await store.log()) == (revision, log)
    assert await store.commit("a", b"4", ANY, ACTOR) == revision + 1
    await store.close()
    await (await SqliteStore.open(path)).close()


async def test_what_is_no_longer_kept_is_never_taken_for_another_keys_entry(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, durability="off", retention=Retention())
    await store.transact([Write("a", b"1"), Write("b", b"1")], ACTOR)
    await store.commit("b", b"2", ANY, ACTOR)
    await store.compact(2)  # of the first revision, only "a" is left
    await store.restore(await store.snapshot())
    assert [(e.revision, e.previous) for e in await store.history("b")] == [(2, 1)]
    await store.commit("b", b"3", ANY, ACTOR)
    await store.compact(4)
    assert [(e.key, e.revision) for e in await store.log()] == [("a", 1), ("b", 4)]
    assert [e.revision for e in await store.history("a")] == [1]
    await store.close()
    store = await SqliteStore.open(path, durability="off")
    assert [item.value for item in (await store.range("")).items] == [b"1", b"3"]
    await store.close()


async def test_an_expiry_survives_being_closed_and_opened(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = await SqliteStore.open(tmp_path / "store.db", clock=clock)
    await store.commit("a", b"1", ANY, ACTOR, ttl=10)
    await store.close()
    store = await SqliteStore.open(tmp_path / "store.db", clock=clock)
    watch = store.watch("")
    await asyncio.sleep(0)
    clock.advance(10)
    assert [event.entry.value for event in await asyncio.wait_for(watch.next(), 30)] == [None]
    await store.close()


async def test_a_commit_that_nobody_waits_for_any_more_is_made_all_the_same(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    task = asyncio.create_task(store.commit("a", b"1", ANY, ACTOR))
    await asyncio.sleep(0)
    task.cancel()
    await store.commit("b", b"1", ANY, ACTOR)
    assert await store.get("a") is not None
    await store.close()


@pytest.mark.parametrize("durability", ["full", "normal", "off"])
async def test_every_durability_keeps_what_was_written_when_closed(tmp_path: Path, durability: Durability) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", durability=durability)
    await asyncio.gather(*(store.commit(f"k{n}", b"1", ANY, ACTOR) for n in range(50)))
    await store.close()
    store = await SqliteStore.open(tmp_path / "store.db", durability=durability)
    assert await store.count("k") == 50
    await store.close()


async def test_one_bad_commit_does_not_fail_those_that_were_made_with_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    results = await asyncio.gather(
        store.commit("a", b"1", ANY, ACTOR),
        store.transact([Write("x", b"1"), Write("y", "no bytes")], ACTOR),  # type: ignore[arg-type]
        store.commit("b", b"1", ANY, Actor("half of a character: \ud800")),
        store.commit("c", b"1", ANY, ACTOR),
        return_exceptions=True,
    )
    assert [isinstance(result, StoreError) for result in results] == [False, True, True, False]
    assert [item.key for item in (await store.range("")).items] == ["a", "c"]
    assert await store.revision() == 2
    await store.close()


async def test_many_keys_expire_without_holding_up_a_commit(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = await SqliteStore.open(tmp_path / "store.db", clock=clock, durability="off")
    await store.transact([Write(f"k{n}", b"1", ttl=5) for n in range(1000)], ACTOR)
    clock.advance(5)
    maintaining = asyncio.create_task(store.maintain())
    await asyncio.sleep(0)
    revision = await store.commit("a", b"1", ANY, ACTOR)
    await maintaining
    assert revision < 1002, "the commit waited until all had expired"
    assert await store.count("k") == 0
    assert await store.revision() == 1002
    await store.close()


async def test_a_key_whose_row_was_swept_away_can_come_back(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", durability="off", retention=Retention())
    await store.commit("a", b"1", ANY, ACTOR)
    await store.commit("a", None, ANY, ACTOR)
    await store.commit("a", None, ANY, ACTOR)  # nothing changes, but the writer has seen the row
    await store.compact(2)
    await store.commit("a", b"2", ANY, ACTOR)
    assert await store.get("a") == Item("a", b"2", 3, 3)
    assert [entry.revision for entry in await store.history("a")] == [3]
    await store.close()


async def test_a_durability_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="full, normal, off"):
        await SqliteStore.open(tmp_path / "store.db", durability="sometimes")  # type: ignore[arg-type]


# Its layout


def make_layout_1(path: Path) -> None:
    """A file as the first layout had it: two keys, one deleted, one changed, written by one actor."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(f"""
        PRAGMA journal_mode = WAL;
        CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 1), oldest INTEGER NOT NULL, swept INTEGER NOT NULL);
        INSERT INTO meta VALUES (1, 0, 0);
        CREATE TABLE actor (id INTEGER PRIMARY KEY, data BLOB NOT NULL UNIQUE);
        CREATE TABLE item (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, entry INTEGER NOT NULL, created INTEGER NOT NULL,
            expires REAL, depth INTEGER NOT NULL, value BLOB
        );
        CREATE INDEX item_live ON item (key) WHERE value IS NOT NULL;
        CREATE INDEX item_expires ON item (expires) WHERE expires IS NOT NULL;
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, key INTEGER NOT NULL, previous INTEGER NOT NULL, created INTEGER NOT NULL,
            time REAL NOT NULL, actor INTEGER NOT NULL, cause BLOB, form INTEGER NOT NULL, value BLOB,
            checksum INTEGER NOT NULL
        );
        CREATE INDEX entry_key ON entry (key);
        PRAGMA application_id = {APPLICATION};
        PRAGMA user_version = 1;
    """)
    connection.execute("INSERT INTO actor VALUES (1, ?)", (ACTOR.encode(),))
    first, second = b"x" * 500 + b"1" + b"y" * 500, b"x" * 500 + b"2" + b"y" * 500
    difference = encode_difference(first, second)
    assert difference is not None
    cause = Cause("r-1").encode()
    for revision, key, previous, created, (form, value) in [
        (1, 1, 0, 1, encode_full(first)),
        (2, 2, 0, 2, encode_full(b"short")),
        (3, 1, 1, 1, difference),
        (4, 2, 2, 2, (DELETED, None)),
    ]:
        row = (entry_id(revision), key, entry_id(previous), created, 1000.0 + revision, 1, cause, form, value)
        connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, entry_checksum(*row)))
    connection.execute("INSERT INTO item VALUES (1, 'a', ?, 1, NULL, 1, ?)", (entry_id(3), second))
    connection.execute("INSERT INTO item VALUES (2, 'b', ?, 2, NULL, 0, NULL)", (entry_id(4),))
    connection.close()


async def test_a_file_of_the_first_layout_is_brought_to_todays(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_layout_1(path)
    store = await SqliteStore.open(path)
    second = b"x" * 500 + b"2" + b"y" * 500
    assert (await store.range("")).items == [Item("a", second, 3, 1)]
    assert await store.get("b", at=3) == Item("b", b"short", 2, 2)
    assert [(e.revision, e.key, e.time, e.actor, e.cause) for e in await store.log()] == [
        (revision, key, 1000.0 + revision, ACTOR, Cause("r-1")) for revision, key in enumerate("abab", 1)
    ]
    assert await store.commit("b", b"again", 0, ACTOR) == 5
    await store.compact(5)
    await store.restore(await store.snapshot())
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
    connection.close()
    store = await SqliteStore.open(path)
    assert await store.count("") == 2
    await store.close()


def schema(path: Path) -> list[tuple[str, ...]]:
    """The tables with their columns and the indexes of a file, without differences of white space."""
    connection = sqlite3.connect(path)
    columns = [
        (table, name)
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for name in sorted(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
    ]
    indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    found = columns + sorted((name, " ".join(sql.split())) for name, sql in indexes)
    connection.close()
    return found


def test_a_migrated_file_has_the_tables_and_indexes_of_a_new_one(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    make_layout_1(old)
    prepare(old, "off")
    prepare(new, "off")
    assert schema(old) == schema(new)
    connection = connect(old, "off")
    reader = Reader(old, connection)
    assert reader.meta()[:-1] == (0, 0, 0, "[]", 0, 0)
    assert [reader.item(key) is not None for key in "ab"] == [True, True], "with checksums that match"
    assert reader.get("b", None) is None
    connection.close()


def test_a_migration_keeps_the_bounds_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_layout_1(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE meta SET oldest = 3, swept = 2")
    connection.close()
    prepare(path, "off")
    connection = connect(path, "off")
    assert Reader(path, connection).meta()[:2] == (3, 2)
    assert Reader(path, connection).bounds() == (3, 4, ())
    connection.close()


async def test_a_file_of_a_layout_before_the_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_layout_1(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    with pytest.raises(UnknownLayout, match=f"layout 0, and this version of Setpoint knows 1 to {LAYOUT}"):
        await SqliteStore.open(path)


async def test_remains_of_an_interrupted_creation_do_no_harm(tmp_path: Path) -> None:
    for name in ("store.db.new", "store.db.new-wal", "store.db.new-shm"):
        (tmp_path / name).write_bytes(b"remains")
    store = await SqliteStore.open(tmp_path / "store.db")
    assert await store.commit("a", b"1", ANY, ACTOR) == 1
    await store.close()
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


async def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    make_layout_1(path)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM entry")
        connection.execute("SELECT * FROM nowhere")

    with monkeypatch.context() as patch:
        patch.setattr("setpoint.store.sqlite.layout.STEPS", {1: fail})
        with pytest.raises(Exception, match="nowhere"):
            await SqliteStore.open(path)
    store = await SqliteStore.open(path)
    assert len(await store.log()) == 4
    await store.close()


async def test_a_file_of_a_newer_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path)).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    connection.close()
    with pytest.raises(UnknownLayout, match=f"layout {LAYOUT + 1}.*newer"):
        await SqliteStore.open(path)


# Its disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        done = False
    if not done:
        pytest.skip("mounting a small disk is not permitted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_a_full_disk_fails_the_commit_and_the_store_goes_on_when_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(150_000))
    store = await SqliteStore.open(small_disk / "store.db")
    random = Random(1)
    written: list[Item] = []

    async def write_until_refused() -> None:
        while True:
            key = f"k{len(written)}"
            revision = await store.transact([Write(key, random.randbytes(5000)), Write(key + "x", b"1")], ACTOR)
            found = await store.get(key)
            assert found is not None
            assert found.revision == revision
            written.append(found)

    with pytest.raises(NoSpace, match="Free some space"):
        await write_until_refused()
    assert await store.revision() == len(written)
    assert await store.get(f"k{len(written)}x") is None
    assert await store.get("k0") == written[0]
    ballast.unlink()
    assert await store.commit("more", random.randbytes(5000), ANY, ACTOR) == len(written) + 1
    await store.close()
    store = await SqliteStore.open(small_disk / "store.db")
    assert [item for item in (await store.range("k")).items if not item.key.endswith("x")] == sorted(written)
    assert await store.revision() == len(written) + 1
    await store.close()


LIMITED = """
import asyncio, resource, sys
from random import Random
from setpoint.objects.provenance import Actor
from setpoint.store.sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(sys.argv[1])
    random = Random(1)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    for number in range(1000):
        try:
            await store.commit(f"k{number}", random.randbytes(5000), None, Actor("x"))
        except Exception as error:
            print(number, type(error).__name__)
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(await store.commit("more", b"1", None, Actor("x")))
    await store.close()
asyncio.run(main())
"""


async def test_a_file_that_may_not_grow_fails_the_commit_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    (number, error), (revision,) = (line.split() for line in result.stdout.splitlines())
    assert error in (NoSpace.__name__, DiskFailed.__name__)
    assert int(revision) == int(number) + 1
    store = await SqliteStore.open(path)
    assert await store.count("k") == int(number) > 3
    await store.close()


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed, match="nowhere"):
        await SqliteStore.open(tmp_path / "nowhere" / "store.db")


# What it costs


async def test_commits_that_wait_together_share_one_transaction(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    await store.commit("first", b"1", ANY, ACTOR)
    log = tmp_path / "store.db-wal"
    before = log.stat().st_size
    await store.commit("second", b"1", ANY, ACTOR)
    one = log.stat().st_size - before
    before = log.stat().st_size
    await asyncio.gather(*(store.commit(f"k{n}", b"1", ANY, ACTOR) for n in range(100)))
    assert log.stat().st_size - before < 10 * one, "a hundred commits wrote their pages a hundred times"
    await store.close()


async def test_the_write_ahead_log_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "LONG", 200_000)
    monkeypatch.setattr("setpoint.store.sqlite.layout.LONG", 200_000)
    store = await SqliteStore.open(tmp_path / "store.db", durability="off")
    longest = 0
    for n in range(2000):
        await store.commit(f"k{n % 20}", b"%d" % n * 100, ANY, ACTOR)
        longest = max(longest, (tmp_path / "store.db-wal").stat().st_size)
    await store.close()
    written = 2000 * 3 * 4096
    assert longest < written / 4


async def test_a_small_change_of_a_large_object_takes_little_room(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, durability="off", retention=Retention())
    body = Random(1).randbytes(1000).hex()
    values = [f'{{"spec":"{body[:900]}","count":{n},"more":"{body[900:]}"}}' for n in range(2000)]
    for value in values:
        await store.commit("a", value.encode(), ANY, ACTOR, Cause("0123456789"))
    for at in (1, 2, 16, 17, 999, 1999, 2000):
        item = await store.get("a", at=at)
        assert item is not None
        assert item.value.decode() == values[at - 1]
    await store.close()
    assert path.stat().st_size / len(values) < 300


async def test_no_old_value_is_many_steps_away(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, durability="off", retention=Retention())
    for n in range(200):
        await store.commit("a", b"x" * 1000 + b"%d" % n, ANY, ACTOR)
    await store.close()
    connection = sqlite3.connect(path)
    forms = [form for (form,) in connection.execute("SELECT form FROM entry ORDER BY id")]
    connection.close()
    whole = [place for place, form in enumerate(forms) if not is_difference(form)]
    assert len(whole) < 20
    assert max(later - sooner for sooner, later in pairwise([*whole, 200])) <= KEYFRAME


def test_what_is_forgotten_but_not_yet_swept_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    prepare(path, "off")
    connection = connect(path, "off")
    reader = Reader(path, connection)
    journal = Journal(reader)
    for n, key in enumerate(["a", "gone", "a", "b", "gone", "a"], 1):
        value = None if key == "gone" and n == 5 else b"%d" % n
        assert journal.transact([Write(key, value)], ACTOR, None, 0.0)[0] == n
    journal.flush()
    journal.compact(5)
    told = [[(3, "a"), (4, "b"), (6, "a")], [6, 3], []]

    def tell() -> list[object]:
        return [
            [(entry.revision, entry.key) for entry in reader.log(0, 0)],
            [entry.revision for entry in reader.history("a", None, 0)],
            reader.history("gone", None, 0),
        ]

    assert tell() == told
    assert [entry.revision for entry in reader.log(0, 1)] == [3]
    assert [entry.revision for entry in reader.contents().entries] == [3, 4, 6]
    while journal.swept < 5:
        journal.sweep(2)
        assert tell() == told
    assert connection.execute("SELECT count(*) FROM entry").fetchone() == (3,)
    connection.close()


async def test_a_watch_far_behind_reads_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.store.sqlite.store._RECENT_EVENTS", 20)
    store = await SqliteStore.open(tmp_path / "store.db", durability="off", retention=Retention())
    slow, late = store.watch("", after=0), store.watch("", after=0)
    for n in range(3000):
        await store.commit("a", b"%d" % n, ANY, ACTOR)
    assert len(store._recent) <= 25, "what is kept in memory is bounded"
    seen: list[int] = []
    while len(seen) < 3000:
        events = await slow.next()
        assert all(event.previous_value == (b"%d" % (event.entry.revision - 2) if event.entry.revision > 1 else None)
                   for event in events)  # fmt: skip
        seen += [event.entry.revision for event in events]
    assert seen == list(range(1, 3001))
    await store.compact(2000)
    with pytest.raises(TooLate):
        await late.next()
    await store.close()
