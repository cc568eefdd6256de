"""Metrics of admission webhooks for `/metrics`: latency, rejections and ignored failures. Names and labels are
kube-apiserver's, so that existing dashboards and alerts work."""

from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError
from setpoint.objects.metrics import Histogram, MetricFamily

MUTATING, VALIDATING = "admit", "validating"
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_PREFIX = "apiserver_admission_webhook_"
_REFUSED, _CALL_FAILED, _OURS = "no_error", "calling_webhook_error", "apiserver_internal_error"
_CALL_FAILED_CODE = 500
# Webhooks may return any code: higher codes are counted together.
_HIGHEST_CODE = 600


class _Webhook(NamedTuple):
    """The webhook, its type and the operation."""

    name: str
    type: str
    operation: str


class WebhookMetrics:
    """The metrics of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._durations: dict[tuple[_Webhook, bool], Histogram] = {}
        # Requests by code and rejection; rejections by error type and code; ignored failures by name and type.
        self._requests: Counter[tuple[_Webhook, int, bool]] = Counter()
        self._rejections: Counter[tuple[_Webhook, str, int]] = Counter()
        self._failed_open: Counter[tuple[str, str]] = Counter()

    def measure(self, name: str, kind: str, operation: str) -> "MeasuredCall":
        """Returns a context manager for a webhook call. An exception inside counts as a rejection of the write."""
        return MeasuredCall(self, _Webhook(name, kind, operation), self._clock)

    def record_call(self, webhook: _Webhook, seconds: float, code: int, error_type: str) -> None:
        """Counts a webhook call. An empty error type means that the write was admitted."""
        rejected, code = bool(error_type), min(code, _HIGHEST_CODE)
        self._durations.setdefault((webhook, rejected), Histogram(_BUCKETS)).observe(seconds)
        self._requests[webhook, code, rejected] += 1
        if rejected:
            self._rejections[webhook, error_type, code] += 1

    def failed_open(self, webhook: _Webhook) -> None:
        """Counts an ignored failure of a webhook."""
        self._failed_open[webhook.name, webhook.type] += 1

    def families(self) -> Iterator[MetricFamily]:
        yield MetricFamily(
            f"{_PREFIX}admission_duration_seconds",
            "histogram",
            "How long webhooks of admission took.",
            [
                ({**webhook._asdict(), "rejected": _truth(rejected)}, histogram)
                for (webhook, rejected), histogram in self._durations.items()
            ],
        )
        yield MetricFamily(
            f"{_PREFIX}request_total",
            "counter",
            "Admission webhook requests by code and rejection.",
            [
                ({**webhook._asdict(), "code": str(code), "rejected": _truth(rejected)}, count)
                for (webhook, code, rejected), count in self._requests.items()
            ],
        )
        yield MetricFamily(
            f"{_PREFIX}rejection_count",
            "counter",
            "Writes rejected because of an admission webhook, by type of error.",
            [
                ({**webhook._asdict(), "error_type": error_type, "rejection_code": str(code)}, count)
                for (webhook, error_type, code), count in self._rejections.items()
            ],
        )
        yield MetricFamily(
            f"{_PREFIX}fail_open_count",
            "counter",
            "Writes admitted despite a failed webhook call.",
            [({"name": name, "type": kind}, count) for (name, kind), count in self._failed_open.items()],
        )


class MeasuredCall:
    """A webhook call in progress."""

    def __init__(self, measures: WebhookMetrics, webhook: _Webhook, clock: Clock) -> None:
        self._measures = measures
        self._webhook = webhook
        self._clock = clock
        self._since = 0.0
        self._code, self._error_type = 0, _OURS

    def __enter__(self) -> Self:
        self._since = self._clock.monotonic()
        return self

    def refused(self, error: APIError) -> APIError:
        """Records a refusal by the webhook and returns the error to raise."""
        self._code, self._error_type = error.code, _REFUSED
        return error

    def call_failed(self, *, is_open: bool) -> None:
        """Records a failed call or an invalid response."""
        self._code, self._error_type = _CALL_FAILED_CODE, _CALL_FAILED
        if is_open:
            self._measures.failed_open(self._webhook)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, APIError):
            return  # the client is gone, which is not a failure of the webhook
        code = 200 if error is None and self._error_type == _OURS else self._code
        seconds = self._clock.monotonic() - self._since
        self._measures.record_call(self._webhook, seconds, code, "" if error is None else self._error_type)


def _truth(value: bool) -> str:
    return "true" if value else "false"
