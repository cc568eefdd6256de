"""What a manager runs, and groups of it that start and stop together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from setpoint.objects.clock import Clock, timeout

# How long what was cancelled may take before it is complained of.
_PATIENCE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Runnable(Protocol):
    """Something that runs for as long as its manager does."""

    @property
    def name(self) -> str: ...

    async def start(self) -> None:
        """Returns when it is ready. Raises what keeps it from that."""

    async def wait(self) -> None:
        """Returns when it has ended by itself, and raises what it failed with. May be cancelled: that ends nothing."""

    async def stop(self, graceful: float | None) -> None:
        """Ends it: gives what is under way so many seconds (None: for ever), then cancels it and waits for that."""


class Background:
    """A coroutine function as a runnable: what runs beside controllers. It is cancelled at the end, and waited for."""

    def __init__(self, name: str, function: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self.name = name
        self._function = function
        self._clock = clock
        self._task: asyncio.Future[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.ensure_future(self._function())

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.result()

    async def stop(self, graceful: float | None) -> None:
        task, self._task = self._task, None
        if task is None or task.done():
            return
        task.cancel()
        # Nothing is left behind: what does not end when it is cancelled is waited for, but not in silence.
        try:
            async with timeout(self._clock, max(graceful or 0.0, _PATIENCE_SECONDS)):
                await asyncio.wait((task,))
        except TimeoutError:
            _log.warning("%s does not end although it was cancelled; it is still waited for", self.name)
            await asyncio.wait((task,))


class Group:
    """Runnables that start and stop together. `on_failure` is told what one of them fails with."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self.members: list[Runnable] = []
        # What starts a member and then watches over it, for those that run.
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._ready: dict[str, asyncio.Event] = {}
        self.is_running = False

    def add(self, runnable: Runnable) -> None:
        """Adds one; if the group runs, it is started at once. Raises ValueError for a name that is there."""
        if any(member.name == runnable.name for member in self.members):
            raise ValueError(f"there is a {runnable.name!r} already: names are unique in a manager")
        self.members.append(runnable)
        if self.is_running:
            self._begin(runnable)

    def start(self) -> None:
        """Starts all."""
        self.is_running = True
        for member in self.members:
            self._begin(member)

    async def ready(self) -> None:
        """Returns when all are ready, or have failed."""
        for ready in list(self._ready.values()):
            await ready.wait()

    async def stop(self, graceful: float | None) -> None:
        """Stops all, at once with each other, and returns when they have ended."""
        self.is_running = False
        await asyncio.gather(*(self._end(member, graceful) for member in list(self.members)))

    async def remove(self, runnable: Runnable, graceful: float | None) -> None:
        """Stops one and takes it out."""
        self.members.remove(runnable)
        await self._end(runnable, graceful)

    def _begin(self, member: Runnable) -> None:
        ready = self._ready[member.name] = asyncio.Event()
        self._watching[member.name] = asyncio.ensure_future(self._watch(member, ready))

    async def _watch(self, member: Runnable, ready: asyncio.Event) -> None:
        try:
            await member.start()
            ready.set()
            await member.wait()
        except Exception as error:
            _log.error("%s failed: %s", member.name, error)
            self._on_failure(error)
        finally:
            ready.set()

    async def _end(self, member: Runnable, graceful: float | None) -> None:
        watching = self._watching.pop(member.name, None)
        self._ready.pop(member.name, None)
        if watching is None:
            return
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        try:
            await member.stop(graceful)
        except Exception:
            _log.exception("%s failed while it was stopped", member.name)
