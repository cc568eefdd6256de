"""The context of a `def` reconciler, which runs in a thread: the methods of `Context` without `await`.

    @sp.controller(Website, owns=["v1/ConfigMap"])
    def website(ctx: sp.SyncContext[Website], request: sp.Request) -> sp.Result | None:
        found = ctx.object()
        if found is None:
            return None
        ctx.client.apply(ctx.own(config_map_of(found)))
        ctx.condition("Ready", True, "Applied")

Code of the event loop runs in the event loop, also that of the cache and of the clients, so that the thread shares no
data with other reconciles. Writes carry the same cause, and are fenced in the same way, as those of an `async def`
reconciler.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Coroutine
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType
from typing import Any, TypeVar, overload

from setpoint.client.kinds import AnyObject, Kind, KindRef, Obj, R, kind_of
from setpoint.client.sync import SyncClient
from setpoint.controller.context import Context
from setpoint.controller.request import Request, TerminalError, Trigger
from setpoint.controller.status import Status, StatusReport
from setpoint.controller.status_attribute import K_co, StatusReporter
from setpoint.controller.sync_client import SyncReconcileClient
from setpoint.controller.threads import ThreadCall
from setpoint.objects.clock import Clock
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Cause
from setpoint.objects.tree import Object

T = TypeVar("T")
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, MethodWrapperType, type)


class SyncContext(StatusReporter[K_co]):
    """The context of one reconcile in a thread, passed to a `def` reconcile function. `SyncContext[Website]` has the
    types of a kind.

    Use the context only in the thread of the function, or in threads that end before the function does.
    """

    def __init__(self, ctx: Context[Any], call: ThreadCall) -> None:
        self._ctx = ctx
        self._call = call
        self._clients: dict[str, SyncReconcileClient] = {}
        # As in `Context`.
        self.request: Request = ctx.request
        self.id: str = ctx.id
        self.why: tuple[Trigger, ...] = ctx.why
        self.attempt: int = ctx.attempt
        self.clock: Clock = ctx.clock

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the deadline; None without a deadline."""
        return self._ctx.seconds_left

    @property
    def cause(self) -> Cause:
        """The cause that every write of this reconcile carries."""
        return self._ctx.cause

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that prefixes each line with the controller, the request and the ID of the reconcile."""
        return self._ctx.log

    @property
    def cancelled(self) -> bool:
        """True if the reconcile exceeded its timeout, or the controller stops. Loops should end then.

        Every method that waits raises `asyncio.CancelledError` from then on.
        """
        return self._call.cancelled

    @property
    def recorder(self) -> Any:
        """The event recorder of the manager; None without one."""
        recorder = self._ctx.recorder
        return None if recorder is None else _SyncRecorder(recorder, self)

    # The event loop

    def in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the event loop and returns its result: the counterpart of `Context.in_thread`."""
        return self._call.run(work)

    def sleep(self, seconds: float) -> None:
        """Sleeps by the clock of the controller. Unlike `time.sleep`, ends when the reconcile is cancelled."""
        self.in_loop(self.clock.sleep(seconds))

    def in_loop_call(self, function: Callable[[], T]) -> T:
        """Calls a function that does not wait in the event loop, for data that belongs to the loop."""

        async def call() -> T:
            return function()

        return self.in_loop(call())

    # Reading and writing

    @property
    def client(self) -> SyncReconcileClient:
        """The client of the request's cluster: reads from the cache, writes to the server."""
        return self.cluster(self.request.cluster)

    @property
    def api(self) -> SyncClient:
        """The client of the request's cluster that also reads from the server, without the cache."""
        return SyncClient(self.in_loop_call(lambda: self._ctx.api), _loop=self._call)

    def cluster(self, name: str) -> SyncReconcileClient:
        """Returns the `client` of another cluster of the controller. Raises LookupError for an unknown cluster."""
        found = self._clients.get(name)
        if found is None:
            client = self.in_loop_call(lambda: self._ctx.cluster(name))
            found = self._clients[name] = SyncReconcileClient(client, self._call)
        return found

    @overload
    def object(self: "SyncContext[AnyObject]") -> K_co | None: ...
    @overload
    def object(self) -> Any: ...
    def object(self) -> Any:
        """Returns the object to reconcile from the cache; None if deleted. Use `obj.edit()` to get a mutable copy."""
        return self.in_loop(self._ctx.object())

    @overload
    def lookup(self, kind: type[R], name: str, namespace: str = "", *, cluster: str | None = None) -> R | None: ...
    @overload
    def lookup(
        self, kind: GroupVersionKind | str | KindRef, name: str, namespace: str = "", *, cluster: str | None = None
    ) -> Object | None: ...
    def lookup(self, kind: Kind[Any], name: str, namespace: str = "", *, cluster: str | None = None) -> Any:
        """Returns an object from the cache; None if the cache has no such object. See `Context.lookup`."""
        return self.in_loop_call(lambda: self._ctx.lookup(kind_of(kind), name, namespace, cluster=cluster))

    def own(self, child: Obj) -> Obj:
        """Returns a copy of a child that is owned and controlled by the object to reconcile. See `Context.own`."""
        return self.in_loop_call(lambda: self._ctx.own(child))

    def create_once(self, child: Obj, key: str) -> Obj:
        """Returns the child with a key, and creates the child if there is none. See `Context.create_once`."""
        return self.in_loop(self._ctx.create_once(child, key))

    # Status and finalizers

    def load_status(self, found: Any = None) -> Status:
        """Loads `status` from the given object, or else from the cache. Raises NotFound if the object is deleted."""
        status: Status = self.in_loop(self._ctx.load_status(found))
        return status

    def status_report(self) -> StatusReport:
        """Returns the collected status; see `Context.status_report`."""
        loaded = self._ctx.reported
        return self.in_loop_call(self._ctx.status_report) if loaded is None else loaded

    def finalize(self, finalizer: str, clean_up: Callable[[], None]) -> bool:
        """Manages a finalizer, so that the object is deleted only after the cleanup. See `Context.finalize`.

        if ctx.finalize("example.com/bucket", lambda: storage.remove(request.name)):
            return None
        """
        try:
            return self.in_loop(self._ctx.finalize(finalizer, _clean_up_now))
        except _CleanUpDueError:
            clean_up()
        return self.in_loop(self._ctx.finalize(finalizer, _cleaned_up))

    def note(self, text: Any) -> None:
        """Attaches a note to the record of this reconcile, for later inspection."""
        self._ctx.note(text)


class _CleanUpDueError(Exception):
    """The object is being deleted, and the cleanup has not run yet."""


async def _clean_up_now() -> None:
    raise _CleanUpDueError


async def _cleaned_up() -> None:
    """Does not wait: the cleanup ran in the thread."""


class _SyncRecorder:
    """Records events from a thread."""

    def __init__(self, recorder: Any, ctx: SyncContext[Any]) -> None:
        self._recorder, self._ctx = recorder, ctx

    def normal(self, *args: Any, **how: Any) -> None:
        """Records a normal event; see `Recorder.normal`."""
        self._ctx.in_loop_call(lambda: self._recorder.normal(*args, **how))

    def warning(self, *args: Any, **how: Any) -> None:
        """Records a warning event; see `Recorder.warning`."""
        self._ctx.in_loop_call(lambda: self._recorder.warning(*args, **how))


def is_blocking(function: Any) -> bool:
    """Returns True for a function that runs in a thread: one that is defined with `def`.

    A lambda and a wrapper around a coroutine function are called in the event loop. A generator may block as well.
    """
    found = function
    while not inspect.iscoroutinefunction(found) and not inspect.isasyncgenfunction(found):
        if isinstance(found, functools.partial):
            found = found.func
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif isinstance(found, _FUNCTIONS) or not callable(found):
            return getattr(found, "__name__", "") != "<lambda>"
        else:
            found = found.__call__
    return False


async def call_in_thread(
    ctx: Context[Any], function: Callable[..., T], *args: Any, context: type[SyncContext[Any]] = SyncContext
) -> T:
    """Calls a `def` function with a synchronous context and other arguments in a thread of the controller.

    Raises TerminalError if the function returns an awaitable.
    """
    result = await ctx.run_blocking(lambda call: function(context(ctx, call), *args))
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        name = getattr(function, "__qualname__", repr(function))
        raise TerminalError(f"{name} is defined with `def` and returned an awaitable: use `async def`")
    return result
