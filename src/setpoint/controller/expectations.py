"""What a controller wrote, and what its reads must therefore have seen.

A cache runs a little behind the server. A reconcile that made a child and, when it runs again, does not find it would
make another. So each write is noted here with the version it made: a read of that object waits until the cache has it,
and a list waits until the cache has everything that reconciles of the same request wrote to that kind. A deletion is
noted by uid. A write that nobody knows the outcome of (the connection broke, the server failed after it had stored it)
makes the next read ask the server itself.
"""

from collections.abc import Iterable
from typing import TypeVar

from setpoint.cache.held import Held
from setpoint.controller.request import Request, Trigger
from setpoint.objects.gvk import GroupVersionKind

# How many notes of a sort are kept. What is forgotten is old: the cache has long seen it.
MOST_NOTES = 20_000

Place = tuple[GroupVersionKind, str]
Note = TypeVar("Note")


class Expectations:
    """The notes of one controller on one cluster."""

    def __init__(self) -> None:
        # The newest version that was written of an object, and of a kind for a request.
        self._objects: dict[Place, int] = {}
        self._kinds: dict[Request, dict[GroupVersionKind, int]] = {}
        self._deleted: dict[Place, str] = {}
        # Where a request may have written: an empty key stands for a name that the server made.
        self._unsure: dict[Request, set[Place]] = {}
        # The steps from version to version that were only our own reports.
        self._reports: dict[Place, set[tuple[str, str]]] = {}

    # Noting

    def wrote(self, request: Request, kind: GroupVersionKind, key: str, version: str) -> None:
        """A write has made a version."""
        if version.isdecimal():
            _keep(self._objects, (kind, key), int(version))
            kinds = self._kinds.setdefault(request, {})
            kinds[kind] = max(kinds.get(kind, 0), int(version))
        self._deleted.pop((kind, key), None)

    def deleted(self, kind: GroupVersionKind, key: str, uid: str) -> None:
        """An object is gone, whatever the cache says."""
        _keep(self._deleted, (kind, key), uid)

    def unsure(self, request: Request, kind: GroupVersionKind, key: str) -> None:
        """A write may or may not have been done."""
        self._unsure.setdefault(request, set()).add((kind, key))

    def reported(self, kind: GroupVersionKind, key: str, before: str, after: str) -> None:
        """A write of our own status made one version of another."""
        place = (kind, key)
        _keep(self._reports, place, self._reports.get(place, set()) | {(before, after)})

    # Asking

    def version_of(self, kind: GroupVersionKind, key: str) -> int:
        """The version that a read of an object must have reached; 0 where any will do."""
        return self._objects.get((kind, key), 0)

    def version_of_kind(self, request: Request, kind: GroupVersionKind) -> int:
        """The version that a list for a request must have reached."""
        kinds = self._kinds.get(request)
        return kinds.get(kind, 0) if kinds is not None else 0

    def is_unsure(self, request: Request, kind: GroupVersionKind, key: str | None = None) -> bool:
        """Whether only the server itself can tell about an object, or about a kind."""
        places = self._unsure.get(request)
        if not places:
            return False
        return (kind, key) in places if key is not None else any(found == kind for found, _ in places)

    def is_gone(self, kind: GroupVersionKind, held: Held[object]) -> bool:
        """Whether we deleted an object that the cache still has."""
        if not self._deleted:
            return False
        return self._deleted.get((kind, held.meta.key)) == held.meta.uid

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
        return True

    # Forgetting

    def reached(self, request: Request, kind: GroupVersionKind, key: str | None, version: int) -> None:
        """The cache has come as far as a read needed."""
        if key is not None:
            if self._objects.get((kind, key), 0) <= version:
                self._objects.pop((kind, key), None)
            return
        kinds = self._kinds.get(request)
        if kinds is not None and kinds.get(kind, 0) <= version:
            kinds.pop(kind, None)
            if not kinds:
                del self._kinds[request]

    def asked(
        self, request: Request, kind: GroupVersionKind, key: str | None, found: Iterable[tuple[str, str]]
    ) -> None:
        """The server itself was asked, and had these keys and versions: from now on the cache must have them, too."""
        for place, version in found:
            self.wrote(request, kind, place, version)
        places = self._unsure.get(request)
        if places is not None:
            places -= {place for place in places if place[0] == kind and key in (None, place[1])}
            if not places:
                del self._unsure[request]

    def forget(self, request: Request) -> None:
        """The object of a request is gone."""
        self._kinds.pop(request, None)
        self._unsure.pop(request, None)


def _keep(notes: dict[Place, Note], place: Place, note: Note) -> None:
    """Notes something, at the end; the oldest note makes room."""
    notes.pop(place, None)
    if len(notes) >= MOST_NOTES:
        del notes[next(iter(notes))]
    notes[place] = note
