"""Copies the output of a container into its log, while the container runs, across restarts and lost connections to the
engine.

The engine returns the whole output of a container with each request: the bytes already copied are counted and skipped.
(A request for the output since a timestamp would lose or repeat lines, because not all engines support fractions of
seconds.)
"""

import asyncio
from contextlib import suppress
from datetime import datetime

from setpoint.objects.clock import Clock, timeout
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, NotFound
from setpoint.workload.engine.results import Container, moment
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Capture, Limits
from setpoint.workload.logs.log_store import LogStore

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
# The time to wait for the end of the output after the end of the container.
_SETTLE_SECONDS = 3.0


class ContainerOutput:
    """The output of one Container object."""

    def __init__(self, logs: LogStore, uid: str, clock: Clock) -> None:
        self._logs, self._uid, self._clock = logs, uid, clock
        self.limits: Limits = DEFAULT_LIMITS
        self._task: asyncio.Task[None] | None = None
        self._sinks: dict[str, Capture] = {}
        # The container, the start time of its run, and the number of bytes copied from each source.
        self._of = ""
        self._workload: datetime | None = None
        self._copied: dict[str, int] = {}
        # The number of lines in the log, by source, of earlier containers.
        self._before: dict[str, int] = {}
        self._fetching = asyncio.Lock()

    @property
    def is_followed(self) -> bool:
        return self._task is not None and not self._task.done()

    def follow(self, engine: Engine, container: Container) -> None:
        """Copies the past and future output of a container, unless that is already in progress."""
        if self._begin(container):
            self._task = asyncio.ensure_future(self._run(engine, container.id, container.tty))

    async def fetch(self, engine: Engine, container: Container) -> None:
        """Returns when the output up to now is copied; later output is copied too."""
        async with self._fetching:
            if self._begin(container):
                with suppress(EngineError):
                    await self._copy(engine, container.id, container.tty, follow=False)
                self.follow(engine, container)

    def _begin(self, container: Container) -> bool:
        """Prepares the log for a container. Returns True if the output is not already followed."""
        if container.id != self._of:
            self.close()
            self._of, self._copied, self._workload, self._before = container.id, {}, None, {}
        if self.is_followed:
            return False
        if self._workload != container.started_at or not self._sinks:
            # Another run begins on a line of its own.
            self._workload = container.started_at
            self._sinks = {
                source: self._logs.capture(self._uid, source, self.limits) for source in ("stdout", "stderr")
            }
            self._logs.begin_attempt(self._uid)
            self._before = self._before or {source: sink.complete() for source, sink in self._sinks.items()}
        return True

    async def lines_before(self, engine: Engine, container: Container) -> dict[str, int]:
        """Returns the number of lines in the log, by source, that were printed before the current run of the container.
        Raises EngineError."""
        if container.id != self._of:
            await self.fetch(engine, container)
        counts, ended = dict(self._before), container.finished_at
        if ended is None:
            return counts  # the first run
        # The end of the previous run separates the two, not the start of this one: engines record the start when a fast
        # program has already printed.
        rest: dict[str, bytes] = {}
        async for source, data in engine.containers.logs(container.id, timestamps=True, tty=container.tty):
            *lines, rest[source] = (rest.get(source, b"") + data).split(b"\n")
            counts[source] = counts.get(source, 0) + sum(_printed_by(line, ended) for line in lines)
        return counts

    async def wait_end(self) -> None:
        """Waits for the end of the output, for a limited time."""
        if self._task is not None:
            try:
                async with timeout(self._clock, _SETTLE_SECONDS):
                    await asyncio.wait((self._task,))
            except TimeoutError:
                return

    def end(self) -> None:
        """Ends the log of this run: readers do not wait for more output."""
        for sink in self._sinks.values():
            sink.close()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, engine: Engine, container: str, tty: bool) -> None:
        wait = _FIRST_WAIT
        while True:
            before = dict(self._copied)
            try:
                await self._copy(engine, container, tty, follow=True)
                return
            except NotFound:
                return
            except EngineError:
                wait = min(2 * wait, _LONGEST_WAIT) if before == self._copied else _FIRST_WAIT
                await self._clock.sleep(wait)

    async def _copy(self, engine: Engine, container: str, tty: bool, *, follow: bool) -> None:
        """Copies the output that was not copied before. Raises EngineError."""
        left = dict(self._copied)
        async for source, data in engine.containers.logs(container, follow=follow, tty=tty):
            known = min(left.get(source, 0), len(data))
            if known:
                left[source] -= known
            if len(data) > known:
                self._copied[source] = self._copied.get(source, 0) + len(data) - known
                self._sinks[source].write(data[known:])


def _printed_by(line: bytes, when: datetime) -> bool:
    """Returns True if a line, which begins with its timestamp, was printed by the given time."""
    at = moment(line.split(b" ", 1)[0].decode("ascii", "replace"))
    return at is not None and at <= when
