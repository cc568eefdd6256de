"""A client's own rate limit. There is none unless asked for: servers protect themselves, and say when to wait."""

from setpoint.objects.clock import Clock


class RateLimit:
    """A bucket of tokens: so many requests a second in the long run, and a burst of so many at once."""

    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("a rate limit needs qps above 0 and a burst of at least 1; without a limit give none")
        self._clock = clock
        self._qps = qps
        self._burst = burst
        # What is there; below zero, so many are promised to those who wait.
        self._tokens = float(burst)
        self._at = clock.monotonic()

    async def wait(self) -> float:
        """Waits for one's turn, in order. Returns the seconds that it took."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1
        self._at = now
        if self._tokens >= 0:
            return 0.0
        seconds = -self._tokens / self._qps
        await self._clock.sleep(seconds)
        return seconds
