"""Locks between processes. They are the operating system's: one vanishes with its holder, however that ended."""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from setpoint.objects.clock import Clock

_LOOK_SECONDS = 0.05


@contextmanager
def locked(path: Path, *, make: bool = True) -> Iterator[bool]:
    """Whether the lock of a file is ours until the end of the block; if not, somebody else has it, or had it just now
    and removed the file. With `make` it is made where there is none; without, nobody has the lock then.

    Raises OSError."""
    descriptor = _opened(path, make)
    if descriptor is None:
        yield True
        return
    try:
        yield _takes(descriptor) and (not make or _is_still(path, descriptor))
    finally:
        os.close(descriptor)


@asynccontextmanager
async def turn(path: Path, clock: Clock) -> AsyncIterator[None]:
    """Waits until nobody else has the lock of a file, and takes it. Raises OSError."""
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


def _takes(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one under that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
