"""Metrics of calls to other servers, such as webhooks. Names and labels are those of Kubernetes' clients."""

from collections import Counter
from collections.abc import Iterator

from setpoint.objects.metrics import Histogram, MetricFamily

_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
# The code of a call without an answer.
_FAILED = "<error>"
# Further hosts are counted together.
_MOST_HOSTS = 500
_OTHERS = "others"


class CallMetrics:
    """The calls of one server by host."""

    def __init__(self) -> None:
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._hosts: set[str] = set()

    def record(self, method: str, host: str, code: int, seconds: float) -> None:
        """Counts a call. Code 0 stands for a call without an answer."""
        if host not in self._hosts:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts.add(host)
            else:
                host = _OTHERS
        self._requests[str(code) if code else _FAILED, method, host] += 1
        self._durations.setdefault((method, host), Histogram(_BUCKETS)).observe(seconds)

    def families(self) -> Iterator[MetricFamily]:
        yield MetricFamily(
            "rest_client_requests_total",
            "counter",
            "Calls to other servers, such as webhooks, by code.",
            [
                ({"code": code, "method": method, "host": host}, count)
                for (code, method, host), count in self._requests.items()
            ],
        )
        yield MetricFamily(
            "rest_client_request_duration_seconds",
            "histogram",
            "Duration of calls to other servers.",
            [({"verb": method, "host": host}, found) for (method, host), found in self._durations.items()],
        )
