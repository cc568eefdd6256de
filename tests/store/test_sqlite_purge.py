"""After a purge, no byte of a purged value is in any file of the store, however the process ended meanwhile."""

import asyncio
import shutil
import sqlite3
from pathlib import Path
from random import Random

import pytest
from tests.store.conftest import Trace

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Purge, Purged, Selection, Write
from setpoint.store.sqlite import SqliteStore

ALICE = Actor("alice")
PURGE = Purge("root", 1_000_000.0, "leaked")
# Of one byte, of less than a page, of several pages; all of them cannot be deflated, so that they stand in the file.
SIZES = (40, 900, 9_000)


def secret(random: Random, size: int) -> bytes:
    return random.randbytes(size // 2).hex().encode()


def pieces(values: list[bytes]) -> set[bytes]:
    """What to look for: the beginning, the middle and the end of each value."""
    return {
        value[start : start + 20] for value in values for start in (0, max(0, len(value) // 2 - 10), len(value) - 20)
    }


def found_in(folder: Path, secrets: list[bytes]) -> list[str]:
    """The files in which some part of a secret stands."""
    wanted = pieces(secrets)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.name for path in files if any(piece in data for data in [path.read_bytes()] for piece in wanted)]


async def fill(store: SqliteStore, random: Random) -> list[bytes]:
    """Writes secrets as whole values and as differences, some of them deleted; returns those that are in the past."""
    past = []
    for size in SIZES:
        for life in range(2):
            fixed = secret(random, size)
            for _ in range(20):
                changing = secret(random, 50)
                past += [changing] if life else [changing, fixed]
                await store.commit(f"s/{size}", fixed[: size // 2] + changing + fixed[size // 2 :], ANY, ALICE)
                await store.commit(f"other/{size}", secret(random, size), ANY, ALICE)
            if life == 0:
                await store.commit(f"s/{size}", None, ANY, ALICE)
        past.remove(changing)  # of the current value
    await store.commit("s/gone", past[0] * 3, ANY, ALICE)
    await store.commit("s/gone", None, ANY, ALICE)
    return past


async def others(store: SqliteStore) -> list[tuple[int, bytes | None]]:
    found = []
    for size in SIZES:
        found += [(entry.revision, entry.value) for entry in await store.history(f"other/{size}")]
    return found


@pytest.mark.parametrize("moved", [False, True], ids=["in the log", "in the file"])
async def test_no_byte_of_a_purged_value_is_left_in_the_files(tmp_path: Path, moved: bool) -> None:
    path, random = tmp_path / "store.db", Random(1)
    store = await SqliteStore.open(path, durability="off")
    past = await fill(store, random)
    if moved:
        await store.close()
        store = await SqliteStore.open(path, durability="off")
        # Written and deleted before the purge: remains of it may be in the free space of pages.
        await store.commit("s/40", past[0], ANY, ALICE)
        await store.commit("s/40", b"current", ANY, ALICE)
    kept, current = await others(store), await store.range("")
    assert found_in(tmp_path, past)
    page = await store.purge(Selection("s/", is_prefix=True), PURGE)
    assert sum(number for _, number in page.removed) == 3 * 39 + 1 + (2 if moved else 0)
    await store.scrub()
    assert found_in(tmp_path, past) == []
    backup = (await store.snapshot()).dump()
    assert not any(piece in backup for piece in pieces(past))
    assert await others(store) == kept
    assert await store.range("") == current
    await store.close()
    assert found_in(tmp_path, past) == []
    again = await SqliteStore.open(path, durability="off")
    await again.checked()
    assert await others(again) == kept
    assert [entry.purged for entry in await again.history("s/gone")] == [None, PURGE]
    with pytest.raises(Purged):
        await again.get("s/gone", (await again.history("s/gone"))[1].revision)
    await again.close()


async def test_a_reader_of_an_older_state_delays_the_end_of_a_scrub_and_nothing_else(
    tmp_path: Path, trace: Trace
) -> None:
    path = tmp_path / "store.db"
    statements: list[str] = []
    trace(statements.append)
    store = await SqliteStore.open(path, durability="off")
    value = secret(Random(2), 900)
    await store.commit("a", value, ANY, ALICE)
    await store.commit("a", b"2", ANY, ALICE)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entry").fetchone()
    await store.purge(Selection("a"), PURGE)
    scrubbing = asyncio.ensure_future(store.scrub())
    await store.commit("b", b"1", ANY, ALICE)
    while statements.count("PRAGMA wal_checkpoint(TRUNCATE)") < 2:
        await asyncio.sleep(0.01)
    assert not scrubbing.done()
    reader.execute("COMMIT")
    reader.close()
    await scrubbing
    assert statements.count("VACUUM") == 1, "the file is not rewritten again while the scrub waits"
    assert found_in(tmp_path, [value]) == []
    await store.close()


@pytest.mark.slow
async def test_a_purge_survives_a_crash_at_every_step(tmp_path: Path, trace: Trace) -> None:
    """Takes an image of the files before every statement of the purge, and opens each of them."""
    path, images = tmp_path / "live" / "store.db", tmp_path / "images"
    path.parent.mkdir()
    is_purging = False
    taken: list[Path] = []
    # Each statement of every connection that writes; most of the updates are alike.
    seen: dict[str, int] = {}

    def image(statement: str) -> None:
        if not is_purging:
            return
        kind = " ".join(statement.split()[:3])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 2 or (seen[kind] % 150 == 0):
            place = images / str(len(taken))
            place.mkdir(parents=True)
            for file in path.parent.iterdir():
                if not file.name.endswith(".lock"):
                    shutil.copy(file, place)
            taken.append(place)

    trace(image)
    store = await SqliteStore.open(path, durability="off")
    past = await fill(store, Random(3))
    kept = await others(store)
    current = (await store.range("")).items
    is_purging = True
    await store.purge(Selection("s/", is_prefix=True), PURGE)
    await store.scrub()
    is_purging = False
    await store.close()
    assert len(taken) > 20
    assert {"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "COMMIT"} <= set(seen)
    for place in taken:
        again = await SqliteStore.open(place / "store.db", durability="off")
        assert await others(again) == kept
        assert (await again.range("")).items == current
        # What is marked as purged stays so; the rest is still what it was, and the purge can be repeated.
        await again.log()
        await again.purge(Selection("s/", is_prefix=True), PURGE)
        await again.scrub()
        assert found_in(place, past) == []
        await again.close()


async def test_a_store_that_was_killed_before_the_bytes_were_gone_removes_them_when_it_is_opened(
    tmp_path: Path, trace: Trace
) -> None:
    live, image = tmp_path / "live", tmp_path / "image"
    live.mkdir()
    store = await SqliteStore.open(live / "store.db", durability="off")
    value = secret(Random(4), 5000)
    await store.transact([Write("a", value)], ALICE)
    await store.commit("a", None, ANY, ALICE)
    await store.purge(Selection("a"), PURGE)
    shutil.copytree(live, image, ignore=shutil.ignore_patterns("*.lock"))
    await store.close()
    assert found_in(image, [value])
    again = await SqliteStore.open(image / "store.db", durability="off")
    await again.scrub()  # waits for the one that the store began by itself
    assert found_in(image, [value]) == []
    await again.close()
    statements: list[str] = []
    trace(statements.append)
    once_more = await SqliteStore.open(image / "store.db", durability="off")
    await once_more.scrub()
    assert "VACUUM" not in statements  # there is nothing left to do
    await once_more.close()


async def test_a_purge_visits_a_bounded_number_of_entries_in_one_transaction(tmp_path: Path, trace: Trace) -> None:
    steps: list[int] = []

    def count(statement: str) -> None:
        if statement.startswith("BEGIN"):
            steps.append(0)
        elif statement.startswith("UPDATE entry"):
            steps[-1] += 1

    trace(count)
    store = await SqliteStore.open(tmp_path / "store.db", durability="off")
    await asyncio.gather(*(store.commit("a", b"%d" % number, ANY, ALICE) for number in range(2400)))
    steps.clear()
    page = await store.purge(Selection("a"), PURGE)
    assert list(page.removed) == [("a", 2399)]
    assert len(steps) == 5
    assert max(steps) <= 1000  # at most two for each entry that is visited
    await store.close()


async def test_a_scrub_also_removes_remains_of_what_compaction_forgot(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", durability="off")
    value = secret(Random(5), 40_000)
    await store.commit("a", value, ANY, ALICE)
    await store.commit("a", b"2", ANY, ALICE)
    await store.compact(await store.revision())
    assert found_in(tmp_path, [value])
    assert list((await store.purge(Selection("a"), PURGE)).removed) == []
    await store.scrub(always=True)
    assert found_in(tmp_path, [value]) == []
    await store.close()
