"""Connecting: directly, at a unix socket, or through a proxy; with TLS where the endpoint has it."""

import asyncio
import ssl

from setpoint.client.http.connection import Connection
from setpoint.client.http.endpoint import Endpoint, Proxy
from setpoint.client.transport import TransportError

_MAX_REPLY_BYTES = 16 << 10


async def dial(endpoint: Endpoint) -> Connection:
    """A new connection. Raises OSError, or TransportError where a proxy refuses."""
    loop = asyncio.get_running_loop()
    name = (endpoint.server_name or endpoint.host) if endpoint.tls is not None else None
    if endpoint.unix:
        _, connection = await loop.create_unix_connection(
            Connection, endpoint.unix, ssl=endpoint.tls, server_hostname=name
        )
        return connection
    if endpoint.proxy is not None:
        return await _through(endpoint.proxy, endpoint, name)
    _, connection = await loop.create_connection(
        Connection, endpoint.host, endpoint.port, ssl=endpoint.tls, server_hostname=name
    )
    return connection


class _Tunnel(asyncio.Protocol):
    """Hears what a proxy answers to CONNECT."""

    def __init__(self) -> None:
        self.reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._heard = b""

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if b"\r\n\r\n" in self._heard or len(self._heard) > _MAX_REPLY_BYTES:
            self._done()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()

    def _done(self) -> None:
        if not self.reply.done():
            self.reply.set_result(self._heard)


async def _through(proxy: Proxy, endpoint: Endpoint, name: str | None) -> Connection:
    """Asks the proxy for a tunnel, and goes on in it."""
    loop = asyncio.get_running_loop()
    tls = ssl.create_default_context() if proxy.tls else None
    transport: asyncio.Transport
    transport, tunnel = await loop.create_connection(_Tunnel, proxy.host, proxy.port, ssl=tls)
    try:
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        lines = [f"CONNECT {host}:{endpoint.port} HTTP/1.1", f"Host: {host}:{endpoint.port}"]
        if proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        transport.write("\r\n".join([*lines, "", ""]).encode())
        said = (await tunnel.reply).split(b"\r\n", 1)[0].decode("latin-1")
        if not said.startswith("HTTP/1.") or said.split(" ")[1:2] != ["200"]:
            raise TransportError(f"the proxy {proxy.host}:{proxy.port} refused: {said or 'no answer'}", sent=False)
        connection = Connection()
        if endpoint.tls is not None:
            secured = await loop.start_tls(transport, connection, endpoint.tls, server_hostname=name)
            if secured is None:
                raise TransportError("the connection broke while TLS began", sent=False)
            transport = secured
        else:
            transport.set_protocol(connection)
        connection.connection_made(transport)
        return connection
    except BaseException:
        transport.abort()
        raise
