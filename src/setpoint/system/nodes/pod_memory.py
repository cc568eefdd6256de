"""The data about a pod that its status does not have: the exact times of its runs, and the pauses before restarts.

The pauses are those of a kubelet: none before the first restart, then 10 seconds, doubled up to 300 seconds. A run of
ten minutes begins again with no pause.
"""

from datetime import datetime
from typing import NamedTuple

FIRST_SECONDS, LONGEST_SECONDS = 10, 300
RESET_SECONDS = 600.0


class RunTimes(NamedTuple):
    """The start and the end of a run; no end while the container runs."""

    run: int
    start: datetime
    end: datetime | None = None


class PodMemory:
    """The data about one pod. A restart of a kubelet also loses them."""

    def __init__(self) -> None:
        # The exact times of the last run and of the one before, by container: the times of a status are whole seconds.
        self._times: dict[str, tuple[RunTimes, ...]] = {}
        # The number of the run and the restarts since the last long run, by container.
        self._levels: dict[str, tuple[int, int]] = {}

    @property
    def is_empty(self) -> bool:
        return not (self._times or self._levels)

    def started(self, container: str, run: int, moment: datetime) -> None:
        """Records the start of a run."""
        self._times[container] = (*self._times.get(container, ())[-1:], RunTimes(run, moment))

    def ended(self, container: str, run: int, moment: datetime) -> None:
        """Records the end of a run whose start is known."""
        known = self._times.get(container)
        if known is not None and known[-1].run == run and known[-1].end is None:
            self._times[container] = (*known[:-1], known[-1]._replace(end=moment))

    def times_of(self, container: str, reported: RunTimes) -> RunTimes:
        """Returns the exact times of a run, or the reported ones if unknown."""
        for each in self._times.get(container, ()):
            if each.run == reported.run:
                return each if each.end is not None or reported.end is None else each._replace(end=reported.end)
        return reported

    def pause(self, container: str, run: int, seconds: float | None = None) -> int:
        """Returns the seconds between the end of a run and the next start. `seconds` is the length of the run; None for
        a run whose end was recorded before."""
        known = self._levels.get(container)
        if known is None or known[0] != run:
            level = run if known is None else known[1] + 1
            if seconds is not None and seconds >= RESET_SECONDS:
                level = 0
            self._levels[container] = known = run, level
        level = known[1]
        return min(FIRST_SECONDS << min(level - 1, 10), LONGEST_SECONDS) if level else 0
