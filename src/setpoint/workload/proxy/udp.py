"""A UDP proxy: datagrams of a client are sent to one backend, and the responses back to the client.

A client is identified by address and port, until idle for too long. Datagrams of any size are forwarded whole; a few
datagrams of each client without a backend are buffered. When its backend is removed, a client gets another one.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.workload.proxy.addresses import IPV4, is_local_name
from setpoint.workload.proxy.balance import Backend, Balancer, Balancing
from setpoint.workload.proxy.counters import Counters

MOST_WAITING = 20
IDLE_SECONDS = 120.0
# The maximum number of clients; beyond this the longest idle one is removed.
MOST_CLIENTS = 4096

_Client = tuple[Any, ...]


class UDPProxy:
    """Serves on bound sockets until closed."""

    def __init__(self, clock: Clock, ids: Ids, balancing: Balancing = Balancing.ROUND_ROBIN) -> None:
        self.counters = Counters()
        self.balancer = Balancer(balancing, ids)
        self._clock = clock
        self._faces: list[_Face] = []
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Starts receiving."""
        loop = asyncio.get_running_loop()
        for each in sockets:
            _, face = await loop.create_datagram_endpoint(lambda: _Face(self, self._clock), sock=each)
            self._faces.append(face)
        self._sweeping = asyncio.ensure_future(self._sweep())

    def set_backends(self, backends: Sequence[Backend]) -> None:
        """Replaces the backends."""
        self.balancer.backends = list(backends)
        for face in self._faces:
            face.rejoin()

    async def close(self) -> None:
        """Stops receiving."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for face in self._faces:
            face.close()
        self._faces.clear()

    def choose(self, client: str) -> Backend | None:
        return self.balancer.choose(client, self.counters.by_backend)

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(IDLE_SECONDS / 4)
            for face in self._faces:
                face.evict_idle(self._clock.monotonic() - IDLE_SECONDS)


class _Face(asyncio.DatagramProtocol):
    """One address on which the proxy receives."""

    def __init__(self, proxy: UDPProxy, clock: Clock) -> None:
        self.proxy = proxy
        self.transport: asyncio.DatagramTransport | None = None
        self._clock = clock
        # The most recently active clients are last.
        self._clients: dict[_Client, _Conversation] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: _Client) -> None:
        counters = self.proxy.counters
        counters.bytes_in += len(data)
        found = self._clients.pop(addr, None)
        if found is None:
            found = _Conversation(self, addr)
            counters.connections += 1
            if len(self._clients) >= MOST_CLIENTS:
                self._clients.pop(next(iter(self._clients))).close()
            counters.active += 1
        found.last_received = self._clock.monotonic()
        self._clients[addr] = found
        found.send(data)

    def rejoin(self) -> None:
        """Assigns new backends after a change of the backends."""
        for each in list(self._clients.values()):
            each.rejoin()

    def evict_idle(self, moment: float) -> None:
        """Removes clients that were idle since a time."""
        for addr, each in list(self._clients.items()):
            if each.last_received > moment:
                break
            del self._clients[addr]
            each.close()

    def close(self) -> None:
        for each in self._clients.values():
            each.close()
        self._clients.clear()
        if self.transport is not None:
            self.transport.close()


class _Conversation(asyncio.DatagramProtocol):
    """A client, and the socket to its backend."""

    def __init__(self, face: _Face, client: _Client) -> None:
        self.last_received = 0.0
        self._face = face
        self._client = client
        self._backend: Backend | None = None
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._joining: asyncio.Task[None] | None = None
        self._closed = False

    def send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.sendto(data)
            return
        if not self._waiting:
            self._face.proxy.counters.parked += 1
        self._waiting.append(data)
        self._join()

    def rejoin(self) -> None:
        """Keeps the backend if still present; otherwise leaves the backend."""
        backends = self._face.proxy.balancer.backends
        if self._backend is not None and any(each[:3] == self._backend[:3] for each in backends):
            return
        self._close()
        if self._waiting:
            self._join()

    def _join(self) -> None:
        if self._joining is not None:
            return
        backend = self._face.proxy.choose(str(self._client[0]))
        if backend is not None:
            self._joining = asyncio.ensure_future(self._open(backend))

    async def _open(self, backend: Backend) -> None:
        loop = asyncio.get_running_loop()
        address = IPV4 if is_local_name(backend.address) else backend.address
        try:
            transport, _ = await loop.create_datagram_endpoint(lambda: _Back(self), remote_addr=(address, backend.port))
        except OSError:
            self._face.proxy.counters.failed += 1
            return
        finally:
            self._joining = None
        if self._closed:
            transport.close()
            return
        self._backend, self._transport = backend, transport
        counters = self._face.proxy.counters
        counters.opened(backend.name)
        if self._waiting:
            counters.parked -= 1
        while self._waiting:
            transport.sendto(self._waiting.popleft())

    def answer(self, data: bytes) -> None:
        """Sends a response of the backend to the client."""
        self._face.proxy.counters.bytes_out += len(data)
        if self._face.transport is not None:
            self._face.transport.sendto(data, self._client)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        if self._backend is not None:
            self._face.proxy.counters.closed(self._backend.name)
            self._backend = None

    def close(self) -> None:
        self._closed = True
        counters = self._face.proxy.counters
        counters.active -= 1
        if self._waiting:
            counters.parked -= 1
            self._waiting.clear()
        self._close()


class _Back(asyncio.DatagramProtocol):
    """Receives the responses of a backend for one client. An unreachable backend (ICMP) is only counted, because UDP is
    unreliable."""

    def __init__(self, conversation: _Conversation) -> None:
        self._conversation = conversation

    def datagram_received(self, data: bytes, addr: _Client) -> None:
        self._conversation.answer(data)

    def error_received(self, exc: Exception) -> None:
        self._conversation._face.proxy.counters.failed += 1
