"""Notifications by watchfiles, for systems without inotify: FSEvents on macOS, polling elsewhere.

watchfiles names changed paths. The entries of their directories are compared with the last known ones, so changes
between two watches of a growing set of directories are found as well, and every change is reported once.
"""

import asyncio
import os
import sys
import threading
from importlib import import_module
from typing import Any, TypeAlias

from setpoint.workload.filewatch.inotify import (
    CLOSE_WRITE,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    IS_DIRECTORY,
    InotifyListener,
)

_STEP_MILLISECONDS = 50
_POLL_MILLISECONDS = 200
_TIMEOUT_MILLISECONDS = 1000
_POLLS = sys.platform != "darwin"

# By name: True for a directory, and the modification time, size and inode of a file.
Entries: TypeAlias = dict[str, tuple[bool, tuple[int, int, int]]]


class WatchfilesNotifier:
    """One watch for all directories of all listeners."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[InotifyListener]] = {}
        self._known: dict[str, Entries] = {}
        # By the path without symbolic links, which the system reports.
        self._directories: dict[str, str] = {}
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def add(self, directory: str, listener: InotifyListener) -> None:
        listeners = self._listeners.get(directory)
        if listeners is not None:
            if listener not in listeners:
                listeners.append(listener)
            return
        self._known[directory] = _entries(directory)
        self._listeners[directory] = [listener]
        self._directories[os.path.realpath(directory)] = directory
        self._begin_again()

    def remove(self, directory: str, listener: InotifyListener) -> None:
        listeners = self._listeners.get(directory, [])
        if listener in listeners:
            listeners.remove(listener)
            if not listeners:
                self._forget(directory)

    def close(self) -> None:
        self._is_closed = True
        self._stop.set()  # the thread of the watch ends within a step
        if self._task is not None:
            self._task.cancel()

    def _forget(self, directory: str) -> None:
        self._listeners.pop(directory, None)
        self._known.pop(directory, None)
        self._directories.pop(os.path.realpath(directory), None)

    def _begin_again(self) -> None:
        """Ends the current watch; the next one includes the new directories."""
        self._stop.set()
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while self._listeners and not self._is_closed:
            self._stop = threading.Event()
            directories = list(self._listeners)
            notify = await asyncio.to_thread(_open, directories)
            for directory in directories:
                self._compare(directory)
            if notify is None:
                await asyncio.to_thread(self._stop.wait, _POLL_MILLISECONDS / 1000)
            while notify is not None and not self._stop.is_set():
                found = await asyncio.to_thread(
                    notify.watch, 2 * _STEP_MILLISECONDS, _STEP_MILLISECONDS, _TIMEOUT_MILLISECONDS, self._stop
                )
                if found == "timeout" and _POLLS:
                    places = set(self._directories)  # its polling ignores a second change in the same second
                elif isinstance(found, str):
                    continue
                else:
                    places = {each for _, path in found for each in (path, os.path.dirname(path))}
                # The files of a deleted directory before the directory.
                for place in sorted(places, key=len, reverse=True):
                    changed = self._directories.get(place) or self._directories.get(os.path.realpath(place))
                    if changed is not None:
                        self._compare(changed)

    def _compare(self, directory: str) -> None:
        """Reports the differences to the last known entries of a directory."""
        before = self._known.get(directory)
        if before is None:
            return
        try:
            now, is_deleted = _entries(directory), False
        except OSError:
            now, is_deleted = {}, True
        self._known[directory] = now
        for name in sorted(before.keys() | now.keys()):
            was, found = before.get(name), now.get(name)
            if was is not None and (found is None or was[0] != found[0]):
                self._tell(directory, DELETE | (IS_DIRECTORY if was[0] else 0), name)
            if found is not None and found[0] and (was is None or not was[0]):
                self._tell(directory, CREATE | IS_DIRECTORY, name)
            elif found is not None and not found[0] and found != was:
                self._tell(directory, CLOSE_WRITE, name)
        if is_deleted:
            self._tell(directory, DELETE_SELF | IGNORED, "")
            self._forget(directory)
            self._drop_entry(directory)

    def _drop_entry(self, directory: str) -> None:
        """Reports the deletion of a directory to the listeners of its parent. A new directory with this name is then a
        change, even if it was created before the next comparison of the parent."""
        parent, name = os.path.split(directory)
        entries = self._known.get(parent, {})
        if name in entries and entries[name][0]:
            del entries[name]
            self._tell(parent, DELETE | IS_DIRECTORY, name)

    def _tell(self, directory: str, mask: int, name: str) -> None:
        for listener in list(self._listeners.get(directory, ())):
            listener.happened(mask, directory, name)


def _entries(directory: str) -> Entries:
    found: Entries = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                is_directory = entry.is_dir(follow_symlinks=False)
                about = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # deleted meanwhile
            # The time of a directory changes with its entries, which have a watch of their own.
            facts = (0, 0, 0) if is_directory else (about.st_mtime_ns, about.st_size, about.st_ino)
            found[entry.name] = is_directory, facts
    return found


def _open(directories: list[str]) -> Any:
    """Returns a watch of existing directories; None if a directory is being deleted."""
    make = import_module("watchfiles._rust_notify").RustNotify
    try:
        return make(directories, False, _POLLS, _POLL_MILLISECONDS, False, True)
    except (OSError, RuntimeError):
        return None
