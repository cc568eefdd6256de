"""The annotations of the older version of autoscalers: metrics and conditions in the JSON of that version.

The fields have the order of the JSON text. Invalid texts are ignored.
"""

from typing import Annotated, Any, TypeVar

import msgspec

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

Amount = Annotated[str, "a quantity"]


def _zero() -> str:
    return "0"


class _MetricPart(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A part of a metric. Empty fields are omitted, except those with a factory."""


class _Expression(_MetricPart):
    key: str = msgspec.field(default_factory=str)
    operator: str = msgspec.field(default_factory=str)
    values: list[str] | None = None


class _Selector(_MetricPart):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class CrossVersionObjectReference(_MetricPart):
    kind: str = msgspec.field(default_factory=str)
    name: str = msgspec.field(default_factory=str)
    api_version: str = ""


class ObjectSource(_MetricPart):
    target: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)
    metric_name: str = msgspec.field(default_factory=str)
    target_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None
    average_value: Amount | None = None


class PodsSource(_MetricPart):
    metric_name: str = msgspec.field(default_factory=str)
    target_average_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None


class ResourceSource(_MetricPart):
    name: str = msgspec.field(default_factory=str)
    target_average_utilization: int | None = None
    target_average_value: Amount | None = None


class ContainerResourceSource(ResourceSource):
    container: str = msgspec.field(default_factory=str)


class ExternalSource(_MetricPart):
    metric_name: str = msgspec.field(default_factory=str)
    metric_selector: _Selector | None = None
    target_value: Amount | None = None
    target_average_value: Amount | None = None


class Metric(_MetricPart):
    type: str = msgspec.field(default_factory=str)
    object: ObjectSource | None = None
    pods: PodsSource | None = None
    resource: ResourceSource | None = None
    container_resource: ContainerResourceSource | None = None
    external: ExternalSource | None = None


class ObjectStatus(_MetricPart):
    target: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)
    metric_name: str = msgspec.field(default_factory=str)
    current_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None
    average_value: Amount | None = None


class PodsStatus(_MetricPart):
    metric_name: str = msgspec.field(default_factory=str)
    current_average_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None


class ResourceStatus(_MetricPart):
    name: str = msgspec.field(default_factory=str)
    current_average_utilization: int | None = None
    current_average_value: Amount = msgspec.field(default_factory=_zero)


class ContainerResourceStatus(ResourceStatus):
    container: str = msgspec.field(default_factory=str)


class ExternalStatus(_MetricPart):
    metric_name: str = msgspec.field(default_factory=str)
    metric_selector: _Selector | None = None
    current_value: Amount = msgspec.field(default_factory=_zero)
    current_average_value: Amount | None = None


class MetricStatus(_MetricPart):
    type: str = msgspec.field(default_factory=str)
    object: ObjectStatus | None = None
    pods: PodsStatus | None = None
    resource: ResourceStatus | None = None
    container_resource: ContainerResourceStatus | None = None
    external: ExternalStatus | None = None


class HorizontalPodAutoscalerCondition(_MetricPart):
    type: str = msgspec.field(default_factory=str)
    status: str = msgspec.field(default_factory=str)
    # Go writes null for an unset time.
    last_transition_time: str | None = msgspec.field(default_factory=lambda: None)
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


class ScalingPolicy(_MetricPart, rename="pascal"):
    type: str = msgspec.field(default_factory=str)
    value: int = msgspec.field(default_factory=int)
    period_seconds: int = msgspec.field(default_factory=int)


class ScalingRules(_MetricPart, rename="pascal", omit_defaults=False):
    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: list[ScalingPolicy] | None = None
    tolerance: Amount | None = None


class Behavior(_MetricPart, rename="pascal", omit_defaults=False):
    """The scaling behavior. The names are those of a Go struct without JSON tags."""

    scale_up: ScalingRules | None = None
    scale_down: ScalingRules | None = None


_Read = TypeVar("_Read")


def read(text: str, kind: type[_Read]) -> _Read | None:
    """Returns the content of an annotation; None if the content is not of that type."""
    try:
        found = msgspec.json.decode(text.encode(), type=kind, strict=True)
        _check_amounts(msgspec.to_builtins(found))
    except (msgspec.DecodeError, ValueError, UnicodeEncodeError, RecursionError):
        return None
    return found


def _check_amounts(tree: Any) -> None:
    """Raises ValueError for an invalid quantity."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if isinstance(value, str) and (name.endswith("Value") or name == "Tolerance"):
                Quantity.parse(value)
            elif isinstance(value, dict | list):
                _check_amounts(value)
    elif isinstance(tree, list):
        for item in tree:
            _check_amounts(item)


def write(found: Any) -> str:
    return msgspec.json.encode(found).decode()


def selector_in(tree: Object | None) -> _Selector | None:
    """Returns the selector of a valid object."""
    return None if tree is None else msgspec.convert(tree, _Selector)
