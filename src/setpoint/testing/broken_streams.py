"""Watches that break off, fall silent, or are told that what they ask for is not known any more."""

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
    """An answer in the place of a stream."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def cut(self, why: str) -> None:
        """It has ended already."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        return
        yield b""


class BreakingStream:
    """A stream, event by event. `is_stale` says whether it is held back, `breaks` how it ends after so many events."""

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
        self.look_again()

    def look_again(self) -> None:
        """Whether it is held back may be another now."""
        self._again.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest, events = b"", 0
        # A list that streams is told whole: else it would begin anew for ever.
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
