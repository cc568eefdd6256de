"""The attempts of a workload in its log: the start time of each run.

All output of a run is in the log before the next run starts, so that the start times separate the runs. They are stored
next to the log from the second run on; a log without the file has one attempt.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.store.files import make_directory, write_private

# The number of recorded attempts; older ones cannot be selected.
MOST = 200
_FILE = "attempts.json"


class Window(NamedTuple):
    """The times of one attempt in µs since the epoch; None: no limit."""

    since: int | None
    until: int | None


class _Stored(msgspec.Struct):
    first: int
    starts: list[int]


class Attempts:
    """The start times of the runs of one object. `directory` is that of its log."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._first, self._starts = 1, list[int]()
        try:
            stored = msgspec.json.decode((directory / _FILE).read_bytes(), type=_Stored)
        except (OSError, msgspec.MsgspecError):
            return
        self._first, self._starts = stored.first, stored.starts

    @property
    def last(self) -> int:
        """The number of the current attempt, from 1."""
        return self._first + max(len(self._starts), 1) - 1

    @property
    def first(self) -> int:
        """The number of the first recorded attempt."""
        return self._first

    @property
    def starts(self) -> Sequence[int]:
        """The recorded start times in µs since the epoch, oldest first."""
        return tuple(self._starts)

    def begin(self, time: int) -> None:
        """Records the start of a run."""
        self._starts.append(time)
        surplus = len(self._starts) - MOST
        if surplus > 0:
            self._first += surplus
            del self._starts[:surplus]
        if len(self._starts) > 1:
            make_directory(self._directory)
            write_private(self._directory / _FILE, msgspec.json.encode(_Stored(self._first, self._starts)))

    def window(self, number: int | None, *, previous: bool) -> Window:
        """Returns the times of an attempt, by its number or as the one before the current. Raises BadRequest."""
        if previous:
            if self.last == 1:
                raise BadRequest("previous: this object has run only once; remove the parameter")
            number = self.last - 1
        assert number is not None
        if not self._first <= number <= self.last:
            raise BadRequest(f"attempt: {number} is not recorded; available: {self._first} to {self.last}")
        place = number - self._first
        # Notes and output before the first run belong to the first attempt.
        since = self._starts[place] if number > 1 and self._starts else None
        return Window(since, self._starts[place + 1] if place + 1 < len(self._starts) else None)

    def number_at(self, time: int) -> int:
        """Returns the number of the attempt at a time."""
        return self._first + max(sum(start <= time for start in self._starts) - 1, 0)
