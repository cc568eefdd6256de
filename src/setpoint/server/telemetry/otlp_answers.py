"""The responses of the OTLP receiver, in protobuf or JSON as the request: success, partial success, and errors.

An error is a Status of gRPC: a code and a message.
"""

from typing import Final

import msgspec

from setpoint.server.message import Response

PROTOBUF, JSON = "application/x-protobuf", "application/json"
# The codes of gRPC, by the status of HTTP.
GRPC_CODES: Final = {400: 3, 401: 16, 404: 5, 405: 12, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}
_REJECTED: Final = {"traces": "rejectedSpans", "metrics": "rejectedDataPoints", "logs": "rejectedLogRecords"}
_encode = msgspec.json.Encoder().encode


def success(signal: str, *, is_json: bool, rejected: int = 0, reason: str = "") -> Response:
    """Returns the response to a request whose records were accepted, all but the rejected ones."""
    if is_json:
        partial = {_REJECTED[signal]: str(rejected), "errorMessage": reason}
        return Response(200, JSON, _encode({"partialSuccess": partial} if rejected else {}))
    return Response(200, PROTOBUF, partial_success(rejected, reason))


def partial_success(rejected: int, reason: str) -> bytes:
    """Returns the message of a response to a request, whose rejected records may be none."""
    return _bytes_field(1, _number_field(1, rejected) + _bytes_field(2, reason.encode())) if rejected else b""


def failure(status: int, message: str, *, is_json: bool, retry_seconds: int = 0) -> Response:
    """Returns the response to a request that failed as a whole."""
    code = GRPC_CODES.get(status, 2)
    headers = (("Retry-After", str(retry_seconds)),) if retry_seconds else ()
    if is_json:
        return Response(status, JSON, _encode({"code": code, "message": message}), headers)
    return Response(status, PROTOBUF, _number_field(1, code) + _bytes_field(2, message.encode()), headers)


def _number_field(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes_field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
