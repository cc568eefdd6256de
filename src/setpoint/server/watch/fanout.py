"""Many watches of the same objects, told together.

A watch that has caught up with the log rides along with all others of its resource and prefix: one task follows the log
and tells each rider in turn, which costs next to nothing a rider. Who cannot take more gets off, follows the log alone
until it has caught up, and boards again. So no rider ever waits for another, and none holds more than its place.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import Protocol, TypeAlias

from setpoint.objects.errors import APIError
from setpoint.store.contract import Event, Store, StoreError

Prepare: TypeAlias = Callable[[Sequence[Event]], Awaitable[object]]

# How many riders are told before others may run: about half a millisecond over TLS.
_TURN = 16


async def prepared(prepare: Prepare, events: Sequence[Event]) -> AsyncIterator[Sequence[Event]]:
    """The events, all at once where `prepare` returns for all of them, and what that gives is held meanwhile. Where it
    fails they come revision by revision up to the one that it fails for."""
    try:
        held = await prepare(events)
    except APIError:
        parts = [list(part) for _, part in groupby(events, key=lambda event: event.entry.revision)]
        if len(parts) == 1:
            raise
        for part in parts:
            held = await prepare(part)
            yield part
    else:
        yield events
    del held


class Rider(Protocol):
    """One watch."""

    @property
    def reached(self) -> int:
        """It has been told everything up to this revision."""

    def tell(self, events: Sequence[Event]) -> bool:
        """Takes events, whole revisions of them, at once; what it was told before it passes over. False: it has taken
        them, and gets off."""


class Relay:
    """The riders of one prefix, and the task that tells them."""

    def __init__(self, store: Store, prefix: str, after: int, prepare: Prepare | None = None) -> None:
        self._watch = store.watch(prefix, after)
        self._prepare = prepare
        # There is no event between this revision and the place of the watch that has not been handed to all riders.
        self._last = after
        self._waits = False
        self._riders: dict[Rider, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self.is_over = False

    @property
    def riders(self) -> int:
        return len(self._riders)

    def board(self, rider: Rider) -> "asyncio.Future[None] | None":
        """Takes a rider along. What is returned is done when it has got off, or fails with what went wrong. None: the
        rider is behind, and has to catch up first."""
        if rider.reached < self._last:
            return None
        loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = loop.create_task(self._run())
        ride = self._riders[rider] = loop.create_future()
        return ride

    def leave(self, rider: Rider, error: Exception | None = None) -> None:
        """Lets a rider off, if it is aboard."""
        ride = self._riders.pop(rider, None)
        if ride is not None and not ride.done():
            if error is None:
                ride.set_result(None)
            else:
                ride.set_exception(error)
        if not self._riders:
            self._end()

    def revision(self, rider: Rider) -> int:
        """Up to where a rider was told everything. One that has got off may have missed what came after."""
        told_all = self._waits and rider in self._riders
        return max(rider.reached, self._watch.revision) if told_all else rider.reached

    def _end(self) -> None:
        """Nobody is left: whoever comes next begins anew."""
        self.is_over = True
        self._watch.close()

    async def _run(self) -> None:
        try:
            while self._riders:
                self._waits = True
                events = await self._watch.next()
                self._waits = False
                if self._prepare is None:
                    await self._tell(events)
                    continue
                async for part in prepared(self._prepare, events):
                    await self._tell(part)
        except (StoreError, APIError) as error:
            for rider in tuple(self._riders):
                self.leave(rider, error)
        finally:
            self._end()

    async def _tell(self, events: Sequence[Event]) -> None:
        # Who boards from here on has been told of them already, or it would have had to catch up.
        self._last = events[-1].entry.revision
        for place, rider in enumerate(tuple(self._riders)):
            if place and place % _TURN == 0:
                await asyncio.sleep(0)
            if rider not in self._riders:
                continue
            try:
                stays = rider.tell(events)
            except Exception as error:
                self.leave(rider, error)
            else:
                if not stays:
                    self.leave(rider)


class Relays:
    """The relays of one resource, by prefix, as far as anybody rides along."""

    def __init__(self) -> None:
        self._relays: dict[str, Relay] = {}

    def riders(self, prefixes: Iterable[str]) -> int:
        """Returns how many ride along on these prefixes."""
        return sum(relay.riders for prefix in prefixes if (relay := self._relays.get(prefix)) is not None)

    def of(self, store: Store, prefix: str, after: int, prepare: Prepare | None = None) -> Relay:
        """The relay of a prefix; where there is none, one that begins after a revision, and lets `prepare` return
        before it tells of events."""
        found = self._relays.get(prefix)
        if found is None or found.is_over:
            for over in [place for place, relay in self._relays.items() if relay.is_over]:
                del self._relays[over]
            found = self._relays[prefix] = Relay(store, prefix, after, prepare)
        return found
