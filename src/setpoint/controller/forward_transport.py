"""A transport that forwards everything to another one: the base of transports that inspect requests."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from setpoint.client.transport import Answer, Call, Socket, SocketTransport, Stream, Transport, TransportError


class Forwarding:
    """Forwards all calls. Supports WebSockets if the other transport does."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    @property
    def endpoint(self) -> Any:
        """The endpoint of the other transport; None for one without an endpoint."""
        return getattr(self.transport, "endpoint", None)

    async def send(self, call: Call) -> Answer:
        return await self.transport.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self.transport.stream(call)

    def socket(self, call: Call, protocols: Sequence[str]) -> AbstractAsyncContextManager[Socket]:
        if not isinstance(self.transport, SocketTransport):
            raise TransportError("this transport has no WebSockets: connect to the server over HTTP", sent=False)
        return self.transport.socket(call, protocols)

    async def close(self) -> None:
        await self.transport.close()
