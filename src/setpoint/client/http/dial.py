"""Opens connections: directly, to a unix socket, through a command or a proxy; with TLS if the endpoint has TLS."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from setpoint.client.http.endpoint import Endpoint, Proxy
from setpoint.client.transport import TransportError

_MAX_REPLY_BYTES = 16 << 10
# A peer that vanished without closing the connection, as after a power failure, is detected after about a minute, even
# on an idle watch.
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
_SOCKS_REFUSALS = {
    1: "general failure of the proxy",
    2: "the rules of the proxy forbid the connection",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "the connection timed out",
    7: "command not supported",
    8: "address type not supported",
}


class Dialled(asyncio.Protocol):
    """A protocol that knows its transport."""

    _transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def abandon(self) -> None:
        """Closes the connection at once, if there is one. asyncio alone would wait for the server's end of TLS."""
        if hasattr(self, "_transport"):
            self._transport.abort()


P = TypeVar("P", bound=Dialled)


def reason_of(error: OSError) -> str:
    """Returns the system's reason for a failed connection. For asyncio's generic "Connect call failed", returns the
    text of the error number."""
    if error.errno and (error.strerror or "").startswith("Connect call failed"):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__


async def dial(endpoint: Endpoint, factory: Callable[[], P]) -> P:
    """Opens a new connection with the protocol that `factory` creates. Raises OSError, and TransportError if a proxy
    refuses."""
    name = (endpoint.server_name or endpoint.host) if endpoint.tls is not None else None
    if endpoint.command:
        from setpoint.client.http.command_dial import dial_command  # few clients need it: others start sooner

        return await dial_command(endpoint.command, factory)
    if endpoint.proxy is not None:
        return await _dial_through(endpoint.proxy, endpoint, name, factory)
    loop, connection = asyncio.get_running_loop(), factory()
    try:
        if endpoint.unix:
            await loop.create_unix_connection(lambda: connection, endpoint.unix, ssl=endpoint.tls, server_hostname=name)
            return connection
        transport, _ = await loop.create_connection(
            lambda: connection, endpoint.host, endpoint.port, ssl=endpoint.tls, server_hostname=name
        )
    except BaseException:  # such as a cancelled request
        connection.abandon()
        raise
    _keep_alive(transport)
    return connection


def _keep_alive(transport: asyncio.Transport) -> None:
    found = transport.get_extra_info("socket")
    with suppress(OSError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE:
            if hasattr(socket, option):
                found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class _Tunnel(asyncio.Protocol):
    """Reads the replies of a proxy until the tunnel is established."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._ended = False
        self._more: asyncio.Future[None] | None = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def until(self, is_enough: Callable[[bytearray], int]) -> bytes:
        """Returns the received bytes as soon as `is_enough` accepts them, or all received bytes if the connection ends
        before."""
        while True:
            size = is_enough(self._received)
            if size or self._ended or len(self._received) > _MAX_REPLY_BYTES:
                found = bytes(self._received[: size or None])
                del self._received[: len(found)]
                return found
            self._more = asyncio.get_running_loop().create_future()
            await self._more

    async def exactly(self, size: int) -> bytes:
        """Returns the given number of bytes, or fewer if the connection ends before."""
        return await self.until(lambda heard: size if len(heard) >= size else 0)


async def _dial_through(proxy: Proxy, endpoint: Endpoint, name: str | None, factory: Callable[[], P]) -> P:
    """Requests a tunnel from the proxy, and opens the connection through the tunnel."""
    loop = asyncio.get_running_loop()
    tls = ssl.create_default_context() if proxy.scheme == "https" else None
    transport: asyncio.Transport
    transport, tunnel = await loop.create_connection(_Tunnel, proxy.host, proxy.port, ssl=tls)
    _keep_alive(transport)
    try:
        asks = _socks if proxy.scheme == "socks5" else _connect
        refusal = await asks(proxy, endpoint, transport, tunnel)
        if refusal:
            raise TransportError(f"the proxy {proxy.host}:{proxy.port} refused: {refusal}", sent=False)
        connection = factory()
        if endpoint.tls is not None:
            secured = await loop.start_tls(transport, connection, endpoint.tls, server_hostname=name)
            if secured is None:
                raise TransportError("the connection broke during the TLS handshake", sent=False)
            transport = secured
        else:
            transport.set_protocol(connection)
        connection.connection_made(transport)
        return connection
    except BaseException:
        transport.abort()
        raise


async def _connect(proxy: Proxy, endpoint: Endpoint, transport: asyncio.Transport, tunnel: _Tunnel) -> str:
    """Requests a tunnel with CONNECT. Returns the reason of a refusal, or an empty string."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    lines = [f"CONNECT {host}:{endpoint.port} HTTP/1.1", f"Host: {host}:{endpoint.port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    transport.write("\r\n".join([*lines, "", ""]).encode())
    head = await tunnel.until(lambda heard: heard.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in heard else 0)
    status_line = head.split(b"\r\n", 1)[0].decode("latin-1")
    is_open = status_line.startswith("HTTP/1.") and status_line.split(" ")[1:2] == ["200"]
    return "" if is_open else status_line or "no answer"


async def _socks(proxy: Proxy, endpoint: Endpoint, transport: asyncio.Transport, tunnel: _Tunnel) -> str:
    """Requests a tunnel with SOCKS 5 (RFC 1928, 1929); the proxy resolves the host name. Returns the reason of a
    refusal, or an empty string."""
    transport.write(b"\x05\x01\x02" if proxy.user else b"\x05\x01\x00")
    chosen = await tunnel.exactly(2)
    if chosen not in (b"\x05\x00", b"\x05\x02"):
        return "the proxy requires another authentication method" if chosen[:1] == b"\x05" else "not a SOCKS 5 proxy"
    if chosen[1]:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        transport.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if await tunnel.exactly(2) != b"\x01\x00":
            return "wrong user name or password"
    host = endpoint.host.encode("idna" if not endpoint.host.isascii() else "ascii")[:255]
    transport.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host + endpoint.port.to_bytes(2))
    head = await tunnel.exactly(5)
    if len(head) < 5 or head[1]:
        return _SOCKS_REFUSALS.get(head[1], "no reason given") if len(head) > 1 else "no answer"
    # The bound address of the proxy follows: 4 or 16 bytes, or a name with its length, and a port.
    rest = {1: 4, 4: 16}.get(head[3], head[4] + 1) - 1 + 2
    await tunnel.exactly(rest)
    return ""
