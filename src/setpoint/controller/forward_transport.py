"""A transport that hands everything on to another: what looks at requests on their way derives from it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from setpoint.client.transport import Answer, Call, Socket, SocketTransport, Stream, Transport, TransportError


class Forwarding:
    """Hands on. Of WebSockets it has as many as the other transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    @property
    def endpoint(self) -> Any:
        """Where the other transport leads; None for one that leads nowhere else."""
        return getattr(self.transport, "endpoint", None)

    async def send(self, call: Call) -> Answer:
        return await self.transport.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self.transport.stream(call)

    def socket(self, call: Call, protocols: Sequence[str]) -> AbstractAsyncContextManager[Socket]:
        if not isinstance(self.transport, SocketTransport):
            raise TransportError("this way to the server has no WebSockets: connect to it over HTTP", sent=False)
        return self.transport.socket(call, protocols)

    async def close(self) -> None:
        await self.transport.close()
