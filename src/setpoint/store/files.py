"""Files that hold state or credentials: created for the current user only, and refused if others could change them."""

import logging
import os
import stat
from errno import ENOTDIR, EPERM
from pathlib import Path

_logger = logging.getLogger("setpoint.store")

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Unsafe(OSError):
    """Another user owns the file or may change the file."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def make_directory(path: Path) -> None:
    """Creates a directory, and its missing parents, for the current user only. An existing directory keeps its mode."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        each.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    if not path.is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(path))


def make_file(path: Path) -> None:
    """Creates an empty file for the current user only. Raises FileExistsError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))


def make_private(path: Path) -> None:
    """Revokes other users' right to read a file. Raises Unsafe if another user owns or could have changed the file."""
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise Unsafe(
            EPERM,
            f"it belongs to user {found.st_uid}, and this process runs as user {os.geteuid()}; "
            f"run it as that user, or change the owner: chown {os.geteuid()} {path}",
            str(path),
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & _OTHERS_WRITE:
        raise Unsafe(
            EPERM,
            f"users other than its owner may change it (mode {mode:04o}); "
            f"check that nobody has, and take the right away: chmod {FILE_MODE:o} {path}",
            str(path),
        )
    if mode & _OTHERS:
        _logger.warning("%s could be read by other users (mode %04o); its mode is now 0600", path, mode)
        path.chmod(FILE_MODE)


def write_private(path: Path, data: bytes) -> None:
    """Replaces a file atomically by one that only the current user can access."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
            file.write(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
