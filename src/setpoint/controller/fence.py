"""The fence of a leader: refuses writes, and reconciles, once the term may be over.

A process that was paused for minutes may wake up in the middle of a reconcile. Its writes are refused locally, without
a question to the server.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Socket, Stream, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.objects.clock import Clock

_READS = frozenset(("GET", "HEAD", "OPTIONS"))


class NotLeading(Exception):  # noqa: N818 - names the state
    """A write that was not sent: this replica does not lead, or may not lead any more."""


class Fence:
    """The time until which this replica is certain to be the only leader."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = 0.0

    def open(self, until: float) -> None:
        self._until = until

    def close(self) -> None:
        self._until = 0.0

    @property
    def seconds(self) -> float:
        """The remaining seconds; 0 if this replica does not lead or may not lead any more."""
        return max(self._until - self._clock.monotonic(), 0.0)

    def check(self) -> float:
        """Returns the remaining seconds, for writes outside the API. Raises NotLeading if the time is over."""
        left = self.seconds
        if not left:
            raise NotLeading("this replica does not lead, or may not lead any more")
        return left


class FencedTransport(Forwarding):
    """A transport that refuses writes unless this replica leads. Reads pass."""

    def __init__(self, transport: Transport, fence: Fence) -> None:
        super().__init__(transport)
        self._fence = fence

    async def send(self, call: Call) -> Answer:
        if call.method not in _READS:
            left = self._fence.check()
            # A request must not outlast the term. After this timeout the write may still have happened.
            call = call._replace(timeout=left if call.timeout is None else min(left, call.timeout))
        return await self.transport.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        if call.method not in _READS:
            self._fence.check()
        return self.transport.stream(call)

    def socket(self, call: Call, protocols: Sequence[str]) -> AbstractAsyncContextManager[Socket]:
        self._fence.check()  # a command executed over a WebSocket may change data
        return super().socket(call, protocols)


def fenced(client: Client, fence: Fence) -> Client:
    """Returns a copy of the client that writes only while this replica leads."""
    made = copy(client)
    made.transport = FencedTransport(client.transport, fence)
    return made
