"""A probe by gRPC's own health protocol (`grpc.health.v1.Health/Check`): SERVING is a success.

It is one call, so the little of HTTP/2 that takes is here: the preface, a HEADERS frame in which every header stands as
it is, a DATA frame, and the frames of the answer. Its headers need not be understood: a server that serves says so in a
message, and one that does not know the service, or the protocol, ends the stream without.
"""

import asyncio
import struct

from setpoint.client.http.dial import reason_of
from setpoint.workload.probes.verdict import Finding

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
_ACK, _END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_MOST_BYTES = 64 << 10
_STATUSES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


async def probe_grpc(address: str, port: int, service: str) -> Finding:
    """Asks once."""
    what = f"the health of {service or 'the server'} at {address}:{port}"
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        return Finding("Failure", f"asking for {what}: {reason_of(error)}")
    try:
        writer.write(_request(f"{address}:{port}", service))
        status = await _answer(reader, writer)
    except (OSError, asyncio.IncompleteReadError):
        return Finding("Failure", f"asking for {what}: the server broke off; does it speak gRPC without TLS?")
    finally:
        writer.close()
    if status is None:
        return Finding("Failure", f"{what} is not known: the server does not serve grpc.health.v1.Health for it")
    if status == 1:
        return Finding("Success")
    return Finding("Failure", f"{what} is {_STATUSES.get(status, status)}")


def _request(authority: str, service: str) -> bytes:
    headers = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/grpc.health.v1.Health/Check"),
        (b":authority", authority.encode()),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)
    name = service.encode()
    message = b"\x0a" + _number(len(name)) + name if name else b""
    return b"".join(
        (
            _PREFACE,
            _frame(_SETTINGS, 0, 0, b""),
            _frame(_HEADERS, _END_HEADERS, 1, block),
            _frame(_DATA, _END_STREAM, 1, b"\0" + len(message).to_bytes(4, "big") + message),
        )
    )


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int | None:
    """The status in the answer; None where there is none."""
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
                return _status(data[5 : 5 + int.from_bytes(data[1:5], "big")])
        if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
            return None


def _status(message: bytes) -> int:
    # A message without the field has its first value.
    return message[1] if len(message) >= 2 and message[0] == 0x08 else 0


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _text(value: bytes) -> bytes:
    """A text of HPACK, as it is. None of ours is long enough for a second byte of length."""
    if len(value) >= 127:
        return b"\x7f" + _number(len(value) - 127) + value
    return bytes((len(value),)) + value


def _number(value: int) -> bytes:
    """A number in as many groups of seven bits as it takes; HPACK and protobuf agree on that."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
