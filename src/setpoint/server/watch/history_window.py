"""The recent past that every list and watch may read without the right to the history."""

from setpoint.objects.clock import Clock
from setpoint.store.contract import Store


class HistoryWindow:
    """The recent past that needs no special right: revisions that were current within the last seconds.

    The age of a revision is that of the entry that superseded the revision. Both limits of the known range are cached,
    so that most calls need no read of the log.
    """

    def __init__(self, clock: Clock, store: Store, seconds: float) -> None:
        self._clock = clock
        self._store = store
        self._seconds = seconds
        # A revision with the time at which it was superseded, and the newest revision known to be too old.
        self._superseded: tuple[int, float] | None = None
        self._too_old = -1

    @property
    def begin(self) -> float:
        """The time at which the window begins now, in seconds since the epoch."""
        return self._clock.now().timestamp() - self._seconds

    async def contains(self, revision: int) -> bool:
        """Returns True if a revision was current within the window."""
        store = self._store
        if revision <= self._too_old or revision < await store.oldest():
            return False
        begin = self.begin
        known = self._superseded
        if known is not None and revision >= known[0] and known[1] >= begin:
            return True
        following = await store.log(revision, 1)
        if not following:
            return True
        time = following[0].time
        if time < begin:
            self._too_old = max(self._too_old, revision)
            return False
        self._superseded = revision, time
        return True
