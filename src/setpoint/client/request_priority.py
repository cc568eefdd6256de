"""The priority of requests over reconciles, for a server and controllers in one event loop.

A client waits for each answer; a reconcile keeps no client waiting. Without an order between them, a turn of the event
loop runs all reconciles that are ready, and a request waits for them at each of its steps. So a reconcile starts only
in a lull of the requests of other processes. Reconciles have a guaranteed share nevertheless: one starts after some
answered requests, and after some time. Without requests, few reconciles start in a turn, so that an arriving request
is noticed soon.
"""

import asyncio
from collections import deque

from setpoint.objects.clock import Clock, SystemClock

# The time without a request that is a lull: longer than most clients take from an answer to the next request.
LULL_SECONDS = 0.005
# The number of answered requests, and the time, after which a waiting reconcile starts in any case.
REQUESTS_PER_RECONCILE = 4
LONGEST_WAIT_SECONDS = 0.025
# The time in which reconciles start in one turn of the event loop.
TURN_SECONDS = 0.001


class RequestPriority:
    """Tells the reconciles of one control plane when to start, in the order of their arrival."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_request = self._last_start = float("-inf")
        # The number of requests that were answered since the last start of a reconcile.
        self._answered = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Handle | None = None
        # The time of the first start in this turn of the event loop.
        self._turn_began: float | None = None

    def received(self) -> None:
        """Notes the arrival of a request."""
        self._last_request = self._clock.monotonic()

    def answered(self) -> None:
        """Notes the answer to a request."""
        self._last_request = self._clock.monotonic()
        self._answered += 1
        if self._waiting and self._answered >= REQUESTS_PER_RECONCILE:
            self._release()

    async def reconcile_turn(self) -> None:
        """Returns when a reconcile may start."""
        now, loop = self._clock.monotonic(), asyncio.get_running_loop()
        if not self._waiting and now - self._last_request >= LULL_SECONDS:
            if self._turn_began is None:
                self._turn_began = now
                loop.call_soon(self._end_turn)
            if now - self._turn_began < TURN_SECONDS:
                self._started(now)
                return
        future = loop.create_future()
        self._waiting.append(future)
        self._schedule(loop)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._release()  # the start of a cancelled worker belongs to the next one
            raise

    def _end_turn(self) -> None:
        self._turn_began = None

    def _started(self, now: float) -> None:
        self._last_start, self._answered = now, 0

    def _release(self) -> None:
        """Lets the reconcile start that has waited longest."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                self._started(self._clock.monotonic())
                future.set_result(None)
                return

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None and self._waiting:
            due = min(self._last_request + LULL_SECONDS, self._last_start + LONGEST_WAIT_SECONDS)
            seconds = due - self._clock.monotonic()
            self._timer = (
                loop.call_soon(self._advance, loop) if seconds <= 0 else loop.call_later(seconds, self._advance, loop)
            )

    def _advance(self, loop: asyncio.AbstractEventLoop) -> None:
        """Lets one reconcile start if one is due, and looks again later."""
        self._timer = None
        now = self._clock.monotonic()
        if now >= self._last_request + LULL_SECONDS or now >= self._last_start + LONGEST_WAIT_SECONDS:
            self._release()
        self._schedule(loop)


def request_priority(clock: Clock) -> RequestPriority | None:
    """Returns the priority for a server with this clock; None for virtual time, where turns are in a seeded order and
    take no time."""
    return RequestPriority(clock) if isinstance(clock, SystemClock) else None
