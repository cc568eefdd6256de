"""One file of captured output and its index.

The output is stored unchanged. The index begins with the number of lines that ended before this file, and a flag if the
file begins in the middle of a line; then follows an entry for each written piece: its offset, the number of lines of
this file that ended before, and its time. An entry has 24 bytes, independent of the number of lines.
"""

import os
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_WORDS = struct.Struct("<QQQ")
ENTRY_BYTES = _WORDS.size
SCAN_BYTES = 1 << 16


class SegmentEntry(NamedTuple):
    """A piece: its offset, the number of lines of the file that ended before, and its time in µs since the epoch."""

    offset: int
    lines: int
    time: int


def header(lines_before: int, *, mid_line: bool) -> bytes:
    return _WORDS.pack(lines_before, int(mid_line), 0)


def encode(entry: SegmentEntry) -> bytes:
    return _WORDS.pack(*entry)


class Segment(Sequence[SegmentEntry]):
    """A file of output, open for reading; as a sequence, its index. The segment stays readable when the file is
    removed.

    `size` returns the size of the indexed part, if another process may have written more.
    """

    def __init__(self, number: int, log: Path, index: Path, size: Callable[[], int] | None = None) -> None:
        self.number = number
        self._known_size = size
        self.descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._index = os.open(index, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self.descriptor)
            raise
        before, mid_line, _ = _WORDS.unpack(os.pread(self._index, ENTRY_BYTES, 0))
        self.lines_before, self.mid_line = int(before), bool(mid_line)

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._index)

    def __enter__(self) -> "Segment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return max(0, os.fstat(self._index).st_size // ENTRY_BYTES - 1)

    def __getitem__(self, place: int) -> SegmentEntry:  # type: ignore[override]  # never a slice
        if place < 0:
            place += len(self)
        data = os.pread(self._index, ENTRY_BYTES, (place + 1) * ENTRY_BYTES)
        if place < 0 or len(data) < ENTRY_BYTES:
            raise IndexError(place)
        return SegmentEntry(*_WORDS.unpack(data))

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self.descriptor, size, offset)

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size if self._known_size is None else self._known_size()

    def place_of(self, offset: int) -> int:
        """Returns the position of the entry for the byte at an offset."""
        return max(0, bisect_left(self, offset + 1, key=lambda entry: entry.offset) - 1)

    def after_lines(self, lines: int) -> int:
        """Returns the offset after that many line ends; the size of the file if there are fewer."""
        if lines <= 0:
            return 0
        place = bisect_left(self, lines, key=lambda entry: entry.lines) - 1
        entry = self[place] if place >= 0 else SegmentEntry(0, 0, 0)
        missing = lines - entry.lines
        for offset, data in self._scan(entry.offset):
            there = data.count(b"\n")
            if there >= missing:
                return offset + after_newlines(data, missing)
            missing -= there
        return self.size()

    def since(self, time: int) -> tuple[int, int] | None:
        """Returns the offset of the first line at or after a time, and the number of lines that end before; None if no
        such line begins in this file."""
        place = bisect_left(self, time, key=lambda entry: entry.time)
        if place == len(self):
            return None
        offset, lines, _ = self[place]
        if self.read(offset - 1, 1) != b"\n" if offset else self.mid_line:
            lines += 1
            offset = self.after_lines(lines)
            if offset == self.size():
                return None
        return offset, lines

    def lines_from(self, offset: int) -> int:
        """Returns the number of line ends from an offset on."""
        return sum(data.count(b"\n") for _, data in self._scan(offset))

    def _scan(self, offset: int) -> Iterator[tuple[int, bytes]]:
        while data := self.read(offset, SCAN_BYTES):
            yield offset, data
            offset += len(data)


class EmptySegment(Segment):
    """The empty segment before the first file exists."""

    def __init__(self, number: int) -> None:
        self.number, self._known_size = number, None
        self.descriptor, self._index = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(2))
        self.lines_before, self.mid_line = 0, False


def after_newlines(data: bytes, wanted: int) -> int:
    """Returns the position after that many line ends, which must exist."""
    place = 0
    for _ in range(wanted):
        place = data.index(b"\n", place) + 1
    return place
