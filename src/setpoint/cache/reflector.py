"""The reflector: keeps a copy of what a server has of one kind, by a list and a watch that follows it.

It streams the list where the server can (one watch that begins with what is there), and reads pages where it cannot. It
follows with watches that end by themselves after some minutes and go on where they were, as they do when a connection
breaks; when the server no longer knows that place, it lists again. What cannot be watched is listed every few seconds.
Whatever fails is tried again, ever more slowly; while the server does not answer at all, one asks for all (`gate`).
What it says to its `Target` is a subsequence of what happened, in order: first a whole state (`replace`), then each
change once.

Its `state` tells at any time what it does, and `last_error` why it does not get on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import Any, Protocol

import msgspec

from setpoint.cache.backoff import RESET_SECONDS, Backoff
from setpoint.cache.entry import Held
from setpoint.cache.gate import Gate
from setpoint.cache.problem import explain
from setpoint.cache.scope import Scope
from setpoint.cache.watchdog import Watchdog
from setpoint.client.client import Client
from setpoint.client.list_result import PAGE, decode_raw
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.client.watch import ADDED, BOOKMARK, DELETED, INITIAL_EVENTS_END, MODIFIED, RawEvent
from setpoint.objects.clock import Clock
from setpoint.objects.errors import (
    APIError,
    BadRequest,
    Expired,
    Gone,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    Timeout,
    TooManyRequests,
)
from setpoint.objects.ids import Ids

# How long a watch lasts before it is begun anew: at least this, and up to twice as long, by chance.
WATCH_SECONDS = 300.0
# A watch that ends sooner than this without having said anything is a failure.
SHORT_SECONDS = 1.0
# How long a server may be silent before it counts as gone: while it streams a list; beyond the agreed end of a watch;
# once it is known to send bookmarks, which come every minute.
LIST_SILENCE_SECONDS, END_SILENCE_SECONDS, BOOKMARK_SILENCE_SECONDS = 30.0, 30.0, 180.0
# How often what cannot be watched is listed.
POLL_SECONDS = 10.0
# How many watches in a row may fail without a word before everything is listed again.
FRUITLESS_WATCHES = 5
# After how many events in a row others get their turn.
_EVENTS_AT_ONCE = 500

WAITING, LISTING, WATCHING, FAILING, STOPPED = "waiting", "listing", "watching", "failing", "stopped"

# What a server answers that does not know how to stream a list.
_REFUSALS = (Invalid, BadRequest, MethodNotAllowed, NotAcceptable)

# What no object is called.
_NOTHING = "metadata.name=-"

_log = logging.getLogger(__name__)


class Target(Protocol):
    """Who is told."""

    def read(self, item: bytes) -> Held[Any]:
        """An object, from what the server sent."""

    def replace(self, items: Collection[Held[Any]], resource_version: str) -> None:
        """All there is, as of a revision."""

    def change(self, event_type: str, item: Held[Any]) -> None:
        """An object was ADDED, MODIFIED or DELETED."""

    def reached(self, resource_version: str) -> None:
        """Nothing else happened up to this revision."""


class _Bookmark(msgspec.Struct, rename="camel"):
    class Metadata(msgspec.Struct, rename="camel"):
        resource_version: str = ""
        annotations: dict[str, str] | None = None

    metadata: Metadata


_read_bookmark = msgspec.json.Decoder(_Bookmark).decode


class _Unlisted(Exception):  # noqa: N818 - says what is
    """A streaming list did not come to its end."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Silent(TransportError):  # noqa: N818 - says what is
    """The server said nothing for longer than it may."""


class Reflector:
    """Follows a scope in one namespace, or in all. `run` does, until it is cancelled."""

    def __init__(
        self,
        client: Client,
        scope: Scope,
        target: Target,
        *,
        namespace: str = "",
        clock: Clock,
        ids: Ids,
        gate: Gate | None = None,
    ) -> None:
        self._client = client
        self._scope = scope
        self._namespace = namespace
        self._target = target
        self._clock = clock
        self._ids = ids
        self._gate = gate
        self._backoff = Backoff(clock, ids)
        self._hurry = asyncio.Event()
        # Whether the server can stream lists, as far as we know, and whether the next list is rather read in pages.
        self._streams = True
        self._pages_next = False
        self._sends_bookmarks = False
        # How far we have come, and whether the server still knows that place.
        self._version = ""
        self._version_is_known = True
        # What a streaming list has brought so far; None when there is none under way.
        self._gathered: dict[str, Held[Any]] | None = None
        # Whether the last watch brought us further, or lasted.
        self._was_fruitful = False
        self.state = WAITING
        self.since: datetime = clock.now()
        self.last_error: Exception | None = None
        self.problem = ""
        # How often everything was listed, and how often a watch was begun.
        self.lists = self.watches = 0
        # When a revision last turned out to be expired.
        self._expired_at = -RESET_SECONDS

    @property
    def resource_version(self) -> str:
        """How far it has come."""
        return self._version

    def hurry(self) -> None:
        """What was wrong may be right now: it tries again at once if it waits for its next try."""
        self._hurry.set()

    async def run(self) -> None:
        """Lists and watches for ever."""
        try:
            while True:
                try:
                    await self._list_and_watch()
                except Exception as error:
                    await self._wait(error)
        finally:
            self._enter(STOPPED)

    async def _list_and_watch(self) -> None:
        """Lists, and watches until only another list helps; raises what made it so."""
        self._enter(LISTING)
        listing = self._streams and not self._pages_next
        if not listing:
            await self._read_pages()
        fruitless, is_sure = 0, True
        while True:
            try:
                if not is_sure:
                    await self._check_place()
                is_sure = True
                await self._watch(initial=listing)
            except _Unlisted as unlisted:
                await self._list_otherwise(unlisted.error)
            except (TransportError, TooManyRequests) as error:
                # The place where we are is good as long as it is the same server: no need to list.
                is_sure = isinstance(error, TooManyRequests)
                fruitless = 0 if self._was_fruitful else fruitless + 1
                if fruitless > FRUITLESS_WATCHES:
                    raise
                if fruitless:
                    await self._wait(error)
            except MethodNotAllowed:
                await self._poll()
            except APIError as error:
                self._version_is_known = not _is_too_large(error)
                raise
            else:
                fruitless = 0
            listing = False

    async def _poll(self) -> None:
        """Lists for ever: the server has something here that cannot be watched."""
        _log.info("%s cannot be watched; it is listed every %g s", self._scope.kind, POLL_SECONDS)
        while True:
            self._enter(WATCHING)
            await self._clock.sleep(POLL_SECONDS)
            await self._read_pages()

    # Lists

    async def _list_otherwise(self, error: Exception) -> None:
        """What to do when a streaming list failed."""
        if isinstance(error, (_Silent, *_REFUSALS)):
            _log.info("%s: the server does not stream lists (%s); they are read in pages", self._scope.kind, error)
            self._streams = False
        elif isinstance(error, (TransportError, TooManyRequests, NoMatch)):
            # Where a connection does not last for a list, shorter ones may.
            self._pages_next = isinstance(error, TransportError) and error.sent
            raise error
        elif _is_unknown_version(error):
            self._version_is_known = False
        await self._read_pages()

    async def _read_pages(self) -> None:
        """Reads everything in pages. What changes meanwhile is in the watch that follows."""
        # At first whatever the server has at hand will do; later, nothing older than what we have seen.
        version = (self._version or "0") if self._version_is_known else ""
        try:
            items, found = await self._pages(version, limit=PAGE if version in ("", "0") else 0)
        except APIError as error:
            if not _is_unknown_version(error):
                raise
            items, found = await self._pages("", limit=0)
        self._replace(items, found)

    async def _pages(self, version: str, *, limit: int) -> tuple[dict[str, Held[Any]], str]:
        scope, continue_ = self._scope, ""
        items: dict[str, Held[Any]] = {}
        while True:
            body = await self._client.raw_list(
                scope.kind,
                self._namespace,
                labels=scope.labels,
                fields=scope.fields,
                limit=limit,
                continue_=continue_,
                resource_version="" if continue_ else version,
            )
            page = decode_raw(body)
            for item in page.items or ():
                held = self._target.read(bytes(item))
                items[held.meta.key] = held
            continue_ = page.metadata.continue_
            if not continue_:
                return items, page.metadata.resource_version

    def _replace(self, items: dict[str, Held[Any]], version: str) -> None:
        self._target.replace(items.values(), version)
        self._version, self._version_is_known, self._pages_next = version, True, False
        self.lists += 1
        self._enter(WATCHING)

    async def _check_place(self) -> None:
        """Raises if the server does not know the revision where we are.

        One that came back without its state counts anew, and a watch from a revision in its future would just be
        silent. A list of nothing tells, at next to no cost.
        """
        self._was_fruitful = False
        fields = ",".join(filter(None, (self._scope.fields, _NOTHING)))
        try:
            await self._client.raw_list(
                self._scope.kind,
                self._namespace,
                labels=self._scope.labels,
                fields=fields,
                resource_version=self._version,
            )
        except APIError as error:
            if isinstance(error, TooManyRequests):
                raise
            if _is_unknown_version(error):
                self._version_is_known = False
                raise

    # Watches

    async def _watch(self, *, initial: bool) -> None:
        """One watch, from its beginning to its end. With `initial` it begins with everything there is."""
        seconds = WATCH_SECONDS * (1.0 + self._ids.random())
        began, opened = self._version, None
        self._gathered = {} if initial else None
        try:
            patience = LIST_SILENCE_SECONDS if initial else self._patience(seconds)
            async with Watchdog(self._clock, patience) as dog, self._open(seconds, initial=initial) as events:
                opened = self._clock.monotonic()
                self.watches += 1
                if not initial:
                    self._enter(WATCHING)
                await self._hear(events, dog, seconds)
            if self._gathered is not None:
                raise TransportError("the server ended a streaming list in its middle", sent=True)
            if self._version == began and self._clock.monotonic() - opened < SHORT_SECONDS:
                raise TransportError("the server ended a watch at once, without a word", sent=True)
        except TimeoutError as error:
            silent = _Silent(f"the server said nothing any more: {error}", sent=True)
            raise (silent if self._gathered is None else _Unlisted(silent)) from None
        except Exception as error:
            if self._gathered is None:
                raise
            raise _Unlisted(error) from error
        finally:
            self._gathered = None
            lasted = opened is not None and self._clock.monotonic() - opened >= SHORT_SECONDS
            self._was_fruitful = lasted or self._version != began

    def _open(self, seconds: float, *, initial: bool) -> AbstractAsyncContextManager[AsyncIterator[RawEvent]]:
        return self._client.raw_watch(
            self._scope.kind,
            self._namespace,
            labels=self._scope.labels,
            fields=self._scope.fields,
            resource_version=self._version if self._version_is_known else "",
            initial_events=initial,
            timeout=seconds,
            stall=None,  # the watchdog sees to that
        )

    async def _hear(self, events: AsyncIterator[RawEvent], dog: Watchdog, seconds: float) -> None:
        """Takes the events of a watch until it ends."""
        heard = 0
        async for event in events:
            dog.heard()
            self._take(event)
            if self._gathered is None:
                dog.seconds = self._patience(seconds)
            heard += 1
            if heard % _EVENTS_AT_ONCE == 0:
                await self._clock.sleep(0)

    def _patience(self, seconds: float) -> float:
        """How long a watch of so many seconds may be silent."""
        return BOOKMARK_SILENCE_SECONDS if self._sends_bookmarks else seconds + END_SILENCE_SECONDS

    def _take(self, event: RawEvent) -> None:
        """Hands an event on, or gathers it while the list still comes."""
        if event.type == BOOKMARK:
            self._take_bookmark(_read_bookmark(event.object).metadata)
        elif event.type in (ADDED, MODIFIED, DELETED):
            held = self._target.read(bytes(event.object))
            if self._gathered is None:
                self._target.change(event.type, held)
                self._version = held.meta.resource_version
            elif event.type == DELETED:
                self._gathered.pop(held.meta.key, None)
            else:
                self._gathered[held.meta.key] = held
        else:
            _log.warning("%s: the server sent an event of a type that nobody knows: %s", self._scope.kind, event.type)

    def _take_bookmark(self, metadata: _Bookmark.Metadata) -> None:
        if self._gathered is None:
            self._sends_bookmarks = True
            self._target.reached(metadata.resource_version)
            self._version = metadata.resource_version
        elif (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
            gathered, self._gathered = self._gathered, None
            self._replace(gathered, metadata.resource_version)

    # State

    async def _wait(self, error: Exception) -> None:
        """Waits before the next try. What was expected to happen some time is no failure."""
        if isinstance(error, (Expired, Gone)):
            _log.info("%s: what happened meanwhile is not known any more (%s): listing", self._scope.kind, error)
            now, before = self._clock.monotonic(), self._expired_at
            self._expired_at = now
            if now - before >= RESET_SECONDS:
                return  # no failure of the server: after a long time without one, listing again needs no wait
        seconds = self._backoff.next()
        if isinstance(error, TooManyRequests):
            seconds = max(seconds, error.retry_after_seconds)
        if not isinstance(error, (Expired, Gone)):
            self.last_error = error
            self.problem = explain(error, self._scope, self._namespace, await self._resource(error))
            self._enter(FAILING)
            known = isinstance(error, (APIError, TransportError, NoMatch))
            _log.warning("%s: %s; again in %.1f s", self._scope.kind, self.problem, seconds, exc_info=not known)
        self._hurry.clear()
        if self._gate is not None and isinstance(error, TransportError):
            self._gate.doubt()
        waiting = [asyncio.ensure_future(self._rest(seconds)), asyncio.ensure_future(self._hurry.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if isinstance(error, NoMatch):
            self._client.mapper.forget(self._scope.kind.gvk)  # the wait is our own: what is there now counts

    async def _rest(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._gate is not None:
            await self._gate.passed()

    async def _resource(self, error: Exception) -> Any:
        """The resource of the kind, where an explanation needs it."""
        if isinstance(error, APIError) and error.code == 403:
            with suppress(APIError, TransportError, NoMatch):
                return await self._client.resource(self._scope.kind)
        return None

    def _enter(self, state: str) -> None:
        if state == WATCHING:
            self.last_error, self.problem = None, ""
        if state != self.state:
            self.state = state
            self.since = self._clock.now()


def _is_too_large(error: Exception) -> bool:
    """Whether the server does not know a revision (yet, or any more) that another one told us."""
    return isinstance(error, Timeout) and (
        any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
        or "Too large resource version" in str(error)
    )


def _is_unknown_version(error: Exception) -> bool:
    """Whether a list is possible, only not at the revision that was asked for."""
    return isinstance(error, (Expired, Gone)) or _is_too_large(error)
