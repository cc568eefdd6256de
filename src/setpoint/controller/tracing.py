"""Traces by OpenTelemetry, where its API is installed: from the event that caused a reconcile to what it wrote.

A reconcile is one span that begins when its request became due; in it are the wait in the queue and every request to
the API server, which is told the trace (`traceparent`). Which spans are kept, and where they go, is the business of the
program: it sets up the SDK, and without one nothing is recorded.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any, Protocol

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.controller.run_record import Run

_NANOSECONDS = 1_000_000_000


class Tracer(Protocol):
    """What makes spans: a tracer of OpenTelemetry."""

    def start_span(self, name: str, **how: Any) -> Any:
        """A span, which whoever began it ends."""

    def start_as_current_span(self, name: str, **how: Any) -> AbstractContextManager[Any]:
        """A span that those inside belong to."""


def find_tracer(provider: Any = None) -> Tracer:
    """A tracer of a provider, or of the one that the program has set up. Raises ImportError, with the remedy, where
    there is no OpenTelemetry."""
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise ImportError(f"traces need OpenTelemetry ({error}): pip install 'setpoint[tracing]'") from error
    found: Tracer = (provider or trace).get_tracer("setpoint")
    return found


@contextmanager
def span_of(tracer: Tracer | None, run: Run) -> Iterator[None]:
    """The span of a reconcile, which is over when this is: with its reasons, its writes and how it ended."""
    if tracer is None:
        yield
        return
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
    """The same client, with a span for every request."""
    made = copy(client)
    made.transport = TracedTransport(client.transport, tracer)
    return made


class TracedTransport(Forwarding):
    """Makes a span of each request, but not of streams: a watch lasts for hours."""

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
