"""Listens on sockets, creates a connection per client, closes idle and stuck connections, and shuts down gracefully."""

import asyncio
import errno
import hashlib
import os
import socket
import ssl
import stat
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from setpoint.client.request_priority import RequestPriority
from setpoint.objects.clock import Clock
from setpoint.objects.errors import ServiceUnavailable
from setpoint.server.edge.connection import ServerConnection
from setpoint.server.edge.descriptors import REMEDY, Descriptors
from setpoint.server.edge.http_response import date_line
from setpoint.server.edge.limits import Limits
from setpoint.server.message import Peer, Request, RequestHandler
from setpoint.server.verbs.read_fast_path import Repeat

_BACKLOG = 1024
_DATE_SECONDS = 0.25
# The time for clients to answer the end of TLS when the server shuts down.
_FAREWELL_SECONDS = 0.1
_FULL = f"the server has no file descriptors left for another connection: {REMEDY}"
# The system detects a client whose machine has crashed after a minute and a half.
_KEEP_ALIVE = (("TCP_KEEPIDLE", 45), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 3))

# Linux's options to bind to an address that this machine does not have yet, IP_FREEBIND and IPV6_FREEBIND.
_FREEBIND = {socket.AF_INET: (socket.IPPROTO_IP, 15), socket.AF_INET6: (socket.IPPROTO_IPV6, 78)}


class Listener:
    """The edge of one server: any number of sockets in front of one handler. `repeat` returns a fast path for further
    reads of a client, or None. `priority` is told of requests."""

    def __init__(
        self,
        handler: RequestHandler,
        clock: Clock,
        limits: Limits | None = None,
        *,
        repeat: Callable[[Request], Awaitable[Repeat | None]] | None = None,
        priority: RequestPriority | None = None,
    ) -> None:
        self.handler = handler
        self.repeat = repeat
        self.priority = priority
        self.limits = limits or Limits()
        self.connections: set[ServerConnection] = set()
        self.descriptors = Descriptors()
        self.loop = asyncio.get_running_loop()
        self._clock = clock
        self._date_line = ""
        self._date_until = 0.0
        self._servers: list[asyncio.Server] = []
        self._paths: list[str] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self._closing = False
        self._empty = asyncio.Event()

    async def listen(
        self, host: str, port: int, tls: ssl.SSLContext | None = None, *, is_expected: bool = False
    ) -> tuple[str, int]:
        """Listens on an address; port 0 picks a free port. Returns the actual address. If `is_expected` is set, this
        machine may get the address later, where the system supports that."""
        [(family, kind, protocol, _, address), *_] = await self.loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        sock = socket.socket(family, kind, protocol)
        try:
            # Connections inherit these options from the listening socket.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEP_ALIVE:
                if hasattr(socket, option):
                    sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
            if is_expected and sys.platform == "linux":
                sock.setsockopt(*_FREEBIND[family], 1)
            sock.bind(address)
            await self._serve(sock, tls)
        except BaseException:
            sock.close()
            raise
        found: tuple[str, int] = sock.getsockname()[:2]
        return found

    async def listen_unix(self, path: str) -> None:
        """Listens on a unix socket that only the current user may open. Replaces a socket without a listener."""
        if not hasattr(socket, "AF_UNIX"):
            raise OSError(errno.EAFNOSUPPORT, "Windows has no unix sockets: listen at an address", path)
        _remove_abandoned(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            mask = os.umask(0o177)
            try:
                sock.bind(path)
            finally:
                os.umask(mask)
            await self._serve(sock, None)
        except BaseException:
            sock.close()
            raise
        self._paths.append(path)

    async def close(self, grace: float = 5.0) -> None:
        """Accepts no new connections, lets requests finish and streams end, and cuts off the rest after `grace`
        seconds."""
        self._closing = True
        if self._sweeping:
            self._sweeping.cancel()
        for server in self._servers:
            server.close()
        for path in self._paths:
            with suppress(OSError):
                os.unlink(path)
        for connection in tuple(self.connections):
            connection.end()
        deadline = self.loop.time() + grace
        while self.connections and (left := deadline - self.loop.time()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), min(left, _FAREWELL_SECONDS))
            for connection in tuple(self.connections):
                connection.skip_farewell()
        for connection in tuple(self.connections):
            connection.abort()
        if self.connections:
            await self._empty.wait()
        self._servers.clear()
        self._paths.clear()

    async def _serve(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        sock.setblocking(False)
        if sock.family == getattr(socket, "AF_UNIX", None):
            server = await self.loop.create_unix_server(self._connect, sock=sock, backlog=_BACKLOG)
        else:
            server = await self.loop.create_server(
                self._connect,
                sock=sock,
                ssl=tls,
                backlog=_BACKLOG,
                ssl_handshake_timeout=self.limits.handshake_seconds if tls else None,
                ssl_shutdown_timeout=self.limits.farewell_seconds if tls else None,
            )
        self._servers.append(server)
        if self._sweeping is None:
            self._sweeping = self.loop.call_later(self.limits.sweep_seconds, self._sweep)

    def _connect(self) -> ServerConnection:
        return ServerConnection(self)

    def _sweep(self) -> None:
        now = self.loop.time()
        for connection in tuple(self.connections):
            connection.sweep(now)
        self.descriptors.check(now)
        self._sweeping = self.loop.call_later(self.limits.sweep_seconds, self._sweep)

    # Called by connections.

    def joined(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        if self._closing:
            connection.end()
        elif not self.descriptors.admit(self.loop.time()):
            connection.refuse(ServiceUnavailable(_FULL))

    def left(self, connection: ServerConnection) -> None:
        self.connections.discard(connection)
        if self._closing and not self.connections:
            self._empty.set()

    def date_line(self) -> str:
        """Returns the `Date` header, which is updated a few times per second."""
        now = self.loop.time()
        if now >= self._date_until:
            self._date_until = now + _DATE_SECONDS
            self._date_line = date_line(self._clock.now())
        return self._date_line

    @staticmethod
    def peer(transport: asyncio.BaseTransport) -> Peer:
        """Returns the client of a connection, with the names of its certificate."""
        address = transport.get_extra_info("peername")
        text = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else ""
        tls = transport.get_extra_info("ssl_object")
        certificate: dict[str, Any] = (tls and tls.getpeercert()) or {}
        if not certificate:
            return Peer(text)
        subject = [pair for part in certificate.get("subject", ()) for pair in part]
        return Peer(
            text,
            _first(subject, "commonName"),
            tuple(value for name, value in subject if name == "organizationName"),
            hashlib.sha256(tls.getpeercert(True)).hexdigest(),
            float(ssl.cert_time_to_seconds(certificate["notAfter"])),
        )


def _first(subject: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for key, value in subject if key == name), "")


def _remove_abandoned(path: str) -> None:
    """Removes the socket of a server that did not shut down properly."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise FileExistsError(errno.EEXIST, "a file that is not a socket exists at this path", path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(1.0)
            if sock.connect_ex(path) == 0:
                raise OSError(errno.EADDRINUSE, "another server is listening on this socket", path)
        os.unlink(path)
