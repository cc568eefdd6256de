"""What goes wrong between a controller and its server, where a test says so.

    world.faults.fail("update", Widget, error=Conflict, times=2)
    world.faults.lose("create")                      # it is done, and nobody hears of it
    world.faults.cut(Widget)                         # its watches break off
    with world.faults.stale(ConfigMap): ...          # the cache does not hear of any change

Requests are told by verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete`, `deletecollection`;
`write` and `read` for all of their sort, `*` for any), by kind, name, namespace and subresource.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

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
    """Something that goes wrong, for the requests that it is about."""

    verbs: frozenset[str]
    kind: KindRef | None = None
    name: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    # What comes in the place of the answer; nothing: the answer does.
    failure: APIError | TransportError | None = None
    # Whether the server has done it all the same.
    done: bool = False
    # Seconds that it takes longer.
    seconds: float = 0.0
    # What happens before it is sent: somebody else is faster.
    act: Callable[[], Awaitable[Any]] | None = None
    # How often it happens; None: always. And how likely.
    times: int | None = 1
    chance: float = 1.0
    # How often it has happened.
    hits: int = 0

    def stop(self) -> None:
        """It does not happen any more."""
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


class Faults(Forwarding):
    """The transport of a client, on which things go wrong. `seen` are all requests that were sent over it."""

    def __init__(self, client: Client, *, ids: Ids | None = None) -> None:
        super().__init__(client.transport)
        self.clock = client.clock
        self.ids = ids or SeededIds(0)
        self.seen: list[Seen] = []
        # Whether there is no process any more that could ask.
        self.crashed = False
        self._mapper = client.mapper
        self._faults: list[Fault] = []
        self._streams: list[BreakingStream] = []
        self._breaks: list[tuple[KindRef | None, int, bool, float]] = []
        self._stale: list[KindRef | None] = []
        # How many more writes there are before the crash, and whether the last of them is done.
        self._writes_left: int | None = None
        self._last_is_done = True
        self._outages = 0
        # How often something went wrong.
        self.hits = 0
        # How many pieces of streams were handed on: something happens.
        self.heard = 0

    def of(self, client: Client) -> Client:
        """The same client, whose requests go this way."""
        faulty = copy(client)
        faulty.transport = self
        return faulty

    # What goes wrong

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
        """Answers with an error: a class or an object of `setpoint.objects.errors`, a code, or a TransportError.

        `done` has the server do it first. `times` says how often (None: always), `chance` how likely; `about` are the
        name, the namespace and the subresource that are meant.
        """
        return self._add(
            Fault(verbs=_verbs(verb), kind=_kind(kind), failure=_failure(error), done=done, times=times, chance=chance),
            about,
        )

    def lose(
        self, verb: str, kind: Kind[Any] | None = None, *, times: int | None = 1, chance: float = 1.0, **about: str
    ) -> Fault:
        """Has requests done, and their answers lost."""
        lost = TransportError("the answer was lost", sent=True)
        return self.fail(verb, kind, error=lost, done=True, times=times, chance=chance, **about)

    def delay(
        self, verb: str, kind: Kind[Any] | None = None, *, seconds: float, times: int | None = 1, **about: str
    ) -> Fault:
        """Has requests take longer, by the clock of the client."""
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
        """Has something happen just before a request reaches the server: somebody else is faster."""
        return self._add(Fault(verbs=_verbs(verb), kind=_kind(kind), act=act, times=times), about)

    def cut(self, kind: Kind[Any] | None = None) -> int:
        """Breaks off the watches that are open; how many."""
        meant = [stream for stream in self._streams if self._is_of(stream.seen, _kind(kind))]
        for stream in meant:
            stream.cut("the connection broke")
        return len(meant)

    def break_watches(
        self, kind: Kind[Any] | None = None, *, after: int = 1, expired: bool = False, chance: float = 1.0
    ) -> None:
        """Ends every watch after so many events; `expired` has the server say that it forgot what followed."""
        self._breaks.append((_kind(kind), after, expired, chance))

    @contextmanager
    def stale(self, kind: Kind[Any] | None = None) -> Iterator[None]:
        """Holds back what watches tell, of a kind or of all, while the block runs: caches show what was."""
        ref = _kind(kind)
        self._stale.append(ref)
        try:
            yield
        finally:
            self._stale.remove(ref)
            for stream in self._streams:
                stream.look_again()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Has the server be out of reach while the block runs: nothing is sent, and every watch breaks off."""
        self._outages += 1
        self.cut()
        try:
            yield
        finally:
            self._outages = max(self._outages - 1, 0)

    def crash_after(self, writes: int, *, done: bool = True) -> None:
        """Ends the process after so many writes: the answer to the last one is lost, and so is, unless it is `done`,
        the write itself. Nothing more is sent after it, until `revive`. Events and leases do not count."""
        self._writes_left, self._last_is_done = writes, done

    def revive(self) -> None:
        """A new process asks, and does not crash."""
        self.crashed, self._writes_left = False, None

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()
        self._outages = 0
        self._breaks.clear()
        self._stale.clear()
        self.revive()
        for stream in self._streams:
            stream.look_again()

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
            answer = await self.transport.send(call)
        else:
            answer = await self._send_counted(call)
        return answer if fault is None or fault.failure is None else _answered(fault.failure, seen)

    async def _send_counted(self, call: Call) -> Answer:
        assert self._writes_left is not None
        self._writes_left -= 1
        if self._writes_left > 0:
            return await self.transport.send(call)
        self.crashed = True
        if self._last_is_done:
            await self.transport.send(call)
        raise TransportError("the process has ended", sent=True)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        seen = _seen(call)
        fault = await self._met(seen)
        if fault is not None and fault.failure is not None:
            yield EndedStream(_answered(fault.failure, seen))
            return
        async with self.transport.stream(call) as inner:
            stream = BreakingStream(inner, seen, self._is_stale, self._breaks_now)
            self._streams.append(stream)
            try:
                yield stream
            finally:
                self._streams.remove(stream)

    async def close(self) -> None:
        """Whoever has the other client closes what is below."""

    async def _met(self, seen: Seen) -> Fault | None:
        """The fault that a request meets. Raises TransportError where there is no process to send it."""
        if self.crashed:
            raise TransportError("the process has ended", sent=False)
        if self._outages:
            self.hits += 1
            raise TransportError("connection refused", sent=False)
        self.seen.append(seen)
        for fault in list(self._faults):
            if fault.is_about(seen, await self._resource(fault.kind)) and self.ids.random() < fault.chance:
                fault.hits += 1
                self.hits += 1
                if fault.act is not None:
                    await fault.act()
                if fault.seconds:
                    await self.clock.sleep(fault.seconds)
                if fault.failure is not None:
                    return fault
        return None

    async def _resource(self, kind: KindRef | None) -> tuple[str, str] | None:
        """The group and the resource that requests for a kind name."""
        if kind is None:
            return None
        try:
            return kind.gvk.group, (await self._mapper.resource(kind.gvk)).plural
        except NoMatch:
            return kind.gvk.group, ""

    def _add(self, fault: Fault, about: dict[str, str]) -> Fault:
        for name, value in about.items():
            if name not in ("name", "namespace", "subresource"):
                raise TypeError(f"a fault is not about a {name}: say name, namespace or subresource")
            setattr(fault, name, value)
        self._faults.append(fault)
        return fault

    # What streams ask

    def _is_of(self, seen: Seen, kind: KindRef | None) -> bool:
        if kind is None:
            return True
        known = self._mapper.known(kind.gvk)
        return known is not None and (seen.group, seen.resource) == (kind.gvk.group, known.plural)

    def _is_stale(self, seen: Seen) -> bool:
        self.heard += 1
        return any(self._is_of(seen, kind) for kind in self._stale)

    def _breaks_now(self, seen: Seen, events: int) -> str:
        """How a watch that has told so many events ends now: `ended`, `expired`, or not at all."""
        for kind, after, expired, chance in self._breaks:
            if events >= after and self._is_of(seen, kind) and self.ids.random() < chance:
                self.hits += 1
                return "expired" if expired else "ended"
        return ""


def _verbs(verb: str) -> frozenset[str]:
    found = _GROUPS.get(verb) or frozenset((verb,))
    if not found <= _GROUPS["*"]:
        raise ValueError(f"{verb!r} is no verb: {', '.join(sorted(_GROUPS['*']))}, read, write or *")
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
    error.name = error.name or seen.name or seen.resource  # without a name, the resource itself would be meant
    headers = {"content-type": "application/json"}
    if error.retry_after_seconds:
        headers["retry-after"] = str(error.retry_after_seconds)
    return Answer(error.code, headers, msgspec.json.encode(error.to_status()))


def _seen(call: Call) -> Seen:
    watch = next((value for name, value in call.query if name == "watch"), None)
    info = request_info(call.method, call.path, watch)
    verb = "apply" if call.headers.get("content-type") == APPLY else info.verb
    return Seen(verb, info.group, info.resource, info.namespace, info.name, info.subresource, call)
