"""A place in a track that a reader moves: to a line, to a time, on through the segments as they follow each other.

A segment that is dropped while it is read can be read to its end; then the reader goes on with the oldest there is.
Where there is none any more, a FileNotFoundError says so.
"""

import contextlib
from typing import NamedTuple

from setpoint.workload.logs.segment import Segment
from setpoint.workload.logs.track import Track

READ_BYTES = 1 << 18


class Place(NamedTuple):
    """A byte of a track: places compare as the bytes follow each other."""

    segment: int
    offset: int


class Cursor:
    """Reads a track from a place on. `line` is the number of the line that the next byte belongs to, from 1."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._end: Place | None = None
        self._segment, self._offset = self._open_from(track.numbers()[0]), 0
        self.line = self._segment.lines_before + 1
        # The entry of the index that the next byte belongs to; looked up when first needed.
        self._entry: int | None = None

    def close(self) -> None:
        self._segment.close()

    def end_here(self) -> None:
        """Makes the present end of the track the end of what is read."""
        number = self._track.numbers()[-1]
        with contextlib.suppress(FileNotFoundError), self._track.open(number) as segment:
            self._end = Place(number, segment.size())

    def to_line(self, number: int) -> None:
        """Moves on to where a line begins, which must have begun; never back."""
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
        """Moves on to the first line that came at a time (in µs) or later; never back."""
        found: tuple[Segment, int, int] | None = None
        for segment_number in reversed(self._track.numbers()):
            segment = self._try_open(segment_number)
            if segment is None:
                break
            earlier = len(segment) > 0 and segment[0].time < time
            since = segment.since(time)
            if since is None and found is None:
                # No line so late begins here: behind everything there is.
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
        """The next bytes; none when there are no more now."""
        return self._take(self._left())

    def piece(self) -> tuple[int, bytes] | None:
        """The next bytes that came together, and when they did."""
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
        return segment[self._entry].time, self._take(left)

    def _left(self) -> int:
        """How many bytes the segment has for us; when it has none, the next one's turn has come."""
        while True:
            number, size = self._segment.number, self._segment.size()
            if self._end is not None and number >= self._end.segment:
                size = self._end.offset if number == self._end.segment else 0
                return max(0, size - self._offset)
            if size > self._offset or not self._next_segment():
                return max(0, size - self._offset)

    def _take(self, size: int) -> bytes:
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
