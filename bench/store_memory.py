"""The store in memory beside the least that could be done instead."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator

from bench.custom_resource import DOCUMENT
from bench.figure import Figure, in_turns
from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Write
from setpoint.store.memory import MemoryStore

ACTOR = Actor("bench")
KEYS = [f"/registry/data.example.com/databases/shop/orders-{n}" for n in range(1000)]
VALUES = [DOCUMENT, DOCUMENT + b" "]
COMMITS = 20_000
WATCHERS = 1000


def figures() -> Iterator[Figure]:
    ours, plain = in_turns(10, _commits, _plain_writes)
    yield Figure(
        "memory: commits, one after the other", 1 / ours, "commits/s", "dict write + list append", 1 / plain,
        "within 20x", ours / plain <= 20,
    )  # fmt: skip
    fan_out, bare = in_turns(15, _fan_out, _bare_fan_out)
    yield Figure(
        f"memory: one commit reaches {WATCHERS:,} watchers",
        fan_out * 1e6,
        "µs",
        "waking as many bare futures",
        bare * 1e6,
    )
    start, *_ = in_turns(50, _start)
    yield Figure("memory: start", start * 1e6, "µs", aim="under 1000", met=start < 0.001)
    for keys in (1000, 100_000):
        snapshot, restore = asyncio.run(_snapshot(keys))
        yield Figure(f"memory: snapshot of {keys:,} keys", snapshot * 1e6, "µs")
        yield Figure(f"memory: restore of {keys:,} keys", restore * 1e6, "µs")


def _commits() -> float:
    async def run() -> float:
        store = MemoryStore()
        keys = len(KEYS)
        start = time.process_time()
        for n in range(COMMITS):
            await store.commit(KEYS[n % keys], VALUES[n // keys & 1], ANY, ACTOR)
        return (time.process_time() - start) / COMMITS

    return _without_gc(run)


def _plain_writes() -> float:
    async def run() -> float:
        state: dict[str, tuple[int, bytes]] = {}
        log: list[tuple[int, str, bytes]] = []
        keys = len(KEYS)
        start = time.process_time()
        for revision in range(COMMITS):
            key, value = KEYS[revision % keys], VALUES[revision // keys & 1]
            state[key] = (revision, value)
            log.append((revision, key, value))
        return (time.process_time() - start) / COMMITS

    return _without_gc(run)


def _fan_out() -> float:
    async def run() -> float:
        store = MemoryStore()
        watches = [store.watch("/registry/") for _ in range(WATCHERS)]
        best = float("inf")
        for n in range(5):
            tasks = [asyncio.create_task(watch.next()) for watch in watches]
            await asyncio.sleep(0)
            start = time.process_time()
            await store.commit(KEYS[0], VALUES[n & 1], ANY, ACTOR)
            await asyncio.wait(tasks)
            best = min(best, time.process_time() - start)
        await store.close()
        return best

    return _without_gc(run)


def _bare_fan_out() -> float:
    async def wait(future: asyncio.Future[None]) -> None:
        await future

    async def run() -> float:
        best = float("inf")
        for _ in range(5):
            futures: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(WATCHERS)]
            tasks = [asyncio.create_task(wait(future)) for future in futures]
            await asyncio.sleep(0)
            start = time.process_time()
            for future in futures:
                future.set_result(None)
            await asyncio.wait(tasks)
            best = min(best, time.process_time() - start)
        return best

    return _without_gc(run)


def _start() -> float:
    start = time.perf_counter()
    MemoryStore()
    return time.perf_counter() - start


async def _snapshot(keys: int) -> tuple[float, float]:
    store = MemoryStore()
    await store.transact([Write(f"/registry/pods/ns-{n % 50}/pod-{n}", DOCUMENT) for n in range(keys)], ACTOR)
    taking = restoring = float("inf")
    for n in range(10):
        start = time.process_time()
        snapshot = await store.snapshot()
        taking = min(taking, time.process_time() - start)
        for key in KEYS[:20]:  # what a test would do in between
            await store.commit(key, b"%d" % n, ANY, ACTOR)
        start = time.process_time()
        await store.restore(snapshot)
        restoring = min(restoring, time.process_time() - start)
    return taking, restoring


def _without_gc(run: Callable[[], Awaitable[float]]) -> float:
    async def awaited() -> float:
        return await run()

    gc.collect()
    gc.disable()
    try:
        return asyncio.run(awaited())
    finally:
        gc.enable()
