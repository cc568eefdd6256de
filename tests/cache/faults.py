"""A transport that fails as networks and servers do, where a test says so; and what tests of the cache share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec

from setpoint.cache.cache import Cache
from setpoint.cache.informer import Change, Informer
from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, Expired, Timeout
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.store.contract import Store

START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = "v1/ConfigMap"


def answer_of(error: APIError, retry_after: str = "") -> Answer:
    """The answer of a server that refuses."""
    headers = {"content-type": "application/json"} | ({"retry-after": retry_after} if retry_after else {})
    return Answer(error.code, headers, msgspec.json.encode(error.to_status()))


def error_event(error: APIError) -> bytes:
    """The event with which a watch ends that failed."""
    return msgspec.json.encode({"type": "ERROR", "object": error.to_status()}) + b"\n"


class Faults:
    """Carries requests on, or does not. A test sets what is to happen; `calls` is what was asked."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.calls: list[Call] = []
        # What comes in the place of an answer: to requests, and to the beginning of streams.
        self.refuse: Callable[[Call], Answer | TransportError | None] = lambda call: None
        # What to do before each event of a stream: nothing, end it, or fail it.
        self.interrupt: Callable[[Call, int, bytes], bytes | TransportError | None] = lambda call, number, line: line
        self.streams: list[_Broken] = []

    @property
    def watches(self) -> list[dict[str, str]]:
        """The parameters of all watches."""
        return [dict(call.query) for call in self.calls if ("watch", "true") in call.query]

    @property
    def lists(self) -> list[dict[str, str]]:
        """The parameters of all lists, in pages."""
        return [
            dict(call.query)
            for call in self.calls
            if call.path.endswith("s") and call.path.count("/") > 2 and ("watch", "true") not in call.query
            and not call.path.startswith("/apis/") and call.method == "GET"
            and "metadata.name=-" not in dict(call.query).get("fieldSelector", "")
        ]  # fmt: skip

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        refused = self.refuse(call)
        if isinstance(refused, TransportError):
            raise refused
        return refused if refused is not None else await self.inner.send(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        self.calls.append(call)
        refused = self.refuse(call)
        if isinstance(refused, TransportError):
            raise refused
        if refused is not None:
            yield _Ended(refused)
            return
        async with self.inner.stream(call) as stream:
            broken = _Broken(stream, lambda number, line: self.interrupt(call, number, line))
            self.streams.append(broken)
            yield broken

    def cut(self) -> None:
        """Cuts every stream that is open."""
        for stream in self.streams:
            stream.cut("the connection was cut")

    async def close(self) -> None:
        await self.inner.close()


class _Ended:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def cut(self, why: str) -> None:
        """It has ended."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        return
        yield b""


class _Broken:
    """A stream, line by line, that can be cut."""

    def __init__(self, inner: Stream, interrupt: Callable[[int, bytes], bytes | TransportError | None]) -> None:
        self.answer = inner.answer
        self._inner = inner
        self._interrupt = interrupt
        self._cut = asyncio.Event()
        self._why = ""

    def cut(self, why: str) -> None:
        self._why = why
        self._cut.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._inner.__aiter__()
        number, rest = 0, b""
        while True:
            cut = asyncio.ensure_future(self._cut.wait())
            piece = asyncio.ensure_future(anext(pieces, b""))
            try:
                await asyncio.wait((cut, piece), return_when=asyncio.FIRST_COMPLETED)
                if self._cut.is_set():
                    raise TransportError(self._why, sent=True)
                found = piece.result()
            finally:
                cut.cancel()
                piece.cancel()
                await asyncio.gather(cut, piece, return_exceptions=True)
            if not found:
                return
            *lines, rest = (rest + found).split(b"\n")
            for line in lines:
                interrupted = self._interrupt(number, line)
                number += 1
                if isinstance(interrupted, TransportError):
                    # Half a line has come: it must not count.
                    yield line[: len(line) // 2]
                    raise interrupted
                if interrupted is None:
                    return
                yield interrupted + b"\n"


class World:
    """A server, a client whose requests can be made to fail, a cache, and a clock that the test moves."""

    def __init__(self, plane: ControlPlane, clock: ManualClock, cache: Cache, faults: Faults, client: Client) -> None:
        self.plane = plane
        self.clock = clock
        self.cache = cache
        self.faults = faults
        # Its requests do not fail, and nobody notes its writes.
        self.client = client

    async def settle(self) -> None:
        """Lets everything happen that needs no time."""
        for _ in range(40):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Lets time pass, timer by timer."""
        await self.settle()
        end = self.clock.monotonic() + seconds
        while (due := self.clock.next_deadline()) is not None and due <= end:
            self.clock.advance(max(due - self.clock.monotonic(), 0))
            await self.settle()
        self.clock.advance(max(end - self.clock.monotonic(), 0))
        await self.settle()

    async def until(self, holds: Callable[[], bool], seconds: float = 120.0) -> None:
        """Lets time pass until something holds."""
        end = self.clock.monotonic() + seconds
        while True:
            for _ in range(10):
                await self.settle()
                if holds():
                    return
            due = self.clock.next_deadline()
            assert due is not None, "nothing would ever happen again"
            assert due <= end, f"it did not happen within {seconds} s"
            self.clock.advance(max(due - self.clock.monotonic(), 0))

    async def followed(self, kind: Any = CONFIG_MAP, namespace: Any = "default", **how: Any) -> "Informer[Any]":
        """An informer that has everything."""
        informer = self.cache.acquire(kind, namespace, **how)
        await self.until(lambda: informer.synced)
        return informer


@asynccontextmanager
async def new_world(store: Store | None = None, **settings: Any) -> AsyncIterator[World]:
    """Provides a world over a store, with these settings of the cache. No task of the cache may be left."""
    clock = ManualClock(START)
    settings.setdefault("ids", SeededIds(2))
    async with ControlPlane(store, clock=clock, ids=SeededIds(1), system=False) as plane, plane.client() as client:
        faults = Faults(client.transport)
        faulty = Client(faults, clock=clock)
        before = asyncio.all_tasks()
        async with Cache(faulty, **settings) as cache:
            yield World(plane, clock, cache, faults, client)
        for _ in range(5):
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - before
        assert not left


def config_map(name: str, namespace: str = "default", labels: dict[str, str] | None = None, **data: str) -> Object:
    metadata: Object = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Journal:
    """What a handler heard, as short texts: `+a`, `~a`, `-a`; `!` for what nobody saw happen."""

    def __init__(self) -> None:
        self.changes: list[Change[Any]] = []

    def __call__(self, change: Change[Any]) -> None:
        self.changes.append(change)

    @property
    def texts(self) -> list[str]:
        return [_text(change) for change in self.changes]

    def take(self) -> list[str]:
        """What it heard since it was asked last."""
        texts = self.texts
        self.changes.clear()
        return texts


def _text(change: Change[Any]) -> str:
    sign = "+" if change.old is None else "-" if change.new is None else "~"
    marks = ("!" if change.unseen else "") + ("*" if change.initial else "") + ("=" if change.resync else "")
    return f"{sign}{change.held.meta.name}{marks}"


def names(informer: Informer[Any]) -> list[str]:
    """The names of what is kept, without what the server makes by itself."""
    return sorted(held.meta.name for held in informer.store.all() if held.meta.name != "kube-root-ca.crt")


GONE = Expired("too old resource version: 1 (2)")
TOO_LARGE = Timeout("Timeout: Too large resource version: 9, current: 1")
