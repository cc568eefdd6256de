"""An edge with a handler of the test's own behind it, and a client that sends and reads bytes as they are."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

import uvloop

from setpoint.objects.clock import SystemClock
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.listener import Listener
from setpoint.server.message import Frame, Request, Response, Sink

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

Handle = Callable[[Request], Awaitable[Response]]


async def echo(request: Request) -> Response:
    """Tells what arrived."""
    text = f"{request.method} {request.path}?{request.query} {len(request.body)}"
    return Response(200, "text/plain", text.encode())


class Ticking:
    """A stream that writes a frame at every tick, until it should end."""

    def __init__(self, frames: int = 1 << 30, payload: bytes = b"tick\n", pause: float = 0.001) -> None:
        self.frames = frames
        self.frame = Frame(payload)
        self.pause = pause
        self.running = False
        self.ended = asyncio.Event()

    async def run(self, sink: Sink) -> None:
        self.running = True
        try:
            for _ in range(self.frames):
                if sink.closed or not sink.write(self.frame):
                    return
                await asyncio.sleep(self.pause)
        finally:
            self.running = False
            self.ended.set()


class Silent:
    """A stream that writes one frame and then waits for its end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def run(self, sink: Sink) -> None:
        try:
            sink.write(Frame(b"hello\n"))
            await sink.wait_closed()
        finally:
            self.ended.set()


class Answer(NamedTuple):
    """One answer off the wire."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)

    async def answer(self, method: str = "GET") -> Answer:
        """Reads one answer whole, whichever way its body is framed."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        status = int(lines[0].split()[1])
        if method == "HEAD" or status in (100, 204, 304):
            body = b""
        elif "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = await self.reader.read()
        return Answer(status, headers, body)

    async def chunk(self) -> bytes:
        """The next chunk; empty at the end of the body. Raises IncompleteReadError where the body is cut off."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        data = await self.reader.readexactly(size + 2)
        return data[:-2]

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.chunk():
            yield chunk

    async def ask(self, path: str = "/", method: str = "GET", body: bytes = b"", headers: str = "") -> Answer:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{length}{headers}\r\n".encode(), body)
        return await self.answer(method)

    async def at_end(self) -> bool:
        """Whether the server closes the connection without sending more."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.writer.close()

    def stop_reading(self) -> None:
        cast(asyncio.Transport, self.writer.transport).pause_reading()

    def vanish(self) -> None:
        """Goes without a farewell: the other side sees a reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Edge:
    """A listening edge."""

    def __init__(self, listener: Listener, address: tuple[str, int]) -> None:
        self.listener = listener
        self.address = address
        self.clients: list[Client] = []

    async def connect(self, tls: ssl.SSLContext | None = None, *, limit: int = 1 << 16) -> Client:
        reader, writer = await asyncio.open_connection(*self.address, ssl=tls, limit=limit)
        client = Client(reader, writer)
        self.clients.append(client)
        return client


@asynccontextmanager
async def edge(
    handler: Handle = echo, limits: Limits | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Edge]:
    async def handle(request: Request) -> Response:
        return await handler(request)

    listener = Listener(handle, SystemClock(), limits)
    found = Edge(listener, await listener.listen("127.0.0.1", 0, tls))
    try:
        yield found
    finally:
        for client in found.clients:
            client.close()
        await listener.close(grace=2.0)


async def soon(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(seconds):
        while not happened():
            await asyncio.sleep(0.002)
