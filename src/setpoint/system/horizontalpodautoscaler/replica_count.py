"""The number of replicas that a metric demands, from the values of pods: pure functions, as in kube-controller-manager.

All amounts are integers in thousandths.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from setpoint.objects.quantity import Quantity
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import condition_of, phase_of

CPU = "cpu"
# A new pod uses more CPU than later; and a pod may be reported as not ready for the first seconds.
INITIALIZATION = timedelta(minutes=5)
READINESS_DELAY = timedelta(seconds=30)
TOLERANCE = 0.1


class MetricFailed(Exception):  # noqa: N818 - named for the event
    """The replicas cannot be computed from a metric."""


class PodValue(NamedTuple):
    """The value of a pod, the end of its window, and the length of the window."""

    amount: int
    time: datetime
    window: timedelta


class Tolerances(NamedTuple):
    """The shares by which a value may be below and above its target without an effect."""

    down: float = TOLERANCE
    up: float = TOLERANCE

    def contain(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Groups(NamedTuple):
    """The number of ready pods with a value, and the names of the others that count."""

    ready: int
    unready: Sequence[str]
    missing: Sequence[str]
    ignored: Sequence[str]


class Count(NamedTuple):
    """The replicas, the utilization in percent of the requests (0 for other targets), and the average value."""

    replicas: int
    utilization: int
    average: int


def group_pods(pods: Iterable[Object], values: Mapping[str, PodValue], resource: str, now: datetime) -> Groups:
    """Divides pods by the use of their values."""
    ready, unready, missing, ignored = 0, [], [], []
    for pod in pods:
        name, phase = pod["metadata"]["name"], phase_of(pod)
        if pod["metadata"].get("deletionTimestamp") or phase == "Failed":
            ignored.append(name)
        elif phase == "Pending":
            unready.append(name)
        elif name not in values:
            missing.append(name)
        elif resource == CPU and _is_starting(pod, values[name], now):
            unready.append(name)
        else:
            ready += 1
    return Groups(ready, unready, missing, ignored)


def _is_starting(pod: Object, value: PodValue, now: datetime) -> bool:
    """Returns True if the CPU of a pod does not count yet."""
    condition, started = condition_of(pod, "Ready"), (pod.get("status") or {}).get("startTime")
    if condition is None or not started:
        return True
    start, changed = parse_time(started), parse_time(condition["lastTransitionTime"])
    if start + INITIALIZATION > now:
        return condition["status"] == "False" or value.time < changed + value.window
    return condition["status"] == "False" and start + READINESS_DELAY > changed


def requests_of(pods: Iterable[Object], resource: str, container: str) -> dict[str, int]:
    """Returns the requests of each pod, or of one of its containers. Raises MetricFailed."""
    found = {}
    for pod in pods:
        name, total = pod["metadata"]["name"], 0
        sidecars = [each for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"]
        for each in (*pod["spec"]["containers"], *sidecars):
            if container and each["name"] != container:
                continue
            amount = ((each.get("resources") or {}).get("requests") or {}).get(resource)
            if amount is None:
                raise MetricFailed(f"missing request for {resource} in container {each['name']} of Pod {name}")
            total += Quantity.parse(str(amount)).value(-3)
        found[name] = total
    return found


class _Ratio(NamedTuple):
    ratio: float
    utilization: int
    average: int


class _Target:
    """The comparison of values with a target: a value for each pod, or a share of its requests."""

    def __init__(self, target: int, requests: Mapping[str, int] | None) -> None:
        self._target = target
        self._requests = requests

    def ratio(self, values: Mapping[str, int]) -> _Ratio:
        if self._requests is None:
            average = sum(values.values()) // len(values)
            return _Ratio(average / self._target, 0, average)
        known = {name: value for name, value in values.items() if name in self._requests}
        requested = sum(self._requests[name] for name in known)
        if not requested:
            raise MetricFailed("no metrics returned matched known pods")
        used = sum(known.values())
        utilization = used * 100 // requested
        return _Ratio(utilization / self._target, utilization, used // len(known))

    def fallback(self, name: str) -> int:
        """Returns the assumed value of a pod without a value, if there may be too many replicas."""
        if self._requests is None:
            return self._target
        return self._requests[name] * max(100, self._target) // 100


def count_replicas(
    current: int,
    values: Mapping[str, PodValue],
    groups: Groups,
    tolerances: Tolerances,
    target: int,
    requests: Mapping[str, int] | None = None,
) -> Count:
    """Returns the replicas for a target: a value of each pod, or with requests a percentage of them. Pods without a
    value count against a change. Raises MetricFailed."""
    used = {name: each.amount for name, each in values.items() if name not in {*groups.ignored, *groups.unready}}
    if not used:
        raise MetricFailed("did not receive metrics for targeted pods (pods might be unready)")
    comparison = _Target(target, requests)
    ratio, utilization, average = comparison.ratio(used)

    def result(replicas: int) -> Count:
        return Count(replicas, utilization, average)

    adds_unready = bool(groups.unready) and ratio > 1.0
    if not adds_unready and not groups.missing:
        return result(current if tolerances.contain(ratio) else ceil(ratio * groups.ready))
    if ratio < 1.0:
        used |= {name: comparison.fallback(name) for name in groups.missing}
    elif ratio > 1.0:
        used |= dict.fromkeys(groups.missing, 0)
    if adds_unready:
        used |= dict.fromkeys(groups.unready, 0)
    corrected = comparison.ratio(used).ratio
    if tolerances.contain(corrected) or (ratio < 1.0 < corrected) or (corrected < 1.0 < ratio):
        return result(current)
    replicas = ceil(corrected * len(used))
    if (corrected < 1.0 and replicas > current) or (corrected > 1.0 and replicas < current):
        return result(current)
    return result(replicas)
