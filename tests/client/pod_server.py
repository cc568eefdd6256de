"""A small server with one pod, for what our own has not: processes, ports and logs, over HTTP and WebSockets."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

RESOURCES = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [{"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}],
}
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Channel:
    """The server's side of a WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: dict[str, list[str]]) -> None:
        self._reader = reader
        self._writer = writer
        self.query = query

    async def send(self, message: bytes, *, code: int = 2, last: bool = True) -> None:
        size = len(message)
        head = bytes(((0x80 if last else 0) | code,))
        head += (
            bytes((size,))
            if size < 126
            else bytes((126,)) + size.to_bytes(2)
            if size < 1 << 16
            else (bytes((127,)) + size.to_bytes(8))
        )
        self._writer.write(head + message)
        await self._writer.drain()

    async def receive(self) -> tuple[int, bytes]:
        first, second = await self._reader.readexactly(2)
        assert second & 0x80, "clients mask what they send"
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
        mask = await self._reader.readexactly(4)
        data = await self._reader.readexactly(size)
        return first & 0x0F, bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))

    async def message(self) -> bytes:
        code, data = await self.receive()
        assert code == 2
        return data

    async def status(self, **status: Any) -> None:
        # Servers do not say its kind here.
        await self.send(b"\x03" + json.dumps({"metadata": {}, **status}).encode())

    async def close(self) -> None:
        await self.send((1000).to_bytes(2), code=8)


Talk = Callable[[Channel], Awaitable[None]]


@asynccontextmanager
async def pod_server(
    talk: Talk | None = None,
    *,
    protocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io"),
    log: bytes = b"",
    refuses: bytes = b"",
) -> AsyncIterator[str]:
    """Serves at a URL. `talk` is what happens on a WebSocket."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                target = urlsplit(head.split(" ")[1])
                headers = {
                    name.lower(): value.strip() for name, _, value in (x.partition(":") for x in head.split("\r\n"))
                }
                if "upgrade" not in headers:
                    writer.write(_plain(target.path, log))
                    continue
                if refuses:
                    writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%b" % (len(refuses), refuses))
                    return
                offered = [each.strip() for each in headers["sec-websocket-protocol"].split(",")]
                chosen = next(each for each in offered if each in protocols)
                accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + _GUID).digest())
                writer.write(
                    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: %b\r\nSec-WebSocket-Protocol: %b\r\n\r\n" % (accept, chosen.encode())
                )
                assert talk is not None
                await talk(Channel(reader, writer, parse_qs(target.query)))
                return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _plain(path: str, log: bytes) -> bytes:
    bodies = {
        "/api": json.dumps({"kind": "APIVersions", "versions": ["v1"]}).encode(),
        "/apis": json.dumps({"kind": "APIGroupList", "groups": []}).encode(),
        "/api/v1": json.dumps(RESOURCES).encode(),
    }
    if path.endswith("/log"):
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(log), log)
    body = bodies[path]
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
