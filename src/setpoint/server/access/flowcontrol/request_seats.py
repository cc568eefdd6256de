"""The resources that one request holds: its seats, its position in the turns, and the bytes of its response."""

import asyncio
from typing import Protocol

from setpoint.objects.errors import TooManyRequests
from setpoint.server.access.flowcontrol.seats import Flow
from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.access.flowcontrol.width import Sizes, width


class SeatGate(Protocol):
    """The gate that admitted the request."""

    begun: int
    sizes: Sizes
    unsent: Unsent

    async def pause(self, seat: "OccupiedSeat", size: int = 0) -> None: ...

    def charge(self, flow: Flow, seconds: float) -> None: ...

    def widen(self, seat: "OccupiedSeat", width: int) -> None: ...

    def rejected(self, flow: Flow, reason: str) -> TooManyRequests: ...

    def release(self, flow: Flow, width: int) -> None: ...


class ExemptSeat:
    """The shared seat of all requests of an exempt flow. Exempt requests never wait, but yield to other tasks between
    two slices."""

    __slots__ = ("_gate", "executions", "flow")

    def __init__(self, gate: SeatGate, flow: Flow) -> None:
        self._gate = gate
        self.flow = flow
        self.executions = flow.tally.executions

    async def pause(self, size: int = 0) -> None:
        await asyncio.sleep(0)

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        self._gate.sizes.record(scope, max(objects, total), size / objects if objects else 0.0)

    async def expect(self, scope: str, limit: int) -> None:
        """Returns at once: the bytes of exempt requests are not limited."""

    async def reserve(self, size: int) -> None:
        """Returns at once: the bytes of exempt requests are not limited."""

    def sent(self, size: int) -> None:
        """Ignores the bytes: exempt requests have no limit."""

    def release(self) -> None:
        """Returns at once: the gate itself counts the end of each exempt request."""


class OccupiedSeat:
    """The seats of one request that is not exempt.

    `prepaid` is the loop time that was charged by estimate for the current step. The difference to the measured time is
    charged or credited when the step ends.
    """

    __slots__ = ("_first", "_gate", "_reserved", "_sent", "_user", "executions", "flow", "number", "prepaid", "width")

    def __init__(self, gate: SeatGate, flow: Flow, user: str, seats: int, prepaid: float) -> None:
        self._gate = gate
        self._user = user
        self.flow = flow
        self.executions = flow.tally.executions
        self.width = seats
        self.prepaid = prepaid
        gate.begun += 1
        self.number = gate.begun
        self._first = True
        # The unsent bytes that are counted for the user.
        self._reserved = 0
        self._sent = 0

    async def pause(self, size: int = 0) -> None:
        if self.width:
            await self._gate.pause(self, size)
        else:
            await asyncio.sleep(0)

    def spent(self, seconds: float) -> None:
        """Charges the measured time of a step."""
        flow = self.flow
        if self._first:
            self._first = False
            flow.estimate += (seconds - flow.estimate) / 8
        self._gate.charge(flow, seconds - self.prepaid)
        self.prepaid = 0.0

    def scanned(self, scope: str, objects: int, size: int, total: int = 0) -> None:
        gate = self._gate
        if objects:
            gate.sizes.record(scope, max(objects, total), size / objects)
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

    def release(self) -> None:
        if self._reserved:
            self._gate.unsent.add(self._user, -self._reserved)
            self._reserved = 0
        if self.width:
            self._gate.release(self.flow, self.width)
            self.width = 0
