"""Small unary calls over one HTTP/2 connection, for the read that is made before almost every answer.

A call of the library of gRPC costs four times the CPU of such a call, most of that for its threads. This module knows
only as much of HTTP/2 as requests and responses of a few hundred bytes need: all requests have the same headers, and
the headers of responses are not decoded. A response with a message is a success, because a failed call of gRPC has
none. The caller repeats a failed call by gRPC, and learns the reason there.
"""

import asyncio
import os
import ssl
from struct import Struct

from setpoint.store.etcd.config import EtcdConfig, Tls
from setpoint.store.etcd.quorum import SLOW_SECONDS

# The types of frames, and the flags of the end of a stream, of complete headers and of acknowledgements.
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END, _HEADERS_END, _ACKNOWLEDGED = 1, 4, 1
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# The bytes that are received before the server may send more, less than its initial allowance of 65,535.
_WINDOW_BYTES = 16_384
# The seconds for a connection or a response, and the seconds without attempts after a failure.
_PATIENCE, _PAUSE = SLOW_SECONDS, 5.0
# No stream has a greater number.
_LAST_STREAM = (1 << 31) - 1
_number = Struct(">I").pack


class CallFailed(Exception):
    """The call got no message. Never leaves this package."""


class CallTimedOut(CallFailed):
    """The call got no message in time: etcd may have no quorum."""


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return _number(len(payload))[1:] + bytes((kind, flags)) + _number(stream) + payload


def _field(name: bytes, value: bytes) -> bytes:
    """Encodes a header literally, without an index and without compression."""
    return b"\x00" + _length(name) + name + _length(value) + value


def _length(text: bytes) -> bytes:
    """Encodes the length of a text: up to 126 in one byte, a greater one in groups of 7 bits."""
    left = len(text) - 127
    if left < 0:
        return bytes((len(text),))
    encoded = bytearray((127,))
    while left >= 128:
        encoded.append(left % 128 + 128)
        left //= 128
    encoded.append(left)
    return bytes(encoded)


class _Connection(asyncio.Protocol):
    """One connection. Fails all its calls when the connection ends."""

    def __init__(self) -> None:
        self.is_open = False
        self._transport: asyncio.Transport
        self._received = b""
        self._unacknowledged = 0
        self._last = -1
        # The responses under way: the future, and the bytes so far.
        self._calls: dict[int, tuple[asyncio.Future[bytes], list[bytes]]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # uvloop's is one in all but name
        self.is_open = True
        self._transport.write(_PREFACE + _frame(_SETTINGS, 0, 0))

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False
        self._transport.close()
        calls, self._calls = self._calls, {}
        for answer, _ in calls.values():
            _fail(answer)

    def call(self, headers: bytes, message: bytes) -> asyncio.Future[bytes]:
        stream = self._last = self._last + 2
        if stream >= _LAST_STREAM - 2:
            self.is_open = False  # the next call opens another connection
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._calls[stream] = answer, []
        body = b"\x00" + _number(len(message)) + message
        self._transport.write(_frame(_HEADERS, _HEADERS_END, stream, headers) + _frame(_DATA, _END, stream, body))
        return answer

    def data_received(self, data: bytes) -> None:
        received = self._received + data
        start, end = 0, len(received)
        while end - start >= 9:
            stop = start + 9 + int.from_bytes(received[start : start + 3], "big")
            if stop > end:
                break
            stream = int.from_bytes(received[start + 5 : start + 9], "big")
            self._frame_received(received[start + 3], received[start + 4], stream, received[start + 9 : stop])
            start = stop
        self._received = received[start:]

    def _frame_received(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _DATA:
            self._unacknowledged += len(payload)
            if self._unacknowledged >= _WINDOW_BYTES:
                self._transport.write(_frame(_WINDOW, 0, 0, _number(self._unacknowledged)))
                self._unacknowledged = 0
            if stream in self._calls:
                self._calls[stream][1].append(payload)
        if kind in (_DATA, _HEADERS):
            if flags & _END:
                self._end(stream)
        elif kind == _RESET:
            self._end(stream)
        elif kind == _GOAWAY:
            self.close()
        elif kind in (_SETTINGS, _PING) and not flags & _ACKNOWLEDGED:
            self._transport.write(_frame(kind, _ACKNOWLEDGED, 0, payload if kind == _PING else b""))

    def _end(self, stream: int) -> None:
        """Completes a call with its message: after a byte for no compression, and the length."""
        answer, parts = self._calls.pop(stream, (None, []))
        if answer is None or answer.done():
            return
        body = b"".join(parts)
        if body[:1] == b"\x00" and len(body) == 5 + int.from_bytes(body[1:5], "big"):
            answer.set_result(body[5:])
        else:
            _fail(answer)


def _fail(answer: asyncio.Future[bytes], kind: type[CallFailed] = CallFailed) -> None:
    if not answer.done():
        answer.set_exception(kind())


class SmallCalls:
    """The calls of one method of an endpoint."""

    def __init__(self, address: str, path: str, config: EtcdConfig) -> None:
        self._address = address
        self._tls = config.tls
        # The static entries of the method POST and of the scheme, and the fields that are the same for all calls.
        self._headers = b"\x83" + (b"\x86" if config.tls is None else b"\x87")
        for name, value in (
            (b":path", path.encode()),
            (b":authority", ((config.tls and config.tls.server_name) or address).encode()),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        ):
            self._headers += _field(name, value)
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()
        self._again = 0.0
        self._is_closed = False

    async def call(self, message: bytes, token: str | None) -> bytes:
        """Sends a message, and returns the one of the response. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        try:
            connection = await self._connected(loop)
            headers = self._headers if token is None else self._headers + _field(b"token", token.encode())
            answer = connection.call(headers, message)
            timer = loop.call_later(_PATIENCE, _fail, answer, CallTimedOut)
            try:
                return await answer
            finally:
                timer.cancel()
        except CallFailed:
            self._fail(loop)
            raise

    def close(self) -> None:
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()

    async def _connected(self, loop: asyncio.AbstractEventLoop) -> _Connection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        async with self._connecting:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            if self._is_closed or loop.time() < self._again:
                raise CallFailed
            host, _, port = self._address.rpartition(":")
            tls = self._tls
            try:
                context = None if tls is None else _context(tls)
                name = None if tls is None else tls.server_name or host.strip("[]")
                async with asyncio.timeout(_PATIENCE):
                    _, self._connection = await loop.create_connection(
                        _Connection, host.strip("[]"), int(port), ssl=context, server_hostname=name
                    )
            except TimeoutError as error:
                raise CallTimedOut from error
            except (OSError, ValueError) as error:
                raise CallFailed from error
            return self._connection

    def _fail(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ends the connection, and makes no calls for a while."""
        self._again = loop.time() + _PAUSE
        if self._connection is not None:
            self._connection.close()


def _context(tls: Tls) -> ssl.SSLContext:
    """Returns the settings of TLS. Raises OSError or ValueError for invalid certificates, and for those of a client on
    a system without files in memory."""
    context = ssl.create_default_context(cadata=None if tls.ca is None else tls.ca.decode("ascii"))
    context.set_alpn_protocols(["h2"])
    if tls.certificate is not None and tls.key is not None:
        # Python reads certificates from files only: this one is in memory, and ends here.
        if not hasattr(os, "memfd_create"):
            raise OSError("the key of the client would have to be written to a file")
        file = os.memfd_create("certificate")
        try:
            os.write(file, tls.certificate + b"\n" + tls.key)
            context.load_cert_chain(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
    return context
