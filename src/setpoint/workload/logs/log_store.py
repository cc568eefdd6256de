"""The logs of all objects: their tracks, their files, and their completeness.

Objects are identified by uid, so that an object created again with the same name begins with an empty log. Notes of the
control plane are written with a delay, so that they do not slow down starts.
"""

import asyncio
import shutil
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.workload.logs.attempts import Attempts, Window
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Capture, Limits
from setpoint.workload.logs.file_follower import FollowedFile
from setpoint.workload.logs.log_reader import read
from setpoint.workload.logs.note_line import INFO, PLAIN, Note, NoteFormat
from setpoint.workload.logs.options import LogOptions

SYSTEM = "system"
NOTE_SECONDS = 1.0


@dataclass
class Log:
    """The tracks of one object, by source; `done` is set while no more output is expected."""

    directory: Path
    tracks: dict[str, Capture | FollowedFile] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    # Set when a track was added, or none will follow.
    news: asyncio.Event = field(default_factory=asyncio.Event)
    # Fetches the output for objects whose output is stored by the engine; called before a read.
    demand: Callable[[], Awaitable[None]] | None = None
    attempts: Attempts = field(init=False)

    def __post_init__(self) -> None:
        self.attempts = Attempts(self.directory)


class LogStore:
    """The logs of a control plane. The files of the last `kept` deleted objects are kept, for later analysis."""

    def __init__(self, directory: Path, clock: Clock, *, kept: int = 0, note_format: NoteFormat = PLAIN) -> None:
        self._directory, self._clock, self._kept = directory, clock, kept
        self._note_format = note_format
        self._removed: deque[Path] = deque()
        self._logs: dict[str, Log] = {}
        # The captures with held notes, and the task that writes them.
        self._noted: set[Capture] = set()
        self._flushing: asyncio.Task[None] | None = None

    def of(self, uid: str) -> Log:
        """Returns the log of an object, created on first use."""
        found = self._logs.get(uid)
        if found is None:
            found = self._logs[uid] = Log(self._directory / uid)
        return found

    def find(self, uid: str) -> Log | None:
        """Returns the log of an object, or None."""
        return self._logs.get(uid)

    def uids(self) -> list[str]:
        """Returns the uids of objects with logs, the oldest first."""
        return list(self._logs)

    def capture(self, uid: str, source: str, limits: Limits = DEFAULT_LIMITS) -> Capture:
        """Returns the capture for the output of an object; another run continues the previous output."""
        log = self.of(uid)
        log.done.clear()
        found = log.tracks.get(source)
        if not isinstance(found, Capture):
            found = log.tracks[source] = Capture(log.directory, source, self._clock, limits)
        found.begin()
        log.news.set()
        return found

    def begin_attempt(self, uid: str) -> None:
        """Records the start of a run, after its captures exist: they complete the last line of the run before."""
        self.of(uid).attempts.begin(int(self._clock.now().timestamp() * 1_000_000))

    def follow(self, uid: str, source: str, path: Path) -> FollowedFile:
        """Follows the output that another process writes to a file."""
        log = self.of(uid)
        log.done.clear()
        found = log.tracks.get(source)
        if found is not None:
            found.release()
        followed = log.tracks[source] = FollowedFile(path, self._clock)
        log.news.set()
        return followed

    def reopen(self) -> dict[str, list[str]]:
        """Opens the existing logs of the directory for reading. Returns the sources of each object."""
        found: dict[str, list[str]] = {}
        for path in sorted(self._directory.glob("*/*.log")):
            source = path.name.partition(".")[0]
            log = self.of(path.parent.name)
            if source not in log.tracks:
                track = log.tracks[source] = Capture(log.directory, source, self._clock)
                track.release()
                log.done.set()
                found.setdefault(path.parent.name, []).append(source)
        return found

    def note(self, uid: str, text: str, kind: str = "", level: str = INFO) -> None:
        """Writes a line of the control plane about an object to the log `system`."""
        log = self.of(uid)
        found = log.tracks.get(SYSTEM)
        if found is None:
            found = log.tracks[SYSTEM] = Capture(log.directory, SYSTEM, self._clock)
            log.news.set()
        if isinstance(found, Capture):
            found.buffer(self._note_format.line(Note(text, kind, level)).encode() + b"\n")
            self._noted.add(found)
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.ensure_future(self._flush())

    def end(self, uid: str) -> None:
        """Ends the log of this run."""
        log = self._logs.get(uid)
        if log is not None:
            for track in log.tracks.values():
                if isinstance(track, FollowedFile):
                    track.close()
            log.done.set()
            log.news.set()

    async def read(self, uid: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yields the requested lines; with follow, waits for the first one."""
        log = self.of(uid)
        if log.demand is not None and options.source != SYSTEM:
            await log.demand()
        if options.selects_attempt:
            options = _within(options, log.attempts.window(options.attempt, previous=options.previous))
        if options.source == SYSTEM:
            options = options._replace(after_time=self._note_format.after_time)
        wanted = {"stdout", "stderr"} if options.source == "all" else {options.source}
        while not wanted & log.tracks.keys():
            if not options.follow or log.done.is_set():
                return
            if options.marks_present:
                options = options._replace(marks_present=False)
                yield b""
                continue
            log.news.clear()
            await log.news.wait()
        async for piece in read(log.tracks, options, log.done, self._clock):
            yield piece

    async def tail(self, uid: str, source: str, lines: int = 5, since: datetime | None = None) -> str:
        """Returns the last lines of a source as text."""
        log = self.of(uid)
        track = log.tracks.get(source)
        if log.demand is None and (track is None or not (track.complete() or track.partial())):
            return ""
        options = LogOptions(source, tail=lines, since_time=since)
        pieces = [piece async for piece in self.read(uid, options)]
        return b"".join(pieces).decode("utf-8", "replace").rstrip("\n")

    def remove(self, uid: str) -> None:
        """Removes the log of an object and its files, except the files of persistent processes, which are in another
        directory."""
        log = self._logs.pop(uid, None)
        if log is not None:
            log.done.set()
            log.news.set()
            for track in log.tracks.values():
                if isinstance(track, Capture) and not self._kept:
                    track.remove()
                else:
                    track.release()
            self._removed.append(log.directory)
            while len(self._removed) > self._kept:
                shutil.rmtree(self._removed.popleft(), ignore_errors=True)

    def close(self) -> None:
        """Closes all files and keeps them."""
        if self._flushing is not None:
            self._flushing.cancel()
        self._noted.clear()
        for log in self._logs.values():
            log.done.set()
            log.news.set()
            for track in log.tracks.values():
                track.release()
        self._logs.clear()

    async def _flush(self) -> None:
        """Writes the held notes, one capture at a time so that the event loop is not blocked."""
        await self._clock.sleep(NOTE_SECONDS)
        while self._noted:
            self._noted.pop().flush()
            await self._clock.sleep(0)


def _within(options: LogOptions, window: Window) -> LogOptions:
    """Returns the options with the times of an attempt as additional limits."""
    since, until = (None if each is None else datetime.fromtimestamp(each / 1_000_000, UTC) for each in window)
    times = [each for each in (options.since_time, since) if each is not None]
    ends = [each for each in (options.until, until) if each is not None]
    return options._replace(
        since_time=max(times, default=None), until=min(ends, default=None), attempt=None, previous=False
    )
