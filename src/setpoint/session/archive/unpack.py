"""Unpacks an archive into the directory of a session: revisions into a store with the same numbers, and logs into log
files. The contents are validated before and during unpacking.
"""

import shutil
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime

from setpoint.objects.clock import SystemClock
from setpoint.past.archive.format import BadArchive, LogOf, Manifest, log_of
from setpoint.past.archive.reader import file_lines, revisions
from setpoint.session.archive.telemetry import unpack_telemetry
from setpoint.session.paths import Places
from setpoint.store.bounds import Bounds
from setpoint.store.sqlite.importer import fill
from setpoint.workload.logs.capture import Capture, Limits

# The disk space that must stay free.
_SPARE = 64 << 20
_TIME_LENGTH = len("2026-01-31T12:00:00.000Z")
# Logs of an archive are never truncated.
_UNLIMITED = Limits(16 << 20, 1 << 20)


def unpack(archive: zipfile.ZipFile, manifest: Manifest, places: Places) -> None:
    """Creates the store and logs of a session. Raises BadArchive, StoreError, OSError."""
    total = sum(info.file_size for info in archive.infolist())
    if total > shutil.disk_usage(places.data).free - _SPARE:
        raise BadArchive(f"the archive needs up to {total:,} bytes, more than the free space in {places.data}")
    with revisions(archive, manifest) as entries:
        fill(places.store, entries, Bounds(manifest.oldest, manifest.revision))
    unpack_telemetry(archive, places.telemetry)
    for name in archive.namelist():
        if (log := log_of(name)) is not None:
            with archive.open(name) as file:
                _unpack_log(file_lines(file, name), log, places)


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
