"""The files of telemetry: numbered files of lines, one record each. Beyond a number of bytes, the oldest is removed."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from setpoint.store.files import FILE_MODE, make_directory
from setpoint.telemetry.errors import MalformedTelemetry
from setpoint.telemetry.held import Held, read_line

SUFFIX: Final = ".jsonl"
# The number of files among which the bytes are divided, and of records that are read at once.
_FILES = 8
_SLICE = 256
_log = logging.getLogger(__name__)


class Journal:
    """The files of one directory. All methods block, and are called in a thread, one at a time."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._file_bytes = max(max_bytes // _FILES, 1)
        self._number = 0

    def read(self) -> Iterator[list[Held]]:
        """Yields the stored records in slices, oldest first. Lines that cannot be read are skipped. The last change of
        a file counts as the arrival of its records."""
        for path in self.files():
            self._number = int(path.stem)
            skipped = 0
            found: list[Held] = []
            with path.open("rb") as file:
                arrival = os.fstat(file.fileno()).st_mtime_ns
                for line in file:
                    try:
                        record = read_line(line)
                        record.received = arrival
                        found.append(record)
                    except MalformedTelemetry:
                        skipped += 1  # such as the last line of a process that was killed
                    if len(found) >= _SLICE:
                        yield found
                        found = []
            if found:
                yield found
            if skipped:
                _log.warning("%s: skipped %d lines that are no records", path, skipped)

    def append(self, text: bytes) -> None:
        """Appends lines, and removes the oldest files beyond the bound. Raises OSError."""
        make_directory(self._directory)
        path = self._path(self._number)
        if path.exists() and path.stat().st_size >= self._file_bytes:
            self._number += 1
            path = self._path(self._number)
            for old in self.files():
                if int(old.stem) <= self._number - _FILES:
                    old.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(text)

    def files(self) -> list[Path]:
        """Returns the existing files, oldest first."""
        found = [path for path in self._directory.glob(f"*{SUFFIX}") if path.stem.isdigit()]
        return sorted(found, key=lambda path: int(path.stem))

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06}{SUFFIX}"
