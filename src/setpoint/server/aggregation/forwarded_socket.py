"""A WebSocket between a client and an extension API server. Messages are passed on in both directions, in binary."""

import asyncio
from contextlib import suppress
from weakref import finalize

from setpoint.client.http.websocket import WebSocket
from setpoint.client.transport import TransportError
from setpoint.server.access.flowcontrol.user_shares import UserShares
from setpoint.server.message import Frame, Sink
from setpoint.server.verbs.channels import ClientMessages


class ForwardedSocket:
    """Runs when the client's WebSocket is open, until one side ends its WebSocket. Counts as an open request of the
    user until then."""

    def __init__(self, remote: WebSocket, shares: UserShares, user: str) -> None:
        self._remote = remote
        shares.opened(user)
        # A WebSocket that no client uses must not stay open.
        self._ending = finalize(self, _end, remote, shares, user)
        self._ending.atexit = False

    async def run(self, sink: Sink) -> None:
        passing = (self._to_remote(ClientMessages(sink)), self._to_client(sink), sink.wait_closed())
        tasks = [asyncio.ensure_future(each) for each in passing]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(TransportError):
                await self._remote.close()
            self._ending()

    async def _to_remote(self, messages: ClientMessages) -> None:
        while True:
            await self._remote.send(await messages.next())

    async def _to_client(self, sink: Sink) -> None:
        while (message := await self._remote.receive()) is not None:
            if not (sink.write(Frame(message)) and await sink.drain()):
                return


def _end(remote: WebSocket, shares: UserShares, user: str) -> None:
    remote.abort()
    shares.closed(user)
