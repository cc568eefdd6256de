"""The work queue: keys that wait to be worked on, each once, with the reasons that put it there.

Three rules make it safe for any number of workers:

* A key that waits is there once, however often it is added. What is added again while it waits joins it: the earliest
  time, the highest priority, and all reasons count.
* A key that is being worked on is not handed out again. If it is added meanwhile, it comes up once more afterwards.
* Whoever got a key calls `done` with it, whatever happened.

Higher priorities go first. Within a priority, the namespaces take turns, so that a crowd in one of them does not keep
the others waiting; within a namespace, first come is first served. A key that has waited for `patience` seconds goes
before all that are merely more important: nobody waits for ever.

A queue belongs to one event loop. Nothing in it waits but `get`.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Generic, NamedTuple, Protocol, TypeVar

from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.objects.clock import Clock, SystemClock

K = TypeVar("K", bound=Hashable)

# What initial lists and resyncs are added with: everything that really happens goes first.
LOW_PRIORITY = -100
# How many reasons a key gathers; further ones are only counted.
MOST_REASONS = 32
PATIENCE_SECONDS = 60.0
# Sums of floats may miss their time by as much.
_HAIR_SECONDS = 1e-9
# How many entries that mean nothing any more the heap may hold, beside twice as many as mean something.
_SPARE = 1000


class ShutDown(Exception):  # noqa: N818 - a signal: the queue has ended
    """The queue was shut down, and has nothing left to give."""


class Item(NamedTuple, Generic[K]):
    """A key that was handed out, and what is known of why."""

    key: K
    reasons: tuple[Hashable, ...]
    # How many more reasons there were than are kept.
    more: int
    priority: int
    # Seconds since it became due.
    waited: float


class Observer(Protocol):
    """Is told what happens, for metrics."""

    def added(self, depth: int) -> None: ...

    def retried(self) -> None: ...

    def got(self, waited: float, depth: int) -> None: ...

    def finished(self, seconds: float) -> None: ...


class _Entry(Generic[K]):
    """A key that waits: for its time, for its turn, or for the worker that has it."""

    __slots__ = ("key", "more", "priority", "reasons", "state", "when")

    def __init__(self, key: K, priority: int) -> None:
        self.key = key
        self.priority = priority
        # Most have one; so few are looked through faster than a set of them is made.
        self.reasons: tuple[Hashable, ...] = ()
        self.more = 0
        # When it is due, while it is delayed; since when it is ready, while it is that.
        self.when = 0.0
        self.state = _DELAYED

    def gather(self, reason: Hashable) -> None:
        if reason not in self.reasons:
            if len(self.reasons) < MOST_REASONS:
                self.reasons += (reason,)
            else:
                self.more += 1


_DELAYED, _READY, _HELD = range(3)


def _of_namespace(key: Hashable) -> Hashable:
    """By which keys take turns: the namespace of a request, and one for all that have none."""
    return getattr(key, "namespace", "")


class Queue(Generic[K]):
    """The queue. `limiter` says how long retries wait, `fair` by what keys take turns."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        limiter: RateLimiter | None = None,
        fair: Callable[[K], Hashable] = _of_namespace,
        patience: float = PATIENCE_SECONDS,
        observer: Observer | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._now = self._clock.monotonic
        self._limiter = limiter or Exponential()
        self._fair = fair
        self._patience = patience
        self._observer = observer
        # Every key that waits, in whichever of the three states.
        self._entries: dict[K, _Entry[K]] = {}
        # The ready ones by priority, and there by who takes turns; and the priorities that have any, highest first.
        self._ready: dict[int, OrderedDict[Hashable, deque[_Entry[K]]]] = {}
        self._priorities: list[int] = []
        self._depth = 0
        # The delayed ones by when they are due. What was moved or taken out since is passed over when it comes up.
        self._delayed: list[tuple[float, int, _Entry[K]]] = []
        self._order = count()
        # What is worked on, and since when.
        self._working: dict[K, float] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_due = 0.0
        self._ending = False
        self._drained: asyncio.Event | None = None

    # Adding

    def add(self, key: K, reason: Hashable = None, *, priority: int = 0) -> None:
        """Adds a key that is due now."""
        if self._ending:
            return
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(key, priority)
            if reason is not None:
                entry.reasons = (reason,)
            if self._working and key in self._working:
                entry.state = _HELD
            else:
                self._make_ready(entry)
            return
        if reason is not None:
            entry.gather(reason)
        if entry.state == _DELAYED:
            entry.priority = max(entry.priority, priority)
            if key in self._working:
                entry.state = _HELD
            else:
                self._make_ready(entry)
        elif priority > entry.priority:
            self._raise_priority(entry, priority)

    def add_after(self, key: K, seconds: float, reason: Hashable = None, *, priority: int = 0) -> None:
        """Adds a key that is due in some seconds. If it waits already, the earlier time counts."""
        if seconds <= 0:
            self.add(key, reason, priority=priority)
            return
        if self._ending:
            return
        due = self._now() + seconds
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(key, priority)
        elif entry.state != _DELAYED:
            if reason is not None:
                entry.gather(reason)
            if priority > entry.priority:
                self._raise_priority(entry, priority)
            return
        else:
            entry.priority = max(entry.priority, priority)
            if entry.when <= due:
                if reason is not None:
                    entry.gather(reason)
                return
        if reason is not None:
            entry.gather(reason)
        entry.when = due
        if len(self._delayed) > _SPARE + 2 * len(self._entries):
            self._delayed = [found for found in self._delayed if self._is_delayed(found)]
            heapq.heapify(self._delayed)
        heapq.heappush(self._delayed, (due, next(self._order), entry))
        self._arm(due)

    def add_rate_limited(self, key: K, reason: Hashable = None, *, priority: int = 0) -> float:
        """Adds a key that failed, after as long as the limiter says. Returns these seconds."""
        seconds = self._limiter.delay(key)
        if self._observer is not None:
            self._observer.retried()
        self.add_after(key, seconds, reason, priority=priority)
        return seconds

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure waits as little as its first did."""
        self._limiter.forget(key)

    def retries(self, key: K) -> int:
        """How often a key was retried since it last succeeded."""
        return self._limiter.retries(key)

    def discard(self, key: K) -> bool:
        """Takes a key out that waits. True if it did; one that is being worked on is not stopped."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        if entry.state == _READY:
            self._take_out(entry)
        entry.state = _HELD  # whatever the heap still says of it
        return True

    # Working

    async def get(self) -> Item[K]:
        """The next key, as soon as there is one. Raises ShutDown when there will be none."""
        while not self._depth:
            if self._ending:
                raise ShutDown
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake()  # it was our turn: let another have it
                else:
                    self._getters.remove(getter)
                raise
        return self.take()

    def take(self) -> Item[K]:
        """The next key of a queue that has one ready."""
        now = self._now()
        priorities = self._priorities
        priority = priorities[0] if len(priorities) == 1 else self._most_urgent(now)
        lines = self._ready[priority]
        fair, line = next(iter(lines.items()))
        entry = line.popleft()
        self._depth -= 1
        if not line:
            self._end_line(priority, lines, fair)
        elif len(lines) > 1:
            lines.move_to_end(fair)
        key = entry.key
        del self._entries[key]
        if not self._entries:
            self._entries.clear()  # gives back the room that a crowd took
        self._working[key] = now
        waited = now - entry.when
        if self._observer is not None:
            self._observer.got(waited, self._depth)
        return Item(key, entry.reasons, entry.more, entry.priority, waited)

    def done(self, key: K) -> None:
        """The key was worked on. If it was added meanwhile, it is ready again."""
        since = self._working.pop(key, None)
        if since is None:
            raise KeyError(f"{key!r} is not being worked on: `done` is for keys that `get` gave")
        if self._observer is not None:
            self._observer.finished(self._now() - since)
        entry = self._entries.get(key)
        if entry is not None and entry.state == _HELD:
            self._make_ready(entry)
        elif self._drained is not None and not self._working and not self._depth:
            self._drained.set()

    # Ending

    def shut_down(self) -> None:
        """Takes no more. What is ready is still given out, what is delayed is not; then `get` raises ShutDown."""
        self._ending = True
        self._disarm()
        self._delayed.clear()
        for key in [key for key, entry in self._entries.items() if entry.state == _DELAYED]:
            del self._entries[key]
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    def clear(self) -> None:
        """Forgets all that waits; for an end that should not be waited for."""
        self._entries.clear()
        self._ready.clear()
        self._priorities.clear()
        self._delayed.clear()
        self._disarm()
        self._depth = 0
        if self._drained is not None and not self._working:
            self._drained.set()

    async def drained(self) -> None:
        """After `shut_down`: returns when all that was given out is done, and nothing is left."""
        if self._working or self._depth:
            self._drained = asyncio.Event()
            await self._drained.wait()

    # Looking

    def __len__(self) -> int:
        """How many keys are ready."""
        return self._depth

    def __contains__(self, key: object) -> bool:
        """Whether a key waits, in whatever state."""
        return key in self._entries

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return sum(entry.state == _DELAYED for entry in self._entries.values())

    def depths(self) -> dict[int, int]:
        """How many keys are ready, by priority."""
        return {priority: sum(len(line) for line in lines.values()) for priority, lines in self._ready.items() if lines}

    def working(self) -> dict[K, float]:
        """What is worked on, and for how many seconds."""
        now = self._now()
        return {key: now - since for key, since in self._working.items()}

    def waiting(self) -> Iterable[tuple[K, float]]:
        """The keys that wait for their time, and the seconds until it comes."""
        now = self._now()
        return [(entry.key, entry.when - now) for entry in self._entries.values() if entry.state == _DELAYED]

    def longest_wait(self) -> float:
        """For how many seconds the key that has been ready longest has waited; 0 where none is ready."""
        since = [line[0].when for lines in self._ready.values() for line in lines.values()]
        return self._now() - min(since) if since else 0.0

    # Inside

    def _make_ready(self, entry: _Entry[K]) -> None:
        entry.state = _READY
        entry.when = self._now()
        self._put_in(entry)
        if self._observer is not None:
            self._observer.added(self._depth)
        if self._getters:
            self._wake()

    def _put_in(self, entry: _Entry[K]) -> None:
        lines = self._ready.get(entry.priority)
        if lines is None:
            lines = self._ready[entry.priority] = OrderedDict()
        if not lines:
            self._priorities.append(entry.priority)
            self._priorities.sort(reverse=True)
        fair = self._fair(entry.key)
        line = lines.get(fair)
        if line is None:
            lines[fair] = deque((entry,))
        else:
            line.append(entry)
        self._depth += 1

    def _take_out(self, entry: _Entry[K]) -> None:
        lines = self._ready[entry.priority]
        fair = self._fair(entry.key)
        lines[fair].remove(entry)
        self._depth -= 1
        if not lines[fair]:
            self._end_line(entry.priority, lines, fair)

    def _raise_priority(self, entry: _Entry[K], priority: int) -> None:
        if entry.state == _READY:
            self._take_out(entry)
            entry.priority = priority
            self._put_in(entry)
        else:
            entry.priority = priority

    def _most_urgent(self, now: float) -> int:
        """The highest priority, but for that of who has waited too long."""
        found, oldest = self._priorities[0], now - self._patience
        for priority in self._priorities[1:]:
            line = next(iter(self._ready[priority].values()))
            if line[0].when < oldest:
                found, oldest = priority, line[0].when
        return found

    def _end_line(self, priority: int, lines: "OrderedDict[Hashable, deque[_Entry[K]]]", fair: Hashable) -> None:
        del lines[fair]
        if not lines:
            self._priorities.remove(priority)

    def _wake(self) -> None:
        """Lets one of those who wait look."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _arm(self, due: float) -> None:
        """Sees to it that somebody looks when the first of the delayed is due."""
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().create_task(self._look(due))

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _look(self, due: float) -> None:
        while True:
            wait = due - self._now()
            await self._clock.sleep(wait if wait > _HAIR_SECONDS else 0.0)
            now = self._now()
            delayed = self._delayed
            while delayed and delayed[0][0] <= now + _HAIR_SECONDS:
                found = heapq.heappop(delayed)
                if self._is_delayed(found):
                    entry = found[2]
                    if entry.key in self._working:
                        entry.state = _HELD
                    else:
                        self._make_ready(entry)
            if not delayed:
                self._timer = None
                return
            self._timer_due = due = delayed[0][0]

    def _is_delayed(self, found: tuple[float, int, _Entry[K]]) -> bool:
        """Whether an entry of the heap still means something: a key may have been made ready meanwhile, moved to an
        earlier time, or taken out."""
        due, _, entry = found
        return entry.state == _DELAYED and entry.when == due and self._entries.get(entry.key) is entry
