"""Sources: where a controller hears of things from. A source is only a description; `attach` brings it to life for one
controller, and what that gives can be asked whether it has told everything (`synced`), what keeps it from that
(`trouble`), and be taken away again at any time (`detach`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from setpoint.cache.cache import Cache
from setpoint.cache.informer import Change
from setpoint.client.kinds import KindRef
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.request import Request, Trigger
from setpoint.objects.clock import Clock

_log = logging.getLogger(__name__)


class Host(Protocol):
    """The controller, as its sources know it."""

    clock: Clock
    # The kind that requests are for, where they are all for one.
    primary: KindRef | None
    # The priority of what was there when a source began, and of what is only told once more.
    initial_priority: int

    def cache(self, cluster: str) -> Cache:
        """The cache of a cluster; that of the controller's own for the empty name. Raises LookupError."""

    def enqueue(self, request: Request, trigger: Trigger, priority: int = 0) -> None:
        """Has a request reconciled."""

    def looked_up(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        """Has every request reconciled whose last reconcile looked at what has changed."""


class Attached(Protocol):
    """A source that is alive."""

    @property
    def name(self) -> str: ...

    @property
    def synced(self) -> bool:
        """Whether it has told of everything that was there when it began."""

    @property
    def trouble(self) -> str:
        """What keeps it from that; empty where nothing does."""

    async def wait_synced(self) -> None: ...

    async def detach(self) -> None:
        """Ends it. What it has told stays told."""


class Source(Protocol):
    """What can be attached."""

    @property
    def name(self) -> str: ...

    async def attach(self, host: Host) -> Attached: ...


class Follower:
    """An attached source that is nothing but a coroutine. When it fails it is begun anew, after a while; when it ends,
    it has said all it had to say."""

    def __init__(self, name: str, follow: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self.name = name
        self._follow = follow
        self._clock = clock
        self._error: Exception | None = None
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        waits = Exponential(limit=60.0)
        while True:
            try:
                await self._follow()
                return
            except Exception as error:
                self._error = error
                seconds = waits.delay(self.name)
                _log.exception("the source %s failed; again in %.3g s", self.name, seconds)
            await self._clock.sleep(seconds)

    @property
    def synced(self) -> bool:
        return True

    @property
    def trouble(self) -> str:
        return f"{self.name}: {self._error}" if self._error is not None else ""

    async def wait_synced(self) -> None:
        """There is nothing to wait for."""

    async def detach(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
