"""When which key expires, and which of them is next."""

import heapq
from collections.abc import Iterator, Mapping


class Deadlines:
    """Keys and the times at which they expire, in seconds since the epoch."""

    def __init__(self, times: Mapping[str, float] = {}) -> None:
        self._times = dict(times)
        # A heap of the same; what was set anew or taken away stays in it until its time, or until that is too much.
        self._heap = sorted((time, key) for key, time in times.items())
        self._is_shared = False

    def __bool__(self) -> bool:
        return bool(self._times)

    def freeze(self) -> Mapping[str, float]:
        """What there is now, never to change again."""
        self._is_shared = True
        return self._times

    def set(self, key: str, time: float | None) -> None:
        """The key expires then, or no longer does."""
        if self._is_shared:
            self._times, self._is_shared = dict(self._times), False
        if time is None:
            self._times.pop(key, None)
            return
        self._times[key] = time
        heapq.heappush(self._heap, (time, key))
        if len(self._heap) > 2 * len(self._times) + 1000:
            self._heap = sorted((time, key) for key, time in self._times.items())

    def next(self) -> float | None:
        """When the next key expires."""
        while self._heap and self._times.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[str]:
        """The keys whose time has come, the first first. Each has to be taken away before the next is asked for."""
        while (time := self.next()) is not None and time <= now:
            yield self._heap[0][1]
