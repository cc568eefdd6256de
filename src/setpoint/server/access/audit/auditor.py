"""The auditor of a server: applies the audit policy to every request and writes the events to a sink.

Without an auditor, none of this code runs.
"""

from collections.abc import Iterator
from typing import Protocol

from setpoint.objects.errors import InternalError
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.tree import Object
from setpoint.server.access.audit.event import Record
from setpoint.server.access.audit.policy import AuditPolicy, Decision, Stage
from setpoint.server.message import Response, Sink, Stream
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import is_long_running

_WHOLE = (bytes, list)


class EventSink(Protocol):
    """A store for audit events."""

    def write(self, event: Object) -> bool:
        """Writes an event and returns False if the event is lost. The caller changes the event afterwards, so the sink
        copies or encodes the event at once."""

    def errors(self) -> dict[str, int]:
        """Returns the number of lost events by the part of the sink that lost them."""

    def close(self) -> None:
        """Flushes pending events and closes the sink."""


class Auditor:
    """Records requests as the policy prescribes. With `strict`, a request is refused if its receipt cannot be
    recorded."""

    def __init__(self, policy: AuditPolicy, sink: EventSink, *, strict: bool = False) -> None:
        # May be replaced at any time. Requests that were received earlier keep the decision of the old policy.
        self.policy = policy
        self._sink = sink
        self._strict = strict
        self._events = 0
        self._refused = 0
        self._levels: dict[str, int] = {}

    def received(self, context: Context) -> None:
        """Records the receipt of an authenticated request. Raises InternalError in strict mode if the event cannot be
        stored."""
        record = self._begin(context)
        if record.is_over:
            return
        if not self._write(record, "RequestReceived", context) and self._strict:
            self._refused += 1
            record.is_over = True
            raise InternalError.of("failed to store audit event")

    def answered(self, context: Context, response: Response) -> Response:
        """Records the response. Returns the response; a streaming body is wrapped so that the end of the stream is
        recorded."""
        record = context.audit_record
        if record is None:  # authentication failed
            record = self._begin(context)
            if not record.is_over:
                record.note_unknown_user(context)
                self._write(record, "ResponseStarted", context)
            return response
        if record.is_over:
            return response
        record.note_impersonation(context)
        record.note_answer(context, response)
        body = response.body
        if not isinstance(body, _WHOLE):
            self._write(record, "ResponseStarted", context)
            return response._replace(body=_Recorded(self, record, context, body))
        if is_long_running(context.info):
            self._write(record, "ResponseStarted", context)
        self._write(record, "ResponseComplete", context)
        return response

    def panicked(self, context: Context, error: Exception) -> None:
        """Records that an internal error ended the request."""
        record = context.audit_record
        if record is None or record.is_over:
            return
        record.note_impersonation(context)
        record.note_failure(error)
        self._write(record, "Panic", context)
        record.is_over = True

    def ended(self, record: Record, context: Context) -> None:
        """Records the end of a stream."""
        self._write(record, "ResponseComplete", context)

    def _begin(self, context: Context) -> Record:
        decision: Decision = self.policy.decide(context.user, context.info)
        self._levels[decision.level] = self._levels.get(decision.level, 0) + 1
        context.audit_record = record = Record(context, decision)
        return record

    def _write(self, record: Record, stage: Stage, context: Context) -> bool:
        if stage in record.decision.omit_stages:
            return True
        self._events += 1
        return self._sink.write(record.at(stage, context))

    def close(self) -> None:
        """Flushes and closes the sink."""
        self._sink.close()

    def families(self) -> Iterator[MetricFamily]:
        """Yields the audit metrics for `/metrics`, under kube-apiserver's names."""
        yield MetricFamily("apiserver_audit_event_total", "counter", "Events that were recorded.", [({}, self._events)])
        levels = [({"level": level}, count) for level, count in self._levels.items()]
        yield MetricFamily("apiserver_audit_level_total", "counter", "Requests by audit level.", levels)
        errors = [({"plugin": name}, count) for name, count in self._sink.errors().items()]
        yield MetricFamily("apiserver_audit_error_total", "counter", "Events that were lost.", errors)
        name = "apiserver_audit_requests_rejected_total"
        yield MetricFamily(
            name, "counter", "Requests that were refused because they could not be recorded.", [({}, self._refused)]
        )


class _Recorded:
    """A stream that reports its end to the auditor."""

    def __init__(self, auditor: Auditor, record: Record, context: Context, stream: Stream) -> None:
        self._auditor = auditor
        self._record = record
        self._context = context
        self._stream = stream

    async def run(self, sink: Sink) -> None:
        try:
            await self._stream.run(sink)
        finally:
            self._auditor.ended(self._record, self._context)
