"""Follows `ownership`, the server's single watch over all kinds, and passes the events to listeners.

The feed begins with all existing objects, resumes at the same resource version when the watch ends, and begins again
when that version has expired.
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
from setpoint.system.ownership_graph import ObservedObject, Steps

# The first and the longest delay after a failure; the delay doubles.
FIRST_SECONDS, LONGEST_SECONDS = 0.1, 30.0
PATH = "/apis/setpoint.dev/v1/ownership"

T = TypeVar("T")
_decode = msgspec.json.Decoder(dict).decode
_log = logging.getLogger(__name__)


class OwnershipListener(Protocol):
    """Receives the events in the order of the log."""

    def begin(self) -> None:
        """Discards all earlier events: the existing objects follow."""

    async def seen(self, seen: ObservedObject) -> None:
        """An object exists. A cancelled call is repeated with the same object."""

    async def on_deleted(self, seen: ObservedObject) -> None:
        """An object was deleted. A cancelled call is repeated with the same object."""


async def in_steps(steps: Steps[T]) -> T:
    """Runs steps and returns their result. Other tasks run in between."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class OwnershipFeed:
    """Follows the watch until cancelled."""

    def __init__(self, client: Client, listeners: Sequence[OwnershipListener]) -> None:
        self._client = client
        self._listeners = listeners
        self._backoff = Exponential(FIRST_SECONDS, LONGEST_SECONDS)
        # The resource version of the last event; empty before the initial events are complete.
        self._version = ""
        self._watching: asyncio.Task[None] | None = None
        self._caught_up: list[tuple[int, asyncio.Future[None]]] = []

    async def run(self) -> None:
        while True:
            # A separate task, so that `reach` can restart the watch.
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
                _log.info("ownership: %s; retrying in %.1f s", error, wait)
                await self._client.clock.sleep(wait)
            elif error is not None:
                raise error

    async def reach(self, revision: int) -> None:
        """Waits until all events up to a revision were delivered. Restarts the watch, which then reports its resource
        version."""
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
                    await self._notify(event.type, await in_steps(ObservedObject.of(tree, tree.get("found", ()))))
                if has_begun:  # before that, the watch can only start from the beginning
                    self._advance(tree["metadata"]["resourceVersion"])

    async def _notify(self, event: str, seen: ObservedObject) -> None:
        for listener in self._listeners:
            if event == DELETED:
                await listener.on_deleted(seen)
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
