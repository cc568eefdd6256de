"""How long a reflector waits before it tries again: client-go's numbers."""

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids

FIRST_SECONDS, FACTOR, LIMIT_SECONDS, RESET_SECONDS = 0.8, 2.0, 30.0, 120.0


class Backoff:
    """Waits that double, with up to as much again by chance; forgotten after a time without any."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._seconds = FIRST_SECONDS
        # When the last wait was over.
        self._last = clock.monotonic()

    def next(self) -> float:
        """The seconds to wait now."""
        now = self._clock.monotonic()
        if now - self._last > RESET_SECONDS:
            self._seconds = FIRST_SECONDS
        seconds = self._seconds
        self._seconds = min(self._seconds * FACTOR, LIMIT_SECONDS)
        wait = seconds * (1.0 + self._ids.random())
        self._last = now + wait
        return wait
