"""A TCP proxy: accepts connections at its own addresses, and joins each with a connection to a backend.

A connection that arrives before there is a backend waits with its data; the oldest is closed when too many wait. An
unreachable backend is tried again, after other backends. With `unserved`, a connection waits only while a workload
starts, for some seconds, and is then answered with the reason (see `refusal.py`). Either side may close its half and
continue to receive. A removed backend keeps its connections for the drain time.
"""

import asyncio
import socket
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from setpoint.objects.clock import Clock, timeout
from setpoint.objects.ids import Ids
from setpoint.workload.proxy.addresses import IPV4, IPV6, is_local_name
from setpoint.workload.proxy.balance import Backend, Balancer, Balancing
from setpoint.workload.proxy.counters import Counters
from setpoint.workload.proxy.refusal import Unserved, response

MOST_PARKED = 20
# The maximum size of data that is buffered without a backend.
PARKED_BYTES = 1 << 20
DIAL_SECONDS = 5.0
# The time that a connection waits for unreachable backends, and the first and last delay between attempts.
UNREACHABLE_SECONDS = 120.0
_FIRST_RETRY, _LAST_RETRY = 0.05, 2.0
# The time that a connection waits for a workload that starts, and the interval in which its state is looked up.
PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.25
# The time for the first bytes of a client that is refused, and for the client to read the response.
_FIRST_BYTES_SECONDS, _LAST_BYTES_SECONDS = 0.3, 2.0
# The buffer size at which the other side is paused.
_HIGH_WATER = 256 << 10
# For SO_LINGER: unsent data is dropped, and a reset is sent.
_AT_ONCE = struct.pack("ii", 1, 0)


class TCPProxy:
    """Listens on bound sockets and serves until closed. `drain` is in seconds. `unserved` returns the reason why no
    backend serves; without `unserved`, connections wait as long as no backend exists. `refused` is called with each
    refusal."""

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        balancing: Balancing = Balancing.ROUND_ROBIN,
        drain: float = 5.0,
        unserved: Callable[[], Unserved] | None = None,
        refused: Callable[[Unserved], None] = lambda _: None,
    ) -> None:
        self.unserved, self.refused = unserved, refused
        self.counters = Counters()
        self.balancer = Balancer(balancing, ids)
        self.drain = drain
        self.clock = clock
        self._servers: list[asyncio.Server] = []
        self._fronts: set[_Front] = set()
        # The connections that wait for a backend, the oldest first.
        self._parked: OrderedDict[_Front, None] = OrderedDict()
        # The address of localhost at which a backend was reached, by name.
        self._answers_at: dict[str, str] = {}
        # Unreachable backends, and the time of the next attempt.
        self._unreachable: dict[str, float] = {}
        self._draining: set[asyncio.Task[None]] = set()
        # The number of open connections of both sides, and the future that is set when none is left.
        self._open = 0
        self.is_closing = False
        self._emptied: asyncio.Future[None] | None = None

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Starts listening."""
        loop = asyncio.get_running_loop()
        for each in sockets:
            self._servers.append(await loop.create_server(lambda: _Front(self), sock=each, backlog=1024))

    def set_backends(self, backends: Sequence[Backend]) -> None:
        """Replaces the backends. Connections to removed backends are closed after the drain time."""
        before, self.balancer.backends = self.balancer.backends, list(backends)
        places = {(each.name, each.address, each.port) for each in backends}
        gone = {each[:3] for each in before if (each.name, each.address, each.port) not in places}
        if gone:
            self._drain_later(gone)
        self._unreachable.clear()
        names = {each.name for each in backends}
        self._answers_at = {name: address for name, address in self._answers_at.items() if name in names}
        if backends:
            for front in list(self._parked):
                front.unpark()

    def _drain_later(self, removed: set[tuple[str, int, str]]) -> None:
        leaving = [front for front in self._fronts if front.backend is not None and front.backend[:3] in removed]
        if not leaving:
            return

        async def drain() -> None:
            await self.clock.sleep(self.drain)
            for front in leaving:
                front.abort()

        task = asyncio.ensure_future(drain())
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def close(self) -> None:
        """Stops listening, and closes all connections."""
        self.is_closing = True
        for server in self._servers:
            server.close()
        for task in self._draining:
            task.cancel()
        for front in list(self._fronts):
            front.abort()
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()
        if self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    # Called by the connections

    def opened(self) -> None:
        self._open += 1

    def closed(self) -> None:
        self._open -= 1
        if not self._open and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    def joined(self, front: "_Front") -> None:
        self._fronts.add(front)
        self.counters.connections += 1
        self.counters.active += 1

    def left(self, front: "_Front") -> None:
        self._fronts.discard(front)
        self.unparked(front)
        self.counters.active -= 1

    def parked(self, front: "_Front") -> None:
        self._parked[front] = None
        self.counters.parked = len(self._parked)
        if len(self._parked) > MOST_PARKED:
            oldest = next(iter(self._parked))
            self.counters.failed += 1
            oldest.abort()

    def unparked(self, front: "_Front") -> None:
        self._parked.pop(front, None)
        self.counters.parked = len(self._parked)

    def choose(self, client: str) -> Backend | None:
        now = self.clock.monotonic()
        passed_over = [name for name, until in self._unreachable.items() if until > now]
        return self.balancer.choose(client, self.counters.by_backend, passed_over)

    def addresses(self, backend: Backend) -> Sequence[str]:
        """Returns the addresses of a backend. A backend at localhost has two possible addresses; the last working one
        comes first."""
        if not is_local_name(backend.address):
            return (backend.address,)
        last = self._answers_at.get(backend.name, IPV4)
        return (last, IPV6 if last == IPV4 else IPV4)

    def answered_at(self, backend: Backend, address: str) -> None:
        """Records the address at which a backend was reached."""
        if address != IPV4 or backend.name in self._answers_at:
            self._answers_at[backend.name] = address

    def failed_at(self, backend: Backend) -> None:
        """Records that a backend is unreachable: others are preferred for one second."""
        self._unreachable[backend.name] = self.clock.monotonic() + 1.0


class _Side(asyncio.Protocol):
    """One of two joined connections: received data is sent to the other side."""

    def __init__(self, proxy: TCPProxy) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self._proxy = proxy
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._proxy.opened()

    def eof_received(self) -> bool:
        """Handles the end of this side's data; the other side may continue."""
        self.ended = True
        other = self.other
        if other is None or other.transport is None:
            return True
        if other.ended:
            return False
        if other.transport.can_write_eof():
            other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._proxy.closed()
        other = self.other
        if other is None or other.transport is None:
            return
        # A failure on one side must not look like a normal close on the other.
        if exc is not None:
            _reset(other.transport)
        else:
            other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()


class _Back(_Side):
    """The connection to a backend."""

    def __init__(self, proxy: TCPProxy, front: "_Front") -> None:
        super().__init__(proxy)
        # Set immediately: a backend may send first.
        self.other = front

    def data_received(self, data: bytes) -> None:
        self._proxy.counters.bytes_out += len(data)
        other = self.other
        if other is not None and other.transport is not None:
            other.transport.write(data)


class _Front(_Side):
    """The connection of a client."""

    def __init__(self, proxy: TCPProxy) -> None:
        super().__init__(proxy)
        self.backend: Backend | None = None
        self._client = ""
        self._early: list[bytes] = []
        self._early_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._awaits_bytes = self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._client = (transport.get_extra_info("peername") or ("",))[0]
        self._proxy.joined(self)
        self._task = asyncio.ensure_future(self._join())
        if self._proxy.is_closing:  # accepted before, and not known then
            self.abort()

    def data_received(self, data: bytes) -> None:
        self._proxy.counters.bytes_in += len(data)
        other = self.other
        if other is not None and other.transport is not None:
            other.transport.write(data)
            return
        if self._is_refused:
            return
        self._early.append(data)
        self._early_bytes += len(data)
        if self._awaits_bytes:
            self.unpark()
        if self._early_bytes >= PARKED_BYTES and self.transport is not None:
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()
        if self.backend is not None:
            self._proxy.counters.closed(self.backend.name)
        super().connection_lost(exc)
        self._proxy.left(self)

    def abort(self) -> None:
        if self.transport is not None:
            _reset(self.transport)

    def unpark(self) -> None:
        """Wakes the connection after a change of the backends."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _join(self) -> None:
        """Connects to a reachable backend, and joins both connections."""
        proxy, pause, tried_since = self._proxy, _FIRST_RETRY, None
        began = proxy.clock.monotonic()
        try:
            while True:
                backend = proxy.choose(self._client)
                if backend is None and proxy.unserved is not None:
                    unserved = proxy.unserved()
                    if unserved.waits and proxy.clock.monotonic() - began < PATIENCE_SECONDS:
                        await self._wait(_LOOK_SECONDS)
                        continue
                    await self._refuse(unserved)
                    return
                if backend is None:
                    tried_since, pause = None, _FIRST_RETRY
                    await self._wait_for_backend()
                    continue
                back = await self._dial(backend)
                if back is not None:
                    self._joined_with(backend, back)
                    return
                proxy.failed_at(backend)
                now = proxy.clock.monotonic()
                tried_since = now if tried_since is None else tried_since
                if proxy.unserved is not None and now - tried_since > PATIENCE_SECONDS:
                    await self._refuse(proxy.unserved())
                    return
                if now - tried_since > UNREACHABLE_SECONDS:
                    proxy.counters.failed += 1
                    self.abort()
                    return
                if all(proxy.choose(self._client) != each for each in (backend, None)):
                    continue  # another backend is available
                await self._wait(pause)
                pause = min(pause * 2, _LAST_RETRY)
        finally:
            self._task = None

    async def _refuse(self, unserved: Unserved) -> None:
        """Answers with the reason if the client speaks HTTP, and closes the connection at once otherwise."""
        proxy, transport = self._proxy, self.transport
        proxy.refused(unserved)
        if not self._early:
            self._awaits_bytes = True
            await self._wait(_FIRST_BYTES_SECONDS)
        answer = response(b"".join(self._early)[:_HIGH_WATER], unserved.text(self._client))
        self._is_refused = True
        self._early.clear()
        if answer is None or transport is None or transport.is_closing():
            proxy.counters.failed += 1
            self.abort()
            return
        transport.resume_reading()
        transport.write(answer)
        transport.write_eof()
        # The client closes the connection. A close by the server before would reset a request that is still sent.
        await proxy.clock.sleep(_LAST_BYTES_SECONDS)
        transport.close()

    async def _wait_for_backend(self) -> None:
        self._wake = asyncio.get_running_loop().create_future()
        self._proxy.parked(self)
        try:
            await self._wake
        finally:
            self._wake = None
            self._proxy.unparked(self)

    async def _wait(self, seconds: float) -> None:
        """Waits for the given time, or until the backends change."""
        self._wake = asyncio.get_running_loop().create_future()
        self._proxy.parked(self)
        try:
            async with timeout(self._proxy.clock, seconds):
                await self._wake
        except TimeoutError:
            pass
        finally:
            self._wake = None
            self._proxy.unparked(self)

    async def _dial(self, backend: Backend) -> "_Back | None":
        proxy, loop = self._proxy, asyncio.get_running_loop()
        proxy.counters.opened(backend.name)
        reached = False
        try:
            for address in proxy.addresses(backend):
                with suppress(OSError, TimeoutError):
                    async with timeout(proxy.clock, DIAL_SECONDS):
                        _, back = await loop.create_connection(lambda: _Back(proxy, self), address, backend.port)
                    reached = True
                    proxy.answered_at(backend, address)
                    return back
            return None
        finally:
            if not reached:
                proxy.counters.closed(backend.name)

    def _joined_with(self, backend: Backend, back: "_Back") -> None:
        front, behind = self.transport, back.transport
        if front is None or behind is None:
            return
        if front.is_closing():
            self._proxy.counters.closed(backend.name)
            _reset(behind)
            return
        self.backend, self.other = backend, back
        if self._early:
            behind.writelines(self._early)
            self._early.clear()
        if self.ended:
            behind.write_eof()
        if self._early_bytes >= PARKED_BYTES:
            front.resume_reading()


def _reset(transport: asyncio.Transport) -> None:
    """Closes a connection with a reset, so that the other side detects the failure."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
