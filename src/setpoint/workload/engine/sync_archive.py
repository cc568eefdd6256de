"""Archives of changed files of this machine for a container, in parts of bounded size.

The archives are unpacked at `/`. A file keeps its mode and its time; the owner is the user of the container.
"""

import io
import os
import posixpath
import stat
import tarfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from setpoint.workload.engine.archive import ArchiveError, Owner, end_archive

# The size of one archive. Larger archives would only occupy memory.
_PART_BYTES = 16 << 20
_MOST_FILE_BYTES = 256 << 20
_MOST_BYTES = 1 << 30
_MOST_FILES = 50_000


class Copy(NamedTuple):
    """A file or symbolic link of this machine, and its path in the container."""

    source: str
    target: str


class SyncPart(NamedTuple):
    """One archive, and the number of its files and of their bytes."""

    data: bytes
    files: int
    size: int


def sync_parts(copies: Iterable[Copy], owner: Owner, where: str) -> Iterator[SyncPart]:
    """Yields archives of the files. Files that have vanished, sockets and devices are skipped. Raises ArchiveError if
    the files are too large or too many."""
    part, files, size, all_files, all_bytes = _Part(), 0, 0, 0, 0
    for copy in copies:
        found = _read(copy, owner, where)
        if found is None:
            continue
        entry, data = found
        all_files, all_bytes = all_files + 1, all_bytes + len(data)
        if all_files > _MOST_FILES or all_bytes > _MOST_BYTES:
            raise ArchiveError(
                f"{where}: more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB to copy; ignore directories of "
                "generated files, or mount the directory"
            )
        if files and size + len(data) > _PART_BYTES:
            yield SyncPart(part.finish(), files, size)
            part, files, size = _Part(), 0, 0
        part.add(entry, data)
        files, size = files + 1, size + len(data)
    if files:
        yield SyncPart(part.finish(), files, size)


class _Part:
    def __init__(self) -> None:
        self._made = io.BytesIO()
        self._archive = tarfile.TarFile(fileobj=self._made, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, entry: tarfile.TarInfo, data: bytes) -> None:
        self._archive.addfile(entry, io.BytesIO(data) if entry.isreg() else None)

    def finish(self) -> bytes:
        return end_archive(self._archive, self._made)


def _read(copy: Copy, owner: Owner, where: str) -> tuple[tarfile.TarInfo, bytes] | None:
    entry = tarfile.TarInfo(copy.target.lstrip("/"))
    entry.uid, entry.gid = owner
    try:
        about = os.lstat(copy.source)
        entry.mode, entry.mtime = stat.S_IMODE(about.st_mode), int(about.st_mtime)
        if stat.S_ISLNK(about.st_mode):
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(copy.source)
            return entry, b""
        if not stat.S_ISREG(about.st_mode):
            return None
        if about.st_size > _MOST_FILE_BYTES:
            raise ArchiveError(
                f"{where}: {copy.source} has more than {_MOST_FILE_BYTES >> 20} MiB; ignore or mount the file"
            )
        with open(copy.source, "rb") as file:
            data = file.read(_MOST_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ArchiveError(f"{where}: {copy.source} cannot be read: {error.strerror}") from None
    entry.size = len(data)
    return entry, data


def owner_of(user: str, accounts: str, groups: str) -> Owner:
    """Returns the owner for files of a container with this user, by the texts of its /etc/passwd and /etc/group."""
    name, _, group = user.partition(":")
    listed = {fields[0]: fields for line in accounts.splitlines() if len(fields := line.split(":")) > 3}
    known = listed.get(name) or next((each for each in listed.values() if each[2] == name), None)
    number = int(name) if name.isdecimal() else _number(known[2]) if known else 0
    if group:
        names = {fields[0]: fields[2] for line in groups.splitlines() if len(fields := line.split(":")) > 2}
        return Owner(number, int(group) if group.isdecimal() else _number(names.get(group, "0")))
    return Owner(number, _number(known[3]) if known else 0)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def text_of(archive: bytes) -> str:
    """Returns the contents of the first file in an archive, as text."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for entry in opened:
            if entry.isreg() and (file := opened.extractfile(entry)) is not None:
                return file.read().decode("utf-8", "replace")
    return ""


def place_in(target: str, source: str, relative: str) -> str:
    """Returns the path in the container of a file below a source. A target with a slash at the end is the directory of
    a single file."""
    if relative:
        return posixpath.join(target, relative)
    return posixpath.join(target, os.path.basename(source)) if target.endswith("/") else target
