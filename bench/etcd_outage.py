"""A server whose etcd has no quorum: the longest time until a request is answered, at the beginning and later."""

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

from tests.debian import missing
from tests.store.etcd_server import EtcdServer, etcd

from bench.figure import Figure
from setpoint.client.transport import Call
from setpoint.plane import ControlPlane
from setpoint.server.edge.in_process import LocalTransport

MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 16
_MAJORITY = 2
Fail = Callable[[Sequence[EtcdServer]], None]


def _kill(servers: Sequence[EtcdServer]) -> None:
    for server in servers:
        server.kill()


def _pause(servers: Sequence[EtcdServer]) -> None:
    for server in servers:
        server.signal(signal.SIGSTOP)


OUTAGES: Sequence[tuple[str, int, Fail]] = (
    ("2 of 3 members killed", 2, _kill),
    ("2 of 3 members paused", 2, _pause),
    ("3 of 3 members killed", 3, _kill),
    ("3 of 3 members paused", 3, _pause),
    ("1 of 3 members paused", 1, _pause),
)


def figures() -> Iterator[Figure]:
    reason = missing("etcd", "etcd-server")
    if reason:
        yield Figure(f"etcd outage: not measured, {reason}", 0, "")
        return
    for name, count, fail in OUTAGES:
        for figure, seconds, statuses in asyncio.run(_measured(count, fail)):
            answers = ", ".join(f"{number} x {status}" for status, number in sorted(statuses.items()))
            if count < _MAJORITY:
                yield Figure(f"{name}: {figure} ({answers})", seconds, "s")
            else:
                yield Figure(f"{name}: {figure} ({answers})", seconds, "s", aim="2", met=seconds < 2)


async def _measured(count: int, fail: Fail) -> list[tuple[str, float, Counter[int]]]:
    with etcd(members=3) as servers:
        async with _transport(servers) as transport:
            await _requests(transport, "before")
            fail(servers[:count])
            return [(name, *await _requests(transport, name)) for name in ("first", "later")]


@asynccontextmanager
async def _transport(servers: Sequence[EtcdServer]) -> AsyncIterator[LocalTransport]:
    endpoints = ",".join(server.endpoint for server in servers)
    async with ControlPlane(f"etcd:http://{endpoints}/outage", system=False) as plane:
        yield LocalTransport(plane.answer)


async def _requests(transport: LocalTransport, name: str) -> tuple[float, Counter[int]]:
    """Sends creates, gets and a request for readiness at the same time. Returns the longest time and the statuses."""
    statuses: Counter[int] = Counter()

    async def send(method: str, path: str, body: bytes = b"") -> float:
        headers = {"accept": "application/json", "content-type": "application/json"}
        began = time.perf_counter()
        statuses[(await transport.send(Call(method, path, (), headers, body))).status] += 1
        return time.perf_counter() - began

    trees = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-{n}"}} for n in range(CLIENTS)]
    sent = [send("POST", MAPS, json.dumps(tree).encode()) for tree in trees]
    sent += [send("GET", f"{MAPS}/before-{n}") for n in range(CLIENTS)]
    return max(await asyncio.gather(*sent, send("GET", "/readyz"))), statuses
