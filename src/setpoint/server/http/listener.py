"""Listens on sockets, makes a connection of each client, sweeps out the idle and the stuck, and shuts down in order."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

from setpoint.objects.clock import Clock
from setpoint.server.exchange import Handler, Peer
from setpoint.server.http.connection import Connection
from setpoint.server.http.limits import Limits
from setpoint.server.http.message import DateHeader

_SWEEP_SECONDS = 5.0
_BACKLOG = 1024


class Listener:
    """The edge of one server: any number of sockets in front of one handler."""

    def __init__(self, handler: Handler, clock: Clock, limits: Limits | None = None) -> None:
        self.handler = handler
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
        self.loop = asyncio.get_running_loop()
        self._clock = clock
        self._date = DateHeader()
        self._servers: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> tuple[str, int]:
        """Listens on an address; port 0 picks a free one. Returns where it listens."""
        server = await self.loop.create_server(self._connect, host, port, ssl=tls, backlog=_BACKLOG)
        self._add(server)
        address: tuple[str, int] = server.sockets[0].getsockname()[:2]
        return address

    async def listen_unix(self, path: str) -> None:
        """Listens on a unix socket. Whoever may open the file may connect."""
        self._add(await self.loop.create_unix_server(self._connect, path, backlog=_BACKLOG))

    async def close(self, grace: float = 5.0) -> None:
        """Takes no new connections, lets requests finish and streams end; after `grace` seconds cuts off the rest."""
        if self._sweep:
            self._sweep.cancel()
        for server in self._servers:
            server.close()
        for connection in tuple(self.connections):
            connection.shut_down()
        give_up = self.loop.time() + grace
        while self.connections and self.loop.time() < give_up:
            await self._clock.sleep(0.01)
        for connection in tuple(self.connections):
            connection.abort()
        self._servers.clear()

    def _add(self, server: asyncio.Server) -> None:
        self._servers.append(server)
        if self._sweep is None:
            self._sweep = self.loop.call_later(_SWEEP_SECONDS, self._sweep_out)

    def _connect(self) -> Connection:
        return Connection(self)

    def _sweep_out(self) -> None:
        now = self.loop.time()
        for connection in tuple(self.connections):
            if connection.deadline < now:
                connection.abort()
        self._sweep = self.loop.call_later(_SWEEP_SECONDS, self._sweep_out)

    def date_line(self) -> bytes:
        return self._date.line(self._clock.now())

    @staticmethod
    def peer(transport: asyncio.BaseTransport) -> Peer:
        address = transport.get_extra_info("peername")
        text = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else ""
        certificate: dict[str, Any] = transport.get_extra_info("peercert") or {}
        subject = [pair for part in certificate.get("subject", ()) for pair in part]
        return Peer(text, _first(subject, "commonName"), tuple(v for k, v in subject if k == "organizationName"))


def _first(subject: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for key, value in subject if key == name), "")
