"""Files with secrets: readable by the current user only, and written atomically."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replaces a file in one step: a reader sees the complete old or the complete new file."""
    made = _write_temporary(path, data, mode)
    try:
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def write_once(path: Path, data: bytes) -> bytes:
    """Writes a file if it does not exist yet. Returns the content of the file, which another process may have written
    first."""
    made = _write_temporary(path, data, 0o600)
    try:
        with suppress(FileExistsError):
            os.link(made, path)
        return path.read_bytes()
    finally:
        made.unlink(missing_ok=True)


def _write_temporary(path: Path, data: bytes, mode: int) -> Path:
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
