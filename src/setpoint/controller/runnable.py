"""Runnables of a manager, and groups of runnables that start and stop together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from setpoint.objects.clock import Clock, timeout

# The seconds after which a cancelled task that still runs is logged.
_PATIENCE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Runnable(Protocol):
    """A component that runs as long as its manager.

    Manager(client, webhooks=WebhookServer(client, [checked], name="websites"))  # a server is a runnable
    """

    @property
    def name(self) -> str: ...

    async def start(self) -> None:
        """Starts the component, and returns when ready. Raises if the start fails."""

    async def wait(self) -> None:
        """Waits until the component ends by itself, and raises its error. Cancelling does not stop the component."""

    async def stop(self, graceful: float | None) -> None:
        """Stops the component: waits the given seconds (None: without limit) for running work, then cancels. If
        cancelled itself, ends the wait at once."""


class Background:
    """Runs a coroutine function as a runnable, next to the controllers. `stop` cancels the task and awaits its end."""

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
        # No task is left behind: one that ignores its cancellation is awaited, with a warning.
        try:
            async with timeout(self._clock, max(graceful or 0.0, _PATIENCE_SECONDS)):
                await asyncio.wait((task,))
        except TimeoutError:
            _log.warning("%s was cancelled but still runs; waiting for its end", self.name)
            await asyncio.wait((task,))


class Group:
    """Runnables that start and stop together. `on_failure` is called with the error of a failed member."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self.members: list[Runnable] = []
        # The tasks that start and then watch the running members.
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._ready: dict[str, asyncio.Event] = {}
        # The members that are being stopped.
        self.ending: list[Runnable] = []
        self.is_running = False

    def add(self, runnable: Runnable) -> None:
        """Adds a runnable, and starts it if the group runs. Raises ValueError for a duplicate name."""
        if any(member.name == runnable.name for member in self.members):
            raise ValueError(f"{runnable.name!r} already exists: names must be unique in a manager")
        self.members.append(runnable)
        if self.is_running:
            self._begin(runnable)

    def start(self) -> None:
        """Starts all members."""
        self.is_running = True
        for member in self.members:
            self._begin(member)

    async def ready(self) -> None:
        """Waits until all members are ready or have failed."""
        for ready in list(self._ready.values()):
            await ready.wait()

    async def stop(self, graceful: float | None) -> None:
        """Stops all members concurrently, and returns when they have ended. If cancelled, ends the waits of all."""
        self.is_running = False
        await asyncio.gather(*(self._end(member, graceful) for member in list(self.members)))

    async def remove(self, runnable: Runnable, graceful: float | None) -> None:
        """Stops and removes a member."""
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
        cancelled: asyncio.CancelledError | None = None
        self.ending.append(member)
        watching.cancel()
        try:
            await asyncio.gather(watching, return_exceptions=True)
        except asyncio.CancelledError as error:
            cancelled, graceful = error, 0
        try:
            await member.stop(graceful)
        except Exception:
            _log.exception("%s failed while stopping", member.name)
        finally:
            self.ending.remove(member)
        if cancelled is not None:
            raise cancelled
