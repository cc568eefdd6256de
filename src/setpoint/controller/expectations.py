"""Writes of a controller that its cache may not show yet.

The cache itself ensures that reads show completed writes (`cache/writes.py`). This module tracks the rest:

* Writes with an unknown outcome (the connection broke, or the server failed after storing the object), and writes that
  were rejected because the cache is behind: the next read of that request asks the server, so that no object is created
  twice.
* The version steps that are only writes of the controller's own status: they must not trigger a reconcile.
"""

from setpoint.controller.request import Request, Trigger
from setpoint.objects.gvk import GroupVersionKind

# The number of objects with recorded status writes. Older entries are dropped: the cache has seen them long ago.
MOST_NOTES = 20_000

Place = tuple[GroupVersionKind, str]


class Expectations:
    """The uncertain writes and status writes of one controller on one cluster."""

    def __init__(self) -> None:
        # The objects that a request may have written. An empty key stands for a server-generated name.
        self.uncertain: dict[Request, set[Place]] = {}
        self._reports: dict[Place, set[tuple[str, str]]] = {}

    # Uncertain writes

    def mark_uncertain(self, request: Request, kind: GroupVersionKind, key: str) -> None:
        """Marks an object as uncertain: the cache may be outdated."""
        self.uncertain.setdefault(request, set()).add((kind, key))

    def mark_certain(self, request: Request, kind: GroupVersionKind, key: str | None = None) -> None:
        """Marks an object, or all objects of a kind, as known again."""
        places = self.uncertain.get(request)
        if places is not None:
            places -= {place for place in places if place[0] == kind and key in (None, place[1])}
            if not places:
                del self.uncertain[request]

    def is_uncertain(self, request: Request, kind: GroupVersionKind | None = None, key: str | None = None) -> bool:
        """Returns True if reads of an object, a kind, or any object must ask the server."""
        places = self.uncertain.get(request)
        if not places or kind is None:
            return bool(places)
        return (kind, key) in places if key is not None else any(found == kind for found, _ in places)

    def discard(self, request: Request) -> None:
        """Drops the state of a request after its object is deleted."""
        self.uncertain.pop(request, None)

    # Status writes

    def record_report(self, kind: GroupVersionKind, key: str, before: str, after: str) -> None:
        """Records that a write of the controller's own status led from one version to another."""
        place = (kind, key)
        steps = self._reports.pop(place, set())
        steps.add((before, after))
        if len(self._reports) >= MOST_NOTES:
            del self._reports[next(iter(self._reports))]
        self._reports[place] = steps

    def consume_report(self, trigger: Trigger) -> bool:
        """Returns True if the change is only the controller's own status write. Consumes the record."""
        if trigger.event != "updated" or trigger.kind is None:
            return False
        place = (trigger.kind, trigger.object)
        steps = self._reports.get(place)
        step = (trigger.previous_version, trigger.resource_version)
        if steps is None or step not in steps:
            return False
        steps.discard(step)
        if not steps:
            del self._reports[place]
            if not self._reports:
                self._reports.clear()  # releases the memory of a large dict
        return True
