"""Files that hold secrets: readable by our own user only, and never there by halves."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Puts a file in its place in one step: whoever reads it sees the old one or the new one, whole."""
    made = _beside(path, data, mode)
    try:
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def write_once(path: Path, data: bytes) -> bytes:
    """Writes a file if there is none yet. Returns what it holds: ours, or what somebody else was quicker to write."""
    made = _beside(path, data, 0o600)
    try:
        with suppress(FileExistsError):
            os.link(made, path)
        return path.read_bytes()
    finally:
        made.unlink(missing_ok=True)


def _beside(path: Path, data: bytes, mode: int) -> Path:
    made = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return made
