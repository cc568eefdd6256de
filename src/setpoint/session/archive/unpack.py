"""Unpacks an archive into the directory of a session: revisions into a store with the same numbers, and logs into log
files. The contents are validated before and during unpacking.
"""

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from setpoint.objects.clock import SystemClock
from setpoint.objects.times import parse_micro_time
from setpoint.session.archive.format import (
    FORMAT,
    LONGEST_LINE,
    MANIFEST,
    REVISIONS,
    BadArchive,
    Lines,
    LogOf,
    Manifest,
    log_of,
)
from setpoint.session.paths import Places
from setpoint.store.bounds import Bounds
from setpoint.store.sqlite.importer import fill
from setpoint.workload.logs.capture import Capture, Limits

_MOST_FILES = 100_000
_LONGEST_MANIFEST = 64 << 20
# Limits above any real session: total size, and ratio of decompression.
_LARGE, _LARGEST = 2 << 30, 64 << 30
_MOST_TIMES = 200
# The disk space that must stay free.
_SPARE = 64 << 20
_TIME_LENGTH = len("2026-01-31T12:00:00.000Z")
# Logs of an archive are never truncated.
_UNLIMITED = Limits(16 << 20, 1 << 20)


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Opens the archive in a file. Raises BadArchive and OSError."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check(archive, path.stat().st_size)
            yield archive
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadArchive(f"{path} is not a complete archive ({error}): copy the file again") from None


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Returns the manifest of an archive. Raises BadArchive."""
    try:
        info = archive.getinfo(MANIFEST)
    except KeyError:
        raise BadArchive(f"not an archive of `setpoint export`: {MANIFEST} is missing") from None
    if info.file_size > _LONGEST_MANIFEST:
        raise BadArchive(f"{MANIFEST} is too large")
    text = archive.read(info)
    try:
        decoded = msgspec.json.decode(text)
        newer = decoded["format"] > FORMAT
        version = decoded.get("setpoint", "")
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
        raise BadArchive(f"{MANIFEST} is invalid") from None
    if newer:
        raise BadArchive(f"the archive was created by a newer Setpoint ({version}): open it with that version")
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
        parse_micro_time(manifest.exported)
        return manifest
    except (msgspec.DecodeError, ValueError) as error:
        raise BadArchive(f"{MANIFEST} is invalid: {error}") from None


def _check(archive: zipfile.ZipFile, size: int) -> None:
    """Rejects malicious archives: path traversal, duplicate files and decompression bombs."""
    infos = archive.infolist()
    for info in infos:
        place = PurePosixPath(info.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts:
            raise BadArchive(f"archive rejected: {info.filename!r} is outside of the archive")
    if len(infos) > _MOST_FILES or len({info.filename for info in infos}) != len(infos):
        raise BadArchive("archive rejected: too many or duplicate files")
    total = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if total > _LARGEST or (total > _LARGE and total > _MOST_TIMES * size) or packed > size:
        raise BadArchive(f"archive rejected: its {size:,} bytes would expand to {total:,}")


def unpack(archive: zipfile.ZipFile, manifest: Manifest, places: Places) -> None:
    """Creates the store and logs of a session. Raises BadArchive, StoreError, OSError."""
    total = sum(info.file_size for info in archive.infolist())
    if total > shutil.disk_usage(places.data).free - _SPARE:
        raise BadArchive(f"the archive needs up to {total:,} bytes, more than the free space in {places.data}")
    if not 0 <= manifest.oldest <= manifest.revision:
        raise BadArchive(f"{MANIFEST}: the oldest revision is after the last one")
    try:
        info = archive.getinfo(REVISIONS)
    except KeyError:
        raise BadArchive(f"the archive is damaged: {REVISIONS} is missing") from None
    with archive.open(info) as file:
        entries = Lines(manifest).read(_lines(file, REVISIONS))
        fill(places.store, entries, Bounds(manifest.oldest, manifest.revision))
    for name in archive.namelist():
        if (log := log_of(name)) is not None:
            with archive.open(name) as file:
                _unpack_log(_lines(file, name), log, places)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise BadArchive(f"{name} has a line that is too long")
        yield line


class _LineClock(SystemClock):
    """A clock that returns the timestamp of the current log line."""

    moment = datetime.fromtimestamp(0, UTC)

    def now(self) -> datetime:
        return self.moment


def _unpack_log(lines: Iterator[bytes], log: LogOf, places: Places) -> None:
    """Writes the log lines with their original timestamps."""
    clock = _LineClock()
    capture = Capture(places.workloads / "logs" / log.uid, log.source, clock, _UNLIMITED)
    held: list[bytes] = []
    before = b""
    for line in lines:
        time = line[: _TIME_LENGTH + 1]
        if time != before:
            moment = _moment(time)
            if moment is None and not before:
                raise BadArchive(f"{log.path} does not begin with a timestamp")
            if moment is None:
                held.append(line)  # the continuation of a line that was too long
                continue
            if held:
                capture.write(b"".join(held))
            held, before, clock.moment = [], time, moment
        held.append(line[_TIME_LENGTH + 1 :])
    if held:
        capture.write(b"".join(held))
    capture.release()


def _moment(text: bytes) -> datetime | None:
    """Parses the timestamp of a line; None if there is none."""
    try:
        found = datetime.fromisoformat(text[:-1].decode("ascii"))
    except ValueError:
        return None
    return found if found.tzinfo is not None and text.endswith(b" ") else None
