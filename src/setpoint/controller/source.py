"""Sources: report changes to a controller.

A source is a description; `attach` starts the source for one controller. The attached source reports whether its
initial state is complete (`synced`) and current problems (`problem`), and can be detached at any time.
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


class SourceHost(Protocol):
    """The controller, as seen by its sources."""

    clock: Clock
    # The kind of the requests, if there is exactly one.
    primary: KindRef | None
    # The priority of objects that exist at the start of a source, and of resyncs.
    initial_priority: int

    def cache(self, cluster: str) -> Cache:
        """Returns the cache of a cluster; the default one for an empty name. Raises LookupError."""

    def enqueue(self, request: Request, trigger: Trigger, priority: int = 0) -> None:
        """Queues a request."""

    def has_readers(self, kind: KindRef) -> bool:
        """Returns False if no change of the kind concerns `enqueue_readers`."""

    def enqueue_readers(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        """Queues every request whose last reconcile looked up the changed object."""

    def report_failure(self, source: str, error: Exception) -> None:
        """Reports the exception of a function of the author. The source itself logs and retries."""


class Attached(Protocol):
    """A running source."""

    @property
    def name(self) -> str: ...

    @property
    def synced(self) -> bool:
        """True if the source has reported all objects that existed at its start."""

    @property
    def problem(self) -> str:
        """The current problem of the source; empty without one."""

    async def wait_synced(self) -> None: ...

    async def detach(self) -> None:
        """Stops the source. Requests that are already queued stay queued."""


class Source(Protocol):
    """A description of a source that can be attached to a controller.

    Controller("website", reconcile, kind=Website, watches=[Every(300, Request("all"))])
    """

    @property
    def name(self) -> str: ...

    async def attach(self, host: SourceHost) -> Attached: ...


class Follower:
    """An attached source that runs a coroutine function, and calls the function again with backoff if it fails."""

    def __init__(self, name: str, follow: Callable[[], Awaitable[None]], host: SourceHost) -> None:
        self.name = name
        self._follow = follow
        self._host = host
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
                _log.exception("the source %s failed; restarting in %.3g s", self.name, seconds)
                self._host.report_failure(self.name, error)
            await self._host.clock.sleep(seconds)

    @property
    def synced(self) -> bool:
        return True

    @property
    def problem(self) -> str:
        return f"{self.name}: {self._error}" if self._error is not None else ""

    async def wait_synced(self) -> None:
        """Returns at once: there is no initial state to wait for."""

    async def detach(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
