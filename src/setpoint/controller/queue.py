"""The work queue: keys that wait to be processed, each at most once, with the reasons for which they were added.

Three rules make the queue safe for any number of workers:

* A waiting key is in the queue once, however often added. Another add merges into the waiting entry: the earliest time,
  the highest priority and all reasons are kept.
* A key that is being processed is not handed out again. If added meanwhile, the key becomes ready after `done`.
* A worker that got a key must call `done` with that key in every case.

Higher priorities go first. Within a priority the namespaces take turns, so that many keys of one namespace do not delay
the others; within a namespace the order is first in, first out. To prevent starvation, a key that has waited for
`max_wait` seconds goes before keys of higher priority.

A queue belongs to one event loop. Only `get` and `drained` wait.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import count
from typing import Generic, NamedTuple, Protocol, TypeVar

from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.objects.clock import Clock, SystemClock

K = TypeVar("K", bound=Hashable)

# The priority of initial lists and resyncs: real changes go first.
LOW_PRIORITY = -100
# The number of reasons kept for a key; further ones are only counted.
MOST_REASONS = 32
PATIENCE_SECONDS = 60.0
# The tolerance for rounding errors of float sums.
_HAIR_SECONDS = 1e-9
# The number of stale heap entries that are tolerated, in addition to twice the number of live ones.
_SPARE = 1000


class ShutDown(Exception):  # noqa: N818 - a signal: the queue has ended
    """The queue was shut down and is empty."""


class Item(NamedTuple, Generic[K]):
    """A key that was handed out, with its reasons."""

    key: K
    reasons: tuple[Hashable, ...]
    # The number of further reasons that were not kept.
    more: int
    priority: int
    # Seconds since the key became due.
    waited: float
    # The number of retries since the last success.
    retries: int = 0


class QueueState(NamedTuple, Generic[K]):
    """The waiting keys of a queue, and the number of retries of each key since its last success."""

    # Key, priority, reasons, further reasons, due time, and True if the key is ready; in the order of the queue.
    waiting: tuple[tuple[K, int, tuple[Hashable, ...], int, float, bool], ...]
    retries: Mapping[K, int]


class QueueObserver(Protocol):
    """Observes a queue, for metrics."""

    def added(self, depth: int) -> None: ...

    def retried(self) -> None: ...

    def got(self, waited: float, depth: int) -> None: ...

    def finished(self, seconds: float) -> None: ...


class _QueuedKey(Generic[K]):
    """A waiting key: delayed, ready, or held back until its worker is done."""

    __slots__ = ("key", "more", "priority", "reasons", "state", "when")

    def __init__(self, key: K, priority: int) -> None:
        self.key = key
        self.priority = priority
        # Most entries have one reason; for so few, a tuple is faster than a set.
        self.reasons: tuple[Hashable, ...] = ()
        self.more = 0
        # The due time of a delayed entry; the time since which a ready entry is ready.
        self.when = 0.0
        self.state = _DELAYED

    def add_reason(self, reason: Hashable) -> None:
        if reason not in self.reasons:
            if len(self.reasons) < MOST_REASONS:
                self.reasons += (reason,)
            else:
                self.more += 1


_DELAYED, _READY, _HELD = range(3)


def _of_namespace(key: Hashable) -> Hashable:
    """The default key of fairness: the namespace of a request, or empty for other keys."""
    return getattr(key, "namespace", "")


class Queue(Generic[K]):
    """The work queue. `limiter` determines the delay of retries; `fair` returns the group by which keys take turns.

    queue: Queue[Request] = Queue()
    queue.add(Request("a", "default"))
    item = await queue.get()
    ...
    queue.done(item.key)
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        limiter: RateLimiter | None = None,
        fair: Callable[[K], Hashable] = _of_namespace,
        max_wait: float = PATIENCE_SECONDS,
        observer: QueueObserver | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._now = self._clock.monotonic
        self._limiter = limiter or Exponential()
        # The keys that were retried since their last success: nearly all keys succeed at once.
        self._retried: set[K] = set()
        self._fair = fair
        self._max_wait = max_wait
        self._observer = observer
        # All waiting keys, in any of the three states.
        self._entries: dict[K, _QueuedKey[K]] = {}
        # The ready entries by priority and fairness group, and the non-empty priorities, highest first.
        self._ready: dict[int, OrderedDict[Hashable, deque[_QueuedKey[K]]]] = {}
        self._priorities: list[int] = []
        self._depth = 0
        # The delayed entries as a heap by due time. Entries that were moved or removed are skipped when popped.
        self._delayed: list[tuple[float, int, _QueuedKey[K]]] = []
        self._order = count()
        # The keys being processed, with the start times.
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
            entry = self._entries[key] = _QueuedKey(key, priority)
            if reason is not None:
                entry.reasons = (reason,)
            if self._working and key in self._working:
                entry.state = _HELD
            else:
                self._make_ready(entry)
            return
        if reason is not None:
            entry.add_reason(reason)
        if entry.state == _DELAYED:
            entry.priority = max(entry.priority, priority)
            if key in self._working:
                entry.state = _HELD
            else:
                self._make_ready(entry)
        elif priority > entry.priority:
            self._raise_priority(entry, priority)

    def add_after(self, key: K, seconds: float, reason: Hashable = None, *, priority: int = 0) -> None:
        """Adds a key that is due after some seconds. For a key that already waits, the earlier time counts."""
        if seconds <= 0:
            self.add(key, reason, priority=priority)
            return
        if self._ending:
            return
        due = self._now() + seconds
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _QueuedKey(key, priority)
        elif entry.state != _DELAYED:
            if reason is not None:
                entry.add_reason(reason)
            if priority > entry.priority:
                self._raise_priority(entry, priority)
            return
        else:
            entry.priority = max(entry.priority, priority)
            if entry.when <= due:
                if reason is not None:
                    entry.add_reason(reason)
                return
        if reason is not None:
            entry.add_reason(reason)
        entry.when = due
        if len(self._delayed) > _SPARE + 2 * len(self._entries):
            self._delayed = [found for found in self._delayed if self._is_delayed(found)]
            heapq.heapify(self._delayed)
        heapq.heappush(self._delayed, (due, next(self._order), entry))
        self._arm(due)

    def add_rate_limited(self, key: K, reason: Hashable = None, *, priority: int = 0) -> float:
        """Adds a failed key with the delay of the rate limiter. Returns the delay in seconds."""
        self._retried.add(key)
        seconds = self._limiter.delay(key)
        if self._observer is not None:
            self._observer.retried()
        self.add_after(key, seconds, reason, priority=priority)
        return seconds

    def forget(self, key: K) -> None:
        """Resets the backoff of a key that succeeded."""
        if key in self._retried:
            self._retried.discard(key)
            self._limiter.forget(key)

    def retries(self, key: K) -> int:
        """Returns the number of retries of a key since its last success."""
        return self._limiter.retries(key) if key in self._retried else 0

    def discard(self, key: K) -> bool:
        """Removes a waiting key, and returns True if there was one. Does not stop the processing of a key."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        if entry.state == _READY:
            self._remove(entry)
        entry.state = _HELD  # invalidates the entry in the heap
        return True

    # Working

    async def get(self) -> Item[K]:
        """Waits for the next key. Raises ShutDown when the queue has ended."""
        while not self._depth:
            if self._ending:
                raise ShutDown
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake()  # this getter was already woken: wake another one
                else:
                    self._getters.remove(getter)
                raise
        return self.pop()

    def pop(self) -> Item[K]:
        """Returns the next key of a queue that has a ready one."""
        now = self._now()
        priorities = self._priorities
        priority = priorities[0] if len(priorities) == 1 else self._most_urgent(now)
        lines = self._ready[priority]
        fair, line = next(iter(lines.items()))
        entry = line.popleft()
        self._depth -= 1
        if not line:
            self._remove_empty_line(priority, lines, fair)
        elif len(lines) > 1:
            lines.move_to_end(fair)
        key = entry.key
        del self._entries[key]
        if not self._entries:
            self._entries.clear()  # releases the memory of a large dict
        self._working[key] = now
        waited, retries = now - entry.when, self.retries(key)
        if self._observer is not None:
            self._observer.got(waited, self._depth)
        return Item(key, entry.reasons, entry.more, entry.priority, waited, retries)

    def done(self, key: K) -> None:
        """Ends the processing of a key. If the key was added meanwhile, the key becomes ready again."""
        since = self._working.pop(key, None)
        if since is None:
            raise KeyError(f"{key!r} is not being processed: call done() only for keys from get()")
        if self._observer is not None:
            self._observer.finished(self._now() - since)
        entry = self._entries.get(key)
        if entry is not None and entry.state == _HELD:
            self._make_ready(entry)
        elif self._drained is not None and not self._working and not self._depth:
            self._drained.set()

    # Copies

    def state(self) -> QueueState[K]:
        """Returns the waiting keys. Raises RuntimeError while a key is being processed."""
        if self._working:
            keys = ", ".join(map(str, self._working))
            raise RuntimeError(f"{keys}: being processed; a queue can be copied only while no key is")
        ready = [entry for lines in self._ready.values() for line in lines.values() for entry in line]
        delayed = [entry for entry in self._entries.values() if entry.state == _DELAYED]
        return QueueState(
            tuple(
                (entry.key, entry.priority, entry.reasons, entry.more, entry.when, entry.state == _READY)
                for entry in (*ready, *sorted(delayed, key=lambda entry: entry.when))
            ),
            {key: self._limiter.retries(key) for key in self._retried},
        )

    def restore(self, state: QueueState[K]) -> None:
        """Replaces the waiting keys by those of another queue, whose clock has the same time."""
        self.clear()
        for key, retries in state.retries.items():
            self._retried.add(key)
            for _ in range(retries):
                self._limiter.delay(key)
        for key, priority, reasons, more, when, is_ready in state.waiting:
            entry = self._entries[key] = _QueuedKey(key, priority)
            entry.reasons, entry.more, entry.when = reasons, more, when
            if is_ready:
                entry.state = _READY
                self._insert(entry)
                self._wake()
            else:
                heapq.heappush(self._delayed, (when, next(self._order), entry))
                self._arm(when)

    # Ending

    def shut_down(self) -> None:
        """Stops accepting keys and drops delayed ones. Ready keys are handed out; then `get` raises ShutDown."""
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
        """Drops all waiting keys, for an immediate end."""
        self._entries.clear()
        self._ready.clear()
        self._priorities.clear()
        self._delayed.clear()
        self._disarm()
        self._depth = 0
        if self._drained is not None and not self._working:
            self._drained.set()

    async def drained(self) -> None:
        """Waits, after `shut_down`, until all keys are processed."""
        if self._working or self._depth:
            self._drained = asyncio.Event()
            await self._drained.wait()

    # Inspection

    def __len__(self) -> int:
        """The number of ready keys."""
        return self._depth

    def __contains__(self, key: object) -> bool:
        """Returns True if a key waits, in any state."""
        return key in self._entries

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        return sum(entry.state == _DELAYED for entry in self._entries.values())

    def depths(self) -> dict[int, int]:
        """Returns the number of ready keys by priority."""
        return {priority: sum(len(line) for line in lines.values()) for priority, lines in self._ready.items() if lines}

    def working(self) -> dict[K, float]:
        """Returns the keys being processed, with the seconds since their start."""
        now = self._now()
        return {key: now - since for key, since in self._working.items()}

    def waiting(self) -> Iterable[tuple[K, float]]:
        """Returns the delayed keys, with the seconds until they are due."""
        now = self._now()
        return [(entry.key, entry.when - now) for entry in self._entries.values() if entry.state == _DELAYED]

    def longest_wait(self) -> float:
        """Returns the seconds that the longest ready key has waited; 0 if no key is ready."""
        since = [line[0].when for lines in self._ready.values() for line in lines.values()]
        return self._now() - min(since) if since else 0.0

    # Internals

    def _make_ready(self, entry: _QueuedKey[K]) -> None:
        entry.state = _READY
        entry.when = self._now()
        self._insert(entry)
        if self._getters:
            self._wake()
        if self._observer is not None:
            self._observer.added(self._depth)

    def _insert(self, entry: _QueuedKey[K]) -> None:
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

    def _remove(self, entry: _QueuedKey[K]) -> None:
        lines = self._ready[entry.priority]
        fair = self._fair(entry.key)
        lines[fair].remove(entry)
        self._depth -= 1
        if not lines[fair]:
            self._remove_empty_line(entry.priority, lines, fair)

    def _raise_priority(self, entry: _QueuedKey[K], priority: int) -> None:
        if entry.state == _READY:
            self._remove(entry)
            entry.priority = priority
            self._insert(entry)
        else:
            entry.priority = priority

    def _most_urgent(self, now: float) -> int:
        """Returns the highest priority, or a lower one whose first key has waited longer than `max_wait`."""
        found, oldest = self._priorities[0], now - self._max_wait
        for priority in self._priorities[1:]:
            line = next(iter(self._ready[priority].values()))
            if line[0].when < oldest:
                found, oldest = priority, line[0].when
        return found

    def _remove_empty_line(
        self, priority: int, lines: "OrderedDict[Hashable, deque[_QueuedKey[K]]]", fair: Hashable
    ) -> None:
        del lines[fair]
        if not lines:
            self._priorities.remove(priority)

    def _wake(self) -> None:
        """Wakes one waiting getter."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _arm(self, due: float) -> None:
        """Starts a timer for the first delayed key."""
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().create_task(self._release_due(due))

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _release_due(self, due: float) -> None:
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

    def _is_delayed(self, found: tuple[float, int, _QueuedKey[K]]) -> bool:
        """Returns True if a heap entry is still valid.

        A key may have become ready, moved to an earlier time, or been removed meanwhile.
        """
        due, _, entry = found
        return entry.state == _DELAYED and entry.when == due and self._entries.get(entry.key) is entry
