"""The rules of ComponentStatuses, which are read-only, and of Bindings, which are write-only."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import conditions
from setpoint.objects.field import FieldError, not_supported, required
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import Cell, lookup
from setpoint.server.registry.kinds.printers.columns import NAME
from setpoint.server.registry.kinds.validation.values import wrong
from setpoint.server.registry.strategy import Column, Strategy


def _health(tree: Object, _now: datetime) -> Json:
    healthy = conditions.find(tree.get("conditions") or [], "Healthy")
    if healthy is None:
        return "Unknown"
    return "Healthy" if healthy.get("status") == "True" else "Unhealthy"


def _condition_field(name: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> Json:
        healthy = conditions.find(tree.get("conditions") or [], "Healthy")
        return (healthy or {}).get(name) or ""

    return cell


class ComponentStatusStrategy(Strategy):
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        Column("Status", _health),
        Column("Message", _condition_field("message")),
        Column("Error", _condition_field("error")),
    )


class BindingStrategy(Strategy):
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}

    def validate(self, tree: Object) -> list[FieldError]:
        kind, name = lookup(tree, "target", "kind") or "", lookup(tree, "target", "name") or ""
        found = [] if kind in ("", "Node") else [not_supported("target.kind", kind, ("Node", "<empty>"))]
        if not name:
            found.append(required("target.name"))
        elif kind in ("", "Node"):
            found += wrong("target.name", name, dns1123_subdomain(name))
        return found
