"""The rules of PodMetrics and NodeMetrics, which are read-only, with the columns of metrics-server."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import Cell, field
from setpoint.server.registry.kinds.printers.columns import NAME
from setpoint.server.registry.strategy import Column, Strategy

CPU, MEMORY = "cpu", "memory"


def total(usages: Iterable[Object], name: str) -> str:
    """Returns the sum of a resource over several usages."""
    amounts = (Quantity.parse(usage[name]) for usage in usages if name in usage)
    return str(sum(amounts, start=Quantity(0)))


def _of_containers(name: str) -> Cell:
    def cell(tree: Object, _now: datetime) -> Json:
        return total((each["usage"] for each in tree.get("containers") or ()), name)

    return cell


WINDOW = Column("Window", field("window"), format="duration")


class NodeMetricsStrategy(Strategy):
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        *(Column(name, field("usage", name), format="quantity") for name in (CPU, MEMORY)),
        WINDOW,
    )


class PodMetricsStrategy(Strategy):
    status_fields: ClassVar[Sequence[str]] = ()
    reset_fields: ClassVar = {}
    columns: ClassVar[Sequence[Column]] = (
        NAME,
        *(Column(name, _of_containers(name), format="quantity") for name in (CPU, MEMORY)),
        WINDOW,
    )
