"""The rules that select the past values a purge removes. Pure functions, shared by every backend."""

from collections.abc import Iterable, Sequence

from setpoint.store.contract import LogEntry, Purge, Selection


def is_selected(selection: Selection, revision: int, replaced_at: float) -> bool:
    """Returns True if a purge removes a value that was written at a revision and replaced or deleted at a time."""
    if revision < selection.since or (selection.through is not None and revision > selection.through):
        return False
    return selection.before is None or replaced_at <= selection.before


def selected(selection: Selection, versions: Sequence[LogEntry], later: Sequence[LogEntry] | None = None) -> list[int]:
    """Returns the indexes of the values to remove among the versions of one key, oldest first.

    The versions end with the current one, unless `later` is given: then they are those of an older snapshot, and
    `later` are the current versions of the store.
    """
    found = []
    for place, entry in enumerate(versions):
        if entry.value is None:
            continue
        following = versions[place + 1] if place + 1 < len(versions) else _after(entry, later or ())
        if following is not None and is_selected(selection, entry.revision, following.time):
            found.append(place)
    return found


def _after(entry: LogEntry, later: Sequence[LogEntry]) -> LogEntry | None:
    """Returns the kept version that replaced an entry, or None."""
    return next((each for each in later if each.revision > entry.revision), None)


def emptied(entry: LogEntry, purge: Purge) -> LogEntry:
    """Returns the entry with the tombstone instead of its value."""
    return entry._replace(value=None, purged=purge)


def last_purged(entries: Iterable[LogEntry]) -> int:
    """Returns the last revision of a log that lost a value: that of a purged entry, or of the entry that replaced a
    purged one."""
    last = 0
    purged: set[str] = set()  # the keys whose latest entry so far is a purged one
    for entry in entries:
        if entry.purged is not None:
            purged.add(entry.key)
            last = entry.revision
        elif entry.key in purged:
            purged.discard(entry.key)
            last = entry.revision
    return last
