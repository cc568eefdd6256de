"""One handler of a chain: a named function with its state. A `def` function runs in a thread.

A handler has its own backoff, timeout and metrics. Tests can call a handler like the decorated function. A handler can
be removed from its chain at any time; the removal waits for running calls.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from setpoint.client.kinds import Obj
from setpoint.controller.context import Context, ContextHost
from setpoint.controller.ratelimit import Exponential, RateLimiter
from setpoint.controller.run_record import ReconcileRecord
from setpoint.controller.status import Status, StatusReport
from setpoint.controller.status_attribute import K_co
from setpoint.controller.sync_context import SyncContext, is_blocking
from setpoint.controller.threads import ThreadCall
from setpoint.controller.watchdog import Watchdog, Watched
from setpoint.objects.clock import Clock
from setpoint.objects.metrics import Histogram

# The objects that a handler is called for: existing, terminating, or deleted ones.
CHANGE, REMOVE, DELETE = "change", "remove", "delete"
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)

# The argument of a handler: an object, or a deleted one.
A = TypeVar("A")


class Gone(NamedTuple, Generic[Obj]):
    """A deleted object in its last known state.

    @nodes.on_delete("forget")
    async def forget(ctx: HandlerContext, gone: Gone[Node]) -> None:
        inventory.remove(gone.last_known.metadata.name)
    """

    last_known: Obj
    # True if the deletion was not observed: the object may have changed before.
    unseen: bool = False


class Skip(Exception):  # noqa: N818 - a signal, no error
    """Raised by a handler to ignore an object until its next change, without an error or a retry.

    An `on_remove` handler that raises Skip keeps its finalizer.

        raise Skip
    """


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a handler."""

    # The name of the handler, unique in its chain.
    name: str
    # The event that the handler is for: a change or a removal.
    event: str = CHANGE
    # The handlers that must succeed before.
    after: tuple[str, ...] = ()
    # The timeout of a call in seconds; None: no limit.
    timeout: float | None = None
    # Creates the rate limiter for retries.
    backoff: Callable[[], RateLimiter] = Exponential
    # True to call the handler for terminating objects, too.
    deleting: bool = False
    # The finalizer of a removal handler; by default that of the chain.
    finalizer: str = ""
    # True to call the handler once for each generation of an object: its success is recorded in the status.
    once: bool = False
    # The field manager of applies; by default unique per handler, so that handlers do not remove each other's fields.
    field_manager: str = ""


class HandlerContext(Context[K_co]):
    """The context of one call of a handler. `HandlerContext[Node]` has the types of a kind.

    The status is that of the object: all handlers write to the same status, which is sent once after the last handler.

        async def label_zone(ctx: HandlerContext[Node], node: Node) -> Node | None:
            ctx.requeue_after(600)
            return None
    """

    def __init__(
        self, chain: ContextHost, outer: Context[Any], handler: "ChainHandler[Any]", deadline: float | None
    ) -> None:
        super().__init__(chain, outer.run, deadline)
        self.handler = handler
        # The seconds until the requested next call.
        self.again: float | None = None
        self._outer = outer

    def requeue_after(self, seconds: float) -> None:
        """Calls this handler, and those that come after it, again after some seconds. The earliest call counts."""
        self.again = seconds if self.again is None else min(self.again, seconds)

    @property
    def attempt(self) -> int:
        """The number of failed attempts of this handler since its last success; 0 for the first attempt."""
        return self.handler.limiter.retries(self.request)

    def log_fields(self) -> dict[str, str]:
        about = super().log_fields()
        return {**about, "controller": f"{about['controller']}/{self.handler.name}", "handler": self.handler.name}

    async def load_status(self, found: Any = None) -> Status:
        return await self._outer.load_status(found)

    def status_report(self) -> StatusReport:
        return self._outer.status_report()


class SyncHandlerContext(SyncContext[K_co]):
    """The context of one call of a `def` handler, which runs in a thread.

    def label_zone(ctx: SyncHandlerContext, node: Node) -> Node | None:
        ctx.requeue_after(600)
        return None
    """

    _ctx: HandlerContext[Any]

    def __init__(self, ctx: HandlerContext[Any], call: ThreadCall) -> None:
        super().__init__(ctx, call)

    @property
    def handler(self) -> "ChainHandler[Any]":
        return self._ctx.handler

    def requeue_after(self, seconds: float) -> None:
        """Calls this handler, and later ones, again after some seconds. The earliest call counts."""
        self._ctx.requeue_after(seconds)


class HandlerChain(Protocol):
    """The chain of a handler."""

    name: str
    finalizer: str

    def check(self, handlers: "Iterable[ChainHandler[Any]]") -> None: ...

    def adopt(self, handlers: "Sequence[ChainHandler[Any]]") -> None: ...

    def drop(self, handler: "ChainHandler[Any]") -> None: ...


# The function of a handler.
Function: TypeAlias = Callable[[HandlerContext[Any], A], Awaitable[Any]] | Callable[[SyncHandlerContext[Any], A], Any]


class ChainHandler(Generic[A]):
    """A handler. `await handler.remove()`, or the end of `async with handler`, removes the handler from its chain."""

    def __init__(self, chain: HandlerChain, function: Function[A], settings: Settings) -> None:
        self.chain = chain
        self.function = function
        self.is_blocking = is_blocking(function)
        self.settings = settings
        self.name = settings.name
        # True while the handler takes part: false before the end of a registration, and after its removal.
        self.active = False
        self.results: Counter[str] = Counter()
        self.seconds = Histogram(_SECONDS)
        # The running calls, each with an event for its end.
        self._calls: dict[asyncio.Task[Any], asyncio.Event] = {}
        self._watching: asyncio.Task[None] | None = None
        self.limiter: RateLimiter = settings.backoff()
        self.watchdog: Watchdog | None = None

    def __call__(self, ctx: Any, obj: A) -> Any:
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
        """Removes the handler: no new call begins, and running calls have ended when this returns. May be called again.

        Its finalizers stay on the objects: list them in `Chain(retired=...)`.
        """
        self.chain.drop(self)
        for task, over in list(self._calls.items()):
            if task is not asyncio.current_task():  # a handler that removes itself cannot wait for itself
                await over.wait()
        await self.stop()

    # Called by the chain.

    def reset(self, clock: Clock, line_in_thread: "Callable[[asyncio.Task[Any]], str]") -> None:
        """Resets the state at the start of the chain."""
        self.limiter = self.settings.backoff()
        self.watchdog = Watchdog(clock, self.settings.timeout, line_in_thread)

    def start(self) -> None:
        """Starts the watchdog of its calls."""
        if self._watching is None and self.watchdog is not None and self.settings.timeout is not None:
            self._watching = asyncio.ensure_future(self.watchdog.watch())

    async def stop(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def begin(self, run: ReconcileRecord, task: "asyncio.Task[Any]") -> float | None:
        """Registers a call, and returns its deadline."""
        self._calls[task] = asyncio.Event()
        return None if self.watchdog is None else self.watchdog.begin(run, task)

    def end(self, run: ReconcileRecord, task: "asyncio.Task[Any]") -> bool:
        """Unregisters a call, and returns True if the call exceeded its timeout."""
        over = self._calls.pop(task, None)
        if over is not None:
            over.set()
        return self.watchdog is not None and self.watchdog.end(run)

    def stuck(self) -> list[Watched]:
        return [] if self.watchdog is None else self.watchdog.stuck()
