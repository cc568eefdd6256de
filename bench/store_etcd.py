"""The store in etcd beside the bare client library: the same transactions, and a plain put of the same value."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any

import aetcd
from tests.debian import missing
from tests.store.etcd_server import etcd

from bench.custom_resource import DOCUMENT
from bench.figure import Figure, in_turns
from setpoint.objects.provenance import Actor
from setpoint.store.etcd import EtcdConfig, EtcdStore

ACTOR = Actor("bench")
VALUES = [DOCUMENT, DOCUMENT + b" "]
COMMITS = 400  # of each writer in a round, divided by the number of writers
ROUNDS = 6
# About what the store keeps beside a value, and in the head.
HEAD, ENVELOPE = b"h" * 30, b"e" * 70

Commit = Callable[[str, int, int], Awaitable[int]]
_names = count()


def figures() -> Iterator[Figure]:
    reason = missing("etcd", "etcd-server")
    if reason:
        yield Figure(f"etcd: not measured, {reason}", 0, "")
        return
    with etcd() as (server,):
        host, port = server.endpoint.split(":")
        for writers in (1, 32):

            def ours(writers: int = writers) -> float:
                return asyncio.run(_ours(server.endpoint, writers))

            def bare(writers: int = writers) -> float:
                return asyncio.run(_bare(host, int(port), writers, _same))

            def puts(writers: int = writers) -> float:
                return asyncio.run(_bare(host, int(port), writers, _put))

            store, library, plain = in_turns(ROUNDS, ours, bare, puts)
            who = "one writer" if writers == 1 else f"{writers} writers"
            yield Figure(
                f"etcd: commits that expect a revision, {who}", 1 / store, "commits/s",
                "aetcd, same transactions", 1 / library, "at least 0.8x", store <= library / 0.8,
            )  # fmt: skip
            yield Figure(f"etcd: the same, {who}", 1 / store, "commits/s", "aetcd, one plain put each", 1 / plain)


async def _ours(endpoint: str, writers: int) -> float:
    store = await EtcdStore.open(EtcdConfig((endpoint,), root=f"/bench-{next(_names)}"))

    async def commit(key: str, n: int, revision: int) -> int:
        return await store.commit(key, VALUES[n & 1], revision, ACTOR)

    try:
        return await _run(commit, writers)
    finally:
        await store.close()


async def _bare(host: str, port: int, writers: int, make: Callable[[Any, bytes], Commit]) -> float:
    root = b"/bare-%d/" % next(_names)
    async with aetcd.Client(host, port) as client:
        return await _run(make(client, root), writers)


def _same(client: Any, root: bytes) -> Commit:
    """What our commits do, in the words of the library."""
    on = client.transactions
    epoch, fence, head = root + b"epoch", root + b"fence", root + b"head"
    lows = [bytes([n]) * 33 for n in range(2)]

    async def commit(key: str, n: int, revision: int) -> int:
        state = root + key.encode()
        puts = [on.put(state, ENVELOPE + VALUES[n & 1]), on.put(head, HEAD)]
        if revision:
            low = lows[n & 1]
            puts = [on.txn([on.value(state) > low, on.value(state) < low + b"\0"], [], puts)]
        done, answers = await client.transaction(
            [on.mod(epoch) == 0, on.version(fence) == 0, on.mod(state) == revision],
            puts,
            [on.get(epoch), on.get(fence), on.get(state)],
        )
        assert done
        put = answers[0].response_txn.responses[0] if revision else answers[0]
        return int(put.response_put.header.revision)

    return commit


def _put(client: Any, root: bytes) -> Commit:
    async def commit(key: str, n: int, revision: int) -> int:
        await client.put(root + key.encode(), VALUES[n & 1])
        return revision

    return commit


async def _run(commit: Commit, writers: int) -> float:
    """Seconds of one commit, with so many writers who each create a few keys and then change them again and again."""
    each = COMMITS * (1 if writers == 1 else 3) // writers

    async def write(writer: int) -> None:
        revisions = dict.fromkeys(range(4), 0)
        for n in range(each):
            key = n % 4
            revisions[key] = await commit(f"shop/orders-{writer}-{key}", n // 4, revisions[key])

    start = time.perf_counter()
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    return (time.perf_counter() - start) / (each * writers)
