"""The expiry times of keys, and the key that expires next."""

import heapq
from collections.abc import Iterator, Mapping


class Deadlines:
    """Keys and the times at which they expire, in seconds since the epoch."""

    def __init__(self, times: Mapping[str, float] = {}) -> None:
        # Only `set` changes them.
        self.times = dict(times)
        # A heap of the same entries. Replaced and removed entries stay until they reach the top, or until the heap is
        # rebuilt.
        self._heap = sorted((time, key) for key, time in times.items())
        self._is_shared = False

    def freeze(self) -> Mapping[str, float]:
        """Returns the current expiry times as a mapping that never changes."""
        self._is_shared = True
        return self.times

    def set(self, key: str, time: float | None) -> None:
        """Sets the time at which the key expires; None removes the expiry."""
        if self._is_shared:
            self.times, self._is_shared = dict(self.times), False
        if time is None:
            self.times.pop(key, None)
            return
        self.times[key] = time
        heapq.heappush(self._heap, (time, key))
        if len(self._heap) > 2 * len(self.times) + 1000:
            self._heap = sorted((time, key) for key, time in self.times.items())

    def next(self) -> float | None:
        """Returns the time at which the next key expires, or None."""
        while self._heap and self.times.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[str]:
        """Yields the expired keys, earliest first. The caller must remove each key before asking for the next one."""
        while (time := self.next()) is not None and time <= now:
            yield self._heap[0][1]
