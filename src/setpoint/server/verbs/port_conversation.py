"""The conversation of a client with one port of a pod, for every protocol of port-forwarding."""

import asyncio
import logging
from abc import ABC, abstractmethod

from setpoint.node.streams import Conversation, Size
from setpoint.server.message import Frame, Sink

# The pieces of input that wait for an application; later input stays in the connection.
_MOST_WAITING = 16
_PIECE_BYTES = 32 << 10

_log = logging.getLogger(__name__)


def is_port(text: str) -> bool:
    """Returns True for the number of a port."""
    return text.isascii() and text.isdecimal() and 0 < int(text[:6]) < 1 << 16


class PortStreams(ABC):
    """The streams of one connection to a port (`node.streams.Streams`)."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self._is_over = False

    @abstractmethod
    def _framed(self, data: bytes, *, is_error: bool) -> bytes:
        """Returns output, or the text of an error, in the protocol of the client."""

    async def put(self, data: bytes) -> None:
        """Passes input to the application; an empty piece is its end. Waits for an application that reads slowly."""
        if not self._is_over:
            await self._input.put(data)

    def end(self) -> None:
        """Drops further input, so that no other connection of the client waits for this one."""
        self._is_over = True
        while not self._input.empty():
            self._input.get_nowait()

    async def read(self) -> bytes:
        return await self._input.get()

    async def write(self, data: bytes, *, stderr: bool = False) -> None:
        for start in range(0, len(data), _PIECE_BYTES):
            frame = Frame(self._framed(data[start : start + _PIECE_BYTES], is_error=stderr))
            if not (self._sink.write(frame) and await self._sink.drain()):
                raise ConnectionResetError("the client has disconnected")

    async def next_size(self) -> Size:
        """Waits for ever: a port has no terminal."""
        never: asyncio.Future[Size] = asyncio.get_running_loop().create_future()
        return await never


async def talk(port: int, conversation: Conversation, streams: PortStreams) -> None:
    """Runs the conversation with a port, and reports a failure in the stream for errors."""
    try:
        await conversation(streams)
    except ConnectionResetError:
        return
    except Exception as error:
        _log.info("a connection to port %d of a pod failed: %s", port, error)
        await streams.write(f"an error occurred forwarding {port}: {error}".encode(), stderr=True)
    finally:
        streams.end()
