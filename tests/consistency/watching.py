"""Checks of watches: the events are exactly those of the log, filtered by the scope of the watch.

An exact comparison with the log implies the properties that are promised: events are ordered, unique, atomic,
reliable, correctly filtered, and a watch resumes after any revision. Bookmarks and the initial events are checked
beside them.
"""

from collections.abc import Iterator, Sequence
from math import inf

from tests.consistency.history import ADDED, BOOKMARK, Event, History, Watch
from tests.consistency.log import Expected, Log


def check_watches(history: History, log: Log) -> Iterator[str]:
    """Yields the violations of all watches."""
    for watch in history.watches:
        for violation in _check(history, log, watch):
            yield f"{violation} (watch of {watch.client}, {watch.scope}, after {watch.after})"


def _check(history: History, log: Log, watch: Watch) -> Iterator[str]:
    after, events = watch.after, watch.events
    if watch.failure:
        yield f"the server failed: {watch.failure}"
    if after is None:
        begun = _begin(log, watch)
        if isinstance(begun, str):
            yield begun
            return
        after, events = begun
        if watch.wanted > after >= 0:
            yield f"the initial events are of revision {after}, older than {watch.wanted}"
        if after < 0:  # closed before the end of the initial events
            return
    yield from _check_changes(history, log, watch, after, events)


def _begin(log: Log, watch: Watch) -> tuple[int, list[Event]] | str:
    """Returns the revision of the initial events and the events after them, or the violation. The revision is -1 if the
    initial events did not end."""
    ends = [place for place, event in enumerate(watch.events) if event.ends_initial]
    if len(ends) > 1:
        return "the initial events end twice"
    if watch.bookmarks:
        if not ends:
            return "the initial events never end" if watch.is_open else (-1, [])
        place = ends[0]
        revision = watch.events[place].revision
        return _initial(log, watch, watch.events[:place], revision) or (revision, watch.events[place + 1 :])
    if ends:
        return "a bookmark ends the initial events, but the client accepts no bookmarks"
    if not watch.is_open:
        return -1, []
    # Without a bookmark the revision is unknown: one revision has to explain all events.
    for revision in sorted({0, *(entry.revision for entry in log.entries)}):
        count = len(log.selected(watch.scope, revision))
        first, rest = watch.events[:count], watch.events[count:]
        if _initial(log, watch, first, revision) is None and not _difference(
            log.events(watch.scope, revision, log.entries[-1].revision if log.entries else 0), rest
        ):
            return revision, rest
    return "no revision explains the events: " + _brief(watch.events)


def _initial(log: Log, watch: Watch, events: Sequence[Event], revision: int) -> str | None:
    """Returns the violation of initial events; None if they are exactly the state at a revision."""
    right = log.selected(watch.scope, revision)
    if [event.version for event in events] == right and all(event.type == ADDED for event in events):
        return None
    keys = [f"{version.key}@{version.revision}" for version in right]
    return f"the initial events of revision {revision} should be {keys}: {_brief(events)}"


def _check_changes(history: History, log: Log, watch: Watch, after: int, events: Sequence[Event]) -> Iterator[str]:
    reached = after
    changes: list[Event] = []
    for event in events:
        if event.revision < reached:
            yield f"an event goes back from revision {reached}: {event}"
        if event.type == BOOKMARK:
            missing = _difference(log.events(watch.scope, after, event.revision), changes)
            if missing:
                yield f"before bookmark {event.revision}: {missing}"
            if not watch.bookmarks:
                yield f"an unwanted bookmark: {event}"
        else:
            changes.append(event)
        reached = max(reached, event.revision)
    through = reached
    if watch.is_open and watch.expired == inf:
        through = max(history.ended, reached)
    elif watch.expired < inf and reached >= history.compacted(watch.expired):
        yield f"expired, but the revisions after {reached} were kept"
    missing = _difference(log.events(watch.scope, after, through), changes)
    if missing:
        yield missing


def _difference(right: Sequence[Expected], events: Sequence[Event]) -> str:
    """Returns the first difference; empty if there is none. Changes of one revision may come in any order."""
    wanted = sorted((each.revision, each.version.key, each.type, each.version) for each in right)
    got = [(event.revision, event.version.key, event.type, event.version) for event in events if event.version]
    places = [revision for revision, *_ in got]
    if places != sorted(places):
        return f"not in the order of revisions: {places}"
    for place, (one, other) in enumerate(zip(wanted, sorted(got), strict=False)):
        if one != other:
            return f"event {place} should be {one}, but is {other}"
    if len(wanted) != len(got):
        return f"{len(wanted)} events were expected, {len(got)} came; the last are {wanted[-2:]} and {got[-2:]}"
    return ""


def _brief(events: Sequence[Event]) -> str:
    return str([(event.type, event.version.key if event.version else "", event.revision) for event in events])
