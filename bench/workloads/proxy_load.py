"""The load of a proxy: backends that answer each message with the same bytes, and clients, in one process of its own.

The first line of input is the number of backends; the program prints their ports. Each further line is a JSON `Order`,
answered with a JSON `Report`.
"""

import asyncio
import sys
import time
from typing import Any, cast

import msgspec

from setpoint.client.loop import loop_factory

MESSAGE = b"x" * 512


class Order(msgspec.Struct):
    """Messages for a port: `connections` at a time, for some seconds. With `reconnects`, each message has a connection
    of its own."""

    port: int
    connections: int
    seconds: float
    reconnects: bool = False


class Report(msgspec.Struct):
    """The number of answers in a second, and percentiles of the time of an answer in milliseconds."""

    rate: float
    p50: float
    p99: float
    answers: int


class _Backend(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class _Asking(asyncio.Protocol):
    """Sends a message, and the next one after the answer. `over` is set at the first answer after the deadline, or
    with `reconnects` after each answer."""

    def __init__(self, deadline: float, times: list[float], *, reconnects: bool, began: float = 0.0) -> None:
        self._deadline, self._times, self._reconnects = deadline, times, reconnects
        self._began = began
        self._missing = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask(self._began or time.perf_counter())

    def data_received(self, data: bytes) -> None:
        self._missing -= len(data)
        if self._missing:
            return
        now = time.perf_counter()
        self._times.append(now - self._began)
        if self._reconnects or now > self._deadline:
            self._transport.close()
        else:
            self._ask(now)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            if self._missing:
                self.over.set_exception(error or ConnectionError("an answer is missing"))
            else:
                self.over.set_result(None)

    def _ask(self, now: float) -> None:
        self._began, self._missing = now, len(MESSAGE)
        self._transport.write(MESSAGE)


async def _load(order: Order) -> Report:
    loop, began = asyncio.get_running_loop(), time.perf_counter()
    times: list[float] = []
    deadline = began + order.seconds

    async def ask() -> None:
        while (now := time.perf_counter()) < deadline:
            _, asking = await loop.create_connection(
                lambda now=now: _Asking(  # type: ignore[misc]
                    deadline, times, reconnects=order.reconnects, began=now if order.reconnects else 0.0
                ),
                "127.0.0.1",
                order.port,
            )
            await asking.over

    await asyncio.gather(*(ask() for _ in range(order.connections)))
    took = time.perf_counter() - began
    times.sort()
    p50, p99 = (times[int(len(times) * part)] * 1e3 for part in (0.5, 0.99))
    return Report(len(times) / took, p50, p99, len(times))


async def _serve(number: int) -> list[Any]:
    loop = asyncio.get_running_loop()
    return [await loop.create_server(_Backend, "127.0.0.1", 0, backlog=512) for _ in range(number)]


def main() -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        servers = runner.run(_serve(int(sys.stdin.readline())))
        print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
        for line in sys.stdin:
            report = runner.run(_load(msgspec.json.decode(line, type=Order)))
            print(msgspec.json.encode(report).decode(), flush=True)


if __name__ == "__main__":
    main()
