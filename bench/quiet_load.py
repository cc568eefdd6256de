"""The clients of the benchmark `quiet_tenant`: a user who sends as much as the server takes, and users who ask now and
then and note how long each answer takes. One process of its own for each."""

import asyncio
import os
import ssl
import sys
import time
from collections.abc import Iterator

import msgspec
import uvloop

from bench.numbered import numbered

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
END_OF_INITIAL_EVENTS = b"initial-events-end"


class Ask(msgspec.Struct):
    """One kind of request: `{n}` in the path or the body is a new number for each request."""

    name: str
    method: str
    path: str
    token: str
    body: str = ""
    content_type: str = "application/json"
    accept: str = "application/json"
    connections: int = 1
    # Seconds between an answer and the next request on the same connection.
    pause: float = 0.0
    # Reads the object first, and writes it back with the resource version of the last answer.
    renews: bool = False
    # A watch that starts again after its initial events, or stays open.
    again: bool = False


class Order(msgspec.Struct):
    """Requests to send for some seconds over TLS. With `nice` the process leaves the processor to others first."""

    port: int
    authority: str
    seconds: float
    asks: list[Ask]
    nice: bool = False


class Answers(msgspec.Struct):
    """The answers to one kind of request: their number by status, and the seconds that each took."""

    statuses: dict[int, int]
    seconds: list[float]


class _Client(asyncio.Protocol):
    """Sends a request on one connection, and the next one after its answer."""

    def __init__(self, ask: Ask, requests: Iterator[bytes], answers: Answers) -> None:
        self._ask = ask
        self._requests = requests
        self._answers = answers
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._held = b""
        self._missing = 0
        self._streams = False
        self._status = 0
        self._sent = 0.0
        self._version = b""
        self.over = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._streams:
            self._held = self._held[-len(END_OF_INITIAL_EVENTS) :] + data
            if self._ask.again and END_OF_INITIAL_EVENTS in self._held:
                self._transport.abort()
            return
        if self._missing:
            self._missing -= len(data)
        else:
            data = self._held + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._held = data
                return
            head, self._held = data[:end], b""
            self._status = int(head[9:12])
            if b"Content-Length: " not in head:
                self._streams = True
                self._note()
                self.data_received(data[end + 4 :])
                return
            length = int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0])
            self._missing = end + 4 + length - len(data)
        if not self._missing:
            if self._ask.renews:
                self._version = data.partition(b'"resourceVersion":"')[2].partition(b'"')[0]
            self._note()
            # Who is told to come back later does so; otherwise the load would be one of refusals.
            pause = max(self._ask.pause, 0.2 if self._status == 429 else 0.0)
            if pause:
                self._loop.call_later(pause, self._next)
            else:
                self._next()

    def _note(self) -> None:
        statuses = self._answers.statuses
        statuses[self._status] = statuses.get(self._status, 0) + 1
        self._answers.seconds.append(time.perf_counter() - self._sent)

    def _next(self) -> None:
        if not self._transport.is_closing():
            self._sent = time.perf_counter()
            request = next(self._requests)
            if self._ask.renews:
                request = request.replace(b"{version}", self._version.zfill(9))
                if not self._version:
                    request = request.partition(b"\r\n\r\n")[0].replace(b"PUT", b"GET") + b"\r\n\r\n"
                    request = request.replace(b"Content-Length", b"X-Length")
            self._transport.write(request)


def _requests(ask: Ask) -> Iterator[bytes]:
    headers = f"Accept: {ask.accept}\r\nAuthorization: Bearer {ask.token}\r\n"
    content_type = ask.content_type if ask.body else ""
    return numbered(ask.method, ask.path, ask.body, headers, content_type, os.getpid() * 1_000_000)


async def _connect(
    order: Order, ask: Ask, requests: Iterator[bytes], answers: Answers, context: ssl.SSLContext
) -> None:
    loop = asyncio.get_running_loop()
    while True:
        _, client = await loop.create_connection(
            lambda: _Client(ask, requests, answers), "127.0.0.1", order.port, ssl=context, server_hostname="127.0.0.1"
        )
        await client.over


async def _run(order: Order) -> dict[str, Answers]:
    context = ssl.create_default_context(cadata=order.authority)
    found = {ask.name: Answers({}, []) for ask in order.asks}
    running = [
        asyncio.create_task(_connect(order, ask, requests, found[ask.name], context))
        for ask, requests in [(ask, _requests(ask)) for ask in order.asks]
        for _ in range(ask.connections)
    ]
    await asyncio.sleep(order.seconds)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return found


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    if given.nice:
        os.nice(10)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(_run(given))))
