"""The cost of reads as the number of objects grows, on each store: get, page, selector list and the start of a watch.

Each read has the same answer for 1,000, 10,000 and 100,000 objects, so the cost should not grow. The figures are CPU
times of this process, and the number of objects that a selector list compares with the selector.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count

from bench.figure import Figure
from bench.state import STORES, UNCACHED, answer, best, cpu_of_start
from bench.watch import ACTOR, PATH, config_map
from setpoint.server.app import Server
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.server_options import ServerSettings
from setpoint.store.cached.state_cache import LIMIT
from setpoint.store.contract import ANY, Store, Write

SIZES = (1000, 10_000, 100_000)
MATCHES = 100
GETS = 500
# The number of objects in one transaction: etcd accepts few.
_TOGETHER = 20
_roots = count()


def figures() -> Iterator[Figure]:
    stores = {name: opened for name, opened in STORES.items() if name != UNCACHED}
    if shutil.which("etcd") is not None:
        stores["etcd"] = _etcd
    for name, opened in stores.items():
        for size in SIZES:
            yield from asyncio.run(_measured(name, size, opened))


@asynccontextmanager
async def _etcd() -> AsyncIterator[Store]:
    from tests.store.etcd_server import shared_etcd

    from setpoint.store.etcd import EtcdConfig, EtcdStore

    config = EtcdConfig((shared_etcd().endpoint,), root=f"/growth-{next(_roots)}")
    store = await EtcdStore.open(config)
    yield store
    await store.close()


def encoded(resource: Resource, number: int, size: int) -> tuple[str, bytes]:
    """Returns the key and the bytes of one of many objects, of which `MATCHES` have the label `group=g-7`."""
    name = f"map-{number:07d}"
    tree = config_map(name, str(number))
    tree["metadata"]["labels"] = {"app": "bench", "group": f"g-{number % (size // MATCHES)}"}
    return resource.storage.key("default", name), resource.encode(tree)


async def _measured(name: str, size: int, opened: Callable[[], AbstractAsyncContextManager[Store]]) -> list[Figure]:
    async with opened() as store:
        server = Server(store, settings=ServerSettings(state_cache_bytes=LIMIT))
        await server.start()
        try:
            resource = server.services.registry.resource("", "v1", "configmaps")
            assert resource is not None
            for start in range(0, size, _TOGETHER):
                numbers = range(start, start + _TOGETHER)
                writes = [Write(*encoded(resource, number, size), ANY) for number in numbers]
                await server.services.store.transact(writes, ACTOR)
            return [figure async for figure in _reads(f"{name}, {size:,} objects", server)]
        finally:
            server.close()


async def _reads(name: str, server: Server) -> AsyncIterator[Figure]:
    async def gets() -> None:
        for number in range(GETS):
            await answer(server, f"{PATH}/map-{number:07d}")

    async def listed(query: str) -> None:
        await answer(server, PATH, query)

    # The first lists build the index.
    for _ in range(2):
        await listed("labelSelector=group%3Dg-7")
    yield Figure(f"{name}: get", await best(gets) / GETS * 1e6, "µs CPU")
    yield Figure(f"{name}: page of 500", await best(lambda: listed("limit=500")) * 1e3, "ms CPU")
    cost = await best(lambda: listed("labelSelector=group%3Dg-7"))
    yield Figure(f"{name}: selector list of {MATCHES}", cost * 1e3, "ms CPU")
    compared = await _compared(lambda: listed("labelSelector=group%3Dg-7"))
    yield Figure(f"{name}: objects compared by that list", compared, "objects")
    started = min([await cpu_of_start(server) for _ in range(3)])
    yield Figure(f"{name}: start of a watch of {MATCHES}", started * 1e3, "ms CPU")


async def _compared(work: Callable[[], Awaitable[None]]) -> int:
    """Returns the number of objects that are compared with a selector."""
    count, matches = 0, ObjectSelector.matches

    def counted(selector: ObjectSelector, key: str, value: bytes, revision: int) -> bool:
        nonlocal count
        count += 1
        return matches(selector, key, value, revision)

    ObjectSelector.matches = counted  # type: ignore[assignment, method-assign]
    try:
        await work()
    finally:
        ObjectSelector.matches = matches  # type: ignore[method-assign]
    return count
