"""The forks of a control plane that clients create: control planes in memory, limited in number, size and time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Generic, Protocol, Self, TypeVar

from setpoint.objects.errors import Forbidden, ServiceUnavailable
from setpoint.objects.gvk import GroupResource
from setpoint.objects.times import format_time
from setpoint.plane.plane_snapshot import PlaneSnapshot
from setpoint.server.message import Peer, Request, Response
from setpoint.server.ports import Fork, User
from setpoint.server.request.context import Services
from setpoint.store.memory import MemorySnapshot

# The number of forks of a control plane, the bytes that all of them copy, and those that each may receive.
MOST_FORKS = 8
MOST_BYTES = 512 << 20
MOST_RECEIVED = 64 << 20
_RESOURCE = GroupResource("setpoint.dev", "forks")
_READING = frozenset(("GET", "HEAD"))


class ForkedPlane(Protocol):
    """A control plane that a fork runs."""

    serves_forks: bool

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: None, error: None, trace: None, /) -> None: ...

    async def answer(self, request: Request) -> Response:
        """Answers a request of the peer that the request names."""


P = TypeVar("P", bound=ForkedPlane)


@dataclass
class _Running(Generic[P]):
    fork: Fork
    plane: P
    expiry: "asyncio.Task[None]"


class Forks(Generic[P]):
    """The forks of a control plane, created from its snapshots. Each runs until deleted, until its time is over, or
    until `close`."""

    def __init__(self, snapshot: Callable[[], Awaitable[PlaneSnapshot[P]]], services: Services) -> None:
        self._snapshot, self._services = snapshot, services
        self._running: dict[str, _Running[P]] = {}
        # The number of forks that are being created, and the bytes that they copy.
        self._starting = 0
        self._starting_bytes = 0
        self._is_closed = False

    @property
    def forks(self) -> list[Fork]:
        return [each.fork for each in self._running.values()]

    async def create(self, at: int, seconds: int, user: str) -> Fork:
        if len(self._running) + self._starting >= MOST_FORKS:
            raise Forbidden.of(_RESOURCE, "", f"{MOST_FORKS} forks exist, which is the maximum: delete one of them")
        self._starting += 1
        try:
            return await self._create(at, seconds, user)
        finally:
            self._starting -= 1

    async def _create(self, at: int, seconds: int, user: str) -> Fork:
        services = self._services
        run = partial(services.offload.run, user)
        snapshot = await self._snapshot()
        size = await services.offload.run(user, partial(_size, snapshot.store))
        used = sum(fork.size for fork in self.forks) + self._starting_bytes
        if used + size > MOST_BYTES:
            raise Forbidden.of(
                _RESOURCE,
                "",
                f"the fork would copy {size:,} bytes, and other forks have {used:,} of at most {MOST_BYTES:,}: delete "
                "forks, or compact the history",
            )
        self._starting_bytes += size
        try:
            plane = await snapshot.plane_beside(run, at)
            plane.serves_forks = False
            await plane.__aenter__()
        finally:
            self._starting_bytes -= size
        if self._is_closed:
            await plane.__aexit__(None, None, None)
            raise ServiceUnavailable("the server is shutting down")
        now, name = services.clock.now(), f"fork-{services.ids.suffix()}"
        expires = format_time(now + timedelta(seconds=seconds))
        fork = Fork(name, at, user, format_time(now), expires, size, 0)
        expiry = asyncio.create_task(self._expire(name, services.clock.monotonic() + seconds))
        self._running[name] = _Running(fork, plane, expiry)
        return fork

    async def delete(self, name: str) -> None:
        found = self._running.pop(name, None)
        if found is not None:
            found.expiry.cancel()
            await found.plane.__aexit__(None, None, None)

    async def send(self, name: str, request: Request, user: User) -> Response:
        found = self._running[name]
        if request.method not in _READING:
            received = found.fork.received + len(request.body)
            if received > MOST_RECEIVED:
                reason = f"the fork has received {MOST_RECEIVED:,} bytes, which is the maximum: create another one"
                raise Forbidden.of(_RESOURCE, name, reason)
            found.fork = found.fork._replace(received=received)
        peer = Peer("in process", user.name, user.groups, in_process=True)
        return await found.plane.answer(request._replace(peer=peer))

    async def close(self) -> None:
        """Ends all forks."""
        self._is_closed = True
        for name in list(self._running):
            await self.delete(name)

    async def _expire(self, name: str, end: float) -> None:
        clock = self._services.clock
        await clock.sleep(max(end - clock.monotonic(), 0.0))
        found = self._running.pop(name, None)
        if found is not None:
            await found.plane.__aexit__(None, None, None)


def _size(snapshot: MemorySnapshot) -> int:
    """Returns the bytes of all values of a snapshot."""
    return sum(len(entry.value or b"") for versions in list(snapshot.versions.values()) for entry in list(versions))
