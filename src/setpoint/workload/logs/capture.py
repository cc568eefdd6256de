"""Captures output in files of bounded size, unchanged, each with an index.

A write is two system calls, with no work per line and no buffering in memory: the data is in the file when `write`
returns and survives the death of the control plane. When a file is full, the next one begins, at the end of a line if
possible, and the oldest is deleted. A capture with the same name continues the last one, including the line numbers.
Files are created with the first output or the first reader, or by `create`: creating them takes longer than starting a
process, and many processes never print.
"""

import asyncio
import errno
import os
import re
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.store.files import make_directory, write_private
from setpoint.workload.logs.segment import ENTRY_BYTES, Segment, SegmentEntry, encode, header


class Limits(NamedTuple):
    """The maximum size of one file, and the number of kept files."""

    max_bytes: int = 16 << 20
    max_files: int = 8


DEFAULT_LIMITS = Limits()
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Capture:
    """The log of one stream: a sink for its writer and a track for its readers."""

    def __init__(self, directory: Path, name: str, clock: Clock, limits: Limits = DEFAULT_LIMITS) -> None:
        self._directory, self._name, self._clock, self._limits = directory, name, clock, limits
        self.readers: set[asyncio.Event] = set()
        self.closed = False
        # The number of lost bytes and the reason (e.g. a full disk): the process must not wait for that.
        self.lost, self.error = 0, ""
        self._lines_before = self._lines = self._size = 0
        self._ends_line = True
        # Held data, with the time of each piece.
        self._buffered: list[tuple[int, bytes]] = []
        found = sorted(self._existing())
        self._first = found[0] if found else 0
        self._last = found[-1] if found else 0
        self._log = self._index = -1
        self._released = False
        if found:
            self._resume()

    def create(self) -> None:
        """Creates the file of an empty log: clients of DCP open the file that a status names."""
        try:
            make_directory(self._directory)
            os.close(os.open(self._path(self._last, "log"), _FLAGS, 0o600))
        except OSError as error:
            self.error = error.strerror or str(error)

    def begin(self) -> None:
        """Continues the log for another run, on a line of its own."""
        self.closed = False
        if not self._ends_line:
            self.write(b"\n")

    def write(self, data: bytes) -> None:
        self.flush()
        self._write(data, self._now())
        for reader in self.readers:
            reader.set()

    def buffer(self, data: bytes) -> None:
        """Takes data that may be written later: when a reader appears, or on `flush`."""
        if self.readers:
            self.write(data)
        else:
            self._buffered.append((self._now(), data))

    def flush(self) -> None:
        """Writes the held data."""
        held, self._buffered = self._buffered, []
        for time, data in held:
            self._write(data, time)

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1_000_000)

    def _write(self, data: bytes, time: int) -> None:
        while data:
            room = self._limits.max_bytes - self._size
            if len(data) <= room:
                self._append(data, time)
                break
            # The file is full: writes up to the last line end that fits or, if a line fills a whole file, up to the
            # limit.
            cut = data.rfind(b"\n", 0, max(0, room)) + 1
            if cut == 0 and (self._size == 0 or not self._ends_line):
                cut = max(0, room)
            if cut:
                self._append(data[:cut], time)
                data = data[cut:]
            self._rotate()

    def close(self) -> None:
        self.closed = True
        for reader in self.readers:
            reader.set()

    def release(self) -> None:
        """Closes the files and keeps them; further writes fail."""
        self.close()
        self.flush()
        self._released = True
        self._close_files()

    def remove(self) -> None:
        """Removes all files."""
        self._buffered.clear()
        self.release()
        for number in self._existing():
            self._drop(number)

    # The track

    def numbers(self) -> range:
        return range(self._first, self._last + 1)

    def open(self, number: int) -> Segment:
        self.flush()
        if self._log < 0 and not self._released:
            self._open(self._last)
        return Segment(number, self._path(number, "log"), self._path(number, "index"))

    def complete(self) -> int:
        self.flush()
        return self._lines_before + self._lines

    def partial(self) -> bool:
        self.flush()
        return not self._ends_line

    # The files

    def _append(self, data: bytes, time: int) -> None:
        entry = SegmentEntry(self._size, self._lines, time)
        try:
            if self._log < 0:
                self._open(self._last)
            written = os.write(self._log, data)
            os.write(self._index, encode(entry))
        except OSError as error:
            written, self.error = 0, error.strerror or str(error)
        if written < len(data):
            self.lost += len(data) - written
            data = data[:written]
        if data:
            self._size += len(data)
            self._lines += data.count(b"\n")
            self._ends_line = data.endswith(b"\n")

    def _rotate(self) -> None:
        self._close_files()
        self._lines_before, self._lines = self._lines_before + self._lines, 0
        self._last += 1
        self._open(self._last)
        while self._last - self._first >= max(1, self._limits.max_files):
            self._drop(self._first)
            self._first += 1

    def _open(self, number: int) -> None:
        if self._released:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        make_directory(self._directory)
        self._log = os.open(self._path(number, "log"), _FLAGS, 0o600)
        self._index = os.open(self._path(number, "index"), _FLAGS, 0o600)
        self._size = os.fstat(self._log).st_size
        if os.fstat(self._index).st_size == 0:
            os.write(self._index, header(self._lines_before, mid_line=not self._ends_line))

    def _close_files(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            os.close(self._index)
            self._log = self._index = -1

    def _resume(self) -> None:
        """Continues the files of an earlier capture, which may have been killed between the writes to file and
        index."""
        index = self._path(self._last, "index")
        if not index.exists() or index.stat().st_size < ENTRY_BYTES:
            write_private(index, header(0, mid_line=False))
        os.truncate(index, index.stat().st_size // ENTRY_BYTES * ENTRY_BYTES)
        self._open(self._last)
        with self.open(self._last) as segment:
            self._lines_before = segment.lines_before
            indexed = segment[-1] if len(segment) else SegmentEntry(0, 0, 0)
            self._lines = indexed.lines + segment.lines_from(indexed.offset)
            self._ends_line = self._size == 0 or segment.read(self._size - 1, 1) == b"\n"
        if not self._ends_line:
            self.write(b"\n")

    def _existing(self) -> set[int]:
        pattern = re.compile(re.escape(self._name) + r"\.(\d+)\.log")
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return set()
        return {int(found[1]) for name in names if (found := pattern.fullmatch(name))}

    def _path(self, number: int, kind: str) -> Path:
        return self._directory / f"{self._name}.{number}.{kind}"

    def _drop(self, number: int) -> None:
        for kind in ("log", "index"):
            self._path(number, kind).unlink(missing_ok=True)
