"""Checks of reads and writes: one order of all operations explains all responses, and respects real time.

A revision numbers every write, so the order of the writes is known. Each other operation gets the smallest revision
that explains its response and is not smaller than any revision that was reached before its start. If the smallest
revision does not exist, no order exists.
"""

import heapq
from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

from tests.consistency.history import (
    ANY_AGE,
    CONFLICT,
    CONSISTENT,
    DONE,
    EXACT,
    EXISTS,
    EXPIRED,
    MISSING,
    NOT_OLDER,
    UNKNOWN,
    History,
    Listing,
    Read,
    Version,
    Write,
)
from tests.consistency.log import Log


class _Step(NamedTuple):
    """An operation in real time. `place` returns the smallest revision from a revision on that explains the response;
    None if there is none."""

    start: float
    end: float
    place: Callable[[int], int | None]
    record: object


def check_writes(history: History, log: Log) -> Iterator[str]:
    """Yields the writes whose response the log does not confirm, and the entries that no client wrote."""
    by_mark = {entry.version.mark: entry for entry in log.entries if entry.version is not None}
    deleted = {(entry.key, entry.previous.uid) for entry in log.entries if entry.version is None and entry.previous}
    for write in history.writes:
        if write.outcome != DONE:
            continue
        if not write.mark:
            if (write.key, write.uid) not in deleted:
                yield f"no event shows the deletion {write}"
            deleted.discard((write.key, write.uid))
            continue
        entry = by_mark.get(write.mark)
        if entry is None or entry.version != write.version:
            yield f"the log has {entry}, but the response was {write}"
        elif write.creates and entry.previous is not None:
            yield f"{write} created an object that existed: {entry}"
        elif write.expect is not None and write.expect != (entry.previous.revision if entry.previous else 0):
            yield f"{write} replaced another revision: {entry}"
    marks = {write.mark for write in history.writes if write.outcome in (DONE, UNKNOWN)}
    for entry in log.entries:
        if entry.version is not None and entry.version.mark not in marks:
            yield f"no client wrote {entry}"
    removals = {write.key for write in history.writes if write.outcome == UNKNOWN and not write.mark}
    for key, uid in deleted:
        if key not in removals:
            yield f"no client deleted {key} with uid {uid}"


def check_order(history: History, log: Log) -> Iterator[str]:
    """Yields the operations that do not fit into one order: a stale read, a refused write without a reason, a revision
    that goes back."""
    steps = sorted(_steps(history, log), key=lambda step: step.start)
    ended: list[tuple[float, int]] = []
    reached = history.began
    for step in steps:
        while ended and ended[0][0] < step.start:
            reached = max(reached, heapq.heappop(ended)[1])
        place = step.place(reached)
        if place is None:
            yield f"at revision {reached} or later the response is impossible: {step.record}"
        elif step.end < inf:
            heapq.heappush(ended, (step.end, place))


def _steps(history: History, log: Log) -> Iterator[_Step]:
    by_mark = {entry.version.mark: entry.revision for entry in log.entries if entry.version is not None}
    removed = {
        (entry.key, entry.previous.uid): entry.revision for entry in log.entries if not entry.version and entry.previous
    }
    for write in history.writes:
        if write.outcome == DONE or (write.outcome == UNKNOWN and write.mark in by_mark):
            found = by_mark.get(write.mark) if write.mark else removed.get((write.key, write.uid))
            if found is not None:
                yield _Step(write.start, write.end, _exactly(found), write)
        elif write.outcome in (CONFLICT, EXISTS, MISSING):
            yield _Step(write.start, write.end, _when(log, write.key, _refuses(write)), write)
    for read in history.reads:
        if read.outcome != DONE or read.mode == EXACT:
            continue
        if read.mode == CONSISTENT:
            yield _Step(read.start, read.end, _when(log, read.key, _shows(read)), read)
        elif read.version is not None:
            yield _Step(read.start, read.end, _existed(read.version.revision), read)
    for listing in history.listings:
        if listing.outcome != DONE or listing.mode == EXACT:
            continue
        exact = listing.mode == CONSISTENT and not listing.after
        yield _Step(listing.start, listing.end, (_exactly if exact else _existed)(listing.revision), listing)
    for watch in history.watches:
        for event in watch.events:
            if event.ends_initial:
                place = _exactly if watch.mode == CONSISTENT else _existed
                yield _Step(watch.start, event.moment, place(event.revision), (watch.client, watch.scope, event))


def _exactly(revision: int) -> Callable[[int], int | None]:
    return lambda reached: revision if revision >= reached else None


def _existed(revision: int) -> Callable[[int], int | None]:
    """Any revision: the response only proves that the revision existed at its end."""
    return lambda _: revision


def _refuses(write: Write) -> Callable[[Version | None], bool]:
    if write.outcome == EXISTS:
        return lambda version: version is not None
    if write.outcome == MISSING:
        return lambda version: version is None
    return lambda version: version is None or version.revision != write.expect


def _shows(read: Read) -> Callable[[Version | None], bool]:
    return lambda version: version == read.version


def _when(log: Log, key: str, holds: Callable[[Version | None], bool]) -> Callable[[int], int | None]:
    def place(reached: int) -> int | None:
        for first, end, version in log.versions(key):
            if (end is None or end > reached) and holds(version):
                return max(first, reached)
        return None

    return place


def check_reads(history: History, log: Log) -> Iterator[str]:
    """Yields the responses that differ from the state at their revision, or refuse a revision without a reason."""
    for read in history.reads:
        if read.outcome == EXPIRED:
            if read.revision >= history.compacted(read.end):
                yield f"the revision was kept: {read}"
        elif read.mode == EXACT:
            if log.of(read.key, read.revision) != read.version:
                yield f"at that revision there was {log.of(read.key, read.revision)}: {read}"
        elif read.version is not None and log.of(read.key, read.version.revision) != read.version:
            yield f"no write left this object: {read}"
        elif read.mode == NOT_OLDER and not _can_be(log, read):
            yield f"older than requested: {read}"
    for listing in history.listings:
        yield from _check_listing(history, log, listing)
    yield from _check_monotonic(history)


def _can_be(log: Log, read: Read) -> bool:
    place = _when(log, read.key, _shows(read))(read.revision)
    return place is not None


def _check_listing(history: History, log: Log, listing: Listing) -> Iterator[str]:
    if listing.outcome == EXPIRED:
        if listing.wanted >= history.compacted(listing.end):
            yield f"the revision was kept: {listing}"
        return
    if listing.mode == NOT_OLDER and listing.revision < listing.wanted:
        yield f"older than requested: {listing}"
    if (listing.mode == EXACT or listing.after) and listing.revision != listing.wanted:
        yield f"another revision than requested: {listing}"
    there = [version for version in log.selected(listing.scope, listing.revision) if version.key > listing.after]
    right = there[: listing.limit] if listing.limit else there
    if list(listing.items) != right:
        yield f"at that revision there was {_short(right)}, not {_short(listing.items)}: {listing}"
    if len(there) > len(listing.items) and not listing.more:
        yield f"the list ends before its last object: {listing}"
    if listing.remaining is not None and listing.remaining != len(there) - len(right):
        yield f"{len(there) - len(right)} objects remain: {listing}"


def _short(versions: object) -> str:
    assert isinstance(versions, list | tuple)
    return "[" + ", ".join(f"{version.key}@{version.revision}" for version in versions) + "]"


def _check_monotonic(history: History) -> Iterator[str]:
    """A client that accepts any age still never goes back in time on one server."""
    last: dict[str, Listing] = {}
    for listing in sorted(history.listings, key=lambda each: each.start):
        if listing.outcome != DONE or listing.mode not in (ANY_AGE, CONSISTENT, NOT_OLDER) or listing.after:
            continue
        before = last.get(listing.client)
        if before is not None and before.revision > listing.revision:
            yield f"{listing} is older than the previous list of the client, {before}"
        last[listing.client] = listing
