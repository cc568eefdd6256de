"""Watches that break off, stall, or report that their resource version has expired."""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec

from setpoint.client.transport import Answer, Stream
from setpoint.objects.errors import Expired
from setpoint.testing.seen_request import Seen

_EXPIRED = msgspec.json.encode(
    {"type": "ERROR", "object": Expired("too old resource version: a fault that a test asked for").to_status()}
)


class EndedStream:
    """A response in place of a stream."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def cut(self, why: str) -> None:
        """Does not apply: the stream has already ended."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        return
        yield b""


class BreakingStream:
    """A stream that is processed event by event.

    `is_stale` returns True while the stream is held back, `breaks` returns the way in which the stream ends after a
    number of events.
    """

    def __init__(
        self, inner: Stream, seen: Seen, is_stale: Callable[[Seen], bool], breaks: Callable[[Seen, int], str]
    ) -> None:
        self.answer = inner.answer
        self.seen = seen
        self._inner = inner
        self._is_stale = is_stale
        self._breaks = breaks
        self._again = asyncio.Event()

    def cut(self, why: str) -> None:
        self._inner.cut(why)
        self.recheck()

    def recheck(self) -> None:
        """Wakes the stream to check again whether it is held back."""
        self._again.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest, events = b"", 0
        # An initial list is delivered completely: otherwise the watch would start over forever.
        is_listing = ("sendInitialEvents", "true") in self.seen.call.query
        async for piece in self._inner:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                while self._is_stale(self.seen):
                    self._again.clear()
                    await self._again.wait()
                yield line + b"\n"
                if b'"BOOKMARK"' in line[:30]:
                    is_listing = is_listing and b"initial-events-end" not in line
                elif not is_listing:
                    events += 1
                how = self._breaks(self.seen, events) if events else ""
                if how == "expired":
                    yield _EXPIRED + b"\n"
                if how:
                    return
