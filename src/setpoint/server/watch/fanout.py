"""Fan-out of changes to many watches of the same objects.

Watches that have caught up with the log subscribe to the fan-out of their resource and prefix: one task follows the log
and passes the events to each subscriber, at a very low cost per subscriber. A subscriber that cannot take more is
unsubscribed, follows the log alone until it has caught up, and subscribes again. So no subscriber waits for another.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import Protocol, TypeAlias

from setpoint.objects.errors import APIError
from setpoint.store.contract import Event, Store, StoreError, TooLate

Prepare: TypeAlias = Callable[[Sequence[Event]], Awaitable[object]]

# The number of subscribers that are served before other tasks run: about half a millisecond over TLS.
_TURN = 16


async def prepared(prepare: Prepare, events: Sequence[Event]) -> AsyncIterator[Sequence[Event]]:
    """Yields all events at once if `prepare` succeeds for them, and keeps the prepared value meanwhile. If `prepare`
    fails, yields the events revision by revision up to the failing one."""
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


class Subscriber(Protocol):
    """One watch."""

    @property
    def reached(self) -> int:
        """The revision up to which the watch has received all events."""

    def notify(self, events: Sequence[Event]) -> bool:
        """Receives events of whole revisions without waiting, and ignores those already received. Returns False to be
        unsubscribed after these events."""


class Fanout:
    """The subscribers of one prefix, and the task that serves them."""

    def __init__(self, store: Store, prefix: str, after: int, prepare: Prepare | None = None) -> None:
        self._watch = store.watch(prefix, after)
        self._prepare = prepare
        # Further preparations, by the form of the subscribers that need them.
        self.preparing: dict[str, Prepare] = {}
        # All events between this revision and the position of the watch have been passed to all subscribers.
        self._last = after
        self._waits = False
        self._subscribers: dict[Subscriber, asyncio.Future[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self.is_over = False

    @property
    def subscribers(self) -> int:
        return len(self._subscribers)

    def subscribe(self, subscriber: Subscriber) -> "asyncio.Future[None] | None":
        """Subscribes a watch. The future completes when the watch is unsubscribed, or fails with the error that ended
        the fan-out. Returns None if the watch is behind and has to catch up first."""
        if subscriber.reached < self._last:
            return None
        loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = loop.create_task(self._run())
        subscription = self._subscribers[subscriber] = loop.create_future()
        return subscription

    def unsubscribe(self, subscriber: Subscriber, error: Exception | None = None) -> None:
        """Unsubscribes a watch, if subscribed."""
        subscription = self._subscribers.pop(subscriber, None)
        if subscription is not None and not subscription.done():
            if error is None:
                subscription.set_result(None)
            else:
                subscription.set_exception(error)
        if not self._subscribers:
            self._end()

    def revision(self, subscriber: Subscriber) -> int:
        """Returns the revision up to which a watch has received all events; once unsubscribed, the watch may miss later
        ones."""
        told_all = self._waits and subscriber in self._subscribers
        return max(subscriber.reached, self._watch.revision) if told_all else subscriber.reached

    def _end(self) -> None:
        """Ends the fan-out when no subscriber is left; the next one starts a new fan-out."""
        self.is_over = True
        self._watch.close()

    async def _run(self) -> None:
        try:
            while self._subscribers:
                self._waits = True
                events = await self._watch.next()
                self._waits = False
                if self._prepare is None:
                    await self._notify(events)
                    continue
                async for part in prepared(self._prepare, events):
                    await self._notify(part)
        except (StoreError, APIError) as error:
            for subscriber in tuple(self._subscribers):
                # The fan-out may begin earlier than a later subscriber, which then follows the log from its own start.
                ahead = isinstance(error, TooLate) and subscriber.reached > error.revision
                self.unsubscribe(subscriber, None if ahead else error)
        finally:
            self._end()

    async def _notify(self, events: Sequence[Event]) -> None:
        for prepare in tuple(self.preparing.values()):
            await prepare(events)
        # A watch that subscribes from here on has already received these events; otherwise it would have to catch up
        # first.
        self._last = events[-1].entry.revision
        for place, subscriber in enumerate(tuple(self._subscribers)):
            if place and place % _TURN == 0:
                await asyncio.sleep(0)
            if subscriber not in self._subscribers:
                continue
            try:
                stays = subscriber.notify(events)
            except Exception as error:
                self.unsubscribe(subscriber, error)
            else:
                if not stays:
                    self.unsubscribe(subscriber)


class Fanouts:
    """The fan-outs of one resource that have subscribers, by prefix."""

    def __init__(self) -> None:
        self._fanouts: dict[str, Fanout] = {}

    def subscribers(self, prefixes: Iterable[str]) -> int:
        """Returns the number of subscribers on these prefixes."""
        return sum(fanout.subscribers for prefix in prefixes if (fanout := self._fanouts.get(prefix)) is not None)

    def of(self, store: Store, prefix: str, after: int, prepare: Prepare | None = None) -> Fanout:
        """Returns the fan-out of a prefix. If there is none, creates one that starts after a revision, and awaits
        `prepare` before passing on events."""
        found = self._fanouts.get(prefix)
        if found is None or found.is_over:
            for over in [place for place, fanout in self._fanouts.items() if fanout.is_over]:
                del self._fanouts[over]
            found = self._fanouts[prefix] = Fanout(store, prefix, after, prepare)
        return found
