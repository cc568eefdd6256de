"""A damaged file is reported, never taken for what it is not, and never emptied."""

import asyncio
import shutil
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import ANY, Retention, StoreError, Write
from setpoint.store.sqlite import Damaged, SqliteStore, UnknownLayout

ACTOR = Actor("alice", groups=("dev", "ops"))


async def fill(store: SqliteStore, commits: int = 150) -> None:
    """A store with keys, deletions, transactions, expiry, differences and compaction."""
    random = Random(7)
    body = random.randbytes(400).hex().encode()
    for n in range(commits):
        spot = random.randrange(len(body))
        key = f"/registry/widgets/ns/{random.randrange(12)}"
        value = body[:spot] + b"%d" % n + body[spot:]
        if n % 10 == 3:
            await store.commit(key, None, ANY, ACTOR)
        elif n % 10 == 6:
            await store.transact([Write(key, value), Write("/registry/other/x", b"%d" % n)], ACTOR, Cause("r"))
        else:
            await store.commit(
                key, value, ANY, ACTOR, Cause.reconcile("c", "ns/x", str(n)), ttl=1e9 if n % 7 == 0 else None
            )
    await store.compact(commits // 3)


async def read_all(path: Path) -> list[Any]:
    """Everything a store can tell."""
    store = await SqliteStore.open(path, durability="off", retention=Retention())
    try:
        page = await store.range("")
        found: list[Any] = [await store.revision(), await store.oldest(), page, await store.log()]
        for item in page.items:
            found += [await store.get(item.key), await store.history(item.key)]
        for at in range(await store.oldest(), await store.revision() + 1, 9):
            found += [await store.range("", at=at)]
        return [*found, (await store.snapshot()).dump()]
    finally:
        await store.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A store that was closed cleanly, and what it tells."""
    path = tmp_path_factory.mktemp("whole") / "store.db"

    async def make() -> list[Any]:
        store = await SqliteStore.open(path, durability="off", retention=Retention())
        await fill(store)
        await store.close()
        return await read_all(path)

    return path, asyncio.run(make())


@pytest.fixture(scope="module")
def left_open(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The files of a store as a process that died left them, with a write-ahead log; and what it tells."""
    folder = tmp_path_factory.mktemp("left")
    (folder / "copy").mkdir()

    async def make() -> list[Any]:
        store = await SqliteStore.open(folder / "store.db", retention=Retention())
        await fill(store, 60)
        for file in folder.glob("store.db*"):
            shutil.copy(file, folder / "copy" / file.name)
        (folder / "copy" / "store.db-shm").unlink()
        await store.close()
        return await read_all(folder / "store.db")

    return folder / "copy", asyncio.run(make())


def is_reported_or_harmless(path: Path, told: list[Any]) -> bool:
    """Opens and reads a file; says whether its damage was reported, and fails if it was taken for something else."""
    try:
        found = asyncio.run(read_all(path))
    except StoreError:
        return True
    assert found == told
    return False


@pytest.mark.slow
def test_a_flipped_bit_is_reported_or_harmless(whole: tuple[Path, list[Any]], tmp_path: Path) -> None:
    path, told = whole
    data = path.read_bytes()
    random = Random(1)
    reported = 0
    for _ in range(150):
        damaged = bytearray(data)
        damaged[random.randrange(len(data))] ^= 1 << random.randrange(8)
        copy = tmp_path / "store.db"
        copy.write_bytes(damaged)
        reported += is_reported_or_harmless(copy, told)
    assert reported > 30, "many bits of a file matter; others are of pages that are not in use"


def test_a_truncated_file_is_reported(whole: tuple[Path, list[Any]], tmp_path: Path) -> None:
    path, told = whole
    data = path.read_bytes()
    copy = tmp_path / "store.db"
    for length in [0, 1, 50, 99, 100, 4095, 4096, *range(4097, len(data), len(data) // 20), len(data) - 1]:
        copy.write_bytes(data[:length])
        assert is_reported_or_harmless(copy, told), f"cut to {length} of {len(data)} bytes"
        assert copy.stat().st_size == length, "the file was changed"


async def test_a_file_without_its_last_byte_is_reported_though_that_byte_be_a_zero(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def make() -> None:
        store = await SqliteStore.open(path)
        await store.commit("a", b"1", ANY, ACTOR)
        await store.close()

    await make()
    whole = path.read_bytes()
    # A page that is not in use: nothing in it matters, but that it is there does.
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE spare (data)")
        connection.execute("INSERT INTO spare VALUES (zeroblob(20000))")
        connection.execute("DROP TABLE spare")
    connection.close()
    grown = path.read_bytes()
    assert len(grown) > len(whole)
    path.write_bytes(grown[:-1])
    with pytest.raises(Damaged, match=f"it has {len(grown) - 1} bytes instead of {len(grown)}"):
        await read_all(path)


async def test_a_store_that_was_left_open_is_whole(left_open: tuple[Path, list[Any]], tmp_path: Path) -> None:
    folder, told = left_open
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert (await read_all(tmp_path / "store.db")) == told


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_damaged_write_ahead_log_is_reported_or_harmless(
    left_open: tuple[Path, list[Any]], tmp_path: Path, harm: str
) -> None:
    folder, told = left_open
    data = (folder / "store.db-wal").read_bytes()
    random = Random(2)
    reported = 0
    for _ in range(40 if harm != "remove" else 1):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        damaged = bytearray(data)
        damaged[random.randrange(len(data))] ^= 1 << random.randrange(8)
        log = tmp_path / "store.db-wal"
        match harm:
            case "flip":
                log.write_bytes(damaged)
            case "cut":
                log.write_bytes(data[: random.randrange(len(data))])
            case _:
                log.unlink()
        reported += is_reported_or_harmless(tmp_path / "store.db", told)
        for file in tmp_path.iterdir():
            file.unlink()
    assert reported > 0


async def test_what_was_acknowledged_and_is_missing_is_named(left_open: tuple[Path, list[Any]], tmp_path: Path) -> None:
    folder, told = left_open
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "store.db-wal").unlink()
    for _ in range(2):  # and it is not forgotten by looking
        with pytest.raises(Damaged, match=f"{told[0]} was acknowledged"):
            await SqliteStore.open(tmp_path / "store.db")
    (tmp_path / "store.db.lock").unlink()
    store = await SqliteStore.open(tmp_path / "store.db")
    assert await store.revision() < told[0]
    await store.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("UPDATE item SET value = x'00' WHERE id = 1", "checksum of the key"),
        ("UPDATE entry SET time = time + 1 WHERE id = (SELECT max(id) FROM entry)", "checksum of an entry"),
        ("DELETE FROM entry WHERE id / 65536 = 100", "revision 100 is missing"),
        ("DELETE FROM entry WHERE id / 65536 = (SELECT max(id) / 65536 FROM entry)", "does not know the key"),
        ("DELETE FROM meta", "meta data is missing"),
    ],
)
async def test_what_was_changed_behind_our_back_is_reported(
    whole: tuple[Path, list[Any]], tmp_path: Path, harm: str, words: str
) -> None:
    path = tmp_path / "store.db"
    shutil.copy(whole[0], path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(harm)
    connection.close()
    with pytest.raises(Damaged, match=words) as damaged:
        await SqliteStore.open(path)
    assert str(path) in str(damaged.value)
    assert "Restore it" in str(damaged.value)


async def test_a_large_file_is_checked_while_it_is_used(
    whole: tuple[Path, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    shutil.copy(whole[0], path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM entry WHERE id / 65536 = 100")
    connection.close()
    monkeypatch.setattr("setpoint.store.sqlite.store.SMALL", 0)
    store = await SqliteStore.open(path, durability="off")
    try:
        with pytest.raises(Damaged, match="revision 100 is missing"):
            await store.checked()
        with pytest.raises(Damaged, match="revision 100 is missing"):
            await store.commit("a", b"1", ANY, ACTOR)
    finally:
        await store.close()


async def test_a_large_sound_file_stays_open(
    whole: tuple[Path, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    shutil.copy(whole[0], path)
    monkeypatch.setattr("setpoint.store.sqlite.store.SMALL", 0)
    store = await SqliteStore.open(path, durability="off")
    checking = asyncio.create_task(store.checked())
    number = 0
    while number == 0 or not checking.done():  # what is committed meanwhile is no damage
        number += 1
        await store.commit("a", b"%d" % number, ANY, ACTOR)
    await checking
    assert await store.get("a") is not None
    await store.close()


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" + b"x" * 5000])
async def test_what_is_no_store_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(Damaged):
        await SqliteStore.open(path)
    assert path.read_bytes() == content


async def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(UnknownLayout, match="not a store of Setpoint"):
        await SqliteStore.open(path)
    assert path.read_bytes() == content
