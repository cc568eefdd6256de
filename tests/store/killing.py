"""Kills a writing process again and again, and looks each time whether the store kept its word.

`python -m tests.store.killing --times N --seed S FOLDER` forks a child that commits, purges, sweeps and checkpoints as
fast as it can and reports each acknowledged commit through a pipe; kills it (-9) at a random moment; opens the file;
and checks that every acknowledged commit is there, that no revision is missing and that no entry is torn. The same file
goes through many kills. It runs in a process of its own because it forks, which is best done where no thread runs.
"""

import argparse
import asyncio
import os
import signal
import time
import traceback
import zlib
from pathlib import Path
from random import Random

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import Purge, Purged, Retention, Selection, Write
from setpoint.store.sqlite import SqliteStore, checkpoint

WRITERS = 4
ROUNDS_PER_FILE = 25
KEEP = Retention(revisions=3000)


def _digest(value: bytes | None) -> str:
    return "-" if value is None else str(zlib.crc32(value))


async def _write_forever(path: Path, report: int, seed: int) -> None:
    store = await SqliteStore.open(path, retention=KEEP)
    if seed % 10 == 0:
        await store.restore(await store.snapshot())

    async def write(number: int) -> None:
        random = Random(seed * 100 + number)
        actor = Actor(f"writer-{number}")
        body = random.randbytes(900).hex().encode()
        while True:
            writes = []
            for key in random.sample(range(8), random.choice([1, 1, 1, 3])):
                spot = random.randrange(len(body))
                value = body[:spot] + b"%d" % random.getrandbits(40) + body[spot:]
                writes.append(Write(f"{number}/{key}", None if random.random() < 0.1 else value))
            before = await store.revision()
            revision = await store.transact(writes, actor, Cause(f"r-{random.getrandbits(32)}"))
            if revision > before:
                lines = [f"{revision} {write.key} {_digest(write.value)}\n" for write in writes]
                os.write(report, "".join(lines).encode())
            if random.random() < 0.02:
                await store.compact(max(0, revision - random.randrange(200)))
            if random.random() < 0.02:
                await store.purge(Selection(f"{number}/{random.randrange(8)}"), Purge("root", 1.0, "test"))
                if random.random() < 0.2:
                    await store.scrub()

    await asyncio.gather(*(write(number) for number in range(WRITERS)))


def _start(path: Path, seed: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.close(reading)
        # A log that is soon long: checkpoints and new beginnings happen in every round.
        checkpoint.LONG = 100_000
        asyncio.run(_write_forever(path, writing, seed))
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(1)  # only an error leads here


def _read_all(descriptor: int) -> list[tuple[int, str, str]]:
    with os.fdopen(descriptor, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    return [(int(revision), key, digest) for revision, key, digest in (line.split() for line in lines)]


async def _check(store: SqliteStore, acknowledged: list[tuple[int, str, str]]) -> None:
    current, oldest = await store.revision(), await store.oldest()
    entries = await store.log()
    found = {(entry.revision, entry.key): _digest(entry.value) for entry in entries}
    # A write of a transaction that changed nothing made no entry; the key then already had that value.
    state = {item.key: item for item in (await store.range("")).items}
    for revision, key, digest in acknowledged:
        assert revision <= current, f"revision {revision} was acknowledged, but the store ends at {current}"
        if revision > oldest and found.get((revision, key)) != digest:
            try:
                item = await store.get(key, at=revision)
            except Purged:
                continue
            assert _digest(item.value if item else None) == digest, f"{key} at revision {revision} is not as written"
        item = state.get(key)
        if item is None:
            past = await store.history(key, limit=1)
            assert digest == "-" or oldest >= revision or (past and past[0].revision > revision), f"{key} is lost"
        else:
            assert item.revision >= revision or digest == _digest(item.value), f"{key} went back"
    missing = set(range(oldest + 1, current + 1)) - {entry.revision for entry in entries}
    assert missing <= {restored for _, restored in store.bounds.gaps}, f"there are holes in the log: {missing}"
    last = {}
    for entry in entries:
        last[entry.key] = entry
    assert {key: entry.value for key, entry in last.items() if entry.value is not None} == {
        key: item.value for key, item in state.items()
    }, "the state is not what the log says"


async def _reopen(path: Path, acknowledged: list[tuple[int, str, str]]) -> int:
    # Opening checks every checksum, and that the log has no hole.
    store = await SqliteStore.open(path, retention=KEEP)
    try:
        await _check(store, acknowledged)
        return await store.revision()
    finally:
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    random = Random(options.seed)
    promised = 0
    for round_number in range(options.times):
        path = options.folder / f"{round_number // ROUNDS_PER_FILE}.db"
        child, report = _start(path, options.seed * 10_000 + round_number)
        # Often before it is open, mostly while it writes.
        time.sleep(random.choice([0.02, 0.05, 0.1, 0.3]) * random.random())
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the writing process failed by itself"
        acknowledged = _read_all(report)
        promised += len(acknowledged)
        asyncio.run(_reopen(path, acknowledged))
    os.write(1, f"{options.times} kills, {promised} acknowledged writes, all found\n".encode())


if __name__ == "__main__":
    main()
