"""The log of a round, as the observers saw the log, and the states and events that follow from the log."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.consistency.history import ADDED, BOOKMARK, DELETED, MODIFIED, History, Scope, Version


class Entry(NamedTuple):
    """One change of one object."""

    revision: int
    key: str
    version: Version | None  # None after a deletion
    previous: Version | None


class Expected(NamedTuple):
    """An event that a watch has to send."""

    type: str
    revision: int
    version: Version


class Log:
    """All changes of a round, in order."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.of_key: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self.of_key[entry.key].append(entry)
        # The state after each revision that changed the state, in key order.
        self._revisions = [0]
        self._states: list[dict[str, Version]] = [{}]
        state: dict[str, Version] = {}
        for entry in entries:
            state = state.copy()
            if entry.version is None:
                state.pop(entry.key, None)
            else:
                state[entry.key] = entry.version
            self._revisions.append(entry.revision)
            self._states.append(state)

    def at(self, revision: int) -> dict[str, Version]:
        """Returns the state at a revision, by key."""
        return self._states[bisect_right(self._revisions, revision) - 1]

    def selected(self, scope: Scope, revision: int) -> list[Version]:
        """Returns the objects of a scope at a revision, in key order."""
        return [version for _, version in sorted(self.at(revision).items()) if scope.selects(version)]

    def of(self, key: str, revision: int) -> Version | None:
        return self.at(revision).get(key)

    def versions(self, key: str) -> Iterator[tuple[int, int | None, Version | None]]:
        """Yields the states of a key: the first revision, the revision after the last (None: still current), and the
        version."""
        entries = self.of_key.get(key, [])
        yield 0, entries[0].revision if entries else None, None
        for place, entry in enumerate(entries):
            yield entry.revision, entries[place + 1].revision if place + 1 < len(entries) else None, entry.version

    def events(self, scope: Scope, after: int, through: int) -> list[Expected]:
        """Returns the events of a watch from one revision to another."""
        found: list[Expected] = []
        start = bisect_right(self.entries, after, key=lambda entry: entry.revision)
        for entry in self.entries[start:]:
            if entry.revision > through:
                break
            before, now = scope.selects(entry.previous), scope.selects(entry.version)
            if now and entry.version is not None:
                found.append(Expected(MODIFIED if before else ADDED, entry.revision, entry.version))
            elif before:
                # As the store keeps them, a watch sends the last matching content with the revision of the change.
                last = entry.previous
                assert last is not None
                found.append(Expected(DELETED, entry.revision, last._replace(revision=entry.revision)))
        return found


def read_log(history: History) -> tuple[Log, list[str]]:
    """Returns the log that the observers saw, and the violations in their own events."""
    found: list[str] = []
    state: dict[str, Version] = {}
    entries: list[Entry] = []
    reached = history.began
    for observer in history.observers:
        if observer.after != reached:
            found.append(f"an observer began after {observer.after}, not after {reached}")
        for event in observer.events:
            if event.type != BOOKMARK:
                assert event.version is not None
                key, previous = event.version.key, state.get(event.version.key)
                if event.revision < reached or any(
                    entry.revision == event.revision and entry.key == key for entry in entries[-20:]
                ):
                    found.append(f"the observer received {event} after revision {reached}")
                right = DELETED if event.type == DELETED else MODIFIED if previous else ADDED
                if event.type != right or (event.type == DELETED and previous is None):
                    found.append(f"the observer received {event}, but the object before was {previous}")
                now = None if event.type == DELETED else event.version
                entries.append(Entry(event.revision, key, now, previous))
                if now is None:
                    state.pop(key, None)
                else:
                    state[key] = now
            elif event.revision < reached:
                found.append(f"the observer received a bookmark {event.revision} after {reached}")
            reached = max(reached, event.revision)
    return Log(entries), found
