"""A plain file that another process writes, read as a log: the output of processes that outlive the control plane.

When the file has grown, the new data is added with its time to an index next to the file. Data
written while no control plane was watching has the time of the file's last change.
"""

import asyncio
import os
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.store.files import make_directory
from setpoint.workload.logs.growth import Growth
from setpoint.workload.logs.segment import ENTRY_BYTES, SCAN_BYTES, Segment, SegmentEntry, encode, header


class FollowedFile:
    """The track of a followed file. `closed` is set when its writer has ended."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._index_path = path.with_name(f"{path.name}.index")
        self.readers: set[asyncio.Event] = set()
        self.closed = False
        make_directory(path.parent)
        flags = os.O_CREAT | os.O_CLOEXEC
        self._log = os.open(path, os.O_RDONLY | flags, 0o600)
        self._index = os.open(self._index_path, os.O_RDWR | os.O_APPEND | flags, 0o600)
        self._size = self._lines = 0
        self._ends_line = True
        self._resume()
        self._read_new(os.fstat(self._log).st_mtime_ns // 1000)
        self._growth: Growth | None = Growth(path, self._read_now)

    def close(self) -> None:
        """Marks the file as complete: its writer has ended."""
        if self._growth is not None:
            self._read_now()
        self.closed = True
        for reader in self.readers:
            reader.set()

    def release(self) -> None:
        """Closes the files and keeps them."""
        self.close()
        if self._growth is not None:
            self._growth.close()
            for descriptor in (self._log, self._index):
                os.close(descriptor)
            self._growth = None

    def remove(self) -> None:
        """Removes the file and the index."""
        self.release()
        for path in (self._path, self._index_path):
            path.unlink(missing_ok=True)

    def numbers(self) -> range:
        return range(1)

    def open(self, number: int) -> Segment:
        return Segment(number, self._path, self._index_path, lambda: self._size)

    def complete(self) -> int:
        return self._lines

    def partial(self) -> bool:
        return not self._ends_line

    def _read_now(self) -> None:
        self._read_new(int(self._clock.now().timestamp() * 1_000_000))

    def _read_new(self, time: int) -> None:
        if os.fstat(self._log).st_size < self._size:
            # The file was truncated; only its current contents count.
            self._begin()
        entry = SegmentEntry(self._size, self._lines, time)
        while data := os.pread(self._log, SCAN_BYTES, self._size):
            self._size += len(data)
            self._lines += data.count(b"\n")
            self._ends_line = data.endswith(b"\n")
        if self._size == entry.offset:
            return
        os.write(self._index, encode(entry))
        for reader in self.readers:
            reader.set()

    def _begin(self) -> None:
        os.ftruncate(self._index, 0)
        os.write(self._index, header(0, mid_line=False))
        self._size = self._lines = 0
        self._ends_line = True

    def _resume(self) -> None:
        """Continues the index of an earlier follower."""
        entered = os.fstat(self._index).st_size // ENTRY_BYTES * ENTRY_BYTES
        os.ftruncate(self._index, entered)
        if entered <= ENTRY_BYTES:
            self._begin()
            return
        with self.open(0) as segment:
            last = segment[-1]
        if last.offset > os.fstat(self._log).st_size:
            self._begin()
            return
        # The last piece may have grown since its entry: the piece is counted again with the new data.
        os.ftruncate(self._index, entered - ENTRY_BYTES)
        self._size, self._lines = last.offset, last.lines
