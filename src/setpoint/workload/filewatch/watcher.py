"""Watches files below some paths for creation, change, move and removal, and reports them after a quiet period.

The system notifies of changes per directory; if no watches are left, the files are polled every second instead, and
`problem` has the reason. Editors that save by renaming, directories that are created later or again, and lost
notifications are all handled.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from setpoint.objects.clock import Clock
from setpoint.workload.filewatch import inotify
from setpoint.workload.filewatch.notifier import Notifier, remedy
from setpoint.workload.filewatch.patterns import Root
from setpoint.workload.ignore_patterns import Ignored

POLL_SECONDS = 1.0


class Watcher:
    """Watches until closed; calls `changed` with the files, in the order of their changes."""

    def __init__(
        self,
        roots: Sequence[Root],
        ignored: Ignored,
        debounce: float,
        changed: Callable[[list[str]], None],
        clock: Clock,
    ) -> None:
        self._roots, self._ignored, self._debounce = roots, ignored, debounce
        self._changed, self._clock = changed, clock
        self._notifier: Notifier | None = None
        self._watched: set[str] = set()
        self._found: dict[str, None] = {}
        self._last = 0.0
        self._debouncing: asyncio.Task[None] | None = None
        self._arming: asyncio.Task[None] | None = None
        self._again = False
        self._polling: asyncio.Task[None] | None = None
        self._scanned = asyncio.Event()
        # The reason for polling; empty: not polling.
        self.problem = ""

    async def start(self, notifier: Notifier | OSError) -> None:
        """Starts watching: with notifications, or by polling because of the error. Returns when the watch is active."""
        if isinstance(notifier, OSError):
            self._poll_instead(notifier)
        else:
            self._notifier = notifier
            await self._arm()
        if self._polling is not None:
            await self._scanned.wait()

    def close(self) -> None:
        for task in (self._debouncing, self._arming, self._polling):
            if task is not None:
                task.cancel()
        self._unwatch()

    def matches(self, path: str) -> bool:
        """Returns True if a file is watched."""
        return any(self._concerns(root, path) for root in self._roots)

    def _concerns(self, root: Root, path: str) -> bool:
        relative = root.below(path)
        if relative is None or (root.pattern is not None and not root.pattern.fullmatch(relative)):
            return False
        return not relative or not self._ignored(relative)

    # Notifications

    def happened(self, mask: int, directory: str, name: str) -> None:
        path = f"{directory}/{name}" if directory != "/" else f"/{name}"
        if mask & inotify.IGNORED:
            self._watched.discard(directory)
        if not name:
            # A deleted root may be created again.
            if any(root.below(directory) == "" or root.base.startswith(f"{directory}/") for root in self._roots):
                self._arm_again()
        elif mask & inotify.IS_DIRECTORY:
            self._directory(path, made=bool(mask & (inotify.CREATE | inotify.MOVED_TO)))
        elif self.matches(path):
            self._note(path)

    def on_overflow(self) -> None:
        self._arm_again()
        self._note(self._roots[0].base)

    def _directory(self, path: str, *, made: bool) -> None:
        if any(root.base == path or root.base.startswith(f"{path}/") for root in self._roots):
            self._arm_again()
        if not made:
            for each in [each for each in self._watched if each == path or each.startswith(f"{path}/")]:
                self._watched.discard(each)
                if self._notifier is not None:
                    self._notifier.remove(each, self)
            if self.matches(path):
                self._note(path)
            return
        for root in self._roots:
            relative = root.below(path)
            if relative is None or not root.deep or (relative and self._ignored(relative, is_directory=True)):
                continue
            for directory, files in self._walk(root, path):
                self._watch(directory)
                # The files may have been created before the watch.
                for each in files:
                    if self.matches(each):
                        self._note(each)

    # Watching

    async def _arm(self) -> None:
        """Watches all existing directories, and repeats until no new ones appear."""
        while True:
            directories = await asyncio.to_thread(self._directories)
            new = [each for each in directories if each not in self._watched]
            if not new or self._notifier is None:
                return
            for each in new:
                self._watch(each)

    def _arm_again(self) -> None:
        if self._notifier is None:
            return
        self._again = True
        if self._arming is None or self._arming.done():
            self._arming = asyncio.ensure_future(self._arm_until_done())

    async def _arm_until_done(self) -> None:
        while self._again:
            self._again = False
            before = set(self._watched)
            await self._arm()
            for root in self._roots:
                # A new root counts as a change of the root.
                if root.base in self._watched - before or (root.pattern is None and os.path.isfile(root.base)):
                    self._note(root.base)

    def _watch(self, directory: str) -> None:
        if self._notifier is None:
            return
        try:
            self._notifier.add(directory, self)
            self._watched.add(directory)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            # The directory is deleted already, or not readable: no notifications are possible.
            self._watched.add(directory)
        except OSError as error:
            self._unwatch()
            self._poll_instead(error)

    def _unwatch(self) -> None:
        if self._notifier is not None:
            for each in self._watched:
                self._notifier.remove(each, self)
        self._watched.clear()
        self._notifier = None

    def _directories(self) -> list[str]:
        found: dict[str, None] = {}
        for root in self._roots:
            if not os.path.isdir(root.base):
                found[_nearest(root.base)] = None
                continue
            for directory, _ in self._walk(root, root.base):
                found[directory] = None
        return list(found)

    def _walk(self, root: Root, top: str) -> Iterator[tuple[str, list[str]]]:
        """Yields the directories of a root below `top`, each with its files; ignored directories are skipped."""
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            files = []
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if not entry.is_dir(follow_symlinks=False):
                            files.append(entry.path)
                        elif root.deep and not self._ignored(root.below(entry.path) or "", is_directory=True):
                            waiting.append(entry.path)
            except OSError:
                continue
            yield directory, files

    # Polling

    def _poll_instead(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        self.problem = f"no more file watches ({reason}), polling the files every second instead: {remedy(error)}"
        self._polling = asyncio.ensure_future(self._poll())

    async def _poll(self) -> None:
        before: Mapping[str, object] = await asyncio.to_thread(self._snapshot)
        self._scanned.set()
        while True:
            await self._clock.sleep(POLL_SECONDS)
            now = await asyncio.to_thread(self._snapshot)
            for path in sorted(now.keys() | before.keys()):
                if now.get(path) != before.get(path):
                    self._note(path)
            before = now

    def _snapshot(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for root in self._roots:
            files = [root.base]
            if os.path.isdir(root.base):
                files = [file for _, names in self._walk(root, root.base) for file in names]
            for path in files:
                try:
                    about = os.stat(path)
                except OSError:
                    continue
                if stat.S_ISREG(about.st_mode) and self._concerns(root, path):
                    found[path] = (about.st_mtime_ns, about.st_size, about.st_ino)
        return found

    # Reports

    def _note(self, path: str) -> None:
        self._found[path] = None
        self._last = self._clock.monotonic()
        if self._debouncing is None or self._debouncing.done():
            self._debouncing = asyncio.ensure_future(self._wait_quiet())

    async def _wait_quiet(self) -> None:
        while (left := self._last + self._debounce - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        found, self._found = list(self._found), {}
        self._changed(found)


def _nearest(path: str) -> str:
    """Returns the nearest existing parent directory of a path."""
    parent = os.path.dirname(path)
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    return parent
