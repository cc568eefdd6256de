"""Decodes the bodies of exporters' requests: protobuf and JSON, for traces, metrics and logs."""

import zlib
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from setpoint.telemetry import conversion
from setpoint.telemetry.errors import MalformedTelemetry, TelemetryTooLarge
from setpoint.telemetry.messages import LOGS, MESSAGES, METRICS, TRACES
from setpoint.telemetry.records import Record
from setpoint.telemetry.wire import Tree, read_message

Signal: TypeAlias = Literal["traces", "metrics", "logs"]

SIGNALS: Final[tuple[Signal, ...]] = ("traces", "metrics", "logs")
_REQUESTS: Final = {"traces": TRACES, "metrics": METRICS, "logs": LOGS}
# The wire format of gzip, for zlib.
_GZIP = 31


def decode(signal: Signal, body: bytes, *, is_json: bool, now: int) -> list[Record]:
    """Returns the records of a request. `now` is the time of records without one, in nanoseconds since 1970. Raises
    MalformedTelemetry."""
    tree = _json(body) if is_json else read_message(body, MESSAGES, _REQUESTS[signal])
    found: Iterable[Record]
    if signal == "traces":
        found = conversion.spans(tree)
    elif signal == "logs":
        found = conversion.log_records(tree, now)
    else:
        found = conversion.samples(tree, now)
    return list(found)


def _json(body: bytes) -> Tree:
    try:
        return msgspec.json.decode(body, type=dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedTelemetry(f"the body is no JSON object: {error}") from None


def decompress(body: bytes, limit: int) -> bytes:
    """Returns the contents of a body compressed by gzip. Raises MalformedTelemetry, and TelemetryTooLarge for more than
    `limit` bytes."""
    stream = zlib.decompressobj(_GZIP)
    try:
        found = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise MalformedTelemetry(f"the body is not compressed by gzip: {error}") from None
    if len(found) > limit:
        raise TelemetryTooLarge(f"the body has more than {limit} bytes uncompressed: export smaller batches")
    if not stream.eof:
        raise MalformedTelemetry("the body compressed by gzip is incomplete")
    return found
