"""The metrics of an autoscaler: the replicas that each demands, with the texts of kube-controller-manager.

Metrics of resources are PodMetrics. External metrics are the objects of `external.metrics.k8s.io`, which a definition
can serve: a kind with the name of the metric as its plural. Metrics of pods and objects need a server for
`custom.metrics.k8s.io`, and aggregated servers do not exist here.
"""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil
from typing import Any, NamedTuple

from setpoint.client.requests import decode
from setpoint.client.transport import Call
from setpoint.controller.context import Context
from setpoint.objects import duration
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.labels import Selector, from_object
from setpoint.objects.quantity import Format, Quantity
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.horizontalpodautoscaler.replica_count import (
    Groups,
    MetricFailed,
    PodValue,
    Tolerances,
    count_replicas,
    group_pods,
    requests_of,
)
from setpoint.system.pods.state import is_ready, phase_of
from setpoint.system.selectors import selector_text

METRICS = "metrics.k8s.io/v1beta1/PodMetrics"
_NO_CUSTOM = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"


class Target(NamedTuple):
    """The scaled pods: the namespace, their selector, and the replicas of the specification and the status."""

    namespace: str
    selector: Selector
    pods: Sequence[Object]
    replicas: int
    status_replicas: int


class Proposal(NamedTuple):
    """The replicas that a metric demands, the name of the metric in events, and its status."""

    replicas: int
    name: str
    status: Object


class Failure(Exception):  # noqa: N818 - named for the event
    """A metric without a value: the reason and the cause of a condition, and the error of the whole computation."""

    def __init__(self, reason: str, cause: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.cause = cause


async def propose(ctx: Context[Any], spec: Object, target: Target, tolerances: Tolerances) -> Proposal:
    """Returns the proposal of one metric. Raises Failure."""
    kind = spec["type"]
    if kind == "Resource":
        name = spec["resource"]["name"]
        try:
            return await _of_resource(ctx, spec["resource"], "", target, tolerances)
        except MetricFailed as error:
            text = f"failed to get {name} resource metric value: {error}"
            raise Failure("FailedGetResourceMetric", str(error), text) from None
    if kind == "ContainerResource":
        source = spec["containerResource"]
        try:
            return await _of_resource(ctx, source, source["container"], target, tolerances)
        except MetricFailed as error:
            text = f"failed to get {source['name']} container metric value: {error}"
            raise Failure("FailedGetContainerResourceMetric", str(error), text) from None
    if kind == "External":
        name = spec["external"]["metric"]["name"]
        try:
            return await _of_external(ctx, spec["external"], target, tolerances)
        except MetricFailed as error:
            text = f"failed to get {name} external metric value: failed to get external metric {name}: {error}"
            raise Failure("FailedGetExternalMetric", str(error), text) from None
    if kind in ("Pods", "Object"):
        metric = spec[kind.lower()]["metric"]["name"]
        cause = f"unable to get metric {metric}: {_NO_CUSTOM}"
        text = f"failed to get {kind.lower()} metric value: {cause}"
        raise Failure(f"FailedGet{kind}Metric", cause, text)
    cause = f'unknown metric source type "{kind}"'
    raise Failure("InvalidMetricSourceType", cause, cause)


# Metrics of resources


async def _of_resource(
    ctx: Context[Any], source: Object, container: str, target: Target, tolerances: Tolerances
) -> Proposal:
    name, wanted = source["name"], source["target"]
    kind = "container resource" if container else "resource"
    share = wanted.get("averageUtilization")
    what = "utilization" if share is not None else "usage"
    try:
        values = await _resource_values(ctx, name, container, target)
        groups = _groups(ctx, target, values, name)
        if share is None:
            amount = Quantity.parse(str(wanted["averageValue"])).value(-3)
            found = count_replicas(target.replicas, values, groups, tolerances, amount)
        else:
            requests = requests_of(target.pods, name, container)
            found = count_replicas(target.replicas, values, groups, tolerances, share, requests)
    except MetricFailed as error:
        raise MetricFailed(f"failed to get {name} {what}: {error}") from None
    current: Object = {"averageValue": str(_amount(name, found.average))}
    label = f"{name} {kind}"
    if share is not None:
        current["averageUtilization"] = found.utilization
        label = f"{label} utilization (percentage of request)"
    status: Object = {"type": "Resource", "resource": {"name": name, "current": current}}
    if container:
        own = {"name": name, "container": container, "current": current}
        status = {"type": "ContainerResource", "containerResource": own}
    return Proposal(found.replicas, label, status)


def _amount(resource: str, thousandths: int) -> Quantity:
    """Returns an amount in the format of its resource: memory has binary units."""
    if resource == "memory":
        return Quantity(-(-thousandths // 1000), 0, Format.BINARY_SI)
    return Quantity(thousandths, -3)


def _groups(ctx: Context[Any], target: Target, values: dict[str, PodValue], resource: str) -> Groups:
    if not target.pods:
        raise MetricFailed("no pods returned by selector while calculating replica count")
    return group_pods(target.pods, values, resource, ctx.clock.now())


async def _resource_values(ctx: Context[Any], name: str, container: str, target: Target) -> dict[str, PodValue]:
    """Returns the values of the selected pods. Raises MetricFailed."""
    try:
        listed = await ctx.api.list(METRICS, target.namespace, labels=str(target.selector))
    except APIError as error:
        text = f"unable to fetch metrics from resource metrics API: {error}"
        raise MetricFailed(f"unable to get metrics for resource {name}: {text}") from None
    if not listed.items:
        text = "no metrics returned from resource metrics API"
        raise MetricFailed(f"unable to get metrics for resource {name}: {text}")
    found = {}
    for each in listed.items:
        containers = {part["name"]: part["usage"] for part in each.get("containers") or ()}
        usages = [containers[container]] if container in containers else list(containers.values())
        if container and container not in containers:
            pod = f"{target.namespace}/{each['metadata']['name']}"
            text = f"container {container} not present in metrics for pod {pod}"
            raise MetricFailed(f"unable to get metrics for resource {name}: {text}")
        if all(name in usage for usage in usages):
            amount = sum(Quantity.parse(str(usage[name])).value(-3) for usage in usages)
            window = timedelta(microseconds=duration.parse(each["window"]) / 1000)
            found[each["metadata"]["name"]] = PodValue(amount, parse_time(each["timestamp"]), window)
    return found


# External metrics


async def _of_external(ctx: Context[Any], source: Object, target: Target, tolerances: Tolerances) -> Proposal:
    metric, wanted = source["metric"], source["target"]
    usage = await _external_value(ctx, metric, target.namespace)
    label = f"external metric {metric['name']}({selector_text(metric.get('selector'))})"
    if "averageValue" in wanted:
        each = Quantity.parse(str(wanted["averageValue"])).value(-3)
        replicas = target.status_replicas
        ratio = usage / (each * replicas) if replicas else 0.0
        if not replicas or not tolerances.contain(ratio):
            replicas = ceil(usage / each)
        current = {"averageValue": str(Quantity(ceil(usage / max(target.status_replicas, 1)), -3))}
    else:
        ratio = usage / Quantity.parse(str(wanted["value"])).value(-3)
        if target.replicas and tolerances.contain(ratio):
            replicas = target.replicas
        else:
            replicas = ceil(ratio * _ready(target) if target.replicas else ratio)
        current = {"value": str(Quantity(usage, -3))}
    status = {"type": "External", "external": {"metric": metric, "current": current}}
    return Proposal(replicas, label, status)


def _ready(target: Target) -> int:
    """Returns the number of pods that are running and ready. Raises MetricFailed."""
    if not target.pods:
        raise MetricFailed(
            "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        )
    return sum(_is_running_and_ready(pod) for pod in target.pods)


def _is_running_and_ready(pod: Object) -> bool:
    return phase_of(pod) == "Running" and is_ready(pod)


async def _external_value(ctx: Context[Any], metric: Object, namespace: str) -> int:
    """Returns the sum of the values of an external metric. Raises MetricFailed."""
    name, selector = metric["name"], metric.get("selector")
    query = (("labelSelector", str(from_object(selector))),) if selector else ()
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{name}"
    text = f"unable to get external metric {namespace}/{name}/{selector_text(selector)}"
    try:
        listed = decode((await ctx.api.send(Call("GET", path, query, {"accept": "application/json"}))).body)
    except NotFound:
        why = f"the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
        raise MetricFailed(f"{text}: unable to fetch metrics from external metrics API: {why}") from None
    except APIError as error:
        raise MetricFailed(f"{text}: unable to fetch metrics from external metrics API: {error}") from None
    try:
        values = [_value_of(each) for each in listed.get("items") or ()]
    except ValueError as error:
        raise MetricFailed(f"{text}: unable to fetch metrics from external metrics API: {error}") from None
    if not values:
        raise MetricFailed(f"{text}: no metrics returned from external metrics API")
    return sum(values)


def _value_of(item: Object) -> int:
    """Returns the value of an external metric in thousandths. As in Go, a missing value is zero. Raises ValueError for
    a value that is no quantity: the schema of a custom resource may allow any value."""
    value = item.get("value")
    return 0 if value is None else Quantity.parse(str(value)).value(-3)
