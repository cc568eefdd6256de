"""The auditor of a server: asks the policy about every request, and writes its events to where they are kept.

Where there is no auditor, nothing of this runs.
"""

from collections.abc import Iterator
from typing import Protocol

from setpoint.objects.errors import InternalError
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.tree import Object
from setpoint.server.access.audit.event import Record
from setpoint.server.access.audit.policy import Decision, Policy, Stage
from setpoint.server.message import Response, Sink, Stream
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import is_long_running

_WHOLE = (bytes, list)


class EventSink(Protocol):
    """Where events are kept."""

    def write(self, event: Object) -> bool:
        """Takes an event, which changes afterwards: what is needed of it is taken at once. False: it is lost."""

    def errors(self) -> dict[str, int]:
        """How many events were lost, by whose fault."""

    def close(self) -> None:
        """Finishes what is under way."""


class Auditor:
    """Records requests as a policy says. With `strict`, a request whose receipt cannot be recorded is refused."""

    def __init__(self, policy: Policy, sink: EventSink, *, strict: bool = False) -> None:
        # May be replaced at any time: requests that were received before are recorded as the old one said.
        self.policy = policy
        self._sink = sink
        self._strict = strict
        self._events = 0
        self._refused = 0
        self._levels: dict[str, int] = {}

    def received(self, context: Context) -> None:
        """A request has come, and it is known whose. Raises InternalError."""
        record = self._begin(context)
        if record.is_over:
            return
        if not self._write(record, "RequestReceived", context) and self._strict:
            self._refused += 1
            record.is_over = True
            raise InternalError.of("failed to store audit event")

    def answered(self, context: Context, response: Response) -> Response:
        """The request is answered; a stream comes back such that its end is recorded."""
        record = context.audit_record
        if record is None:  # nobody knows who asked
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
        """The server itself failed at the request."""
        record = context.audit_record
        if record is None or record.is_over:
            return
        record.note_impersonation(context)
        record.note_failure(error)
        self._write(record, "Panic", context)
        record.is_over = True

    def ended(self, record: Record, context: Context) -> None:
        """A stream has ended."""
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
        """Finishes writing."""
        self._sink.close()

    def families(self) -> Iterator[MetricFamily]:
        """What `/metrics` tells of it, under the real server's names."""
        yield MetricFamily("apiserver_audit_event_total", "counter", "Events that were recorded.", [({}, self._events)])
        levels = [({"level": level}, count) for level, count in self._levels.items()]
        yield MetricFamily(
            "apiserver_audit_level_total", "counter", "Requests by how much of them is recorded.", levels
        )
        errors = [({"plugin": name}, count) for name, count in self._sink.errors().items()]
        yield MetricFamily("apiserver_audit_error_total", "counter", "Events that were lost.", errors)
        name = "apiserver_audit_requests_rejected_total"
        yield MetricFamily(
            name, "counter", "Requests that were refused because they could not be recorded.", [({}, self._refused)]
        )


class _Recorded:
    """A stream whose end is recorded."""

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
