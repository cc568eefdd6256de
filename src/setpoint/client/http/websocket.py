"""The client side of WebSockets (RFC 6455), for `exec`, `attach` and port forwarding.

Messages are bytes in both directions. A received message is limited to `MAX_MESSAGE_BYTES`; above a limit of unread
bytes, reading from the peer pauses.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from setpoint.client.http.upgrade import Upgrade
from setpoint.client.transport import Answer, Refused, TransportError

if TYPE_CHECKING:
    from setpoint.client.http.frames import Frames

MAX_MESSAGE_BYTES = 32 << 20
_MUCH, _LITTLE = 1 << 20, 256 << 10
_GOODBYE_SECONDS = 2.0


class WebSocket(Upgrade):
    """A WebSocket on a connection of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol = ""
        # Set after the handshake.
        self._frames: Frames | None = None
        self._failure: TransportError | None = None
        self._messages: deque[bytes] = deque()
        self._size = 0
        self._paused = False

    # Called by the transport.

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended and self._frames is not None:
            why = f"the connection broke: {exc}" if exc else "the server closed the connection without a close frame"
            self._failure = TransportError(why, sent=True)
        self._ended = True
        self._writable.set()
        self._wake()

    def data_received(self, data: bytes) -> None:
        if self._frames is not None:
            self._receive_frames(self._frames, data)
        else:
            self._received += data
        self._wake()

    # Called by users.

    async def begin(self, request: Callable[[Mapping[str, str]], bytes], protocols: Sequence[str]) -> None:
        """Performs the handshake. `request` builds the request with the given additional headers. Raises Refused and
        TransportError."""
        # Imported here, because few programs open a WebSocket.
        from websockets.utils import generate_key

        from setpoint.client.http.frames import CLIENT, Frames

        key = generate_key()
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": key,
        }
        if protocols:
            headers["sec-websocket-protocol"] = ", ".join(protocols)
        try:
            self._transport.write(request(headers))
            answer = await self._read_head("a WebSocket")
            if answer.status != 101:
                raise Refused(await self._read_refusal(answer))
            self._check(answer, key, protocols)
        except BaseException:
            self.abort()
            raise
        self.protocol = answer.headers.get("sec-websocket-protocol", "")
        self._frames = Frames(CLIENT, MAX_MESSAGE_BYTES)
        self._receive_frames(self._frames, bytes(self._received))

    async def send(self, message: bytes) -> None:
        if self._ended or self._frames is None:
            raise self._failure or TransportError("the WebSocket is closed", sent=False)
        self._frames.binary(message)
        self._transport.write(self._frames.output())
        if not self._writable.is_set():
            await self._writable.wait()

    def ping(self) -> None:
        """Sends a ping, so that proxies between the two sides do not close an idle connection."""
        if not self._ended and self._frames is not None:
            self._frames.ping()
            self._transport.write(self._frames.output())

    async def receive(self) -> bytes | None:
        while not self._messages:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return None
            await self._wait()
        message = self._messages.popleft()
        self._size -= len(message)
        if self._paused and self._size < _LITTLE:
            self._paused = False
            self._transport.resume_reading()
        return message

    async def close(self) -> None:
        if not self._ended and self._frames is not None:
            self._frames.close()
            self._transport.write(self._frames.output())
            with suppress(TimeoutError, TransportError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    while await self.receive() is not None:
                        pass
        self.abort()

    # The handshake.

    def _check(self, answer: Answer, key: str, protocols: Sequence[str]) -> None:
        from websockets.utils import accept_key

        if answer.headers.get("sec-websocket-accept") != accept_key(key):
            raise TransportError("invalid WebSocket handshake: wrong Sec-WebSocket-Accept header", sent=True)
        if (chosen := answer.headers.get("sec-websocket-protocol", "")) not in (protocols or ("",)):
            raise TransportError(f"the server chose the protocol {chosen!r}, which was not offered", sent=True)

    # Frames.

    def _receive_frames(self, frames: "Frames", data: bytes) -> None:
        for message in frames.receive(data):
            self._messages.append(message)
            self._size += len(message)
        if answer := frames.output():
            self._transport.write(answer)
        if frames.fault:
            self._failure = TransportError(f"the server violated the WebSocket protocol: {frames.fault}", sent=True)
            self.abort()
        elif frames.has_ended:
            self._ended = True
            self._transport.close()
        elif self._size > _MUCH and not self._paused:
            self._paused = True
            self._transport.pause_reading()
