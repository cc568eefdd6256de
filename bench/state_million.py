"""A server with a million objects: the first answers, and the fill of the cache in the background.

    python -m bench.state_million [--store sqlite|etcd] [--objects N] [--cache-bytes N]

The store needs some gigabytes below the directory for temporary files, and is removed afterwards. The turns of the
event loop are CPU times of its thread, because other processes delay the wall time of a turn.
"""

import argparse
import asyncio
import gc
import resource as system
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.store.etcd_server import etcd

from bench.figure import Figure
from bench.state import answer
from bench.state_growth import encoded
from bench.watch import ACTOR, PATH
from setpoint.server.app import Server
from setpoint.server.server_options import ServerSettings
from setpoint.store.bounds import Bounds
from setpoint.store.cached import Publishing
from setpoint.store.cached.state_cache import LIMIT, StateCache
from setpoint.store.contract import LogEntry, Write
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore
from setpoint.store.sqlite.importer import fill

OBJECTS = 1_000_000
_BYTES_EACH = 3000
# The objects of one transaction of etcd, the number of concurrent writers, and the bytes that etcd may store.
_TOGETHER, _WRITERS, _QUOTA = 40, 4, 8 << 30


def _entries(number: int) -> Iterator[LogEntry]:
    resource = Server(MemoryStore()).services.registry.resource("", "v1", "configmaps")
    assert resource is not None
    for revision in range(1, number + 1):
        key, value = encoded(resource, revision - 1, number)
        yield LogEntry(revision, key, value, 0, revision, 1.0, ACTOR, None)


async def _write(endpoint: str, number: int) -> None:
    """Writes the objects to etcd, in transactions of many objects."""
    store = await EtcdStore.open(EtcdConfig((endpoint,)))
    entries = _entries(number)

    async def write() -> None:
        while some := list(islice(entries, _TOGETHER)):
            await store.transact([Write(entry.key, entry.value) for entry in some], ACTOR)

    await asyncio.gather(*(write() for _ in range(_WRITERS)))
    await store.close()


async def _open(name: str, place: str) -> Publishing:
    if name == "etcd":
        return await EtcdStore.open(EtcdConfig((place,)))
    return await SqliteStore.open(Path(place), durability="off")


async def _measured(name: str, place: str, limit: int) -> list[Figure]:
    found: list[Figure] = []
    # As in `setpoint serve`: full collections are rare.
    gc.freeze()
    gc.set_threshold(2000, 10, 200)
    start = time.perf_counter()

    def note(what: str) -> None:
        found.append(Figure(what, time.perf_counter() - start, "s since the start"))

    store = await _open(name, place)
    note("the store is open")
    server = Server(store, settings=ServerSettings(state_cache_bytes=limit))
    cache = server.services.store
    assert isinstance(cache, StateCache)
    longest, sizes = [0.0, 0.0], [0]
    turning = asyncio.create_task(_turns(longest, sizes, cache))
    await server.start()
    note("the server has started")
    await answer(server, f"{PATH}/map-0000007")
    note("the first get is answered")
    await answer(server, PATH, "limit=500")
    note("the first page is answered")
    while not cache.is_filled:
        await asyncio.sleep(0.01)
    note("the cache has read all resources")
    turning.cancel()
    found.append(Figure("longest turn of the event loop meanwhile", longest[0] * 1e3, "ms CPU"))
    found.append(Figure("the same", longest[1] * 1e3, "ms"))
    found.append(Figure("greatest size of the cache", sizes[0] / 1e6, "MB", "limit", limit / 1e6))
    found.append(Figure("size of the cache at the end", cache.size / 1e6, "MB"))
    peak = system.getrusage(system.RUSAGE_SELF).ru_maxrss / 1e3
    found.append(Figure("greatest resident memory of the process", peak, "MB"))
    began = time.process_time()
    for number in range(200):
        await answer(server, f"{PATH}/map-{number:07d}")
    found.append(Figure("get", (time.process_time() - began) / 200 * 1e6, "µs CPU"))
    began = time.process_time()
    await answer(server, PATH, "limit=500")
    found.append(Figure("page of 500", (time.process_time() - began) * 1e3, "ms CPU"))
    server.close()
    await store.close()
    return found


async def _turns(longest: list[float], sizes: list[int], cache: StateCache) -> None:
    cpu, wall = time.thread_time(), time.perf_counter()
    while True:
        await asyncio.sleep(0)
        now, wall_now = time.thread_time(), time.perf_counter()
        longest[0], longest[1] = max(longest[0], now - cpu), max(longest[1], wall_now - wall)
        cpu, wall, sizes[0] = now, wall_now, max(sizes[0], cache.size)


@contextmanager
def _place(name: str, number: int) -> Iterator[str]:
    """Provides the place of an empty store: a file, or the endpoint of an etcd."""
    with TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < number * _BYTES_EACH * 2:
            raise SystemExit(f"{folder} has too little space for {number:,} objects")
        if name == "sqlite":
            yield str(Path(folder, "store.db"))
            return
    with etcd(flags=[f"--quota-backend-bytes={_QUOTA}"]) as (server,):
        yield server.endpoint


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.state_million")
    parser.add_argument("--store", choices=["sqlite", "etcd"], default="sqlite")
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--cache-bytes", type=int, default=LIMIT)
    parser.add_argument("--fill", metavar="PLACE", help="create the objects in this file or etcd, and end")
    arguments = parser.parse_args()
    name, number = arguments.store, arguments.objects
    if arguments.fill is not None:
        if name == "etcd":
            asyncio.run(_write(arguments.fill, number))
        else:
            fill(Path(arguments.fill), _entries(number), Bounds(0, number))
        return
    with _place(name, number) as place:
        # In another process, so that its memory does not count.
        options = ["--store", name, "--objects", str(number), "--fill", place]
        subprocess.run([sys.executable, "-m", "bench.state_million", *options], check=True)
        for figure in asyncio.run(_measured(name, place, arguments.cache_bytes)):
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
