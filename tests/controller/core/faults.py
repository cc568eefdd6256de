"""A transport on which things go wrong, as often as a test says; and time that passes quickly, so that waits do not."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError

SPEED = 100.0


class HurriedClock:
    """The machine's clock, a hundred times as fast."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0) / SPEED)


def status(code: int, reason: str, message: str) -> bytes:
    return msgspec.json.encode(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code}
    )


GONE = msgspec.json.encode(
    {"type": "ERROR", "object": msgspec.json.decode(status(410, "Expired", "too old resource version"))}
)


class FaultyTransport:
    """Passes requests on, or not. A fault is a function from a call to an answer, None (nothing wrong) or an error that
    it raises; with `after` it is asked when the request has been done."""

    def __init__(self, transport: Callable[[], Transport], seed: int = 0) -> None:
        self._transport = transport
        self.random = random.Random(seed)
        self.before: Callable[[Call], Answer | None] = lambda call: None
        self.after: Callable[[Call], Answer | None] = lambda call: None
        # After how many events a watch ends, and how likely it ends with 410.
        self.cut_after: int | None = None
        self.gone = 0.0
        # The resource whose watches say nothing more, as if the network had swallowed it.
        self.silent = ""
        self.injected = 0

    async def send(self, call: Call) -> Answer:
        found = self._asked(self.before, call)
        if found is not None:
            return found
        answer = await self._transport().send(call)
        return self._asked(self.after, call) or answer

    def _asked(self, fault: Callable[[Call], Answer | None], call: Call) -> Answer | None:
        try:
            found = fault(call)
        except TransportError:
            self.injected += 1
            raise
        self.injected += found is not None
        return found

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        async with self._transport().stream(call) as stream:
            yield _Cut(stream, self, call.path.rpartition("/")[2])

    async def close(self) -> None:
        await self._transport().close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport(), name)


class _Cut:
    """A stream that ends early."""

    def __init__(self, stream: Stream, faults: FaultyTransport, resource: str) -> None:
        self.answer = stream.answer
        self.resource = resource
        self._stream = stream
        self._faults = faults

    def cut(self, why: str) -> None:
        self._stream.cut(why)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        faults, rest, events = self._faults, b"", 0
        async for chunk in self._stream:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines if faults.silent != self.resource else ():
                if faults.gone and faults.random.random() < faults.gone:
                    faults.injected += 1
                    yield GONE + b"\n"
                    return
                yield line + b"\n"
                events += b'"BOOKMARK"' not in line[:30]
                if faults.cut_after is not None and events >= faults.cut_after and b"initial-events-end" not in rest:
                    faults.injected += 1
                    return


def answer(code: int, reason: str, headers: dict[str, str] | None = None) -> Answer:
    return Answer(code, {"content-type": "application/json", **(headers or {})}, status(code, reason, f"made {code}"))
