"""The reflector: keeps a copy of one kind's objects up to date, with a list and a watch.

The reflector streams the list if the server supports streaming lists (a watch that begins with the existing objects),
and reads pages otherwise. Watches end after some minutes and continue at the same resource version, also after a broken
connection; if the resource version has expired, the reflector lists again. A resource that cannot be watched is listed
every few seconds. Failures are retried with an increasing delay; while the server does not answer at all, only the gate
probes the server. The calls to the `Target` are a subsequence of the history, in order: first a whole state
(`replace`), then each change once.

`state` has the current activity, and `last_error` the reason of a failure.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import Any, Protocol

import msgspec

from setpoint.cache.backoff import RESET_SECONDS, Backoff
from setpoint.cache.entry import CachedObject
from setpoint.cache.gate import ReflectorGate
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

# The shortest duration of a watch; a random part adds up to as much again.
WATCH_SECONDS = 300.0
# A watch that ends sooner than this without an event is a failure.
SHORT_SECONDS = 1.0
# The longest silence of a server: during a streaming list; after the agreed end of a watch; and of a server that is
# known to send bookmarks, which come every minute.
LIST_SILENCE_SECONDS, END_SILENCE_SECONDS, BOOKMARK_SILENCE_SECONDS = 30.0, 30.0, 180.0
# The interval of lists for resources that cannot be watched.
POLL_SECONDS = 10.0
# The number of successive watches without an event that may fail before everything is listed again.
FRUITLESS_WATCHES = 5
# The number of successive events after which other tasks can run.
_EVENTS_AT_ONCE = 500

WAITING, LISTING, WATCHING, FAILING, STOPPED = "waiting", "listing", "watching", "failing", "stopped"

# The errors of a server that does not support streaming lists.
_REFUSALS = (Invalid, BadRequest, MethodNotAllowed, NotAcceptable)

# A selector that matches no object.
_NOTHING = "metadata.name=-"

_log = logging.getLogger(__name__)


class Target(Protocol):
    """The receiver of the reflector's changes."""

    def read(self, item: bytes) -> CachedObject[Any]:
        """Decodes an object that the server sent."""

    def replace(self, items: Collection[CachedObject[Any]], resource_version: str) -> None:
        """Replaces everything with the state at a resource version."""

    def change(self, event_type: str, item: CachedObject[Any]) -> None:
        """An object was ADDED, MODIFIED or DELETED."""

    def on_progress(self, resource_version: str) -> None:
        """There were no other changes up to this resource version."""


class _Bookmark(msgspec.Struct, rename="camel"):
    class Metadata(msgspec.Struct, rename="camel"):
        resource_version: str = ""
        annotations: dict[str, str] | None = None

    metadata: Metadata


_read_bookmark = msgspec.json.Decoder(_Bookmark).decode


class _ListFailed(Exception):  # noqa: N818 - named for the state
    """A streaming list did not complete."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _WatchStalled(TransportError):  # noqa: N818 - named for the state
    """The server was silent for too long."""


class Reflector:
    """Follows a scope in one namespace, or in all. `run` works until cancelled."""

    def __init__(
        self,
        client: Client,
        scope: Scope,
        target: Target,
        *,
        namespace: str = "",
        clock: Clock,
        ids: Ids,
        gate: ReflectorGate | None = None,
    ) -> None:
        self._client = client
        self._scope = scope
        self._namespace = namespace
        self._target = target
        self._clock = clock
        self._ids = ids
        self._gate = gate
        self._backoff = Backoff(clock, ids)
        self._retry_now = asyncio.Event()
        # True if the server supports streaming lists, as far as known; and True if the next list should use pages.
        self._streams = True
        self._pages_next = False
        self._sends_bookmarks = False
        # The current resource version, and whether the server still knows that version.
        self._version = ""
        self._version_is_known = True
        # The objects of a streaming list so far; None when no list is in progress.
        self._gathered: dict[str, CachedObject[Any]] | None = None
        # True if the last watch made progress, or lasted.
        self._was_fruitful = False
        self.state = WAITING
        self.since: datetime = clock.now()
        self.last_error: Exception | None = None
        self.problem = ""
        # The number of lists and of watches.
        self.lists = self.watches = 0
        # The time of the last expired resource version.
        self._expired_at = -RESET_SECONDS

    @property
    def resource_version(self) -> str:
        """The resource version up to which all changes are known."""
        return self._version

    def retry_now(self) -> None:
        """Retries at once if the reflector is waiting for its next attempt, because the problem may be solved."""
        self._retry_now.set()

    async def run(self) -> None:
        """Lists and watches until cancelled."""
        try:
            while True:
                try:
                    await self._list_and_watch()
                except Exception as error:
                    await self._wait(error)
        finally:
            self._enter(STOPPED)

    async def _list_and_watch(self) -> None:
        """Lists, and watches until a new list is necessary; raises the error that requires one."""
        self._enter(LISTING)
        listing = self._streams and not self._pages_next
        if not listing:
            await self._read_pages()
        fruitless, is_sure = 0, True
        while True:
            try:
                if not is_sure:
                    await self._check_namespace()
                is_sure = True
                await self._watch(initial=listing)
            except _ListFailed as unlisted:
                await self._fall_back_to_list(unlisted.error)
            except (TransportError, TooManyRequests) as error:
                # The resource version stays valid as long as the server is the same: no need to list.
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
        """Lists repeatedly, because the resource cannot be watched."""
        _log.info("%s cannot be watched; listing every %g s", self._scope.kind, POLL_SECONDS)
        while True:
            self._enter(WATCHING)
            await self._clock.sleep(POLL_SECONDS)
            await self._read_pages()

    # Lists

    async def _fall_back_to_list(self, error: Exception) -> None:
        """Handles the failure of a streaming list."""
        if isinstance(error, (_WatchStalled, *_REFUSALS)):
            _log.info("%s: the server does not support streaming lists (%s); reading pages", self._scope.kind, error)
            self._streams = False
        elif isinstance(error, (TransportError, TooManyRequests, NoMatch)):
            # If the connection does not last for a whole list, pages may succeed.
            self._pages_next = isinstance(error, TransportError) and error.sent
            raise error
        elif _is_unknown_version(error):
            self._version_is_known = False
        await self._read_pages()

    async def _read_pages(self) -> None:
        """Reads everything in pages. The watch that follows has the changes made meanwhile."""
        # The first list accepts any state of the server's cache; later lists must not be older than the known version.
        version = (self._version or "0") if self._version_is_known else ""
        try:
            items, found = await self._pages(version, limit=PAGE if version in ("", "0") else 0)
        except APIError as error:
            if not _is_unknown_version(error):
                raise
            items, found = await self._pages("", limit=0)
        self._replace(items, found)

    async def _pages(self, version: str, *, limit: int) -> tuple[dict[str, CachedObject[Any]], str]:
        scope, continue_ = self._scope, ""
        items: dict[str, CachedObject[Any]] = {}
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
                entry = self._target.read(bytes(item))
                items[entry.meta.key] = entry
            continue_ = page.metadata.continue_
            if not continue_:
                return items, page.metadata.resource_version

    def _replace(self, items: dict[str, CachedObject[Any]], version: str) -> None:
        self._target.replace(items.values(), version)
        self._version, self._version_is_known, self._pages_next = version, True, False
        self.lists += 1
        self._enter(WATCHING)

    async def _check_namespace(self) -> None:
        """Raises an error if the server does not know our resource version.

        A server that has lost its state counts from the beginning, and a watch from a future revision would just be
        silent. An empty list at that version detects this at almost no cost.
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
        """Runs one watch from its beginning to its end. With `initial`, the watch begins with the existing objects."""
        seconds = WATCH_SECONDS * (1.0 + self._ids.random())
        began, opened = self._version, None
        self._gathered = {} if initial else None
        try:
            silence_limit = LIST_SILENCE_SECONDS if initial else self._silence_limit(seconds)
            async with Watchdog(self._clock, silence_limit) as watchdog, self._open(seconds, initial=initial) as events:
                opened = self._clock.monotonic()
                self.watches += 1
                if not initial:
                    self._enter(WATCHING)
                await self._process_events(events, watchdog, seconds)
            if self._gathered is not None:
                raise TransportError("the server ended a streaming list before its end", sent=True)
            if self._version == began and self._clock.monotonic() - opened < SHORT_SECONDS:
                raise TransportError("the server ended a watch at once, without an event", sent=True)
        except TimeoutError as error:
            silent = _WatchStalled(f"the server went silent: {error}", sent=True)
            raise (silent if self._gathered is None else _ListFailed(silent)) from None
        except Exception as error:
            if self._gathered is None:
                raise
            raise _ListFailed(error) from error
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
            stall=None,  # the watchdog detects stalls
        )

    async def _process_events(self, events: AsyncIterator[RawEvent], watchdog: Watchdog, seconds: float) -> None:
        """Processes the events of a watch until the watch ends."""
        count = 0
        async for event in events:
            watchdog.last_event = self._clock.monotonic()
            self._process_event(event)
            if self._gathered is None:
                watchdog.seconds = self._silence_limit(seconds)
            count += 1
            if count % _EVENTS_AT_ONCE == 0:
                await self._clock.sleep(0)

    def _silence_limit(self, seconds: float) -> float:
        """Returns the longest permitted silence of a watch with this duration."""
        return BOOKMARK_SILENCE_SECONDS if self._sends_bookmarks else seconds + END_SILENCE_SECONDS

    def _process_event(self, event: RawEvent) -> None:
        """Passes an event on, or collects the event during a streaming list."""
        if event.type == BOOKMARK:
            self._process_bookmark(_read_bookmark(event.object).metadata)
        elif event.type in (ADDED, MODIFIED, DELETED):
            entry = self._target.read(bytes(event.object))
            if self._gathered is None:
                self._target.change(event.type, entry)
                self._version = entry.meta.resource_version
            elif event.type == DELETED:
                self._gathered.pop(entry.meta.key, None)
            else:
                self._gathered[entry.meta.key] = entry
        else:
            _log.warning("%s: the server sent an event of unknown type: %s", self._scope.kind, event.type)

    def _process_bookmark(self, metadata: _Bookmark.Metadata) -> None:
        if self._gathered is None:
            self._sends_bookmarks = True
            self._target.on_progress(metadata.resource_version)
            self._version = metadata.resource_version
        elif (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
            gathered, self._gathered = self._gathered, None
            self._replace(gathered, metadata.resource_version)

    # State

    async def _wait(self, error: Exception) -> None:
        """Waits before the next attempt. An expired resource version is not counted as a failure."""
        if isinstance(error, (Expired, Gone)):
            _log.info("%s: the resource version has expired (%s): listing again", self._scope.kind, error)
            now, before = self._clock.monotonic(), self._expired_at
            self._expired_at = now
            if now - before >= RESET_SECONDS:
                return  # the first expiry in a long time: no delay
        seconds = self._backoff.next()
        if isinstance(error, TooManyRequests):
            seconds = max(seconds, error.retry_after_seconds)
        if not isinstance(error, (Expired, Gone)):
            self.last_error = error
            self.problem = explain(error, self._scope, self._namespace, await self._resource(error))
            self._enter(FAILING)
            known = isinstance(error, (APIError, TransportError, NoMatch))
            _log.warning("%s: %s; retrying in %.1f s", self._scope.kind, self.problem, seconds, exc_info=not known)
        self._retry_now.clear()
        if self._gate is not None and isinstance(error, TransportError):
            self._gate.start_probing()
        waiting = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._retry_now.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if isinstance(error, NoMatch):
            self._client.mapper.evict(self._scope.kind.gvk)  # ignore the negative result

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._gate is not None:
            await self._gate.wait_open()

    async def _resource(self, error: Exception) -> Any:
        """Returns the resource of the kind, if an explanation needs the resource."""
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
    """Returns True if the server reports that a resource version is in its future."""
    return isinstance(error, Timeout) and (
        any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
        or "Too large resource version" in str(error)
    )


def _is_unknown_version(error: Exception) -> bool:
    """Returns True if a list would succeed at another resource version."""
    return isinstance(error, (Expired, Gone)) or _is_too_large(error)
