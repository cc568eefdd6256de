"""Asks a server as fast as it answers, over some connections, and prints how many answers came: one process of its own.

It does as little as can be for a request, so that one core of it keeps one core of any server busy.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

import msgspec
import uvloop

from bench.numbered import numbered

UNLIMITED = 1_000_000_000


class Order(msgspec.Struct):
    """The requests: `{n}` in the path or the body becomes a number of its own for every request. `most` ends the load
    after so many requests, if that comes before `seconds` have passed; such a load is measured from its first request,
    any other one after a short time."""

    port: int
    seconds: float
    connections: int
    method: str
    path: str
    token: str = ""
    content_type: str = ""
    body: str = ""
    accept: str = "application/json"
    first: int = 0
    most: int = UNLIMITED


class Report(msgspec.Struct):
    """The answers; `statuses` counts them by status, `size` is the number of their bytes, `content_type` the type of
    the first one."""

    seconds: float
    answers: int
    size: int
    statuses: dict[int, int]
    content_type: str = ""


class _Asking(asyncio.Protocol):
    """Asks again as soon as it is answered."""

    def __init__(self, requests: Iterator[bytes], tally: "_Tally") -> None:
        self._requests = requests
        self._tally = tally
        self._held = b""
        # The bytes of the answer that are still to come, once its head is there.
        self._missing = 0
        self._status = b""
        self._write: Callable[[bytes], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = transport.write  # type: ignore[attr-defined]
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._tally.size += len(data)
        if self._missing:
            self._missing -= len(data)
        else:
            data = self._held + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._held = data
                return
            start = data.index(b"Content-Length: ") + 16
            self._missing = end + 4 + int(data[start : data.index(b"\r", start)]) - len(data)
            self._status = data[9:12]
            if not self._tally.content_type:
                self._tally.content_type = data.partition(b"Content-Type: ")[2].partition(b"\r")[0].decode()
            self._held = b""
        if not self._missing:
            statuses = self._tally.statuses
            statuses[self._status] = statuses.get(self._status, 0) + 1
            self._ask()

    def _ask(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._write(request)
        elif sum(self._tally.statuses.values()) >= self._tally.most:
            self._tally.over.set()


class _Tally:
    """What has come over all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.statuses: dict[bytes, int] = {}
        self.size = 0
        self.content_type = ""
        self.over = asyncio.Event()


def _requests(order: Order) -> Iterator[bytes]:
    headers = f"Accept: {order.accept}\r\n"
    if order.token:
        headers += f"Authorization: Bearer {order.token}\r\n"
    return numbered(order.method, order.path, order.body, headers, order.content_type, order.first)


async def _run(order: Order) -> Report:
    loop = asyncio.get_running_loop()
    tally = _Tally(order.most)
    requests = islice(_requests(order), order.most)
    start = time.perf_counter()
    for _ in range(order.connections):
        await loop.create_connection(lambda: _Asking(requests, tally), "127.0.0.1", order.port)
    before = size = 0
    if order.most == UNLIMITED:
        await asyncio.sleep(0.2)
        before, size, start = sum(tally.statuses.values()), tally.size, time.perf_counter()
    with suppress(TimeoutError):
        async with asyncio.timeout(order.seconds):
            await tally.over.wait()
    seconds, answers = time.perf_counter() - start, sum(tally.statuses.values()) - before
    statuses = {int(status): number for status, number in tally.statuses.items()}
    return Report(seconds, answers, tally.size - size, statuses, tally.content_type)


if __name__ == "__main__":
    report = uvloop.run(_run(msgspec.json.decode(sys.stdin.buffer.read(), type=Order)))
    sys.stdout.buffer.write(msgspec.json.encode(report))
