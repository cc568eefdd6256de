"""OpenTelemetry traces, if its API is installed: from the event that triggered a reconcile to the resulting writes.

A reconcile is one span that begins when its request became due. The span contains the wait in the queue and every
request to the API server, which receives the trace context (`traceparent`). The program configures the SDK, sampling
and exporters; without an SDK no spans are recorded.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any, Protocol

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.controller.run_record import ReconcileRecord

_NANOSECONDS = 1_000_000_000


class Tracer(Protocol):
    """Creates spans: an OpenTelemetry tracer."""

    def start_span(self, name: str, **how: Any) -> Any:
        """Returns a span, which the caller must end."""

    def start_as_current_span(self, name: str, **how: Any) -> AbstractContextManager[Any]:
        """Returns a span that becomes the parent of spans created within its block."""


def find_tracer(provider: Any = None) -> Tracer:
    """Returns a tracer of a provider, or of the program's global provider.

    Raises ImportError with instructions if OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise ImportError(f"tracing requires OpenTelemetry ({error}): pip install 'setpoint[tracing]'") from error
    found: Tracer = (provider or trace).get_tracer("setpoint")
    return found


@contextmanager
def span_of(tracer: Tracer, run: ReconcileRecord) -> Iterator[None]:
    """The span of a reconcile, with its triggers, writes and result."""
    began = run.began.timestamp()
    due = round((began - run.waited) * _NANOSECONDS)
    attributes = {
        "controller.name": run.controller,
        "reconcile.id": run.id,
        "reconcile.key": str(run.request),
        "reconcile.attempt": run.attempt,
        "reconcile.priority": run.priority,
        "reconcile.causes": [str(trigger) for trigger in run.why],
    }
    with tracer.start_as_current_span(f"reconcile {run.controller}", attributes=attributes, start_time=due) as span:
        tracer.start_span("queue", start_time=due).end(round(began * _NANOSECONDS))
        try:
            yield
        finally:
            span.set_attribute("reconcile.result", run.result)
            span.set_attribute("reconcile.writes", [str(write) for write in run.writes])
            if run.error is not None:
                span.record_exception(run.error)
                _fail(span, str(run.error))


def traced(client: Client, tracer: Tracer) -> Client:
    """Returns a copy of the client with a span for every request."""
    made = copy(client)
    made.transport = TracedTransport(client.transport, tracer)
    return made


class TracedTransport(Forwarding):
    """Creates a span for each request, except for streams: a watch lasts for hours."""

    def __init__(self, transport: Transport, tracer: Tracer) -> None:
        super().__init__(transport)
        self._tracer = tracer

    async def send(self, call: Call) -> Answer:
        from opentelemetry import propagate, trace

        attributes = {"http.request.method": call.method, "url.path": call.path}
        how = {"kind": trace.SpanKind.CLIENT, "attributes": attributes}
        with self._tracer.start_as_current_span(call.method, **how) as span:
            carried: dict[str, str] = {}
            propagate.inject(carried)
            answer = await self.transport.send(call._replace(headers={**call.headers, **carried}))
            span.set_attribute("http.response.status_code", answer.status)
            if answer.status >= 400:
                _fail(span)
            return answer


def _fail(span: Any, why: str = "") -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, why or None))
