"""Follows `ownership`, the server's one watch over all kinds, and hands what it tells to those who listen.

It begins with everything there is, goes on where it was when the watch ends, and begins anew when the server no longer
knows that place.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import Call, TransportError
from setpoint.client.watch import BOOKMARK, DELETED, raw_events
from setpoint.controller.ratelimit import Exponential
from setpoint.objects.errors import APIError, Expired, Gone
from setpoint.system.graph import Seen, Steps

# How long it waits after a failure: each time twice as long.
FIRST_SECONDS, LONGEST_SECONDS = 0.1, 30.0
PATH = "/apis/setpoint.dev/v1/ownership"

T = TypeVar("T")
_decode = msgspec.json.Decoder(dict).decode
_log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who is told, in the order of the log."""

    def begin(self) -> None:
        """All that was told before counts no more: what is there comes next."""

    async def seen(self, seen: Seen) -> None:
        """An object is there. A call that is cancelled comes again with the same object."""

    async def gone(self, seen: Seen) -> None:
        """An object was deleted. A call that is cancelled comes again with the same object."""


async def in_steps(steps: Steps[T]) -> T:
    """Returns the result of steps. Others run between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class OwnershipFeed:
    """Follows until it is cancelled."""

    def __init__(self, client: Client, listeners: Sequence[Listener]) -> None:
        self._client = client
        self._listeners = listeners
        self._backoff = Exponential(FIRST_SECONDS, LONGEST_SECONDS)
        # Everything up to here was told; empty: nothing yet.
        self._version = ""
        self._watching: asyncio.Task[None] | None = None
        self._caught_up: list[tuple[int, asyncio.Future[None]]] = []

    async def run(self) -> None:
        while True:
            # In a task of its own, so that `reach` can have it begun anew.
            self._watching = asyncio.ensure_future(self._watch())
            try:
                await asyncio.wait((self._watching,))
            except asyncio.CancelledError:
                self._watching.cancel()
                await asyncio.gather(self._watching, return_exceptions=True)
                raise
            if self._watching.cancelled():
                continue
            error = self._watching.exception()
            if isinstance(error, Expired | Gone):
                self._version = ""
            elif isinstance(error, APIError | TransportError):
                wait = self._backoff.delay(PATH)
                _log.info("ownership: %s; again in %.1f s", error, wait)
                await self._client.clock.sleep(wait)
            elif error is not None:
                raise error

    async def reach(self, revision: int) -> None:
        """Returns when everything up to a revision was told. A watch that begins says how far it has come."""
        if self._reached >= revision:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._caught_up.append((revision, waiting))
        if self._watching is not None and self._version:
            self._watching.cancel()
        await waiting

    @property
    def _reached(self) -> int:
        return int(self._version) if self._version.isdecimal() else 0

    async def _watch(self) -> None:
        query = [("watch", "true")]
        if self._version:
            query.append(("resourceVersion", self._version))
        else:
            for listener in self._listeners:
                listener.begin()
            query.append(("sendInitialEvents", "true"))
        call = Call("GET", PATH, query, {"accept": "application/json"})
        async with self._client.stream(call) as stream:
            has_begun = bool(self._version)
            async for event in raw_events(stream):
                self._backoff.forget(PATH)
                tree = _decode(event.object)
                if event.type == BOOKMARK:
                    has_begun = True
                else:
                    await self._tell(event.type, await in_steps(Seen.steps_of(tree, tree.get("found", ()))))
                if has_begun:  # until then a new beginning is the only way to go on
                    self._advance(tree["metadata"]["resourceVersion"])

    async def _tell(self, event: str, seen: Seen) -> None:
        for listener in self._listeners:
            if event == DELETED:
                await listener.gone(seen)
            else:
                await listener.seen(seen)

    def _advance(self, version: str) -> None:
        self._version = version
        waiting, self._caught_up = self._caught_up, []
        for revision, each in waiting:
            if each.done():
                continue
            if revision <= self._reached:
                each.set_result(None)
            else:
                self._caught_up.append((revision, each))
