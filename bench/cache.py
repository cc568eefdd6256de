"""The cache: reading one object and many, getting everything at first, and what an object costs in memory.

Beside it stands what a program does that keeps the decoded JSON of each object in a dictionary, as kopf's indexes and
most operators in Python do. 10,000 ConfigMaps of about 1 KB, in 100 namespaces; the client is in the same process, or
comes over HTTP, through everything that a real one goes through.
"""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from bench.figure import Figure, in_turns
from bench.watch import ACTOR, config_map
from setpoint.cache.cache import Cache
from setpoint.cache.informer import Informer
from setpoint.cache.scope import Transform
from setpoint.cache.transforms import strip_managed_fields
from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.kinds import metadata_only
from setpoint.client.list_result import PAGE
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.store.contract import ANY

OBJECTS, NAMESPACES = 10_000, 100
KIND = "v1/ConfigMap"
ROUNDS = 5
GETS = 20_000


def figures() -> Iterator[Figure]:
    loop = asyncio.new_event_loop()
    try:
        yield from loop.run_until_complete(_all())
    finally:
        loop.close()


async def _all() -> list[Figure]:
    async with ControlPlane(token="bench", system=False) as plane, plane.client() as local:
        await _fill(plane)
        url = await plane.listen(tls=False)

        async def credentials(refused: Mapping[str, str] | None) -> Mapping[str, str]:
            return {"authorization": "Bearer bench"}

        async with Client(HttpTransport(endpoint(url), credentials=credentials)) as remote:
            found = [figure async for figure in _syncs(local, remote)]
        async with Cache(local) as cache, cache.use(KIND) as informer:
            found += await _reads(cache, informer)
        found += [figure async for figure in _memory(local)]
    return found


async def _fill(plane: ControlPlane) -> None:
    services = plane._started.services
    resource = services.registry.resource("", "v1", "configmaps")
    assert resource is not None
    for number in range(OBJECTS):
        name, namespace = f"map-{number:05d}", f"ns-{number % NAMESPACES:02d}"
        tree = config_map(name, str(number))
        tree["metadata"]["namespace"] = namespace
        tree["data"]["node"] = f"node-{number % 500}"
        await services.store.commit(resource.storage.key(namespace, name), resource.encode(tree), ANY, ACTOR)


async def _best(rounds: int, *measures: Callable[[], Awaitable[float]]) -> list[float]:
    """The best round of each, in turns."""
    best = [float("inf")] * len(measures)
    for _ in range(rounds):
        for place, measure in enumerate(measures):
            gc.collect()
            best[place] = min(best[place], await measure())
    return best


async def _syncs(local: Client, remote: Client) -> Any:
    async def sync(client: Client, kind: Any = KIND) -> float:
        start = time.process_time()
        async with Cache(client, grace=0) as cache, cache.use(kind) as informer:
            spent = time.process_time() - start
            assert len(informer.store) >= OBJECTS
        return spent

    async def plain(client: Client) -> float:
        """Every page decoded into dictionaries: the least that a cache of dictionaries does."""
        start = time.process_time()
        kept, continue_ = {}, ""
        while True:
            body = await client.raw_list(KIND, limit=PAGE, continue_=continue_)
            page = msgspec.json.decode(body)
            for item in page["items"]:
                kept[item["metadata"]["namespace"], item["metadata"]["name"]] = item
            continue_ = page["metadata"].get("continue", "")
            if not continue_:
                break
        assert len(kept) >= OBJECTS
        return time.process_time() - start

    for client, where in ((local, "in process"), (remote, "over HTTP, client and server")):
        ours, heads, base = await _best(
            3,
            lambda client=client: sync(client),  # type: ignore[misc]
            lambda client=client: sync(client, metadata_only(KIND)),  # type: ignore[misc]
            lambda client=client: plain(client),  # type: ignore[misc]
        )
        rate, baseline = OBJECTS / ours, OBJECTS / base
        yield Figure(f"first sync of 10,000 objects, {where}", rate, "objects/s", "pages into dicts", baseline)
        yield Figure(f"the same, metadata alone, {where}", OBJECTS / heads, "objects/s")


async def _reads(cache: Cache, informer: Informer[Any]) -> list[Figure]:
    keys = [(held.meta.name, held.meta.namespace) for held in informer.store.all()][:1000]
    plain: dict[tuple[str, str], Object] = {key: await cache.get(KIND, *key) or {} for key in keys}

    async def get() -> float:
        read, times = cache.get, GETS // len(keys)
        start = time.process_time()
        for _ in range(times):
            for name, namespace in keys:
                await read(KIND, name, namespace)
        return (time.process_time() - start) / (times * len(keys))

    async def lookup() -> float:
        times = GETS // len(keys)
        start = time.process_time()
        for _ in range(times):
            for key in keys:
                plain[key]
        return (time.process_time() - start) / (times * len(keys))

    ours, base = await _best(ROUNDS, get, lookup)
    found = [
        Figure("cached get", ours * 1e6, "µs", "a dict", base * 1e6, "<=2", ours * 1e6 <= 2),
    ]
    everything = [held.object for held in informer.store.all()]
    informer.index_path("data.node")
    query = informer.query()
    cases: tuple[tuple[str, Callable[[], list[Any]], Callable[[Object], bool]], ...] = (
        (
            "list a namespace (100)",
            lambda: informer.list("ns-07"),
            lambda tree: tree["metadata"]["namespace"] == "ns-07",
        ),
        (
            "list by a label (5,000), by looking",
            lambda: query.labels("half=left,app=bench,!x").objects(),
            lambda tree: tree["metadata"]["labels"].get("half") == "left",
        ),
        (
            "list by a label and a namespace (100)",
            lambda: query.in_namespace("ns-08").labels("app=bench").objects(),
            lambda tree: tree["metadata"]["namespace"] == "ns-08" and tree["metadata"]["labels"].get("app") == "bench",
        ),
        (
            "list by an index (20)",
            lambda: query.where("data.node", "=", "node-7").objects(),
            lambda tree: tree["data"].get("node") == "node-7",
        ),
        ("list all (10,000)", informer.list, lambda tree: True),
    )
    for name, ask, test in cases:
        ask()
        ours, base = in_turns(ROUNDS, partial(_time, ask), partial(_time, partial(_scan, everything, test)))
        found.append(Figure(f"of 10,000 objects, {name}", ours * 1e3, "ms", "a scan of dicts", base * 1e3))
    return found


def _scan(trees: list[Object], test: Callable[[Object], bool]) -> list[Object]:
    return [tree for tree in trees if test(tree)]


def _time(run: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(3):
        run()
    return (time.process_time() - start) / 3


async def _memory(client: Client) -> Any:
    async def plain() -> float:
        before = _allocated()
        kept = {}
        for item in (await client.list(KIND)).items:
            kept[item["metadata"]["namespace"], item["metadata"]["name"]] = item
        return (_allocated() - before) / len(kept)

    async def cached(kind: Any, *, read: bool, transform: Transform | None = None) -> float:
        before = _allocated()
        async with Cache(client, grace=0, transform=transform) as cache, cache.use(kind) as informer:
            if read:
                informer.list()
            return (_allocated() - before) / len(informer.store)

    tracemalloc.start()
    await cached(KIND, read=True)  # what is made once for all
    base = await plain()
    for kind, read, transform, name in (
        (KIND, False, None, "memory of an object that nobody has read"),
        (KIND, True, None, "memory of an object that was read"),
        (KIND, True, strip_managed_fields, "memory of an object that was read, without managed fields"),
        (metadata_only(KIND), False, None, "memory of an object, metadata alone"),
    ):
        used = await cached(kind, read=read, transform=transform)
        yield Figure(name, used, "bytes", "decoded into dicts", base)
    tracemalloc.stop()


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
