"""The `timeout` query parameter: how long a request may take before its client is told that it took too long.

Whoever names a timeout is answered within it, by the server's clock; what the server allows at most is the bound of
what can be asked for. Whoever names none costs nothing here: the edge sees to those (`http.limits`). A request that is
late is not cut off: what it has begun to write it finishes, so nothing is ever half done, and only its answer is lost.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import parse_qs

from setpoint.objects import duration
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError, BadRequest, Timeout
from setpoint.server.codec.response import error_answer
from setpoint.server.message import Request, Response
from setpoint.server.requestinfo import is_long_running, request_info

# Seconds that a request may take, and that a write of one object may.
MOST: Final = 60.0
MOST_FOR_WRITES: Final = 34.0

_WRITES = frozenset(("create", "update", "patch", "delete"))
_NANOSECONDS = 1_000_000_000

_Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class Timeouts:
    """Answers the requests that name a timeout."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Late ones that are still at work: the event loop alone would not keep them.
        self._late: set[asyncio.Task[Response]] = set()

    async def answer(self, request: Request, handle: _Handle) -> Response:
        """The answer of `handle`, or the error that it takes too long, or that the timeout is none."""
        query = parse_qs(request.query, keep_blank_values=True)
        watch = query["watch"][0] if "watch" in query else None
        info = request_info(request.method, request.path, watch)
        text = query["timeout"][0] if "timeout" in query else ""
        if not text or is_long_running(info):
            return await handle(request)
        try:
            seconds = duration.parse(text) / _NANOSECONDS
        except ValueError as error:
            return error_answer(request, BadRequest(f"invalid timeout specified in the request URL - {error}"))
        late = Timeout.of("request did not complete within the allotted timeout")
        if not 0 < seconds < MOST:
            seconds = MOST
        if seconds > MOST_FOR_WRITES and info.is_resource and info.verb in _WRITES:
            late = Timeout.of("request did not complete within requested timeout - context deadline exceeded")
            seconds = MOST_FOR_WRITES
        return await self._within(seconds, late, request, handle)

    async def _within(self, seconds: float, late: APIError, request: Request, handle: _Handle) -> Response:
        handling = asyncio.create_task(handle(request))
        try:
            # Most need not wait for anything, and no timer for them.
            await self._clock.sleep(0)
            if not handling.done():
                await self._wait(handling, seconds)
        except asyncio.CancelledError:
            handling.cancel()
            raise
        if handling.done():
            return handling.result()
        self._late.add(handling)
        handling.add_done_callback(self._late.discard)
        return error_answer(request, late)

    async def _wait(self, handling: "asyncio.Task[Response]", seconds: float) -> None:
        waiting = asyncio.create_task(self._clock.sleep(seconds))
        try:
            await asyncio.wait((handling, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
