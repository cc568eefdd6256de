"""Servers to be proxied: each says its name, then what it hears, in capitals."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from typing import cast

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import SeededIds
from setpoint.workload.proxy.balance import Backend, Balancing
from setpoint.workload.proxy.ports import TCP, UDP, Ports
from setpoint.workload.proxy.tcp import TCPProxy
from setpoint.workload.proxy.udp import UDPProxy

LOCAL = ["127.0.0.1"]


@asynccontextmanager
async def server(name: str, *, healthy: bool = True, greets: bool = True) -> AsyncIterator[Backend]:
    """A TCP server that answers until it hears the end, and says goodbye then."""
    writers = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        if greets:
            writer.write(f"{name}\n".encode())
        while data := await reader.read(1 << 16):
            writer.write(data.upper())
            await writer.drain()
        writer.write(b"bye\n")
        writer.close()

    found = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Backend("127.0.0.1", found.sockets[0].getsockname()[1], name, healthy)
    finally:
        found.close()
        for each in writers:
            each.transport.abort()
        await asyncio.sleep(0)


class Echo(asyncio.DatagramProtocol):
    """Answers every datagram with its name and what it was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(self.name.encode() + b":" + data, addr)


@asynccontextmanager
async def udp_server(name: str) -> AsyncIterator[Backend]:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Echo(name), local_addr=("127.0.0.1", 0)
    )
    try:
        yield Backend("127.0.0.1", transport.get_extra_info("sockname")[1], name)
    finally:
        transport.close()
        await asyncio.sleep(0)


@asynccontextmanager
async def tcp_proxy(
    backends: Sequence[Backend] = (),
    balancing: Balancing = Balancing.ROUND_ROBIN,
    *,
    clock: Clock | None = None,
    drain: float = 5.0,
) -> AsyncIterator[tuple[TCPProxy, int]]:
    proxy = TCPProxy(clock or SystemClock(), SeededIds(1), balancing, drain)
    found = Ports().reserve("test", TCP, LOCAL)
    await proxy.start(found.sockets)
    proxy.set_backends(backends)
    try:
        yield proxy, found.port
    finally:
        await proxy.close()


@asynccontextmanager
async def udp_proxy(
    backends: Sequence[Backend] = (), *, clock: Clock | None = None
) -> AsyncIterator[tuple[UDPProxy, int]]:
    proxy = UDPProxy(clock or SystemClock(), SeededIds(1))
    found = Ports().reserve("test", UDP, LOCAL)
    await proxy.start(found.sockets)
    proxy.set_backends(backends)
    try:
        yield proxy, found.port
    finally:
        await proxy.close()


async def whom(port: int) -> str:
    """Which backend answers a new connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return (await reader.readline()).decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()


def udp_client() -> closing[socket.socket]:
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind(("127.0.0.1", 0))
    found.setblocking(False)
    return closing(found)


async def until(condition: object, seconds: float = 5.0) -> None:
    """Returns when something has become true."""
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
