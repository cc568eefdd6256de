"""`@daemon` and `@timer`: declare long-running tasks, and periodic calls, for each object of a kind.

@daemon(Team, when=lambda team: team.spec.desks > 0, finalizer="example.com/patrol")
async def patrol(ctx: DaemonContext[Team], request: Request) -> None:
    while not await ctx.wait_stopped(60): ...

@timer(Team, interval=60, idle=10)
async def remind(ctx: Context[Team], request: Request) -> None: ...

Manager(client, controllers=[team, patrol, remind])
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, R, kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.daemon.context import DaemonContext, SyncDaemonContext
from setpoint.controller.daemon.daemon_controller import DaemonController
from setpoint.controller.daemon.options import DaemonOptions, TimerOptions
from setpoint.controller.daemon.timer_controller import TimerController
from setpoint.controller.declare import AwaitableResult, BlockingResult, Declaration, declare
from setpoint.controller.options import Settings
from setpoint.controller.request import Request
from setpoint.controller.status_attribute import K_co
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.watch import Watch
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

AwaitableNone = TypeVar("AwaitableNone", bound=Awaitable[None])


class _Declared:
    """Declares a function for the objects of a kind."""

    def __init__(
        self, kind: Kind[Any] | Watch, name: str, settings: Settings, make: Callable[..., Controller], what: str
    ) -> None:
        if "predicates" in settings:
            raise ValueError(f"a {what} has no predicates, which select changes: select its objects with when=")
        self._kind = kind
        self._name = name
        self._settings = settings
        self._make = make
        self._what = what

    def _declare(self, target: Any) -> Any:
        called = getattr(target, "__name__", "")
        if not callable(target) or isinstance(target, type) or called == "<lambda>":
            raise TypeError(f"a {self._what} is a function: use `async def` or `def`")
        kind = kind_of(self._kind.kind if isinstance(self._kind, Watch) else self._kind).gvk.kind.lower()
        name = self._name or f"{kind}-{called.replace('_', '-').strip('-')}"
        declare(target, Declaration(name, self._kind, self._settings, self._make))
        return target


class DaemonDecorator(_Declared, Generic[K_co]):
    """The decorator for a function that runs as a daemon for each object of a kind."""

    @overload
    def __call__(
        self, target: Callable[[DaemonContext[K_co], Request], AwaitableNone], /
    ) -> Callable[[DaemonContext[K_co], Request], AwaitableNone]: ...
    @overload
    def __call__(
        self, target: Callable[[SyncDaemonContext[K_co], Request], None], /
    ) -> Callable[[SyncDaemonContext[K_co], Request], None]: ...
    def __call__(self, target: Any, /) -> Any:
        """Declares the target, and returns the target itself."""
        return self._declare(target)


class TimerDecorator(_Declared, Generic[K_co]):
    """The decorator for a function that is called at an interval for each object of a kind."""

    @overload
    def __call__(
        self, target: Callable[[Context[K_co], Request], AwaitableResult], /
    ) -> Callable[[Context[K_co], Request], AwaitableResult]: ...
    @overload
    def __call__(
        self, target: Callable[[SyncContext[K_co], Request], BlockingResult], /
    ) -> Callable[[SyncContext[K_co], Request], BlockingResult]: ...
    def __call__(self, target: Any, /) -> Any:
        """Declares the target, and returns the target itself."""
        return self._declare(target)


@overload
def daemon(
    kind: type[R],
    *,
    name: str = "",
    when: Callable[[R], bool] | None = None,
    finalizer: str = "",
    grace: float = 10.0,
    daemon_threads: int = 64,
    **settings: Unpack[Settings],
) -> DaemonDecorator[R]: ...
@overload
def daemon(
    kind: GroupVersionKind | str | KindRef,
    *,
    name: str = "",
    when: Callable[[Object], bool] | None = None,
    finalizer: str = "",
    grace: float = 10.0,
    daemon_threads: int = 64,
    **settings: Unpack[Settings],
) -> DaemonDecorator[Object]: ...
@overload
def daemon(
    kind: Watch,
    *,
    name: str = "",
    when: Callable[[Any], bool] | None = None,
    finalizer: str = "",
    grace: float = 10.0,
    daemon_threads: int = 64,
    **settings: Unpack[Settings],
) -> DaemonDecorator[Any]: ...
def daemon(
    kind: Kind[Any] | Watch,
    *,
    name: str = "",
    when: Callable[[Any], bool] | None = None,
    finalizer: str = "",
    grace: float = 10.0,
    daemon_threads: int = 64,
    **settings: Unpack[Settings],
) -> DaemonDecorator[Any]:
    """Declares a function that runs for each object of a kind, as long as the object exists and matches.

    The function is started for existing and new objects, and asked to stop (`ctx.stopped`) when its object is being
    deleted, does not match `when` any more or is suspended, and when the manager stops or loses its lease. After
    `grace` seconds the function is cancelled; after a lost lease at once. A function that raises is started again with
    backoff (`limiter`); one that returns is not, until its object matches again. The name is that of the kind and of
    the function unless another is given. Raises ValueError for invalid options.

        @daemon(Team, when=lambda team: team.spec.desks > 0, finalizer="example.com/patrol")
        async def patrol(ctx: DaemonContext[Team], request: Request) -> None:
            while not await ctx.wait_stopped(60): ...
    """
    options = DaemonOptions(when=when, finalizer=finalizer, grace=grace, daemon_threads=daemon_threads)
    options.check(kind)
    return DaemonDecorator(kind, name, settings, partial(DaemonController, daemon=options), "daemon")


@overload
def timer(
    kind: type[R],
    *,
    interval: float,
    initial_delay: float = 0.0,
    idle: float = 0.0,
    sharp: bool = False,
    when: Callable[[R], bool] | None = None,
    name: str = "",
    **settings: Unpack[Settings],
) -> TimerDecorator[R]: ...
@overload
def timer(
    kind: GroupVersionKind | str | KindRef,
    *,
    interval: float,
    initial_delay: float = 0.0,
    idle: float = 0.0,
    sharp: bool = False,
    when: Callable[[Object], bool] | None = None,
    name: str = "",
    **settings: Unpack[Settings],
) -> TimerDecorator[Object]: ...
@overload
def timer(
    kind: Watch,
    *,
    interval: float,
    initial_delay: float = 0.0,
    idle: float = 0.0,
    sharp: bool = False,
    when: Callable[[Any], bool] | None = None,
    name: str = "",
    **settings: Unpack[Settings],
) -> TimerDecorator[Any]: ...
def timer(
    kind: Kind[Any] | Watch,
    *,
    interval: float,
    initial_delay: float = 0.0,
    idle: float = 0.0,
    sharp: bool = False,
    when: Callable[[Any], bool] | None = None,
    name: str = "",
    **settings: Unpack[Settings],
) -> TimerDecorator[Any]:
    """Declares a function that is called at an interval for each object of a kind.

    A call is a reconcile, with a timeout: failures are retried with backoff, and `Result(requeue_after=...)` sets the
    time of the next call. Changes of the object do not cause a call; with `idle`, a call waits until the object was
    unchanged for that time. The name is that of the kind and of the function unless another is given. Raises
    ValueError for invalid options.

        @timer(Team, interval=60, initial_delay=10)
        async def remind(ctx: Context[Team], request: Request) -> None: ...
    """
    options = TimerOptions(interval=interval, initial_delay=initial_delay, idle=idle, sharp=sharp, when=when)
    options.check()
    return TimerDecorator(kind, name, settings, partial(TimerController, timer=options), "timer")
