"""What the older version of an autoscaler carries in annotations: metrics and conditions as it would have written them.

The order of the fields is that of the text, and texts that do not fit are no metrics at all.
"""

from typing import Annotated, Any, TypeVar

import msgspec

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

Amount = Annotated[str, "a quantity"]


def _zero() -> str:
    return "0"


class _Part(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Part of a metric. What is empty is not written, but for what has a factory."""


class _Expression(_Part):
    key: str = msgspec.field(default_factory=str)
    operator: str = msgspec.field(default_factory=str)
    values: list[str] | None = None


class _Selector(_Part):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class Reference(_Part):
    kind: str = msgspec.field(default_factory=str)
    name: str = msgspec.field(default_factory=str)
    api_version: str = ""


class ObjectSource(_Part):
    target: Reference = msgspec.field(default_factory=Reference)
    metric_name: str = msgspec.field(default_factory=str)
    target_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None
    average_value: Amount | None = None


class PodsSource(_Part):
    metric_name: str = msgspec.field(default_factory=str)
    target_average_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None


class ResourceSource(_Part):
    name: str = msgspec.field(default_factory=str)
    target_average_utilization: int | None = None
    target_average_value: Amount | None = None


class ContainerResourceSource(ResourceSource):
    container: str = msgspec.field(default_factory=str)


class ExternalSource(_Part):
    metric_name: str = msgspec.field(default_factory=str)
    metric_selector: _Selector | None = None
    target_value: Amount | None = None
    target_average_value: Amount | None = None


class Metric(_Part):
    type: str = msgspec.field(default_factory=str)
    object: ObjectSource | None = None
    pods: PodsSource | None = None
    resource: ResourceSource | None = None
    container_resource: ContainerResourceSource | None = None
    external: ExternalSource | None = None


class ObjectStatus(_Part):
    target: Reference = msgspec.field(default_factory=Reference)
    metric_name: str = msgspec.field(default_factory=str)
    current_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None
    average_value: Amount | None = None


class PodsStatus(_Part):
    metric_name: str = msgspec.field(default_factory=str)
    current_average_value: Amount = msgspec.field(default_factory=_zero)
    selector: _Selector | None = None


class ResourceStatus(_Part):
    name: str = msgspec.field(default_factory=str)
    current_average_utilization: int | None = None
    current_average_value: Amount = msgspec.field(default_factory=_zero)


class ContainerResourceStatus(ResourceStatus):
    container: str = msgspec.field(default_factory=str)


class ExternalStatus(_Part):
    metric_name: str = msgspec.field(default_factory=str)
    metric_selector: _Selector | None = None
    current_value: Amount = msgspec.field(default_factory=_zero)
    current_average_value: Amount | None = None


class MetricStatus(_Part):
    type: str = msgspec.field(default_factory=str)
    object: ObjectStatus | None = None
    pods: PodsStatus | None = None
    resource: ResourceStatus | None = None
    container_resource: ContainerResourceStatus | None = None
    external: ExternalStatus | None = None


class Condition(_Part):
    type: str = msgspec.field(default_factory=str)
    status: str = msgspec.field(default_factory=str)
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


class Policy(_Part, rename="pascal"):
    type: str = msgspec.field(default_factory=str)
    value: int = msgspec.field(default_factory=int)
    period_seconds: int = msgspec.field(default_factory=int)


class ScalingRules(_Part, rename="pascal", omit_defaults=False):
    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: list[Policy] | None = None
    tolerance: Amount | None = None


class Behavior(_Part, rename="pascal", omit_defaults=False):
    """How fast to scale. The names are those of a struct that was never meant to be written."""

    scale_up: ScalingRules | None = None
    scale_down: ScalingRules | None = None


_Read = TypeVar("_Read")


def read(text: str, kind: type[_Read]) -> _Read | None:
    """What an annotation carries; None where it is not of that kind."""
    try:
        found = msgspec.json.decode(text.encode(), type=kind, strict=True)
        _check_amounts(msgspec.to_builtins(found))
    except (msgspec.DecodeError, ValueError, UnicodeEncodeError, RecursionError):
        return None
    return found


def _check_amounts(tree: Any) -> None:
    """Raises ValueError where a quantity is none."""
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
    """A selector of an object that is known to be right."""
    return None if tree is None else msgspec.convert(tree, _Selector)
