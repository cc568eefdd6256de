"""Reads an archive: the manifest, and the revisions as entries of a log. The contents are untrusted, and validated."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from setpoint.objects.times import parse_micro_time
from setpoint.past.archive.format import FORMAT, LONGEST_LINE, MANIFEST, REVISIONS, BadArchive, Lines, Manifest
from setpoint.store.contract import LogEntry

_MOST_FILES = 100_000
_LONGEST_MANIFEST = 64 << 20
# Limits above any real session: total size, and ratio of decompression.
_LARGE, _LARGEST = 2 << 30, 64 << 30
_MOST_TIMES = 200


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
        raise BadArchive(f"the archive was created by a newer Setpoint ({version}): open the file with that version")
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


@contextmanager
def revisions(archive: zipfile.ZipFile, manifest: Manifest) -> Iterator[Iterator[LogEntry]]:
    """Opens the log of revisions. Raises BadArchive, also while the entries are read."""
    if not 0 <= manifest.oldest <= manifest.revision:
        raise BadArchive(f"{MANIFEST}: the oldest revision is after the last one")
    try:
        info = archive.getinfo(REVISIONS)
    except KeyError:
        raise BadArchive(f"the archive is damaged: {REVISIONS} is missing") from None
    with archive.open(info) as file:
        yield Lines(manifest).read(file_lines(file, REVISIONS))


def file_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yields the lines of a file in an archive. Raises BadArchive for a line that is too long."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise BadArchive(f"{name} has a line that is too long")
        yield line
