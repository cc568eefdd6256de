"""Sources that are no kinds: the time, whatever a program says, and whatever a coroutine finds out.

Every(300, Request("all"))             once in five minutes
Every(3600, everybody, aligned=True)   at each full hour, for all that `everybody()` names
channel = Channel("uploads"); channel.send(Request("a", "default"))
Stream("queue", follow)                calls `await follow(enqueue)`, and again when that fails
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from setpoint.controller.request import Request, Trigger
from setpoint.controller.source import Attached, Follower, Host

# How many requests a channel keeps while no controller listens, as in controller-runtime.
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
    """The time: every so many seconds, for a request, several, or those that a function names."""

    seconds: float
    who: Who
    # At full multiples of the seconds, as the clock on the wall counts them, instead of from the start on.
    aligned: bool = False

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ValueError("a timer needs some seconds between two times")

    @property
    def name(self) -> str:
        return f"every {self.seconds:g} s"

    async def attach(self, host: Host) -> Attached:
        async def follow() -> None:
            while True:
                await host.clock.sleep(self._wait(host.clock.now().timestamp()))
                for request in await _requests(self.who):
                    host.enqueue(request, Trigger("timer", self.name))

        return Follower(self.name, follow, host.clock)

    def _wait(self, now: float) -> float:
        return self.seconds - now % self.seconds if self.aligned else self.seconds


@dataclass(frozen=True, eq=False)
class Stream:
    """Whatever a coroutine finds out: it is called with a function that has a request reconciled."""

    name: str
    follow: Callable[[Enqueue], Awaitable[None]]

    async def attach(self, host: Host) -> Attached:
        def enqueue(request: Request) -> None:
            host.enqueue(request, Trigger("requested", self.name))

        return Follower(self.name, lambda: self.follow(enqueue), host.clock)


class Channel:
    """Whatever the program says, from the event loop it runs in or, with `send_from_thread`, from any thread."""

    def __init__(self, name: str = "channel") -> None:
        self.name = name
        self._hosts: dict[Host, asyncio.AbstractEventLoop] = {}
        self._kept: dict[Request, int] = {}

    def send(self, request: Request, priority: int = 0) -> None:
        """Has a request reconciled. While nobody listens it is kept; raises BufferError when too many are."""
        if not self._hosts:
            if request not in self._kept and len(self._kept) >= CHANNEL_SIZE:
                raise BufferError(f"nobody listens to {self.name}, and {CHANNEL_SIZE} requests wait already")
            self._kept[request] = max(priority, self._kept.get(request, priority))
        for host in self._hosts:
            host.enqueue(request, Trigger("requested", self.name), priority)

    def send_from_thread(self, request: Request, priority: int = 0) -> None:
        """The same from another thread. Who listens must do so already."""
        for host, loop in list(self._hosts.items()):
            loop.call_soon_threadsafe(host.enqueue, request, Trigger("requested", self.name), priority)

    async def attach(self, host: Host) -> Attached:
        self._hosts[host] = asyncio.get_running_loop()
        kept, self._kept = self._kept, {}
        for request, priority in kept.items():
            self.send(request, priority)
        return _Listening(self.name, lambda: self._hosts.pop(host, None))


class _Listening:
    """A channel that somebody listens to."""

    synced = True
    trouble = ""

    def __init__(self, name: str, end: Callable[[], object]) -> None:
        self.name = name
        self._end = end

    async def wait_synced(self) -> None:
        """There is nothing to wait for."""

    async def detach(self) -> None:
        self._end()
