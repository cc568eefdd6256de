"""The metrics of conversion webhooks, with the same names as on kube-apiserver."""

from collections.abc import Iterator

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.metrics import Histogram, MetricFamily
from setpoint.server.registry.conversion.review import ConversionFailed

_CALLS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)
_CONVERSIONS = tuple(0.001 * 2**power for power in range(15))


class ConversionMetrics:
    """The calls of one server: their number, results and durations."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Histogram] = {}
        self._conversions: dict[tuple[str, str, str, str], Histogram] = {}

    def observe(
        self, name: str, from_version: str, to_version: str, failed: ConversionFailed | None, seconds: float
    ) -> None:
        """Counts a call for objects of a definition."""
        outcome = ("success", "") if failed is None else ("failure", failed.failure)
        self._calls.setdefault(outcome, Histogram(_CALLS)).observe(seconds)
        from_name, to_name = GroupVersion.parse(from_version).version, GroupVersion.parse(to_version).version
        which = (name, from_name, to_name, "true" if failed is None else "false")
        self._conversions.setdefault(which, Histogram(_CONVERSIONS)).observe(seconds)

    def families(self) -> Iterator[MetricFamily]:
        if not self._calls:
            return
        calls = [
            ({"result": result, "failure_type": failure}, found) for (result, failure), found in self._calls.items()
        ]
        yield MetricFamily(
            "apiserver_conversion_webhook_request_total",
            "counter",
            "Calls of conversion webhooks, by result.",
            [(labels, found.count) for labels, found in calls],
        )
        yield MetricFamily(
            "apiserver_conversion_webhook_duration_seconds",
            "histogram",
            "Duration of calls of conversion webhooks.",
            calls,
        )
        names = ("crd_name", "from_version", "to_version", "succeeded")
        yield MetricFamily(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "histogram",
            "Duration of calls of conversion webhooks, by definition and versions.",
            [(dict(zip(names, which, strict=True)), found) for which, found in self._conversions.items()],
        )
