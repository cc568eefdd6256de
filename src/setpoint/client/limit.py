"""The optional rate limit of a client. By default there is none: servers protect themselves, and answer with
Retry-After."""

from setpoint.objects.clock import Clock


class RateLimit:
    """A token bucket: `qps` requests per second on average, and `burst` requests at once."""

    def __init__(self, clock: Clock, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("a rate limit needs qps above 0 and a burst of at least 1; pass None for no limit")
        self._clock = clock
        self._qps = qps
        self._burst = burst
        # The available tokens. A negative number counts the tokens promised to waiting requests.
        self._tokens = float(burst)
        self._at = clock.monotonic()

    async def wait(self) -> float:
        """Waits for a token, in order of arrival. Returns the time waited in seconds."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1
        self._at = now
        if self._tokens >= 0:
            return 0.0
        seconds = -self._tokens / self._qps
        await self._clock.sleep(seconds)
        return seconds
