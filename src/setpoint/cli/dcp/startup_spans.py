"""Reports the startup as OpenTelemetry spans to the client, sent once by OTLP over gRPC.

DCP's clients enable this with `DCP_OTEL_STARTUP_PROFILING_ENABLED`, set the endpoint with the standard OpenTelemetry
variables, and the parent span with `DCP_OTEL_STARTUP_TRACEPARENT`. The span names are DCP's. If disabled, no span is
recorded or sent; if sending fails, the error is logged.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from setpoint.objects.clock import Clock, timeout
from setpoint.objects.ids import Ids
from setpoint.workload.probes.unary import MOST_SENT, call
from setpoint.workload.probes.unary import number as encoded

ENABLED = "DCP_OTEL_STARTUP_PROFILING_ENABLED"
SECONDS = 2.0
SCOPE = "dcp-startup"
_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_INTERNAL = 1
_FALSE = ("", "0", "false", "no", "off")

_log = logging.getLogger(__name__)

Value = str | int | bool
Attributes = Mapping[str, Value]


@dataclass
class Span:
    """A span of the startup."""

    name: str
    id: bytes
    parent: bytes
    began: int
    attributes: Attributes
    ended: int = 0
    events: list[tuple[str, int, Attributes]] = field(default_factory=list)


class StartupSpans:
    """The spans of a startup. A span that begins while another is open becomes its child."""

    def __init__(self, environ: Mapping[str, str], clock: Clock, ids: Ids) -> None:
        self._environ, self._clock, self._ids = environ, clock, ids
        self._endpoint = _endpoint(environ)
        found = _PARENT.fullmatch(environ.get("DCP_OTEL_STARTUP_TRACEPARENT", ""))
        self._trace = bytes.fromhex(found[1]) if found else self._id(16)
        self._outside = bytes.fromhex(found[2]) if found else b""
        self._open: list[Span] = []
        self._done: list[Span] = []

    def begin(self, name: str, attributes: Attributes | None = None) -> None:
        parent = self._open[-1].id if self._open else self._outside
        self._open.append(Span(name, self._id(8), parent, self._now(), attributes or {}))

    def event(self, name: str, attributes: Attributes) -> None:
        """Adds an event to the innermost open span."""
        self._open[-1].events.append((name, self._now(), attributes))

    def end(self) -> None:
        """Ends the innermost open span."""
        done = self._open.pop()
        done.ended = self._now()
        self._done.append(done)

    async def send(self) -> None:
        """Sends the ended spans if enabled. Never raises."""
        place, message = urlsplit(self._endpoint), self._message(self._done)
        if not self._endpoint or len(message) > MOST_SENT:
            return
        try:
            port = place.port or _DEFAULT_PORTS[place.scheme]
            headers, tls = _headers(self._environ), _tls(place.scheme, self._environ)
            async with timeout(self._clock, SECONDS):
                answer = await call(place.hostname or "", port, _METHOD, message, headers, tls)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError) as error:
            _log.info("could not send the startup spans to %s: %s", self._endpoint, error or type(error).__name__)
            return
        if answer is None:
            _log.info(
                "the endpoint %s did not accept the startup spans: does it support OTLP over gRPC?", self._endpoint
            )

    def _message(self, spans: list[Span]) -> bytes:
        known: dict[str, Value] = {"service.name": "dcp"}
        if session := self._environ.get("DCP_OTEL_PROFILING_SESSION_ID"):
            known["dcp.profiling.session_id"] = session
        state = self._environ.get("DCP_OTEL_STARTUP_TRACESTATE", "")
        encoded = b"".join(_part(2, _span(each, self._trace, state)) for each in spans)
        scope = _part(1, _part(1, SCOPE.encode())) + encoded
        return _part(1, _part(1, _attributes(1, known)) + _part(2, scope))

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1_000_000) * 1000

    def _id(self, size: int) -> bytes:
        return bytes.fromhex(self._ids.uid().replace("-", ""))[:size]


def _endpoint(environ: Mapping[str, str]) -> str:
    """Returns the endpoint, or an empty string if disabled or if the protocol is not supported."""
    if environ.get(ENABLED, "").lower() in _FALSE:
        return ""
    found, protocol = (
        environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or environ.get(f"OTEL_EXPORTER_OTLP_{name}", "")
        for name in ("ENDPOINT", "PROTOCOL")
    )
    if protocol.lower() not in ("", "grpc") or urlsplit(found).scheme not in _DEFAULT_PORTS:
        return ""
    return found


def _headers(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    text = environ.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    pairs = (each.partition("=") for each in text.split(",") if "=" in each)
    return [(unquote(name.strip()).lower(), unquote(value.strip())) for name, _, value in pairs]


def _tls(scheme: str, environ: Mapping[str, str]) -> ssl.SSLContext | None:
    if scheme != "https":
        return None
    return ssl.create_default_context(cafile=environ.get("OTEL_EXPORTER_OTLP_CERTIFICATE"))


# The needed subset of Protobuf


def _span(span: Span, trace: bytes, state: str) -> bytes:
    events = b"".join(
        _part(11, _fixed(1, at) + _part(2, name.encode()) + _attributes(3, attributes))
        for name, at, attributes in span.events
    )
    return b"".join(
        (
            _part(1, trace),
            _part(2, span.id),
            _part(3, state.encode()) if state else b"",
            _part(4, span.parent) if span.parent else b"",
            _part(5, span.name.encode()),
            _varint_field(6, _INTERNAL),
            _fixed(7, span.began),
            _fixed(8, span.ended),
            _attributes(9, span.attributes),
            events,
        )
    )


def _attributes(number: int, values: Attributes) -> bytes:
    return b"".join(_part(number, _part(1, name.encode()) + _part(2, _value(value))) for name, value in values.items())


def _value(value: Value) -> bytes:
    if isinstance(value, bool):
        return _varint_field(2, int(value))
    return _varint_field(3, value) if isinstance(value, int) else _part(1, value.encode())


def _part(number: int, data: bytes) -> bytes:
    return encoded(number << 3 | 2) + encoded(len(data)) + data


def _varint_field(number: int, value: int) -> bytes:
    return encoded(number << 3) + encoded(value)


def _fixed(number: int, value: int) -> bytes:
    return bytes((number << 3 | 1,)) + value.to_bytes(8, "little")
