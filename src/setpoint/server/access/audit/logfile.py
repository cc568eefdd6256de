"""The audit log as a file: one line of JSON for each event, with rotation.

In batch mode a thread writes the file, so that no request waits for the disk. The queue of the thread is bounded in
events and in bytes; events beyond the bound are lost, counted, and reported once in the server's log.
"""

import contextlib
import gzip
import logging
import os
import shutil
import sys
import threading
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.tree import Object
from setpoint.server.access.audit.audit_settings import Audit
from setpoint.store.files import make_directory

_MEGABYTE = 1 << 20
_MAX_WAITING_BYTES = 64 * _MEGABYTE
_STAMP = "%Y-%m-%dT%H-%M-%S.%f"
_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class Lines(Protocol):
    """A destination for whole lines."""

    def append(self, lines: bytes) -> None:
        """Appends the lines. Raises OSError."""

    def close(self) -> None: ...


class AuditFile:
    """An append-only file that is rotated when it grows too large. Not thread-safe."""

    def __init__(self, path: Path, settings: Audit, clock: Clock) -> None:
        """Opens the file. Raises OSError."""
        self._path = path
        self._settings = settings
        self._clock = clock
        self._torn = False
        make_directory(path.parent)
        self._file, self._size = self._open()

    def _open(self) -> tuple[BinaryIO, int]:
        # Readable by the owner only. O_APPEND puts every write at the end, even with several writers.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(descriptor, "wb", buffering=0), os.fstat(descriptor).st_size

    def append(self, lines: bytes) -> None:
        """Appends whole lines and rotates the file first if necessary. Raises OSError."""
        most = self._settings.log_max_size * _MEGABYTE
        if most and self._size and self._size + len(lines) > most:
            self._rotate()
        if self._torn:  # the failed write may have left a partial line
            lines = b"\n" + lines
        view = memoryview(lines)
        self._torn = True
        while view:
            written = self._file.write(view)
            self._size += written or 0
            view = view[written:]
        self._torn = False

    def _rotate(self) -> None:
        self._file.close()
        stamp = self._clock.now().strftime(_STAMP)[:-3]
        aside = self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}")
        number = 0
        while aside.exists():
            number += 1
            aside = self._path.with_name(f"{self._path.stem}-{stamp}-{number}{self._path.suffix}")
        os.replace(self._path, aside)
        self._file, self._size = self._open()
        if self._settings.log_compress:
            _compress(aside)
        self._delete_old()

    def _delete_old(self) -> None:
        """Deletes rotated files beyond the configured number or age."""
        settings = self._settings
        found = sorted(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}*"), reverse=True)
        dated = [(path, when) for path in found if (when := _stamp(path, self._path)) is not None]
        most = settings.log_max_backup or len(dated)
        oldest = self._clock.now().replace(tzinfo=None) - timedelta(days=settings.log_max_age)
        for index, (path, when) in enumerate(dated):
            if index >= most or (settings.log_max_age and when < oldest):
                with contextlib.suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        self._file.close()


def _compress(path: Path) -> None:
    packed = path.with_name(f"{path.name}.gz")
    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with path.open("rb") as plain, os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wb") as small:
        shutil.copyfileobj(plain, small)
    path.unlink()


def _stamp(path: Path, of: Path) -> datetime | None:
    """Returns the time at which a file was rotated, or None if the file is not a rotated audit log."""
    name = path.name.removesuffix(".gz")
    text = name.removeprefix(f"{of.stem}-").removesuffix(of.suffix)
    try:
        return datetime.strptime(text[:23], _STAMP)
    except ValueError:
        return None


class StandardOutput:
    """Appends lines to standard output."""

    def append(self, lines: bytes) -> None:
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Leaves standard output open, because other code still uses the stream."""


class BlockingLog:
    """Writes each event before its request continues."""

    def __init__(self, file: Lines) -> None:
        self._file = file
        self._dropped = 0

    def write(self, event: Object) -> bool:
        try:
            self._file.append(_encode(event) + b"\n")
        except OSError as error:
            if not self._dropped:
                _log.error("cannot write the audit log: %s", error)
            self._dropped += 1
            return False
        return True

    def errors(self) -> dict[str, int]:
        return {"log": self._dropped} if self._dropped else {}

    def close(self) -> None:
        self._file.close()


class BatchLog:
    """Writes events in batches in a background thread."""

    def __init__(self, file: Lines, most: int) -> None:
        self._file = file
        self._most = most
        self._lines: deque[bytes] = deque()
        # Bytes added to the queue and bytes written. Each counter is changed by one thread only.
        self._bytes_queued = 0
        self._bytes_written = 0
        self._overflowed = 0
        self._dropped = 0
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="setpoint-audit", daemon=True)
        self._thread.start()

    def write(self, event: Object) -> bool:
        line = _encode(event) + b"\n"
        if len(self._lines) >= self._most or self._bytes_queued - self._bytes_written > _MAX_WAITING_BYTES:
            if not self._overflowed:
                _log.error("the audit log buffer is full because the disk is too slow: events are lost")
            self._overflowed += 1
            return False
        self._bytes_queued += len(line)
        self._lines.append(line)
        self._wake.set()
        return True

    def _run(self) -> None:
        while not self._closing or self._lines:
            self._wake.wait()
            self._wake.clear()
            while self._lines:
                self._write_some()

    def _write_some(self) -> None:
        batch = [self._lines.popleft() for _ in range(min(len(self._lines), 400))]
        lines = b"".join(batch)
        try:
            self._file.append(lines)
        except (OSError, ValueError) as error:
            if not self._dropped:
                _log.error("cannot write the audit log: %s", error)
            self._dropped += len(batch)
        self._bytes_written += len(lines)

    def errors(self) -> dict[str, int]:
        found = {"buffered": self._overflowed, "log": self._dropped}
        return {name: count for name, count in found.items() if count}

    def close(self, timeout: float = 5.0) -> None:
        """Writes the remaining events, waiting at most `timeout` seconds."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout)
        if not self._thread.is_alive():
            self._file.close()


def open_log(settings: Audit, clock: Clock) -> BatchLog | BlockingLog:
    """Opens the log described by the settings. Raises OSError."""
    file: Lines = StandardOutput() if settings.log_path == "-" else AuditFile(Path(settings.log_path), settings, clock)
    if settings.log_mode == "batch":
        return BatchLog(file, settings.log_batch_buffer_size)
    return BlockingLog(file)
