"""The times of the changes that made endpoints change, for the annotation by which delays are measured."""

from collections.abc import Iterable
from datetime import datetime

from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.pods.state import condition_of


class TriggerTimes:
    """Remembers for each Service the times of its pods that the last reconcile has seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[datetime, dict[str, datetime]]] = {}

    def next(self, service: Object, pods: Iterable[Object]) -> datetime | None:
        """Returns the earliest time that changed since the last reconcile of a Service; the creation of the Service at
        its first reconcile; None if no time has changed."""
        metadata = service["metadata"]
        created = parse_time(metadata["creationTimestamp"])
        times = {pod["metadata"]["name"]: time for pod in pods if (time := _ready_time(pod)) is not None}
        key = metadata["namespace"], metadata["name"]
        before = self._seen.get(key)
        self._seen[key] = created, times
        if before is None:
            return created
        was_created, was_ready = before
        changed = [time for name, time in times.items() if name not in was_ready or time > was_ready[name]]
        if created > was_created:
            changed.append(created)
        return min(changed, default=None)

    def forget(self, name: str, namespace: str) -> None:
        """Forgets a deleted Service."""
        self._seen.pop((namespace, name), None)


def _ready_time(pod: Object) -> datetime | None:
    found = condition_of(pod, "Ready")
    moment = found.get("lastTransitionTime") if found is not None else None
    return parse_time(moment) if moment else None
