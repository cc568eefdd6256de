"""How the webhooks of admission are doing, for `/metrics`: how long they take, what they refuse, and how often a write
went on without them. The names and labels are those of the real server, so that its dashboards and alerts work."""

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
# A refusal may have any code: those beyond count together.
_HIGHEST_CODE = 600


class _Webhook(NamedTuple):
    """Which one was asked, and about what."""

    name: str
    type: str
    operation: str


class WebhookMetrics:
    """The measurements of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._durations: dict[tuple[_Webhook, bool], Histogram] = {}
        # By code and whether it was refused; by kind of error and code; by name and type.
        self._requests: Counter[tuple[_Webhook, int, bool]] = Counter()
        self._rejections: Counter[tuple[_Webhook, str, int]] = Counter()
        self._failed_open: Counter[tuple[str, str]] = Counter()

    def asking(self, name: str, kind: str, operation: str) -> "Asking":
        """For the time that a webhook is asked; what is raised meanwhile has the write refused."""
        return Asking(self, _Webhook(name, kind, operation), self._clock)

    def asked(self, webhook: _Webhook, seconds: float, code: int, error_type: str) -> None:
        """One was asked; without a type of error the write goes on."""
        rejected, code = bool(error_type), min(code, _HIGHEST_CODE)
        self._durations.setdefault((webhook, rejected), Histogram(_BUCKETS)).observe(seconds)
        self._requests[webhook, code, rejected] += 1
        if rejected:
            self._rejections[webhook, error_type, code] += 1

    def failed_open(self, webhook: _Webhook) -> None:
        """A write goes on without the answer of one."""
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
            "Requests to webhooks of admission by code, and whether the write was refused.",
            [
                ({**webhook._asdict(), "code": str(code), "rejected": _truth(rejected)}, count)
                for (webhook, code, rejected), count in self._requests.items()
            ],
        )
        yield MetricFamily(
            f"{_PREFIX}rejection_count",
            "counter",
            "Writes that were refused because of a webhook, by what kind of error it was.",
            [
                ({**webhook._asdict(), "error_type": error_type, "rejection_code": str(code)}, count)
                for (webhook, error_type, code), count in self._rejections.items()
            ],
        )
        yield MetricFamily(
            f"{_PREFIX}fail_open_count",
            "counter",
            "Writes that went on without the answer of a webhook.",
            [({"name": name, "type": kind}, count) for (name, kind), count in self._failed_open.items()],
        )


class Asking:
    """A webhook that is being asked."""

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
        """It says no: with this error, to be raised."""
        self._code, self._error_type = error.code, _REFUSED
        return error

    def call_failed(self, *, is_open: bool) -> None:
        """It gave no answer, or none that makes sense."""
        self._code, self._error_type = _CALL_FAILED_CODE, _CALL_FAILED
        if is_open:
            self._measures.failed_open(self._webhook)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, APIError):
            return  # who asked is gone: that says nothing of the webhook
        code = 200 if error is None and self._error_type == _OURS else self._code
        seconds = self._clock.monotonic() - self._since
        self._measures.asked(self._webhook, seconds, code, "" if error is None else self._error_type)


def _truth(value: bool) -> str:
    return "true" if value else "false"
