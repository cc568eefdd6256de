"""Asks a server as fast as it answers, over some connections, and prints how many answers came: one process of its own.

It does as little as can be for a request, so that one core of it keeps one core of any server busy.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

import msgspec
import uvloop


class Order(msgspec.Struct):
    """What to ask: `{n}` in the path or the body becomes a number of its own for every request."""

    port: int
    seconds: float
    connections: int
    method: str
    path: str
    token: str = ""
    content_type: str = ""
    body: str = ""
    first: int = 0


class Report(msgspec.Struct):
    """What came of it; `statuses` counts the answers by status."""

    seconds: float
    answers: int
    statuses: dict[int, int]


class _Asking(asyncio.Protocol):
    """Asks again as soon as it is answered."""

    def __init__(self, requests: Iterator[bytes], statuses: dict[bytes, int]) -> None:
        self._requests = requests
        self._statuses = statuses
        self._held = b""
        self._write: Callable[[bytes], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = transport.write  # type: ignore[attr-defined]
        self._write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        data = self._held + data
        end = data.find(b"\r\n\r\n")
        if end >= 0:
            start = data.index(b"Content-Length: ") + 16
            if len(data) >= end + 4 + int(data[start : data.index(b"\r", start)]):
                status = data[9:12]
                self._statuses[status] = self._statuses.get(status, 0) + 1
                self._held = b""
                self._write(next(self._requests))
                return
        self._held = data


def _requests(order: Order) -> Iterator[bytes]:
    headers = "Host: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: application/json\r\n"
    if order.token:
        headers += f"Authorization: Bearer {order.token}\r\n"
    if order.content_type:
        headers += f"Content-Type: {order.content_type}\r\n"
    for number in count(order.first):
        body = order.body.replace("{n}", str(number)).encode()
        path = order.path.replace("{n}", str(number))
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        request = f"{order.method} {path} HTTP/1.1\r\n{headers}{length}\r\n".encode() + body
        if "{n}" not in order.path + order.body:
            while True:
                yield request
        yield request


async def _run(order: Order) -> Report:
    loop = asyncio.get_running_loop()
    statuses: dict[bytes, int] = {}
    requests = _requests(order)
    for _ in range(order.connections):
        await loop.create_connection(lambda: _Asking(requests, statuses), "127.0.0.1", order.port)
    await asyncio.sleep(0.2)
    before, start = sum(statuses.values()), time.perf_counter()
    await asyncio.sleep(order.seconds)
    seconds, answers = time.perf_counter() - start, sum(statuses.values()) - before
    return Report(seconds, answers, {int(status): number for status, number in statuses.items()})


if __name__ == "__main__":
    report = uvloop.run(_run(msgspec.json.decode(sys.stdin.buffer.read(), type=Order)))
    sys.stdout.buffer.write(msgspec.json.encode(report))
