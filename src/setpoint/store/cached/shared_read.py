"""One read for many callers: a read serves all callers that arrived before the read began.

A caller that arrives during a read waits for the next one. Otherwise the caller could miss a write that was
acknowledged before its arrival, but after the read.

Callers that received a result together often return together with their next request. After a read for many callers,
the next one therefore waits up to a millisecond for as many callers; otherwise the callers would divide into two groups
that never meet.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from setpoint.store.contract import Closed, StoreError

_log = logging.getLogger("setpoint.store")
# Receives the result of a read, or its error.
Receive: TypeAlias = Callable[[int | Exception], None]
# The number of callers of a read after which the next read waits for as many, and the seconds of that wait.
_MANY, _GATHERING = 4, 0.001


class SharedRead:
    """Reads a number for many callers, one read at a time."""

    def __init__(self, read: Callable[[], Awaitable[int]]) -> None:
        self._read = read
        self._waiting: list[Receive] = []
        self._reading: list[Receive] = []
        self._task: asyncio.Task[None] | None = None
        # The number of callers of the last read, its end, and the future that is resolved when as many wait again.
        self._last, self._ended = 0, 0.0
        self._gathered: asyncio.Future[None] | None = None

    def next(self, receive: Receive) -> None:
        """Calls `receive` with the result of a read that begins after this call."""
        self._waiting.append(receive)
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        elif self._gathered is not None and len(self._waiting) >= self._last and not self._gathered.done():
            self._gathered.set_result(None)

    async def result(self) -> int:
        """Returns the result of a read that begins after this call. Raises the error of the read."""
        waiting: asyncio.Future[int | Exception] = asyncio.get_running_loop().create_future()
        self.next(lambda found: None if waiting.done() else waiting.set_result(found))
        found = await waiting
        if isinstance(found, Exception):
            raise found.with_traceback(None)  # the error belongs to other callers as well
        return found

    def close(self) -> None:
        """Ends the reads; the callers receive Closed."""
        if self._task is not None:
            self._task.cancel()
        receivers, self._reading, self._waiting = [*self._reading, *self._waiting], [], []
        self._pass(receivers, Closed("the cache is closed"))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                if self._last >= _MANY:
                    await self._gather(loop)
                self._reading, self._waiting = self._waiting, []
                found: int | Exception
                try:
                    found = await self._read()
                except StoreError as error:
                    found = error
                except Exception as error:
                    found = StoreError(f"the current revision could not be read: {error!r}")
                receivers, self._reading = self._reading, []
                self._last = len(receivers)
                self._pass(receivers, found)
                self._ended = loop.time()
        finally:
            self._task = None

    async def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Waits until as many callers wait as the last read had, up to a limit of time after that read."""
        left = self._ended + _GATHERING - loop.time()
        if left <= 0 or len(self._waiting) >= self._last:
            return
        gathered = self._gathered = loop.create_future()
        timer = loop.call_later(left, lambda: None if gathered.done() else gathered.set_result(None))
        try:
            await gathered
        finally:
            timer.cancel()
            self._gathered = None

    def _pass(self, receivers: list[Receive], found: int | Exception) -> None:
        for receive in receivers:
            try:
                receive(found)
            except Exception:  # must not stop the other callers
                _log.exception("a caller failed after the read of the current revision")
