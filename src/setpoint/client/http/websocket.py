"""WebSockets (RFC 6455), the client's side: what `exec`, `attach` and port forwarding go over.

Messages are bytes both ways. What the other side sends is bounded: a message by `MAX_MESSAGE_BYTES`, and what waits to
be read by making the other side wait.
"""

import asyncio
import base64
import hashlib
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from setpoint.client.http.upgrade import Upgrade
from setpoint.client.transport import Answer, Refused, TransportError

MAX_MESSAGE_BYTES = 32 << 20
_MUCH, _LITTLE = 1 << 20, 256 << 10
_GOODBYE_SECONDS = 2.0
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_NORMAL = (1000).to_bytes(2)


class WebSocket(Upgrade):
    """One of them, on a connection of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol = ""
        self._is_open = False
        self._failure: TransportError | None = None
        self._messages: deque[bytes] = deque()
        self._size = 0
        self._parts = bytearray()
        self._paused = False

    # What the transport calls.

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended and self._is_open:
            why = f"the connection broke: {exc}" if exc else "the server closed the connection without a goodbye"
            self._failure = TransportError(why, sent=True)
        self._ended = True
        self._writable.set()
        self._wake()

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if self._is_open:
            self._take_frames()
        self._wake()

    # What users call.

    async def begin(self, request: Callable[[Mapping[str, str]], bytes], protocols: Sequence[str]) -> None:
        """Shakes hands. `request` makes the request with some more headers. Raises Refused and TransportError."""
        key = base64.b64encode(os.urandom(16))
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": key.decode(),
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
        self._is_open = True
        self._take_frames()

    async def send(self, message: bytes) -> None:
        if self._ended:
            raise self._failure or TransportError("the WebSocket is closed", sent=False)
        self._write(_BINARY, message)
        if not self._writable.is_set():
            await self._writable.wait()

    def ping(self) -> None:
        """Has the other side say something, so that those in between know that the connection is in use."""
        if not self._ended:
            self._write(_PING, b"")

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
        if not self._ended:
            self._write(_CLOSE, _NORMAL)
            with suppress(TimeoutError, TransportError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    while await self.receive() is not None:
                        pass
        self.abort()

    # The handshake.

    def _check(self, answer: Answer, key: bytes, protocols: Sequence[str]) -> None:
        expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
        if answer.headers.get("sec-websocket-accept") != expected:
            raise TransportError("the server shakes hands as no WebSocket does", sent=True)
        if (chosen := answer.headers.get("sec-websocket-protocol", "")) not in (protocols or ("",)):
            raise TransportError(f"the server chose the protocol {chosen!r}, which was not offered", sent=True)

    # Frames.

    def _write(self, code: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes((0x80 | code, 0x80 | size))
        elif size < 1 << 16:
            head = bytes((0x80 | code, 0x80 | 126)) + size.to_bytes(2)
        else:
            head = bytes((0x80 | code, 0x80 | 127)) + size.to_bytes(8)
        mask = os.urandom(4)
        self._transport.write(head + mask + _masked(payload, mask))

    def _take_frames(self) -> None:
        while not self._ended and (frame := self._take_frame()) is not None:
            is_last, code, payload = frame
            if code == _PING:
                self._write(_PONG, payload)
            elif code == _CLOSE:
                self._write(_CLOSE, payload[:2])
                self._ended = True
                self._transport.close()
            elif code in (_CONTINUATION, _TEXT, _BINARY):
                self._take_part(is_last, payload)

    def _take_frame(self) -> tuple[bool, int, bytes] | None:
        heard = self._heard
        if len(heard) < 2:
            return None
        size, at = heard[1] & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(heard) < at + width:
                return None
            size, at = int.from_bytes(heard[at : at + width]), at + width
        if size + len(self._parts) > MAX_MESSAGE_BYTES:
            self._fail(f"a message is larger than {MAX_MESSAGE_BYTES} bytes")
            return None
        if heard[1] & 0x80 or heard[0] & 0x70:
            self._fail("the server sends frames that it may not send")
            return None
        if len(heard) < at + size:
            return None
        is_last, code, payload = bool(heard[0] & 0x80), heard[0] & 0x0F, bytes(heard[at : at + size])
        del heard[: at + size]
        return is_last, code, payload

    def _take_part(self, is_last: bool, payload: bytes) -> None:
        self._parts += payload
        if not is_last:
            return
        message = bytes(self._parts)
        self._parts.clear()
        self._messages.append(message)
        self._size += len(message)
        if self._size > _MUCH and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _fail(self, why: str) -> None:
        self._failure = TransportError(why, sent=True)
        self.abort()


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
