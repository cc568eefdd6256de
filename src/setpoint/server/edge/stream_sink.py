"""The destination of a stream on a connection: HTTP/1.1 chunks, plain bytes for HTTP/1.0, or WebSocket messages."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from setpoint.server.edge import websocket
from setpoint.server.edge.limits import PIECE_BYTES, Limits
from setpoint.server.message import Counter, Frame

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames


class StreamSink:
    """Writes the frames of a stream to a transport, and limits the bytes that wait for the client.

    `disconnected` is set at the end of the connection or of the server, and `writable` while the transport accepts more
    bytes.
    """

    __slots__ = (
        "_chunked",
        "_counted",
        "_counter",
        "_delimited",
        "_disconnected",
        "_frames",
        "_is_open",
        "_limits",
        "_on_message",
        "_transport",
        "_user",
        "_writable",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        limits: Limits,
        disconnected: asyncio.Event,
        writable: asyncio.Event,
        frames: "Frames | None" = None,
    ) -> None:
        self._transport, self._limits = transport, limits
        self._disconnected, self._writable = disconnected, writable
        # The frames of a WebSocket, and the function that receives the client's messages.
        self._frames = frames
        self._on_message: Callable[[bytes], None] | None = None
        self._is_open = False
        self._chunked = False
        # True for a stream of events that begin with their length; all others are lines.
        self._delimited = False
        # The counter of the unsent bytes, the user they count for, and the number counted.
        self._counter: Counter | None = None
        self._user = ""
        self._counted = 0

    def open(self, *, chunked: bool, delimited: bool) -> None:
        """Begins the stream. The head of the response has been written."""
        self._is_open, self._chunked, self._delimited = True, chunked, delimited

    def close(self) -> None:
        """Ends the stream, and counts its unsent bytes no more."""
        self._is_open = False
        self.count(0)
        self._counter = None

    # The protocols `Sink`, `Buffered` and `DuplexSink`.

    def write(self, frame: Frame) -> bool:
        transport = self._transport
        if transport.is_closing():
            return False
        if self._chunked:
            transport.write(frame.chunk)
        elif self._frames is None:
            transport.write(frame.payload)
        else:
            self._write_messages(self._frames, frame.payload)
        size = transport.get_write_buffer_size()
        if size > self._limits.stream_bytes or not self.count(size):
            transport.abort()
            return False
        return True

    def _write_messages(self, frames: "Frames", payload: bytes) -> None:
        if self._on_message is not None:
            frames.binary(payload)
        elif self._delimited:
            for event in websocket.delimited(payload):
                frames.binary(event)
        else:
            # Every line is an event, and every event a message.
            for line in payload.splitlines(keepends=True):
                frames.text(line)
        self._transport.write(frames.output())

    def count_unsent(self, counter: Counter, user: str) -> None:
        self._counter, self._user = counter, user

    def count(self, size: int) -> bool:
        """Updates the count of bytes in the transport's buffer. Returns False if there are too many for the user."""
        counter, counted = self._counter, self._counted
        if counter is None or (size <= PIECE_BYTES and not counted):
            return True
        self._counted = size
        counter.add(self._user, size - counted)
        return size <= counted or not counter.is_over(self._user)

    async def drain(self) -> bool:
        if not self._writable.is_set():
            await self._writable.wait()
        return not self.closed

    @property
    def closed(self) -> bool:
        return self._disconnected.is_set() or self._transport.is_closing()

    async def wait_closed(self) -> None:
        await self._disconnected.wait()

    def listen(self, on_message: Callable[[bytes], None]) -> bool:
        if self._frames is None:
            return False
        self._on_message = on_message
        return True

    def pause_reading(self, is_paused: bool) -> None:
        if is_paused:
            self._transport.pause_reading()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    # The WebSocket.

    def receive(self, data: bytes) -> None:
        """Passes the messages of a WebSocket to the listener, and answers control frames."""
        frames = self._frames
        if frames is None:
            return
        messages = frames.receive(data)
        answer = frames.output()
        if answer and self._is_open:  # before that, the handshake is not complete
            self._transport.write(answer)
        if self._on_message is not None:
            for message in messages:
                self._on_message(message)
        if frames.fault:
            self._transport.close()
        elif frames.has_ended:
            self._disconnected.set()

    def end_messages(self) -> None:
        """Writes the close frame of the WebSocket."""
        if self._frames is not None:
            self._frames.close()
            self._transport.write(self._frames.output())
