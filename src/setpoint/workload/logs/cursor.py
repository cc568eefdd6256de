"""A position in a track: moves to a line or time, and reads on through the segments.

A segment that is dropped while being read can be read to its end; then reading continues with the oldest segment. If
none is left, FileNotFoundError is raised.
"""

import contextlib
from typing import NamedTuple

from setpoint.workload.logs.segment import Segment
from setpoint.workload.logs.track import Track

READ_BYTES = 1 << 18


class LogPosition(NamedTuple):
    """The position of a byte in a track; positions compare in the order of the bytes."""

    segment: int
    offset: int


class Cursor:
    """Reads a track from a position. `line` is the number of the line of the next byte, from 1."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._end: LogPosition | None = None
        self._segment, self._offset = self._open_from(track.numbers()[0]), 0
        self.line = self._segment.lines_before + 1
        # The index entry of the next byte; looked up when first needed.
        self._entry: int | None = None

    def close(self) -> None:
        self._segment.close()

    def end_here(self) -> None:
        """Limits reading to the current end of the track."""
        number = self._track.numbers()[-1]
        with contextlib.suppress(FileNotFoundError), self._track.open(number) as segment:
            self._end = LogPosition(number, segment.size())

    def to_line(self, number: int) -> None:
        """Moves forward to the beginning of a line, which must exist; never moves back."""
        for segment_number in reversed(self._track.numbers()):
            segment = self._try_open(segment_number)
            if segment is None:
                break
            before = number - 1 - segment.lines_before
            if before > 0 or (before == 0 and not segment.mid_line):
                self._move(segment, segment.after_lines(before), number)
                return
            segment.close()

    def to_time(self, time: int) -> None:
        """Moves forward to the first line at or after a time (in µs); never moves back."""
        found: tuple[Segment, int, int] | None = None
        for segment_number in reversed(self._track.numbers()):
            segment = self._try_open(segment_number)
            if segment is None:
                break
            earlier = len(segment) > 0 and segment[0].time < time
            since = segment.since(time)
            if since is None and found is None:
                # No line at or after this time begins here: continue after the last byte.
                since = segment.size(), segment.lines_from(0)
            if since is None:
                segment.close()
            else:
                if found is not None:
                    found[0].close()
                found = segment, *since
            if earlier:
                break
        if found is not None:
            segment, offset, lines = found
            self._move(segment, offset, segment.lines_before + lines + 1)

    def read(self) -> bytes:
        """Returns the next bytes; empty if there are none now."""
        return self._consume(self._left())

    def piece(self) -> tuple[int, bytes] | None:
        """Returns the next bytes that were written together, with their time."""
        left = self._left()
        if left == 0:
            return None
        segment = self._segment
        if self._entry is None:
            self._entry = segment.place_of(self._offset)
        following = len(segment)
        while self._entry + 1 < following:
            until = segment[self._entry + 1].offset
            if until > self._offset:
                left = min(left, until - self._offset)
                break
            self._entry += 1
        return segment[self._entry].time, self._consume(left)

    def _left(self) -> int:
        """Returns the number of unread bytes in the segment; moves to the next segment if there are none."""
        while True:
            number, size = self._segment.number, self._segment.size()
            if self._end is not None and number >= self._end.segment:
                size = self._end.offset if number == self._end.segment else 0
                return max(0, size - self._offset)
            if size > self._offset or not self._next_segment():
                return max(0, size - self._offset)

    def _consume(self, size: int) -> bytes:
        data = self._segment.read(self._offset, min(size, READ_BYTES)) if size else b""
        self._offset += len(data)
        return data

    def _next_segment(self) -> bool:
        if self._segment.number >= self._track.numbers()[-1]:
            return False
        segment = self._open_from(self._segment.number + 1)
        self._segment.close()
        self._segment, self._offset, self._entry = segment, 0, None
        return True

    def _open_from(self, number: int) -> Segment:
        while number <= self._track.numbers()[-1]:
            number = max(number, self._track.numbers()[0])
            segment = self._try_open(number)
            if segment is not None:
                return segment
            number += 1
        raise FileNotFoundError("the log was removed")

    def _try_open(self, number: int) -> Segment | None:
        try:
            return self._track.open(number)
        except FileNotFoundError:
            return None

    def _move(self, segment: Segment, offset: int, line: int) -> None:
        if (segment.number, offset) < (self._segment.number, self._offset):
            segment.close()
            return
        self._segment.close()
        self._segment, self._offset, self._entry, self.line = segment, offset, None, line
