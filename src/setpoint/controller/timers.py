"""Sources other than kinds: timers, programmatic channels and streams.

Every(300, Request("all"))             # every five minutes
Every(3600, everybody, aligned=True)   # at each full hour, for all requests that `everybody()` returns
channel = Channel("uploads"); channel.send(Request("a", "default"))
Stream("queue", follow)                # calls `await follow(enqueue)`, and again after a failure
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from setpoint.controller.request import Request, Trigger
from setpoint.controller.source import Attached, Follower, SourceHost

# The number of requests that a channel buffers while no controller is attached, as in controller-runtime.
CHANNEL_SIZE = 1024

Named: TypeAlias = "Request | Iterable[Request]"
Who: TypeAlias = "Named | Callable[[], Named | Awaitable[Named]]"
Enqueue: TypeAlias = Callable[[Request], None]


async def _requests(who: Who) -> Iterable[Request]:
    found = who() if callable(who) else who
    if inspect.isawaitable(found):
        found = await found
    return (found,) if isinstance(found, Request) else found


@dataclass(frozen=True, eq=False)
class Every:
    """A timer: triggers a request, several, or those that a function returns, at an interval.

    Every(3600, lambda: [Request("a", "default"), Request("b", "default")], aligned=True)
    """

    seconds: float
    who: Who
    # True to fire at full multiples of the interval in wall-clock time, instead of relative to the start.
    aligned: bool = False

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ValueError("seconds must be greater than 0")

    @property
    def name(self) -> str:
        return f"every {self.seconds:g} s"

    async def attach(self, host: SourceHost) -> Attached:
        async def follow() -> None:
            while True:
                await host.clock.sleep(self._wait(host.clock.now().timestamp()))
                for request in await _requests(self.who):
                    host.enqueue(request, Trigger("timer", self.name))

        return Follower(self.name, follow, host)

    def _wait(self, now: float) -> float:
        return self.seconds - now % self.seconds if self.aligned else self.seconds


@dataclass(frozen=True, eq=False)
class Stream:
    """Runs a coroutine that receives a function to queue requests.

    async def follow(enqueue: Callable[[Request], None]) -> None:
        async for upload in uploads():
            enqueue(Request(upload.name, "default"))

    Stream("uploads", follow)
    """

    name: str
    follow: Callable[[Enqueue], Awaitable[None]]

    async def attach(self, host: SourceHost) -> Attached:
        def enqueue(request: Request) -> None:
            host.enqueue(request, Trigger("requested", self.name))

        return Follower(self.name, lambda: self.follow(enqueue), host)


class Channel:
    """A channel through which a program triggers requests.

    Use `send` from the event loop and `send_from_thread` from other threads.

        channel = Channel("uploads")
        controller = Controller("website", reconcile, kind=Website, watches=[channel])
        channel.send(Request("web", "default"))
    """

    def __init__(self, name: str = "channel") -> None:
        self.name = name
        self._hosts: dict[SourceHost, asyncio.AbstractEventLoop] = {}
        self._kept: dict[Request, int] = {}

    def send(self, request: Request, priority: int = 0) -> None:
        """Triggers a request. Buffers requests until a controller is attached; raises BufferError if full."""
        if not self._hosts:
            if request not in self._kept and len(self._kept) >= CHANNEL_SIZE:
                raise BufferError(f"no controller is attached to {self.name}, and {CHANNEL_SIZE} requests are buffered")
            self._kept[request] = max(priority, self._kept.get(request, priority))
        for host in self._hosts:
            host.enqueue(request, Trigger("requested", self.name), priority)

    def send_from_thread(self, request: Request, priority: int = 0) -> None:
        """Triggers a request from another thread. Has no effect unless a controller is attached."""
        for host, loop in list(self._hosts.items()):
            loop.call_soon_threadsafe(host.enqueue, request, Trigger("requested", self.name), priority)

    async def attach(self, host: SourceHost) -> Attached:
        self._hosts[host] = asyncio.get_running_loop()
        kept, self._kept = self._kept, {}
        for request, priority in kept.items():
            self.send(request, priority)
        return _Listening(self.name, lambda: self._hosts.pop(host, None))


class _Listening:
    """A channel with an attached controller."""

    synced = True
    problem = ""

    def __init__(self, name: str, end: Callable[[], object]) -> None:
        self.name = name
        self._end = end

    async def wait_synced(self) -> None:
        """Returns at once: there is no initial state to wait for."""

    async def detach(self) -> None:
        self._end()
