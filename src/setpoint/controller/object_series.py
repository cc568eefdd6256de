"""Metrics of single objects, for controllers with `object_metrics`: one series per object.

The values are read from the cache on each request for `/metrics`, so that the metrics cost no time otherwise, and
disappear with the object.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import tree_of
from setpoint.objects import conditions, meta
from setpoint.objects.metrics import MetricFamily


class EntrySource(Protocol):
    """A controller, as the holder of cached objects."""

    name: str

    def all_entries(self) -> Iterator[CachedObject[Any]]: ...


class ObjectSeries:
    """The metrics of the objects of one controller."""

    def __init__(self, controller: EntrySource) -> None:
        self._controller = controller

    def families(self) -> Sequence[MetricFamily]:
        ready, generation, observed = [], [], []
        for entry in self._controller.all_entries():
            labels = {"controller": self._controller.name, "namespace": entry.meta.namespace, "name": entry.meta.name}
            tree = tree_of(entry.object)
            status = tree.get("status") or {}
            found = conditions.find(status.get("conditions") or [], "Ready")
            if found is not None:
                ready.append((labels, float(found.get("status") == conditions.TRUE)))
            generation.append((labels, float(meta.generation(tree))))
            if "observedGeneration" in status:
                observed.append((labels, float(status["observedGeneration"])))
        return [
            MetricFamily("setpoint_object_ready", "gauge", "1 if the object is Ready, else 0.", ready),
            MetricFamily("setpoint_object_generation", "gauge", "The generation of an object.", generation),
            MetricFamily("setpoint_object_observed_generation", "gauge", "The generation in its status.", observed),
        ]
