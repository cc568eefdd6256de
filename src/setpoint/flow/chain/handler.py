"""One handler of a chain: a coroutine function with a name, and what is known of how it does.

It has a backoff, a time limit and measurements of its own. It can be called like the function it was made of, which is
how a test calls it; and taken out of its chain at any time, which waits for the calls that run.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from setpoint.client.kinds import Obj
from setpoint.controller.context import Context, Host
from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.controller.run_record import Run
from setpoint.controller.status import Status
from setpoint.controller.watchdog import Watchdog, Watched
from setpoint.objects.clock import Clock
from setpoint.objects.metrics import Histogram

# What a handler is called for: objects that live, those that are to be deleted, those that are gone.
CHANGE, REMOVE, DELETE = "change", "remove", "delete"
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)

# What it is called with: an object, or one that is gone.
A = TypeVar("A")


class Gone(NamedTuple, Generic[Obj]):
    """An object that does not exist any more, as it was last."""

    last_known: Obj
    # It went while nobody looked: it may have changed before that.
    unseen: bool = False


class Skip(Exception):  # noqa: N818 - a signal, no error
    """Raised by a handler to leave an object as it is until its next change: no error, and nothing is tried again. A
    handler of `on_remove` that skips keeps its finalizer."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a handler is registered with."""

    name: str
    what: str = CHANGE
    # The handlers whose work it builds on.
    after: tuple[str, ...] = ()
    # Seconds that a call may take; None: as long as it likes.
    timeout: float | None = None
    # Makes what says how long its retries wait.
    backoff: Callable[[], RateLimiter] = Exponential
    # Whether it is called for objects that are being deleted, too.
    deleting: bool = False
    finalizer: str = ""
    # As whom it applies; by default a name of its own, so that two handlers do not take each other's fields away.
    field_manager: str = ""


class HandlerContext(Context):
    """One call of one handler. The status that it reports is that of the object: all handlers write into the same, and
    it is sent once when the last has ended."""

    def __init__(self, chain: Host, outer: Context, handler: "Handler[Any]", deadline: float | None) -> None:
        super().__init__(chain, outer.run, deadline)
        self.handler = handler
        # When it wants to be called again.
        self.again: float | None = None
        self._outer = outer

    def requeue_after(self, seconds: float) -> None:
        """Has this handler, and those that come after it, called again in some seconds, though nothing changes. Of
        several times the earliest counts."""
        self.again = seconds if self.again is None else min(self.again, seconds)

    @property
    def attempt(self) -> int:
        """How often this handler was tried since it last succeeded; 0 the first time."""
        return self.handler.limiter.retries(self.request)

    def about(self) -> dict[str, str]:
        about = super().about()
        return {**about, "controller": f"{about['controller']}/{self.handler.name}", "handler": self.handler.name}

    async def load_status(self, found: Any = None) -> Status:
        return await self._outer.load_status(found)

    @property
    def status(self) -> Status:
        return self._outer.status


class HandlerChain(Protocol):
    """The chain that handlers are of."""

    name: str
    finalizer: str

    def check(self, handlers: "Iterable[Handler[Any]]") -> None: ...

    def adopt(self, handlers: "Sequence[Handler[Any]]") -> None: ...

    def drop(self, handler: "Handler[Any]") -> None: ...


class Handler(Generic[A]):
    """A handler. `await handler.remove()`, or leaving `async with handler`, takes it out."""

    def __init__(
        self, chain: HandlerChain, function: Callable[[HandlerContext, A], Awaitable[Any]], settings: Settings
    ) -> None:
        self.chain = chain
        self.function = function
        self.settings = settings
        self.name = settings.name
        # Whether it takes part. One that waits for the end of a registration, or was removed, does not.
        self.active = False
        self.results: Counter[str] = Counter()
        self.seconds = Histogram(_SECONDS)
        # The tasks that are in it, and what says that they are out again.
        self._calls: dict[asyncio.Task[Any], asyncio.Event] = {}
        self._watching: asyncio.Task[None] | None = None
        self.limiter: RateLimiter = settings.backoff()
        self.watchdog: Watchdog | None = None

    def __call__(self, ctx: HandlerContext, obj: A) -> Awaitable[Any]:
        return self.function(ctx, obj)

    def __repr__(self) -> str:
        return f"<handler {self.name} of {self.chain.name}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.remove()

    async def remove(self) -> None:
        """Takes it out: no call begins from now on, and when this returns none runs any more. Again is the same.

        The finalizers that it has put on objects stay on them: name them to `Chain(retired=...)`.
        """
        self.chain.drop(self)
        for task, over in list(self._calls.items()):
            if task is not asyncio.current_task():  # one that removes itself cannot wait for itself
                await over.wait()
        await self.stop()

    # What the chain calls.

    def reset(self, clock: Clock) -> None:
        """Begins anew, as its chain does."""
        self.limiter = self.settings.backoff()
        self.watchdog = Watchdog(clock, self.settings.timeout)

    def start(self) -> None:
        """Has its calls watched over."""
        if self._watching is None and self.watchdog is not None and self.settings.timeout is not None:
            self._watching = asyncio.ensure_future(self.watchdog.watch())

    async def stop(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def begin(self, run: Run, task: "asyncio.Task[Any]") -> float | None:
        """A call begins. Returns when it has to be over."""
        self._calls[task] = asyncio.Event()
        return None if self.watchdog is None else self.watchdog.begin(run, task)

    def end(self, run: Run, task: "asyncio.Task[Any]") -> bool:
        """A call is over. Returns whether it was ended because it took too long."""
        over = self._calls.pop(task, None)
        if over is not None:
            over.set()
        return self.watchdog is not None and self.watchdog.end(run)

    def stuck(self) -> list[Watched]:
        return [] if self.watchdog is None else self.watchdog.stuck()
