"""The checker accepts a consistent round, and notices each damage to its records and each bug of a store."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import count

import pytest
from tests.consistency.check import violations
from tests.consistency.history import (
    ADDED,
    ANY_AGE,
    BOOKMARK,
    CONFLICT,
    CONSISTENT,
    DELETED,
    DONE,
    EXISTS,
    EXPIRED,
    MISSING,
    MODIFIED,
    NOT_OLDER,
    Event,
    History,
    Listing,
    Read,
    Scope,
    Version,
    Watch,
)
from tests.consistency.log import read_log
from tests.consistency.rounds import Plan, run_round
from tests.consistency.world import KeptMemoryStore, memory

from setpoint.server.verbs.watch import WatchStream
from setpoint.store.contract import Event as StoredEvent
from setpoint.store.contract import Item, Page
from setpoint.store.follow import Cursor

PLAN = Plan(compactions=0)
LONG = Plan(steps=40, compactions=0)


@cache
def recorded() -> History:
    """Records a consistent round, which all tests of this module share."""
    history, _ = asyncio.run(run_round(1, LONG, memory))
    return history


def copied() -> History:
    """Returns a copy whose lists a test may change."""
    made = recorded()
    watches = [replace(watch, events=list(watch.events)) for watch in made.watches]
    observers = [replace(watch, events=list(watch.events)) for watch in made.observers]
    return replace(
        made,
        writes=list(made.writes),
        reads=list(made.reads),
        listings=list(made.listings),
        compactions=list(made.compactions),
        watches=watches,
        observers=observers,
    )


def test_a_consistent_round_has_no_violations() -> None:
    assert violations(recorded()) == []


def test_a_round_has_every_kind_of_record() -> None:
    history = recorded()
    assert {write.outcome for write in history.writes} == {DONE, CONFLICT, EXISTS, MISSING}
    assert {event.type for watch in history.watches for event in watch.events} == {ADDED, MODIFIED, DELETED, BOOKMARK}
    assert any(listing.after for listing in history.listings)
    assert any(watch.scope.color and watch.is_open for watch in history.watches)


# Damages to the records. Each returns after the first record to which the damage applies.


def replaced(history: History) -> tuple[Version, Version]:
    """Returns the newest version that replaced another, and the replaced one."""
    found = [
        entry for entry in read_log(history)[0].entries if entry.version is not None and entry.previous is not None
    ]
    assert found[-1].version is not None
    assert found[-1].previous is not None
    return found[-1].version, found[-1].previous


def late_read(history: History, key: str, version: Version | None, mode: str = CONSISTENT, revision: int = 0) -> None:
    """Adds a read after all other operations."""
    read = Read("late", history.moment(), history.moment(), key, version, mode, revision)
    history.reads.append(read)


def stale_read(history: History) -> None:
    newer, older = replaced(history)
    late_read(history, newer.key, older)


def lost_object(history: History) -> None:
    late_read(history, "default/last", None)


def invented_object(history: History) -> None:
    place, read = next(found for found in enumerate(history.reads) if found[1].version is not None)
    assert read.version is not None
    history.reads[place] = replace(read, version=read.version._replace(content="{}"))


def too_old_a_read(history: History) -> None:
    newer, older = replaced(history)
    late_read(history, newer.key, older, NOT_OLDER, newer.revision)


def listing_without_an_object(history: History) -> None:
    place, listing = next(found for found in enumerate(history.listings) if found[1].items)
    history.listings[place] = replace(listing, items=listing.items[1:])


def stale_listing(history: History) -> None:
    log, _ = read_log(history)
    for place, listing in enumerate(history.listings):
        if listing.mode == CONSISTENT and not listing.limit:
            done = [write.version.revision for write in history.writes if write.version and write.end < listing.start]
            if done and max(done) - 1 > history.began:
                older = max(done) - 1
                items = tuple(log.selected(listing.scope, older))
                history.listings[place] = replace(listing, items=items, revision=older)
                return
    raise LookupError


def page_of_another_revision(history: History) -> None:
    log, _ = read_log(history)
    for place, listing in enumerate(history.listings):
        if listing.after:
            for revision in range(listing.revision + 1, history.ended):
                items = [item for item in log.selected(listing.scope, revision) if item.key > listing.after]
                cut = tuple(items[: listing.limit])
                if cut != listing.items:
                    # The server still claims the revision of the first page.
                    history.listings[place] = replace(listing, items=cut)
                    return
    raise LookupError


def page_that_claims_another_revision(history: History) -> None:
    place, listing = next(found for found in enumerate(history.listings) if found[1].after)
    history.listings[place] = replace(listing, revision=listing.revision + 1)


def wrong_count_of_remaining_objects(history: History) -> None:
    place, listing = next(found for found in enumerate(history.listings) if found[1].remaining is not None)
    history.listings[place] = replace(listing, remaining=(listing.remaining or 0) + 1)


def last_page_too_early(history: History) -> None:
    place, listing = next(found for found in enumerate(history.listings) if found[1].more and found[1].remaining)
    history.listings[place] = replace(listing, more=False)


def list_that_goes_back(history: History) -> None:
    """A list of any age may be old, but not older than the previous list of the same client."""
    log, _ = read_log(history)
    start = history.moment()
    for revision in (history.ended, history.ended - 1):
        items = tuple(log.selected(Scope(), revision))
        listing = Listing("late", start, history.moment(), Scope(), items, revision, ANY_AGE)
        history.listings.append(listing)
        start = history.moment()


def refused_without_a_reason(history: History) -> None:
    for place, write in enumerate(history.writes):
        alone = not any(
            other is not write and other.key == write.key and other.start < write.end and other.end > write.start
            for other in history.writes
        )
        if write.outcome == DONE and write.expect is not None and alone:
            damaged = replace(write, outcome=CONFLICT, version=None)
            history.writes[place] = damaged
            for watch in history.observers:
                watch.events[:] = [event for event in watch.events if event.version != write.version]
            return
    raise LookupError


def write_that_was_lost(history: History) -> None:
    [observer] = history.observers
    place = next(place for place, event in enumerate(observer.events) if event.type == MODIFIED)
    del observer.events[place]


def deletion_that_was_lost(history: History) -> None:
    [observer] = history.observers
    place = next(place for place, event in enumerate(observer.events) if event.type == DELETED)
    del observer.events[place]


def write_without_a_client(history: History) -> None:
    place = next(place for place, write in enumerate(history.writes) if write.outcome == DONE and write.mark)
    del history.writes[place]


def blind_optimistic_write(history: History) -> None:
    place, write = next(found for found in enumerate(history.writes) if found[1].outcome == DONE and found[1].expect)
    history.writes[place] = replace(write, expect=(write.expect or 0) - 1)


def expired_without_compaction(history: History) -> None:
    place, listing = next(found for found in enumerate(history.listings) if found[1].after)
    history.listings[place] = replace(listing, outcome=EXPIRED)


def long(history: History) -> Watch:
    """Returns an open watch after a revision, with several events."""
    return max(
        (watch for watch in history.watches if watch.after is not None and watch.is_open),
        key=lambda watch: len([event for event in watch.events if event.version]),
    )


def changes(watch: Watch) -> list[int]:
    return [place for place, event in enumerate(watch.events) if event.version is not None]


def duplicate_event(history: History) -> None:
    watch = long(history)
    place = changes(watch)[1]
    watch.events.insert(place, watch.events[place])


def lost_event(history: History) -> None:
    watch = long(history)
    del watch.events[changes(watch)[1]]


def event_lost_between_list_and_watch(history: History) -> None:
    watch = long(history)
    del watch.events[changes(watch)[0]]


def event_lost_at_the_end(history: History) -> None:
    watch = long(history)
    del watch.events[changes(watch)[-1]]


def swapped_events(history: History) -> None:
    watch = long(history)
    one, other = changes(watch)[:2]
    watch.events[one], watch.events[other] = watch.events[other], watch.events[one]


def event_of_the_wrong_type(history: History) -> None:
    watch = long(history)
    place = changes(watch)[0]
    event = watch.events[place]
    watch.events[place] = event._replace(type=ADDED if event.type == MODIFIED else MODIFIED)


def event_with_an_old_object(history: History) -> None:
    watch = long(history)
    place = changes(watch)[0]
    version = watch.events[place].version
    assert version is not None
    watch.events[place] = watch.events[place]._replace(version=version._replace(content="{}"))


def event_that_is_not_selected(history: History) -> None:
    watch = next(
        watch for watch in history.watches if watch.scope == Scope() and watch.after is not None and changes(watch)
    )
    watch.scope = Scope(color="red", name="no-object")


def bookmark_before_its_events(history: History) -> None:
    watch = long(history)
    watch.bookmarks = True
    first = changes(watch)[0]
    watch.events.insert(first, Event(watch.events[first].moment - 0.5, BOOKMARK, watch.events[first].revision))


def bookmark_that_goes_back(history: History) -> None:
    watch = long(history)
    watch.bookmarks = True
    watch.events.append(Event(history.moment(), BOOKMARK, watch.events[changes(watch)[0]].revision))


def unwanted_bookmark(history: History) -> None:
    watch = next(watch for watch in history.watches if watch.after is not None and not watch.bookmarks)
    watch.events.append(Event(history.moment(), BOOKMARK, history.ended))


def initial(history: History, *, bookmarks: bool = True) -> Watch:
    return next(
        watch
        for watch in history.watches
        if watch.after is None and watch.bookmarks == bookmarks and len(watch.events) > 2 and watch.is_open
    )


def missing_initial_event(history: History) -> None:
    del initial(history).events[0]


def missing_initial_event_without_bookmarks(history: History) -> None:
    del initial(history, bookmarks=False).events[0]


def initial_events_that_end_twice(history: History) -> None:
    watch = initial(history)
    watch.events.append(next(event for event in watch.events if event.ends_initial))


def initial_events_without_an_end(history: History) -> None:
    watch = initial(history)
    watch.events[:] = [event for event in watch.events if not event.ends_initial]


def stale_initial_events(history: History) -> None:
    """The state of the beginning, although writes had been acknowledged before the watch."""
    done = min(write.end for write in history.writes if write.outcome == DONE)
    watch = next(watch for watch in history.watches if watch.after is None and watch.bookmarks and watch.start > done)
    end = Event(watch.start + 0.5, BOOKMARK, history.began, ends_initial=True)
    expected = read_log(history)[0].events(watch.scope, history.began, history.ended)
    watch.events[:] = [end, *(Event(watch.start + 0.6, each.type, each.revision, each.version) for each in expected)]


def watch_that_expired_without_compaction(history: History) -> None:
    watch = long(history)
    watch.expired, watch.is_open = history.moment(), False


DAMAGES: Sequence[Callable[[History], None]] = (
    stale_read,
    lost_object,
    invented_object,
    too_old_a_read,
    listing_without_an_object,
    stale_listing,
    page_of_another_revision,
    page_that_claims_another_revision,
    wrong_count_of_remaining_objects,
    last_page_too_early,
    list_that_goes_back,
    refused_without_a_reason,
    write_that_was_lost,
    deletion_that_was_lost,
    write_without_a_client,
    blind_optimistic_write,
    expired_without_compaction,
    duplicate_event,
    lost_event,
    event_lost_between_list_and_watch,
    event_lost_at_the_end,
    swapped_events,
    event_of_the_wrong_type,
    event_with_an_old_object,
    event_that_is_not_selected,
    bookmark_before_its_events,
    bookmark_that_goes_back,
    unwanted_bookmark,
    missing_initial_event,
    missing_initial_event_without_bookmarks,
    initial_events_that_end_twice,
    initial_events_without_an_end,
    stale_initial_events,
    watch_that_expired_without_compaction,
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_is_a_violation(damage: Callable[[History], None]) -> None:
    history = copied()
    damage(history)
    assert violations(history) != []


async def test_a_slow_client_that_loses_an_event_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    drain = WatchStream._drain

    async def forgetting(self: WatchStream) -> None:
        await drain(self)
        self.reached += 1

    monkeypatch.setattr(WatchStream, "_drain", forgetting)
    history, _ = await run_round(1, PLAN, memory)
    assert history.delays > 10
    assert violations(history)


# Stores with bugs, below a whole server.


class StaleReads(KeptMemoryStore):
    """Sometimes returns the value before the current one."""

    _calls = count()

    async def get(self, key: str, at: int | None = None) -> Item | None:
        found = await super().get(key, at)
        if at is None and "/configmaps/" in key and found is not None and next(self._calls) % 7 == 0:
            entries = await self.history(key, found.revision, 1)
            if entries and entries[0].value is not None:
                return Item(key, entries[0].value, entries[0].revision, entries[0].created)
        return found


class LosesTheFirstEvent(KeptMemoryStore):
    """Starts a watch one revision too late."""

    def watch(self, prefix: str, after: int | None = None) -> Cursor:
        late = after is not None and prefix.startswith("/core/configmaps/default/") and after < self.current
        return super().watch(prefix, after + 1 if late and after is not None else after)


class PagesOfTheNewestRevision(KeptMemoryStore):
    """Ignores the revision of pages after the first, and claims that revision nevertheless."""

    async def range(self, prefix: str, after: str = "", limit: int = 0, at: int | None = None) -> Page:
        page = await super().range(prefix, after, limit, at)
        if at is not None and after:
            return (await super().range(prefix, after, limit))._replace(revision=at)
        return page


class SendsEventsTwice(KeptMemoryStore):
    """Reports each change twice."""

    def recent(self, after: int) -> Sequence[StoredEvent] | None:
        return [event for each in super().recent(after) or () for event in (each, each)]


@pytest.mark.parametrize("kind", [StaleReads, LosesTheFirstEvent, PagesOfTheNewestRevision, SendsEventsTwice])
async def test_a_bug_of_a_store_is_a_violation(kind: type[KeptMemoryStore]) -> None:
    found: list[str] = []
    for seed in range(5):
        history, _ = await run_round(seed, PLAN, partial(memory, kind))
        found += violations(history)
        if found:
            return
    pytest.fail("the checker did not notice the bug in five rounds")
