"""The `timeout` query parameter: the time after which a request is answered with a timeout error.

A request with a timeout is answered in that time, by the server's clock, up to the server's own maximum. Requests
without the parameter have no cost here: the edge limits them (`http.limits`). A late request is not cancelled: its
write is completed, so no write is left half done, and only its response is lost.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import parse_qs

from setpoint.objects import duration
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError, BadRequest, Timeout
from setpoint.server.codec.response import error_answer
from setpoint.server.message import NO_CACHE, Request, Response
from setpoint.server.requestinfo import is_long_running, request_info

# The maximum seconds of a request, and of a write of one object.
MOST: Final = 60.0
MOST_FOR_WRITES: Final = 34.0

_WRITES = frozenset(("create", "update", "patch", "delete"))
_NANOSECONDS = 1_000_000_000

_Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class Timeouts:
    """Answers the requests that have a timeout."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # References to late requests that are still running: the event loop alone would not keep them alive.
        self._late: set[asyncio.Task[Response]] = set()

    async def answer(self, request: Request, handle: _Handle) -> Response:
        """Returns the response of `handle`, or an error if the request takes too long or the timeout is invalid."""
        query = parse_qs(request.query, keep_blank_values=True)
        watch = query["watch"][0] if "watch" in query else None
        info = request_info(request.method, request.path, watch)
        text = query["timeout"][0] if "timeout" in query else ""
        if not text or is_long_running(info):
            return await handle(request)
        try:
            seconds = duration.parse(text) / _NANOSECONDS
        except ValueError as error:
            return _refusal(request, BadRequest(f"invalid timeout specified in the request URL - {error}"))
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
            # Most requests complete without waiting, and need no timer.
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
        return _refusal(request, late)

    async def _wait(self, handling: "asyncio.Task[Response]", seconds: float) -> None:
        waiting = asyncio.create_task(self._clock.sleep(seconds))
        try:
            await asyncio.wait((handling, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()


def _refusal(request: Request, error: APIError) -> Response:
    """Returns an error with the header that the pipeline, which does not see this response, adds to others."""
    response = error_answer(request, error)
    return response._replace(headers=(*response.headers, NO_CACHE))
