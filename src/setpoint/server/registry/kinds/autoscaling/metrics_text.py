"""The metrics of an autoscaler in one cell: current and target values."""

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import NONE, UNKNOWN, lookup

_FIELDS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_LIMIT = 2


def metrics_text(metrics: list[Object], statuses: list[Object]) -> str:
    if not metrics:
        return NONE
    texts = []
    for position, metric in enumerate(metrics):
        status = statuses[position] if position < len(statuses) else {}
        texts.append(_metric_text(metric, status))
    shown = ", ".join(texts[:_LIMIT])
    return f"{shown} + {len(texts) - _LIMIT} more..." if len(texts) > _LIMIT else shown


def _metric_text(metric: Object, status: Object) -> str:
    field = _FIELDS.get(metric.get("type") or "")
    if field is None:
        return "<unknown type>"
    wanted, found = lookup(metric, field, "target") or {}, lookup(status, field, "current")
    if field in ("resource", "containerResource"):
        return f"{lookup(metric, field, 'name') or ''}: {_resource_text(wanted, found)}"
    average = field == "pods" or "averageValue" in wanted
    name = "averageValue" if average else "value"
    text = f"{_value(found, name)}/{wanted.get(name, '0')}"
    return f"{text} (avg)" if average and field != "pods" else text


def _value(current: Object | None, name: str) -> str:
    return UNKNOWN if current is None else str(current.get(name, UNKNOWN))


def _resource_text(wanted: Object, found: Object | None) -> str:
    if "averageValue" in wanted:
        return f"{_value(found, 'averageValue')}/{wanted['averageValue']}"
    is_now = (found or {}).get("averageUtilization")
    should = wanted.get("averageUtilization")
    now_text = UNKNOWN if is_now is None else f"{is_now}%"
    return f"{now_text}/{'<auto>' if should is None else f'{should}%'}"
