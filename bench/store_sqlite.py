"""The store in SQLite: commits beside a bare loop and the disk itself, the past, and the room it takes."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from bench.custom_resource import DOCUMENT, OBJECT
from bench.figure import Figure
from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import ANY, Retention, Write
from setpoint.store.sqlite import Durability, SqliteStore
from setpoint.store.sqlite.journal import Journal
from setpoint.store.sqlite.layout import connect, prepare
from setpoint.store.sqlite.reader import Reader

ACTOR = Actor("system:serviceaccount:shop:operator", groups=("system:authenticated",), field_manager="operator")
WRITERS = 32
SECONDS = 1.0  # of each round
ROUNDS = 5
REVISIONS = 1_000_000


def figures() -> Iterator[Figure]:
    """The disk is part of the measure, so this is time on the clock; rounds of all sides alternate."""
    yield from _rates()
    yield from _room()
    yield from _past()


def changed(number: int) -> bytes:
    """The custom resource with one field changed."""
    return DOCUMENT.replace(
        b'"observedGeneration":4,"readyInstances":3', b'"observedGeneration":%d,"readyInstances":3' % number
    )


# Made beforehand, so that no side is charged for it; 512 keys, and 509 values so that every write changes its key.
KEYS = [f"/registry/data.example.com/databases/shop/orders-{n}" for n in range(512)]
VALUES = [changed(n) for n in range(509)]
CAUSES = [Cause.reconcile("database", "shop/orders", f"{n:032x}") for n in range(1000)]


# Rates


def _rates() -> Iterator[Figure]:
    with TemporaryDirectory(dir=".") as folder:
        sides: dict[str, Callable[[Path], float]] = {
            "disk": _syncs,
            "bare": _bare_loop,
            "32": lambda path: asyncio.run(_commits(path, WRITERS, "full")),
            "1": lambda path: asyncio.run(_commits(path, 1, "full")),
            "normal": lambda path: asyncio.run(_commits(path, WRITERS, "normal")),
            "off": lambda path: asyncio.run(_commits(path, WRITERS, "off")),
        }
        rounds: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(ROUNDS):
            for name, side in sides.items():
                rounds[name].append(side(Path(folder, f"{name}-{number}")))
    disk, bare = max(rounds["disk"]), max(rounds["bare"])
    # A disk is slow when syncing takes much longer than the work of a commit.
    aim = 3 if disk > 5000 else 8
    yield Figure(
        f"sqlite: durable commits of 2 KB, {WRITERS} writers", max(rounds["32"]), "commits/s",
        "a bare loop that syncs each", bare, f"at least {aim}x", max(rounds["32"]) / bare >= aim,
    )  # fmt: skip
    yield Figure("sqlite: the same", max(rounds["32"]), "commits/s", "appends + fdatasync of the disk", disk)
    yield Figure("sqlite: durable commits, 1 writer", max(rounds["1"]), "commits/s", "the bare loop", bare)
    for durability in ("normal", "off"):
        name = f"sqlite: commits with durability {durability}, {WRITERS} writers"
        yield Figure(name, max(rounds[durability]), "commits/s", "the bare loop", bare)


def _syncs(path: Path) -> float:
    """How often a second the disk takes 4 KB and says they are safe."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    data, count = os.urandom(4096), 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        os.write(descriptor, data)
        os.fdatasync(descriptor)
        count += 1
    os.close(descriptor)
    return count / SECONDS


def _bare_loop(path: Path) -> float:
    """What a program does that keeps a revisioned log in SQLite by itself: a row of log and a row of state, synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT, value BLOB); CREATE INDEX by_key ON log (key);"
        "CREATE TABLE state (key TEXT PRIMARY KEY, revision INTEGER, value BLOB);"
    )
    count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        key, value = KEYS[count % len(KEYS)], VALUES[count % len(VALUES)]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO log (key, value) VALUES (?, ?)", (key, value))
        connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", (key, count, value))
        connection.execute("COMMIT")
        count += 1
    connection.close()
    return count / SECONDS


async def _commits(path: Path, writers: int, durability: Durability) -> float:
    store = await SqliteStore.open(path, durability=durability)
    count = 0
    end = time.perf_counter() + SECONDS

    async def write(number: int) -> None:
        nonlocal count
        turn = number
        while time.perf_counter() < end:
            turn += writers
            cause = CAUSES[turn % len(CAUSES)]
            await store.commit(KEYS[turn % len(KEYS)], VALUES[turn % len(VALUES)], ANY, ACTOR, cause)
            count += 1

    await asyncio.gather(*(write(number) for number in range(writers)))
    await store.close()
    return count / SECONDS


# Room


def _room() -> Iterator[Figure]:
    async def fill(path: Path, changes: Callable[[int], bytes]) -> float:
        store = await SqliteStore.open(path, durability="off", retention=Retention())
        for n in range(0, 20_000, 200):
            commits = [store.commit(f"/k/{m % 100}", changes(m), ANY, ACTOR, _cause(m)) for m in range(n, n + 200)]
            await asyncio.gather(*commits)
        await store.close()
        return path.stat().st_size / 20_000

    for name, changes in {"one field": changed, "three fields": _changed_in_three_places}.items():
        with TemporaryDirectory() as folder:
            size = asyncio.run(fill(Path(folder, "store.db"), changes))
        yield Figure(
            f"sqlite: bytes on disk a revision, 2 KB object that changes {name}", size, "bytes", "the object itself",
            len(DOCUMENT), "under 300", size < 300,
        )  # fmt: skip


def _cause(number: int) -> Cause:
    return Cause.reconcile("database", "shop/orders", f"{number:032x}")


def _changed_in_three_places(number: int) -> bytes:
    other = {**OBJECT, "metadata": {**OBJECT["metadata"], "generation": number}}
    other["spec"] = {**OBJECT["spec"], "parameters": {**OBJECT["spec"]["parameters"], "work_mem": f"{number}MB"}}
    other["status"] = {**OBJECT["status"], "observedGeneration": number}
    return msgspec.json.encode(other)


# The past


def _past() -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        yield from asyncio.run(_look_up(Path(folder, "store.db")))


async def _look_up(path: Path) -> list[Figure]:
    keys = [f"/registry/data.example.com/databases/shop/orders-{n}" for n in range(1000)]
    filling = REVISIONS / _fill(path, keys)
    start = time.perf_counter()
    store = await SqliteStore.open(path, durability="off", retention=Retention())
    opening = time.perf_counter() - start
    await store.checked()
    checking = time.perf_counter() - start
    random = Random(1)

    async def mean(times: int, look: Callable[[], Awaitable[object]]) -> float:
        start = time.perf_counter()
        for _ in range(times):
            await look()
        return (time.perf_counter() - start) / times * 1e6

    now = await mean(3000, lambda: store.get(random.choice(keys)))
    then = await mean(3000, lambda: store.get(random.choice(keys), at=random.randrange(1000, REVISIONS)))
    history = await mean(300, lambda: store.history(random.choice(keys), before=random.randrange(REVISIONS), limit=10))
    await store.close()
    size = path.stat().st_size / REVISIONS
    log = f"in a log of {REVISIONS:,}"
    return [
        Figure(f"sqlite: an object at a revision, {log}", then, "µs", "the object now", now),
        Figure(f"sqlite: ten revisions of an object's history, {log}", history, "µs"),
        Figure(f"sqlite: bytes on disk a revision, {log}", size, "bytes", aim="under 300", met=size < 300),
        Figure(f"sqlite: opening a file with a log of {REVISIONS:,}", opening * 1e3, "ms"),
        Figure("sqlite: looking through all of it, in the background", checking, "s"),
        Figure("sqlite: filling it, the writer's work alone, without syncs", filling, "commits/s"),
    ]


def _fill(path: Path, keys: list[str]) -> float:
    """A log of many revisions, by the writer's own code but without its thread; the seconds of CPU it took."""
    prepare(path, "off")
    connection = connect(path, "off")
    journal = Journal(Reader(path, connection))
    start = time.process_time()
    for n in range(REVISIONS // len(keys)):
        value, cause = changed(n), _cause(n)
        connection.execute("BEGIN IMMEDIATE")
        for key in keys:
            journal.transact([Write(key, value)], ACTOR, cause, float(n))
        journal.flush()
        connection.execute("COMMIT")
        if n % 20 == 0:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    connection.close()
    return time.process_time() - start
