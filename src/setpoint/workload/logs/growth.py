"""Reports that a file has grown: by inotify on Linux, otherwise by looking at its size."""

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from setpoint.machine.chosen import is_portable

_IN_MODIFY = 0x2
_LOOK_SECONDS = 0.2


class Growth:
    """Calls `grown` after each change of a file, until closed. Raises OSError."""

    def __init__(self, path: Path, grown: Callable[[], None]) -> None:
        self._path, self._grown = path, grown
        self._loop = asyncio.get_running_loop()
        self._descriptor = -1
        self._timer: asyncio.TimerHandle | None = None
        if is_portable:
            self._look(path.stat().st_size)
        else:
            self._descriptor = _watch(path)
            self._loop.add_reader(self._descriptor, self._noticed)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _noticed(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 1 << 16)
        self._grown()

    def _look(self, size: int) -> None:
        """Looks at the size now and regularly, in real time like the notifications of a system."""
        now = self._path.stat().st_size if self._path.exists() else size
        self._timer = self._loop.call_later(_LOOK_SECONDS, self._look, now)
        if now != size:
            self._grown()


def _watch(path: Path) -> int:
    """Returns a descriptor that becomes readable when the file is written to."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0 or libc.inotify_add_watch(descriptor, os.fsencode(path), _IN_MODIFY) < 0:
        number = ctypes.get_errno()
        if descriptor >= 0:
            os.close(descriptor)
        raise OSError(number, os.strerror(number), str(path))
    return descriptor
