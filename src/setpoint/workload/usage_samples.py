"""The last samples of the usage of workloads, in memory. Samples are taken when requested, so that a control plane
without readers measures nothing."""

from collections import deque
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.workload.usage import Usage
from setpoint.workload.usage_settings import UsageSettings

# A second request within this time gets the existing samples.
LEAST_SECONDS = 1.0


class UsageSample(NamedTuple):
    """One sample: thousandths of a core since the sample before, bytes of memory, and number of processes."""

    time: datetime
    millicores: float
    memory: int
    processes: int


class Reading(NamedTuple):
    """A measurement: the running process or container, and its usage so far."""

    program: str
    seconds: float
    usage: Usage


class UsageSamples:
    """The samples of all workloads, by uid."""

    def __init__(self, settings: UsageSettings) -> None:
        self._settings = settings
        self._samples: dict[str, deque[UsageSample]] = {}
        self._readings: dict[str, Reading] = {}

    def is_due(self, uid: str, program: str, seconds: float) -> bool:
        """Returns True if a program should be measured at a moment."""
        last = self._readings.get(uid)
        return last is None or last.program != program or seconds - last.seconds >= LEAST_SECONDS

    def has_begun(self, uid: str, program: str) -> bool:
        """Returns True if the program has been measured, so that the next reading makes a sample."""
        last = self._readings.get(uid)
        return last is not None and last.program == program

    def add(self, uid: str, reading: Reading, time: datetime) -> None:
        """Adds a sample, unless the reading is the first one of its program."""
        last = self._readings.pop(uid, None)
        self._readings[uid] = reading
        kept = self._samples.pop(uid, None) or deque(maxlen=self._settings.max_samples)
        self._samples[uid] = kept
        if len(self._samples) > self._settings.max_workloads:
            oldest = next(iter(self._samples))
            del self._samples[oldest], self._readings[oldest]
        if last is None or last.program != reading.program or reading.seconds <= last.seconds:
            return
        used = max(0.0, reading.usage.cpu - last.usage.cpu) / (reading.seconds - last.seconds)
        kept.append(UsageSample(time, round(1000 * used, 1), reading.usage.memory, reading.usage.processes))

    def of(self, uid: str, now: datetime, since: datetime | None = None) -> list[UsageSample]:
        """Returns the samples of a workload, oldest first, and forgets those that are too old."""
        kept = self._samples.get(uid, deque())
        earliest = now - timedelta(seconds=self._settings.retention_seconds)
        while kept and kept[0].time < earliest:
            kept.popleft()
        return [each for each in kept if since is None or each.time >= since]
