"""What a controller did that its cache may not show yet.

The cache itself sees to it that reads show what was written (`cache/writes.py`). What it cannot know is noted here:

* A write that nobody knows the outcome of (the connection broke, the server failed after it had stored it), or that was
  refused because the cache is behind: the next read of that request asks the server itself, so that what was made is
  not made twice.
* The steps from version to version that were nothing but a report of our own status: they bring nobody back.
"""

from setpoint.controller.request import Request, Trigger
from setpoint.objects.gvk import GroupVersionKind

# How many objects have reports noted. What is forgotten is old: the cache has long seen it.
MOST_NOTES = 20_000

Place = tuple[GroupVersionKind, str]


class Expectations:
    """The notes of one controller on one cluster."""

    def __init__(self) -> None:
        # Where a request may have written: an empty key stands for a name that the server made.
        self._unsure: dict[Request, set[Place]] = {}
        self._reports: dict[Place, set[tuple[str, str]]] = {}

    # Doubts

    def unsure(self, request: Request, kind: GroupVersionKind, key: str) -> None:
        """What the cache says of an object cannot be relied on."""
        self._unsure.setdefault(request, set()).add((kind, key))

    def sure(self, request: Request, kind: GroupVersionKind, key: str | None = None) -> None:
        """It is known again how an object is, or how all of a kind are."""
        places = self._unsure.get(request)
        if places is not None:
            places -= {place for place in places if place[0] == kind and key in (None, place[1])}
            if not places:
                del self._unsure[request]

    def is_unsure(self, request: Request, kind: GroupVersionKind | None = None, key: str | None = None) -> bool:
        """Whether only the server itself can tell about an object, about a kind, or about anything."""
        places = self._unsure.get(request)
        if not places or kind is None:
            return bool(places)
        return (kind, key) in places if key is not None else any(found == kind for found, _ in places)

    def forget(self, request: Request) -> None:
        """The object of a request is gone."""
        self._unsure.pop(request, None)

    # Reports

    def reported(self, kind: GroupVersionKind, key: str, before: str, after: str) -> None:
        """A write of our own status made one version of another."""
        place = (kind, key)
        steps = self._reports.pop(place, set())
        steps.add((before, after))
        if len(self._reports) >= MOST_NOTES:
            del self._reports[next(iter(self._reports))]
        self._reports[place] = steps

    def take_report(self, trigger: Trigger) -> bool:
        """Whether a change was nothing but our own report. It is asked once for each."""
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
                self._reports.clear()  # gives back the room that a crowd took
        return True
