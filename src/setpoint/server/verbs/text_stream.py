"""A growing text that is sent to a client, such as a log."""

import asyncio
from collections.abc import AsyncIterator

from setpoint.server.message import Frame, Sink


class TextStream:
    """Streams pieces of text to a client, until their end or until the client disconnects."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    async def run(self, sink: Sink) -> None:
        sending = asyncio.ensure_future(self._send(sink))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send(self, sink: Sink) -> None:
        async for piece in self._pieces:
            if not (sink.write(Frame(piece)) and await sink.drain()):
                return
