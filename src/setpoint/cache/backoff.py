"""The backoff of a reflector between retries, with client-go's numbers."""

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

FIRST_SECONDS, FACTOR, LIMIT_SECONDS, RESET_SECONDS = 0.8, 2.0, 30.0, 120.0


class Backoff:
    """Delays that double, with up to 100% jitter. Reset after 120 seconds without a delay."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._seconds = FIRST_SECONDS
        # The end of the last delay.
        self._last = clock.monotonic()

    def next(self) -> float:
        """Returns the next delay in seconds."""
        now = self._clock.monotonic()
        if now - self._last > RESET_SECONDS:
            self._seconds = FIRST_SECONDS
        seconds = self._seconds
        self._seconds = min(self._seconds * FACTOR, LIMIT_SECONDS)
        wait = seconds * (1.0 + self._ids.random())
        self._last = now + wait
        return wait
