"""A conversation of a client with a program on a node, by the channels of Kubernetes over a WebSocket."""

import asyncio
import logging
from typing import NamedTuple

import msgspec

from setpoint.node.streams import Conversation, Size
from setpoint.objects.errors import APIError, InternalError
from setpoint.objects.tree import Object
from setpoint.server.message import Frame, Sink
from setpoint.server.verbs.channels import (
    CLOSE,
    ERROR,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    ClientMessages,
    exit_status,
    size_of,
)

# The pieces of input that wait for a program; later input stays in the connection.
_MOST_WAITING = 16
_PIECE_BYTES = 32 << 10

_log = logging.getLogger(__name__)


class WantedStreams(NamedTuple):
    """The streams that a client asks for. A terminal has a single stream of output."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class ChannelStreams:
    """The streams of a client (`node.streams.Streams`)."""

    def __init__(self, sink: Sink, wanted: WantedStreams) -> None:
        self._sink = sink
        self._wanted = wanted
        self._messages = ClientMessages(sink)
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        # Only the newest size counts.
        self._sizes: asyncio.Queue[Size] = asyncio.Queue(1)
        self._is_at_end = not wanted.stdin

    async def read(self) -> bytes:
        if self._is_at_end:
            return b""
        data = await self._input.get()
        self._is_at_end = not data
        return data

    async def write(self, data: bytes, *, stderr: bool = False) -> None:
        wanted = self._wanted
        stderr = stderr and not wanted.tty
        if not (wanted.stderr if stderr else wanted.stdout):
            return  # as a kubelet, without a stream the output is dropped
        channel = STDERR if stderr else STDOUT
        for start in range(0, len(data), _PIECE_BYTES):
            piece = Frame(bytes((channel,)) + data[start : start + _PIECE_BYTES])
            if not (self._sink.write(piece) and await self._sink.drain()):
                raise ConnectionResetError("the client has disconnected")

    async def next_size(self) -> Size:
        return await self._sizes.get()

    async def distribute(self) -> None:
        """Passes the messages of the client to the readers of its streams, until cancelled."""
        while True:
            message = await self._messages.next()
            if message[:1] == bytes((STDIN,)):
                # An empty piece would be the end of the input.
                if len(message) > 1:
                    await self._input.put(message[1:])
            elif message[:1] == bytes((RESIZE,)):
                self._resize(size_of(message[1:]))
            elif message[:2] == bytes((CLOSE, STDIN)):
                await self._input.put(b"")

    def _resize(self, size: Size | None) -> None:
        if size is not None:
            if self._sizes.full():
                self._sizes.get_nowait()
            self._sizes.put_nowait(size)


class ConversationStream:
    """Runs a conversation when the WebSocket is open, and sends the exit code as a Status at its end."""

    def __init__(self, conversation: Conversation, wanted: WantedStreams) -> None:
        self._conversation = conversation
        self._wanted = wanted

    async def run(self, sink: Sink) -> None:
        streams = ChannelStreams(sink, self._wanted)
        talking = asyncio.ensure_future(self._conversation(streams))
        others = [asyncio.ensure_future(streams.distribute()), asyncio.ensure_future(sink.wait_closed())]
        try:
            await asyncio.wait((talking, others[1]), return_when=asyncio.FIRST_COMPLETED)
            if talking.done():
                sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(_outcome(talking))))
                await sink.drain()
        finally:
            for task in (talking, *others):
                task.cancel()
            await asyncio.gather(talking, *others, return_exceptions=True)


def _outcome(talking: "asyncio.Future[int]") -> Object:
    """Returns the Status for a conversation that has ended."""
    error = talking.exception()
    if error is None:
        return exit_status(talking.result())
    if not isinstance(error, APIError):
        _log.error("a conversation with a node failed", exc_info=error)
        error = InternalError.of(f"{type(error).__name__}: {error}")
    return error.to_status()
