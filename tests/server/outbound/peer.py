"""An HTTPS server on loopback that answers as it is told, and remembers what it was asked."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

from setpoint.server.edge.certificates import Authority, Pair
from setpoint.server.outbound.client import OutboundTarget

LONG_AGO = timedelta(days=3 * 365)


class Asked(NamedTuple):
    """One request."""

    target: str
    headers: dict[str, str]
    body: bytes


# Writes the answer, whatever that is; the connection stays open unless it closes it.
Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


def response(body: bytes = b"", status: int = 200, *headers: str, length: int | None = None) -> bytes:
    """The bytes of an answer. `length` is what it says of its length, if that is not the truth."""
    size = len(body) if length is None else length
    lines = (f"HTTP/1.1 {status} Whatever", f"Content-Length: {size}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def saying(data: bytes, *, closing: bool = False) -> Answer:
    """Always answers with the same bytes."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if closing:
            writer.close()

    return answer


async def silence(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Takes the request, and never says anything."""


_AUTHORITIES = {old: Authority.create(datetime.now(UTC) - (LONG_AGO if old else timedelta())) for old in (False, True)}


def authority(*, old: bool = False) -> Authority:
    """Signs the certificates of the peers: of today's, or of those that have expired."""
    return _AUTHORITIES[old]


def identity(names: Sequence[str] = ("127.0.0.1", "localhost"), *, expired: bool = False) -> Pair:
    """A certificate of a peer."""
    return authority(old=expired).issue_server(names, datetime.now(UTC) - (LONG_AGO if expired else timedelta()))


class Peer:
    """Serves while it is entered."""

    def __init__(self, answer: Answer, pair: Pair | None = None, *, tls: bool = True) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.was_asked = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._pair = pair or identity()
        self._tls = tls
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        context = _context(self._pair) if self._tls else None
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def endpoint(self, path: str = "/x") -> OutboundTarget:
        return OutboundTarget(self.url + path, authority().pair.certificate)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._serving.add(task)
        await task

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                await self._take(reader, writer)
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
            writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.asked.append(Asked(line.split()[1], headers, body))
        self.was_asked.set()
        await self.answer(self.asked[-1], writer)


def _context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        context.load_cert_chain(certificate, key)
    return context
