"""The reflector: keeps a copy of what a server has of one kind, by a list and a watch that follows it.

It streams the list where the server can (one watch that begins with what is there), and reads pages where it cannot. It
follows with watches that end by themselves after some minutes and go on where they were; when the server no longer
knows that place, it lists again. Whatever fails is tried again, ever more slowly. What it says to its `Target` is a
subsequence of what happened, in order: first a whole state (`replace`), then each change once.

Its `state` tells at any time what it does, and `last_error` why it does not get on.
"""

import logging
from typing import Protocol

import msgspec

from setpoint.cache.backoff import Backoff
from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.listing import PAGE, decode_raw
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.client.watch import BOOKMARK, INITIAL_EVENTS_END, RawEvent
from setpoint.objects.clock import Clock, timeout
from setpoint.objects.errors import APIError, BadRequest, Expired, Gone, Invalid, MethodNotAllowed, Timeout
from setpoint.objects.ids import Ids

# How long a watch lasts before it is begun anew: at least this, and up to twice as long, by chance.
WATCH_SECONDS = 300.0
# A watch that ends sooner than this without having said anything is a failure.
SHORT_SECONDS = 1.0
# How long beyond the agreed time a server may be silent before it counts as gone.
SILENCE_SECONDS = 30.0

WAITING, LISTING, WATCHING, FAILING, STOPPED = "waiting", "listing", "watching", "failing", "stopped"

_log = logging.getLogger(__name__)


class Target(Protocol):
    """Who is told."""

    def replace(self, items: list[bytes], resource_version: str) -> None:
        """All there is, as of a revision."""

    def change(self, event_type: str, item: bytes) -> str:
        """An object was ADDED, MODIFIED or DELETED. Returns the revision that it happened at."""

    def reached(self, resource_version: str) -> None:
        """Nothing else happened up to this revision."""


class Scope(msgspec.Struct, frozen=True):
    """What is followed: all of a kind, or what is in a namespace and matches."""

    kind: KindRef
    namespace: str = ""
    labels: str = ""
    fields: str = ""


class _Bookmark(msgspec.Struct, rename="camel"):
    class Metadata(msgspec.Struct, rename="camel"):
        resource_version: str = ""
        annotations: dict[str, str] | None = None

    metadata: Metadata


_read_bookmark = msgspec.json.Decoder(_Bookmark).decode


class Reflector:
    """Follows one scope. `run` does, until it is cancelled."""

    def __init__(self, client: Client, scope: Scope, target: Target, *, clock: Clock, ids: Ids) -> None:
        self._client = client
        self._scope = scope
        self._target = target
        self._clock = clock
        self._ids = ids
        self._backoff = Backoff(clock, ids)
        self._streams_lists = True
        # Where to list from and to watch from: what the server said last. Empty: from whatever is newest.
        self._version = ""
        self.state = WAITING
        self.last_error: Exception | None = None

    @property
    def resource_version(self) -> str:
        """How far it has come."""
        return self._version

    async def run(self) -> None:
        """Lists and watches for ever."""
        try:
            while True:
                try:
                    await self._list_and_watch()
                except (APIError, TransportError, NoMatch) as error:
                    await self._fail(error)
        finally:
            self.state = STOPPED

    async def _fail(self, error: Exception) -> None:
        self.last_error = error
        self.state = FAILING
        wait = self._backoff.next()
        _log.info("%s: %s; again in %.1f s", self._scope.kind, error, wait)
        await self._clock.sleep(wait)

    async def _list_and_watch(self) -> None:
        """Lists, and watches until the server no longer knows where we are."""
        self.state = LISTING
        if self._streams_lists:
            try:
                await self._follow(initial=True)
            except (Invalid, BadRequest, MethodNotAllowed) as error:
                _log.info("%s: the server does not stream lists (%s); they are read in pages", self._scope.kind, error)
                self._streams_lists = False
            except (Expired, Gone):
                self._version = ""
                return
            except Timeout as error:
                if not _is_too_large(error):
                    raise
                self._version = ""
                return
        if not self._streams_lists:
            await self._list()
        while True:
            try:
                await self._follow(initial=False)
            except (Expired, Gone):
                return  # list again: what happened meanwhile is in no watch any more

    async def _list(self) -> None:
        """Reads everything in pages. What changed meanwhile is in the watch that follows."""
        version = self._version or "0"
        try:
            items, found = await self._pages(version)
        except (Expired, Gone, Timeout) as error:
            if isinstance(error, Timeout) and not _is_too_large(error):
                raise
            items, found = await self._pages("")
        self._version = found
        self._target.replace(items, found)
        self._well()

    async def _pages(self, version: str) -> tuple[list[bytes], str]:
        scope, items, continue_ = self._scope, [], ""
        # As in client-go: a list from a certain revision comes in one piece.
        limit = PAGE if version in ("", "0") else 0
        while True:
            body = await self._client.raw_list(
                scope.kind,
                scope.namespace,
                labels=scope.labels,
                fields=scope.fields,
                limit=limit,
                continue_=continue_,
                resource_version="" if continue_ else version,
            )
            page = decode_raw(body)
            items += [bytes(item) for item in page.items or ()]
            continue_ = page.metadata.continue_
            if not continue_:
                return items, page.metadata.resource_version

    async def _follow(self, *, initial: bool) -> None:
        """One watch, from its beginning to its end. With `initial` it begins with everything there is."""
        scope = self._scope
        seconds = WATCH_SECONDS * (1.0 + self._ids.random())
        began, heard = self._clock.monotonic(), False
        gathered: list[bytes] | None = [] if initial else None
        watch = self._client.raw_watch(
            scope.kind,
            scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            resource_version=self._version,
            initial_events=initial,
            timeout=seconds,
        )
        try:
            async with timeout(self._clock, seconds + SILENCE_SECONDS), watch as events:
                if not initial:
                    self._well()
                async for event in events:
                    heard = True
                    gathered = self._take(event, gathered)
        except TimeoutError:
            raise TransportError("the server did not end its watch in time", sent=True) from None
        if gathered is not None:
            # It took the request and never said that the list was over: it does not know such lists.
            self._streams_lists = False
            raise TransportError("the server ended a streaming list in its middle", sent=True)
        if not heard and self._clock.monotonic() - began < SHORT_SECONDS:
            raise TransportError("the server ended a watch at once, without a word", sent=True)

    def _take(self, event: RawEvent, gathered: list[bytes] | None) -> list[bytes] | None:
        """Hands an event on, or gathers it while the list still comes. Returns what is gathered; None: it is over."""
        if event.type == BOOKMARK:
            metadata = _read_bookmark(event.object).metadata
            self._version = metadata.resource_version
            if gathered is None:
                self._target.reached(self._version)
            elif (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                self._target.replace(gathered, self._version)
                self._well()
                return None
        elif gathered is not None:
            gathered.append(bytes(event.object))
        else:
            self._version = self._target.change(event.type, bytes(event.object))
        return gathered

    def _well(self) -> None:
        if self.state != WATCHING:
            self.state = WATCHING
            self.last_error = None
            self._backoff.reset()


def _is_too_large(error: Timeout) -> bool:
    """Whether the server does not know a revision yet that another one told us."""
    return any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
