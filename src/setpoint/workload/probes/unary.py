"""A unary gRPC call with a minimal HTTP/2 implementation: the preface, a HEADERS frame with literal headers, a DATA
frame, and the frames of the response. The response headers are not parsed: a server with a response sends a message,
and a server that does not know the method ends the stream without one."""

import asyncio
import ssl
import struct
from collections.abc import Sequence

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
_ACK, _END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_MOST_BYTES = 64 << 10
# The maximum size of a message that every server accepts in one frame, with the five bytes of its prefix.
MOST_SENT = (16 << 10) - 5


async def call(
    address: str,
    port: int,
    path: str,
    message: bytes,
    headers: Sequence[tuple[str, str]] = (),
    tls: ssl.SSLContext | None = None,
) -> bytes | None:
    """Returns the message of the response, or None. Raises OSError or IncompleteReadError."""
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(address, port, ssl=tls)
    try:
        scheme = "https" if tls is not None else "http"
        writer.write(_request(scheme, f"{address}:{port}", path, message, headers))
        return await _answer(reader, writer)
    finally:
        writer.close()


def _request(scheme: str, authority: str, path: str, message: bytes, more: Sequence[tuple[str, str]]) -> bytes:
    headers = (
        (":method", "POST"),
        (":scheme", scheme),
        (":path", path),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *more,
    )
    block = b"".join(b"\0" + _text(name.encode()) + _text(value.encode()) for name, value in headers)
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return b"".join(
        (
            _PREFACE,
            _frame(_SETTINGS, 0, 0, b""),
            _frame(_HEADERS, _END_HEADERS, 1, block),
            _frame(_DATA, _END_STREAM, 1, body),
        )
    )


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
    data = b""
    while True:
        size, kind, flags, stream = struct.unpack(">3sBBI", await reader.readexactly(9))
        payload = await reader.readexactly(int.from_bytes(size, "big"))
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            writer.write(_frame(_PING, _ACK, 0, payload))
        elif kind in (_RESET, _GOAWAY):
            return None
        elif kind == _DATA and stream & 0x7FFFFFFF == 1:
            data += payload[1 : len(payload) - payload[0]] if flags & _PADDED else payload
            if len(data) > _MOST_BYTES:
                return None
            if len(data) >= 5 and len(data) - 5 >= int.from_bytes(data[1:5], "big"):
                return data[5 : 5 + int.from_bytes(data[1:5], "big")]
        if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
            return None


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _text(value: bytes) -> bytes:
    """Returns a literal string of HPACK."""
    if len(value) >= 127:
        return b"\x7f" + number(len(value) - 127) + value
    return bytes((len(value),)) + value


def number(value: int) -> bytes:
    """Returns a variable-length integer in groups of seven bits, as in HPACK and protobuf."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
