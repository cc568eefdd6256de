"""Reads of the current state on each store: get, list, selector list, pages, and the start of many watches.

Everything runs in this process and through the whole pipeline, without sockets. The last figures are those of a whole
server over HTTP: the CPU time of a get with 32 connections, and the memory of a server with 16,000 objects. etcd is a
process of its own; its CPU time is not counted.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from tests.debian import missing
from tests.store.etcd_server import etcd

from bench import edge
from bench.edge_load import Order
from bench.figure import Figure
from bench.watch import ACTOR, FROM_NOW, PATH, WATCHERS, WRITES, CountingSink, config_map, fan_out
from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.server.server_options import ServerSettings
from setpoint.store.cached.state_cache import LIMIT
from setpoint.store.contract import ANY, Store
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore

OBJECTS = 10_000
WRITERS = 16
GROUPS = 100
GETS = 2000
ROUNDS = 5
LARGE = 16_000
SELECTOR = "labelSelector=group%3Dg-7"
LABELLED = "the same with a label selector (1 of 100 objects)"


@asynccontextmanager
async def _memory() -> AsyncIterator[Store]:
    store = MemoryStore()
    yield store
    await store.close()


@asynccontextmanager
async def _sqlite() -> AsyncIterator[Store]:
    with TemporaryDirectory() as folder:
        store = await SqliteStore.open(Path(folder, "store.db"), durability="off")
        yield store
        await store.close()


@asynccontextmanager
async def _etcd() -> AsyncIterator[Store]:
    with etcd() as (server,):
        store = await EtcdStore.open(EtcdConfig((server.endpoint,)))
        yield store
        await store.close()


UNCACHED = "etcd without the cache"
STORES = {"memory": _memory, "sqlite": _sqlite, UNCACHED: _etcd, "etcd": _etcd}


def figures() -> Iterator[Figure]:
    reason = missing("etcd", "etcd-server")
    if reason:
        yield Figure(f"etcd: not measured, {reason}", 0, "")
    names = [name for name in STORES if not reason or "etcd" not in name]
    for name in names:
        yield from asyncio.run(_measured(name))
    for name in names:
        yield from _served(name)


def _cache_bytes(name: str) -> int:
    return 0 if name == UNCACHED else LIMIT


async def _measured(name: str) -> list[Figure]:
    async with STORES[name]() as store:
        server = Server(store, settings=ServerSettings(state_cache_bytes=_cache_bytes(name)))
        await server.start()
        await _fill(server)
        try:
            return [figure async for figure in _reads(name, server)]
        finally:
            server.close()


async def _fill(server: Server) -> None:
    resource = server.services.registry.resource("", "v1", "configmaps")
    assert resource is not None

    async def fill(numbers: range) -> None:
        for number in numbers:
            name = f"map-{number:05d}"
            tree = config_map(name, str(number))
            tree["metadata"]["labels"] = {"app": "bench", "group": f"g-{number % GROUPS}"}
            value = resource.encode(tree)
            await server.services.store.commit(resource.storage.key("default", name), value, ANY, ACTOR)

    await asyncio.gather(*(fill(range(start, OBJECTS, WRITERS)) for start in range(WRITERS)))


async def _reads(name: str, server: Server) -> AsyncIterator[Figure]:
    async def get() -> None:
        for number in range(GETS):
            await answer(server, f"{PATH}/map-{number:05d}")

    yield Figure(f"{name}: get", await best(get) / GETS * 1e6, "µs CPU")
    for what, query in (
        ("list of 10,000 objects", ""),
        (LABELLED, SELECTOR),
        ("page of 500 objects", "limit=500"),
    ):
        yield Figure(f"{name}: {what}", await best(lambda query=query: answer(server, PATH, query)) * 1e3, "ms CPU")  # type: ignore[misc]
    yield Figure(f"{name}: second page, after a write", await _second_page(server) * 1e3, "ms CPU")
    # Without the cache, each watch reads all objects: 1,000 of them would take minutes.
    for count, rounds in ((1, 3), (100, 1)) if name == UNCACHED else ((1, 3), (100, 3), (1000, 1)):
        first, last, gap = min([await _started(server, count) for _ in range(rounds)])
        what = f"{name}: {count} watches with a selector"
        yield Figure(f"{what}, first event of the first", first * 1e3, "ms")
        yield Figure(f"{what}, first event of the last", last * 1e3, "ms")
        yield Figure(f"{what}, longest turn of the loop", gap * 1e3, "ms")
    deliveries = [await fan_out(server, FROM_NOW) for _ in range(3)]
    late = min(sorted(delays)[int(len(delays) * 0.99)] for delays, _ in deliveries)
    yield Figure(f"{name}: one write seen by 1,000 watchers, 99th percentile", late * 1e3, "ms")
    spent = min(spent for _, spent in deliveries)
    yield Figure(f"{name}: one event of one watcher", spent / WRITES / WATCHERS * 1e6, "µs CPU")


async def answer(server: Server, path: str, query: str = "") -> Response:
    response = await server(Request("GET", path, query))
    assert response.status == 200, response.body
    return response


async def best(work: Callable[[], object]) -> float:
    """Returns the CPU seconds of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        await work()  # type: ignore[misc]
        best = min(best, time.process_time() - start)
    return best


async def _second_page(server: Server) -> float:
    best = float("inf")
    for number in range(ROUNDS):
        body = (await answer(server, PATH, "limit=500")).body
        assert isinstance(body, bytes | list)
        first = msgspec.json.decode(body if isinstance(body, bytes) else b"".join(body))
        changed = config_map("map-09999", f"change {number}")
        resource = server.services.registry.resource("", "v1", "configmaps")
        assert resource is not None
        key = resource.storage.key("default", "map-09999")
        await server.services.store.commit(key, resource.encode(changed), ANY, ACTOR)
        start = time.process_time()
        await answer(server, PATH, f"limit=500&continue={first['metadata']['continue']}")
        best = min(best, time.process_time() - start)
    return best


async def _started(server: Server, count: int) -> tuple[float, float, float]:
    """Opens watches together. Returns the seconds until the first event of the first and of the last watch, and the
    longest turn of the event loop."""
    sinks = [CountingSink() for _ in range(count)]
    gaps: list[float] = []
    gc.collect()
    turning = asyncio.create_task(turns(gaps))
    await asyncio.sleep(0)
    start = time.perf_counter()

    async def run(sink: CountingSink) -> None:
        body = (await answer(server, PATH, f"watch=1&{SELECTOR}")).body
        assert not isinstance(body, bytes | list)
        await body.run(sink)

    tasks = [asyncio.create_task(run(sink)) for sink in sinks]
    while not all(sink.times for sink in sinks):
        await asyncio.sleep(0.001)
    turning.cancel()
    for sink in sinks:
        sink.close()
    await asyncio.gather(*tasks)
    first = [sink.times[0] - start for sink in sinks]
    return min(first), max(first), max(gaps)


async def cpu_of_start(server: Server) -> float:
    """Returns the CPU seconds until the first event of a new watch."""
    sink = CountingSink()
    gc.collect()
    start = time.process_time()
    body = (await answer(server, PATH, f"watch=1&{SELECTOR}")).body
    assert not isinstance(body, bytes | list)
    task = asyncio.create_task(body.run(sink))
    # A loop of short sleeps would count as the cost of a read that waits for etcd.
    await sink.began.wait()
    spent = time.process_time() - start
    sink.close()
    await task
    return spent


async def turns(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


def _served(name: str) -> Iterator[Figure]:
    """Measures a whole server over HTTP."""
    with ExitStack() as stack:
        specification = name
        if name == "sqlite":
            folder = stack.enter_context(TemporaryDirectory())
            specification = f"sqlite:{folder}/store.db?durability=off"
        elif name != "memory":
            (member,) = stack.enter_context(etcd())
            specification = f"etcd:http://{member.endpoint}/bench"
        options = ("--store", specification, "--state-cache-bytes", str(_cache_bytes(name)))
        with edge.serving("setpoint", *edge.serve_options(), *options) as server:
            orders = edge.orders(server.port)
            edge.ask(orders["seed"])
            for connections in (1, edge.CONNECTIONS):
                order: Order = msgspec.structs.replace(orders["get"], connections=connections)
                cost = min(server.measure(order)[1] for _ in range(3))
                yield Figure(f"{name}: get over HTTP, {connections} connections", cost, "µs CPU")
            made = edge.ask(msgspec.structs.replace(orders["create"], seconds=120.0, most=LARGE))
            if made.statuses != {201: LARGE}:
                raise RuntimeError(f"not all objects were made: {made.statuses}")
            listing = msgspec.structs.replace(orders["get"], path=edge.CONFIG_MAPS, connections=1)
            edge.ask(msgspec.structs.replace(listing, seconds=60.0, most=3))
            yield Figure(f"{name}: memory of a server with {LARGE:,} objects of 1 KB", server.memory(), "MB")
