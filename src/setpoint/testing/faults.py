"""Faults between a controller and its server, injected by a test.

    world.faults.fail("update", Widget, error=Conflict, times=2)
    world.faults.lose("create")                      # performed, but the response is lost
    world.faults.cut(Widget)                         # its watches break off
    with world.faults.stale(ConfigMap): ...          # the cache receives no changes

Requests are selected by verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete`,
`deletecollection`; `write` and `read` for all of their group, `*` for any), kind, name, namespace and subresource.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.client.mapper import NoMatch
from setpoint.client.patches import APPLY
from setpoint.client.transport import Answer, Call, Stream, TransportError
from setpoint.controller.forward_transport import Forwarding
from setpoint.objects.errors import APIError
from setpoint.objects.ids import Ids, SeededIds
from setpoint.objects.status import from_status
from setpoint.server.requestinfo import request_info
from setpoint.testing.broken_streams import BreakingStream, EndedStream
from setpoint.testing.seen_request import READS, WRITES, Seen

_GROUPS = {"read": READS, "write": WRITES, "*": READS | WRITES}
Failure = APIError | type[APIError] | TransportError | int


@dataclass(eq=False, kw_only=True)
class Fault:
    """A fault for selected requests.

    fault = world.faults.fail("update", Widget, error=Conflict, times=None)
    ...
    fault.stop()
    assert fault.hits == 3
    """

    verbs: frozenset[str]
    kind: KindRef | None = None
    name: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    # The response of the fault; None: the server's response.
    failure: APIError | TransportError | None = None
    # True if the server performs the request anyway.
    done: bool = False
    # The additional delay in seconds.
    seconds: float = 0.0
    # Called before the request is sent, to simulate a faster client.
    act: Callable[[], Awaitable[Any]] | None = None
    # The maximum number of hits (None: no limit), and the probability.
    times: int | None = 1
    chance: float = 1.0
    # The number of hits so far.
    hits: int = 0

    def stop(self) -> None:
        """Disables the fault."""
        self.times = self.hits

    def is_about(self, seen: Seen, resource: tuple[str, str] | None) -> bool:
        return (
            (self.times is None or self.hits < self.times)
            and seen.verb in self.verbs
            and (resource is None or (seen.group, seen.resource) == resource)
            and self.name in (None, seen.name)
            and self.namespace in (None, seen.namespace)
            and self.subresource in (None, seen.subresource)
        )


class RequestWatcher(Protocol):
    """Sees the requests of the controllers, and those that meet a fault."""

    def fault_met(self, call: Call) -> None: ...

    async def answered(self, seen: Seen, answer: Answer) -> None:
        """Sees an answer of the server itself."""


class Faults(Forwarding):
    """The transport of a client with injected faults. `seen` has all requests sent so far.

    world.faults.fail("update", Widget, error=Conflict, times=2)
    with world.faults.down():
        await world.advance(60)
    """

    def __init__(self, client: Client, *, ids: Ids | None = None) -> None:
        super().__init__(client.transport)
        self.clock = client.clock
        self.ids = ids or SeededIds(0)
        self.seen: list[Seen] = []
        # True after a simulated crash: no more requests are sent.
        self.crashed = False
        self._mapper = client.mapper
        self._faults: list[Fault] = []
        self._streams: list[BreakingStream] = []
        self._breaks: list[tuple[KindRef | None, int, bool, float]] = []
        self._stale: list[KindRef | None] = []
        # The number of writes until the crash, and whether the last one is performed.
        self._writes_left: int | None = None
        self._last_is_done = True
        self._outages = 0
        # The number of faults that occurred.
        self.hits = 0
        # The number of stream events delivered, as a sign of activity.
        self.request_count = 0
        self.watcher: RequestWatcher | None = None

    def of(self, client: Client) -> Client:
        """Returns a copy of the client that uses this transport."""
        faulty = copy(client)
        faulty.transport = self
        return faulty

    # Faults

    def fail(
        self,
        verb: str,
        kind: Kind[Any] | None = None,
        *,
        error: Failure = 500,
        done: bool = False,
        times: int | None = 1,
        chance: float = 1.0,
        **about: str,
    ) -> Fault:
        """Responds with an error: a class or instance of `setpoint.objects.errors`, a status code or a TransportError.

        With `done`, the server performs the request first. `times` limits the number of hits (None: no limit), `chance`
        is the probability; `about` selects the name, namespace and subresource.

            world.faults.fail("update", Widget, error=Conflict, times=2, name="a")
        """
        return self._add(
            Fault(verbs=_verbs(verb), kind=_kind(kind), failure=_failure(error), done=done, times=times, chance=chance),
            about,
        )

    def lose(
        self, verb: str, kind: Kind[Any] | None = None, *, times: int | None = 1, chance: float = 1.0, **about: str
    ) -> Fault:
        """Performs requests, but loses their responses."""
        lost = TransportError("the answer was lost", sent=True)
        return self.fail(verb, kind, error=lost, done=True, times=times, chance=chance, **about)

    def delay(
        self, verb: str, kind: Kind[Any] | None = None, *, seconds: float, times: int | None = 1, **about: str
    ) -> Fault:
        """Delays requests, by the clock of the client."""
        return self._add(Fault(verbs=_verbs(verb), kind=_kind(kind), seconds=seconds, times=times), about)

    def before(
        self,
        verb: str,
        kind: Kind[Any] | None,
        act: Callable[[], Awaitable[Any]],
        *,
        times: int | None = 1,
        **about: str,
    ) -> Fault:
        """Calls a function just before a request reaches the server, to simulate a faster client."""
        return self._add(Fault(verbs=_verbs(verb), kind=_kind(kind), act=act, times=times), about)

    def cut(self, kind: Kind[Any] | None = None) -> int:
        """Breaks off the open watches, and returns their number."""
        meant = [stream for stream in self._streams if self._is_of(stream.seen, _kind(kind))]
        for stream in meant:
            stream.cut("the connection broke")
        return len(meant)

    def break_watches(
        self, kind: Kind[Any] | None = None, *, after: int = 1, expired: bool = False, chance: float = 1.0
    ) -> None:
        """Ends every watch after a number of events; with `expired`, with the error that the version is too old."""
        self._breaks.append((_kind(kind), after, expired, chance))

    @contextmanager
    def stale(self, kind: Kind[Any] | None = None) -> Iterator[None]:
        """Holds back the events of watches, of a kind or all, during the block: caches are outdated."""
        ref = _kind(kind)
        self._stale.append(ref)
        try:
            yield
        finally:
            self._stale.remove(ref)
            for stream in self._streams:
                stream.recheck()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Makes the server unreachable during the block: requests fail, and every watch breaks off."""
        self._outages += 1
        self.cut()
        try:
            yield
        finally:
            self._outages = max(self._outages - 1, 0)

    def crash_after(self, writes: int, *, done: bool = True) -> None:
        """Simulates a crash after a number of writes: the response to the last one is lost.

        Unless `done`, the last write itself is lost, too. No more requests are sent until `revive`. Writes of events
        and leases are not counted.
        """
        self._writes_left, self._last_is_done = writes, done

    def revive(self) -> None:
        """Ends the crash: a new process sends requests again."""
        self.crashed, self._writes_left = False, None

    def clear(self) -> None:
        """Removes all faults."""
        self._faults.clear()
        self._outages = 0
        self._breaks.clear()
        self._stale.clear()
        self.revive()
        for stream in self._streams:
            stream.recheck()

    @property
    def is_stale(self) -> bool:
        """True while caches receive no events."""
        return bool(self._stale)

    @property
    def writes(self) -> list[Seen]:
        """The writes among the requests, without events and leases."""
        return [seen for seen in self.seen if seen.counts]

    # The transport

    async def send(self, call: Call) -> Answer:
        seen = _seen(call)
        fault = await self._met(seen)
        if fault is not None and fault.failure is not None and not fault.done:
            return _answered(fault.failure, seen)
        if not seen.counts or self._writes_left is None:
            answer = await self._send_watched(seen)
        else:
            answer = await self._send_counted(seen)
        return answer if fault is None or fault.failure is None else _answered(fault.failure, seen)

    async def _send_watched(self, seen: Seen) -> Answer:
        answer = await self.transport.send(seen.call)
        if self.watcher is not None:
            await self.watcher.answered(seen, answer)
        return answer

    async def _send_counted(self, seen: Seen) -> Answer:
        assert self._writes_left is not None
        self._writes_left -= 1
        if self._writes_left > 0:
            return await self._send_watched(seen)
        self.crashed = True
        if self._last_is_done:
            await self.transport.send(seen.call)
        raise TransportError("the process has ended", sent=True)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        seen = _seen(call)
        fault = await self._met(seen)
        if fault is not None and fault.failure is not None:
            yield EndedStream(_answered(fault.failure, seen))
            return
        async with self.transport.stream(call) as inner:
            if self.watcher is not None:
                await self.watcher.answered(seen, inner.answer)
            stream = BreakingStream(inner, seen, self._is_stale, self._breaks_now)
            self._streams.append(stream)
            try:
                yield stream
            finally:
                self._streams.remove(stream)

    async def close(self) -> None:
        """Does nothing: the owner of the original client closes the transport."""

    async def _met(self, seen: Seen) -> Fault | None:
        """Returns the fault of a request. Raises TransportError after a crash or during an outage."""
        if self.crashed:
            raise TransportError("the process has ended", sent=False)
        if self._outages:
            self._count_hit(seen)
            raise TransportError("connection refused", sent=False)
        self.seen.append(seen)
        for fault in list(self._faults):
            if fault.is_about(seen, await self._resource(fault.kind)) and self.ids.random() < fault.chance:
                fault.hits += 1
                self._count_hit(seen)
                if fault.act is not None:
                    await fault.act()
                if fault.seconds:
                    await self.clock.sleep(fault.seconds)
                if fault.failure is not None:
                    return fault
        return None

    def _count_hit(self, seen: Seen) -> None:
        self.hits += 1
        if self.watcher is not None:
            self.watcher.fault_met(seen.call)

    async def _resource(self, kind: KindRef | None) -> tuple[str, str] | None:
        """Returns the group and resource of a kind in requests."""
        if kind is None:
            return None
        try:
            return kind.gvk.group, (await self._mapper.resource(kind.gvk)).plural
        except NoMatch:
            return kind.gvk.group, ""

    def _add(self, fault: Fault, about: dict[str, str]) -> Fault:
        for name, value in about.items():
            if name not in ("name", "namespace", "subresource"):
                raise TypeError(f"unknown selector {name}: expected name, namespace or subresource")
            setattr(fault, name, value)
        self._faults.append(fault)
        return fault

    # Called by streams.

    def _is_of(self, seen: Seen, kind: KindRef | None) -> bool:
        if kind is None:
            return True
        known = self._mapper.known.get(kind.gvk)
        return known is not None and (seen.group, seen.resource) == (kind.gvk.group, known.plural)

    def _is_stale(self, seen: Seen) -> bool:
        self.request_count += 1
        return any(self._is_of(seen, kind) for kind in self._stale)

    def _breaks_now(self, seen: Seen, events: int) -> str:
        """Returns the way in which a watch ends now, after a number of events: `ended`, `expired`, or empty."""
        for kind, after, expired, chance in self._breaks:
            if events >= after and self._is_of(seen, kind) and self.ids.random() < chance:
                self.hits += 1
                return "expired" if expired else "ended"
        return ""


def _verbs(verb: str) -> frozenset[str]:
    found = _GROUPS.get(verb) or frozenset((verb,))
    if not found <= _GROUPS["*"]:
        raise ValueError(f"unknown verb {verb!r}: expected {', '.join(sorted(_GROUPS['*']))}, read, write or *")
    return found


def _kind(kind: Kind[Any] | None) -> KindRef | None:
    return None if kind is None else kind_of(kind)


def _failure(error: Failure) -> APIError | TransportError:
    if isinstance(error, int):
        return from_status(None, error)
    return error("a fault that a test asked for") if isinstance(error, type) else error


def _answered(failure: APIError | TransportError, seen: Seen) -> Answer:
    if isinstance(failure, TransportError):
        raise failure
    error = copy(failure)
    error.name = error.name or seen.name or seen.resource  # else the error would be about the resource itself
    headers = {"content-type": "application/json"}
    if error.retry_after_seconds:
        headers["retry-after"] = str(error.retry_after_seconds)
    return Answer(error.code, headers, msgspec.json.encode(error.to_status()))


def _seen(call: Call) -> Seen:
    watch = next((value for name, value in call.query if name == "watch"), None)
    info = request_info(call.method, call.path, watch)
    verb = "apply" if call.headers.get("content-type") == APPLY else info.verb
    return Seen(verb, info.group, info.resource, info.namespace, info.name, info.subresource, call)
