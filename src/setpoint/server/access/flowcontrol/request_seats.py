"""The holdings of one request: its seats, its place among those that take turns, and the bytes of its answer."""

import asyncio
from typing import Protocol

from setpoint.objects.errors import TooManyRequests
from setpoint.server.access.flowcontrol.seats import Flow
from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.access.flowcontrol.width import Sizes, width


class Gate(Protocol):
    """The gate that a request has come through."""

    begun: int
    sizes: Sizes
    unsent: Unsent

    async def pause(self, seat: "HeldSeat", size: int = 0) -> None: ...

    def charge(self, flow: Flow, seconds: float) -> None: ...

    def widen(self, seat: "HeldSeat", width: int) -> None: ...

    def rejected(self, flow: Flow, reason: str) -> TooManyRequests: ...

    def leave(self, flow: Flow, width: int) -> None: ...


class ExemptSeat:
    """The seat of all requests of an exempt flow. They never wait, but let others run between two slices."""

    __slots__ = ("_gate", "flow")

    def __init__(self, gate: Gate, flow: Flow) -> None:
        self._gate = gate
        self.flow = flow

    async def pause(self, size: int = 0) -> None:
        await asyncio.sleep(0)

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        self._gate.sizes.learn(scope, max(objects, total), size / objects if objects else 0.0)

    async def expect(self, scope: str, limit: int) -> None:
        """The bytes of those who are exempt are not counted."""

    async def reserve(self, size: int) -> None:
        """They are not counted here either."""

    def sent(self, size: int) -> None:
        """Nor here."""

    def leave(self) -> None:
        """The gate counts when each of the requests has left."""


class HeldSeat:
    """The seats of one request that is not exempt.

    `prepaid` is how much of the loop's time was charged for the step that is under way, by estimate: the rest is
    charged, or given back, when the step is over.
    """

    __slots__ = ("_first", "_gate", "_reserved", "_sent", "_user", "flow", "number", "prepaid", "width")

    def __init__(self, gate: Gate, flow: Flow, user: str, seats: int, prepaid: float) -> None:
        self._gate = gate
        self._user = user
        self.flow = flow
        self.width = seats
        self.prepaid = prepaid
        gate.begun += 1
        self.number = gate.begun
        self._first = True
        # The bytes that are counted for the user.
        self._reserved = 0
        self._sent = 0

    async def pause(self, size: int = 0) -> None:
        if self.width:
            await self._gate.pause(self, size)
        else:
            await asyncio.sleep(0)

    def spent(self, seconds: float) -> None:
        """Charges a step of the request."""
        flow = self.flow
        if self._first:
            self._first = False
            flow.estimate += (seconds - flow.estimate) / 8
        self._gate.charge(flow, seconds - self.prepaid)
        self.prepaid = 0.0

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        gate = self._gate
        if objects:
            gate.sizes.learn(scope, max(objects, total), size / objects)
        if self.width:
            gate.widen(self, width(objects, size))

    async def expect(self, scope: str, limit: int) -> None:
        size = self._gate.sizes.of(scope)
        if size is not None:
            objects = min(size.objects, limit) if limit else size.objects
            await self.reserve(int(objects * size.average))

    async def reserve(self, size: int) -> None:
        more = size - self._reserved
        if not self.width or more <= 0:
            return
        if not await self._gate.unsent.reserve(self._user, more):
            raise self._gate.rejected(self.flow, "unsent-bytes")
        self._reserved += more

    def sent(self, size: int) -> None:
        done = min(size - self._sent, self._reserved)
        if done > 0:
            self._sent = size
            self._reserved -= done
            self._gate.unsent.add(self._user, -done)

    def leave(self) -> None:
        if self._reserved:
            self._gate.unsent.add(self._user, -self._reserved)
            self._reserved = 0
        if self.width:
            self._gate.leave(self.flow, self.width)
            self.width = 0
