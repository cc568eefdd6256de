"""Linux inotify: one instance for a control plane, shared by all watchers; several may watch the same directory."""

import asyncio
import ctypes
import os
import struct
from typing import Protocol

CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF, OVERFLOW, IGNORED, IS_DIRECTORY = 0x400, 0x800, 0x4000, 0x8000, 0x40000000
_ONLY_DIRECTORIES = 0x01000000
_MASK = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF | _ONLY_DIRECTORIES
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 18


class InotifyListener(Protocol):
    """Receives the notifications of a watch."""

    def happened(self, mask: int, directory: str, name: str) -> None:
        """Called for an event of the entry with that name in a directory or, without a name, of the directory
        itself."""

    def on_overflow(self) -> None:
        """Called when notifications were lost: any file may have changed."""


class Inotify:
    """The inotify watches. Raises OSError if the system has no watches left, and on systems other than Linux."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "inotify_init1"):
            raise OSError("this system has no inotify")
        self._descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise _error("")
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)
        # By the number of the watch: its listeners, with their paths of the directory.
        self._listeners: dict[int, dict[InotifyListener, str]] = {}
        self._numbers: dict[tuple[InotifyListener, str], int] = {}

    def add(self, directory: str, listener: InotifyListener) -> None:
        """Notifies a listener of changes to the entries of a directory. Raises OSError."""
        if (listener, directory) in self._numbers:
            return
        number: int = self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _MASK)
        if number < 0:
            raise _error(directory)
        self._listeners.setdefault(number, {})[listener] = directory
        self._numbers[listener, directory] = number

    def remove(self, directory: str, listener: InotifyListener) -> None:
        number = self._numbers.pop((listener, directory), None)
        if number is None:
            return
        listeners = self._listeners.get(number, {})
        listeners.pop(listener, None)
        if not listeners and self._listeners.pop(number, None) is not None:
            self._libc.inotify_rm_watch(self._descriptor, number)

    def close(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            self._notify(number, mask, name)

    def _notify(self, number: int, mask: int, name: str) -> None:
        if mask & OVERFLOW:
            for listener in {each for listeners in self._listeners.values() for each in listeners}:
                listener.on_overflow()
            return
        listeners = list(self._listeners.get(number, {}).items())
        if mask & IGNORED:
            self._listeners.pop(number, None)
            for listener, directory in listeners:
                self._numbers.pop((listener, directory), None)
        for listener, directory in listeners:
            listener.happened(mask, directory, name)


def _error(path: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)
