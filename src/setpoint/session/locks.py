"""Locks between processes, by flock: the operating system releases a lock when its holder exits."""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from setpoint.objects.clock import Clock

_LOOK_SECONDS = 0.05


@contextmanager
def locked(path: Path, *, make: bool = True) -> Iterator[bool]:
    """Yields True if the lock of the file was taken, until the end of the block; False if another process holds the
    lock or has just removed the file. With `make`, creates a missing file; without, a missing file counts as unlocked.
    Raises OSError.
    """
    descriptor = _opened(path, make)
    if descriptor is None:
        yield True
        return
    try:
        yield _try_lock(descriptor) and (not make or _is_still(path, descriptor))
    finally:
        os.close(descriptor)


@asynccontextmanager
async def file_lock(path: Path, clock: Clock) -> AsyncIterator[None]:
    """Waits for the lock of a file and takes it. Raises OSError."""
    while True:
        with locked(path) as ours:
            if ours:
                yield
                return
        await clock.sleep(_LOOK_SECONDS)


def _opened(path: Path, make: bool) -> int | None:
    try:
        return os.open(path, os.O_RDWR | (os.O_CREAT if make else 0), 0o600)
    except FileNotFoundError:
        if make:
            raise
        return None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    """Returns True if the path still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
