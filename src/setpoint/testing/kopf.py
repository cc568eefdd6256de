"""Runs unmodified kopf operators in tests, on a server of the test, without waiting.

    with kopf_operator("operator.py", server=server) as operator:
        server.apply("example.yaml")
        operator.eventually(lambda: server.client.get("v1/ConfigMap", "child"))

The operator runs in a thread of its own, as with `kopf run`. `eventually` and `advance` let its time jump from
one timer to the next whenever the operator and the server are idle: delays of retries, timers, `asyncio.sleep` in
handlers, and daemons that are coroutines need no real time. The time of the server, of blocking code in `def` handlers
and of other network connections is real; while a `def` handler runs, the operator's time is real, too.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

# This module reports a missing kopf, so its import comes first.
from setpoint.testing.kopf_handlers import Source, collect_handlers
from setpoint.testing.kopf_time import virtual_basetime
from setpoint.testing.local_server import LocalServer
from setpoint.testing.observed_loop import LoopThread, are_idle

import kopf  # isort: skip

_LOGGER = "kopf"
# The real seconds between two looks at an operator that has work.
_LOOK_SECONDS = 0.005
_FOREVER = 1e9
# The number of log lines in the message of a failure.
_SHOWN_LINES = 40
Condition = Callable[[], Any]
_operator: ContextVar["KopfOperator | None"] = ContextVar("operator", default=None)


class KopfOperator:
    """A kopf operator on a server; see `kopf_operator`. `log` has the lines that kopf and the handlers logged."""

    def __init__(
        self,
        sources: Sequence[Source],
        server: LocalServer | None,
        settings: kopf.OperatorSettings | None,
        virtual: bool,
        patience: float,
        options: dict[str, Any],
    ) -> None:
        self.log: list[str] = []
        self.settings = settings or _settings(virtual)
        self._sources = sources
        self._given_server = server
        self._virtual = virtual
        self._patience = patience
        self._options = options if options.get("namespaces") else {"clusterwide": True, **options}
        self._stack = ExitStack()
        self._task: asyncio.Task[None] | None = None
        # The activity of the server at the last moment at which its controllers were known to be idle.
        self._settled = -1

    # Start and end

    def __enter__(self) -> Self:
        """Starts the operator, and waits until its startup handlers have run. Raises the errors of the operator."""
        with ExitStack() as stack:
            self.server = self._given_server or stack.enter_context(LocalServer())
            stack.enter_context(self.server.selected())
            stack.enter_context(_Log(self))
            if self._virtual:
                stack.enter_context(virtual_basetime())
            server = self.server
            connection = kopf.ConnectionInfo(
                server=server.url, ca_data=server.authority.encode(), token=server.token, default_namespace="default"
            )
            registry = collect_handlers(self._sources, connection)
            self._thread = LoopThread("kopf-operator")
            stack.callback(self._thread.stop)
            self._thread.run(self._start(registry))
            stack.callback(self._end)
            self._pass_until(lambda: self._ready.is_set() or self._is_done(), None)
            self._raise_end()
            # kopf misses definitions that are created between its first look at the kinds and its watch of them.
            self._wait_idle()
            self._raise_end()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the operator, and waits until its cleanup handlers have run. Raises the errors of the operator."""
        self._stack.close()
        if error is None:
            self._raise_end()

    async def _start(self, registry: kopf.OperatorRegistry) -> None:
        self._ready, self._stopping = asyncio.Event(), asyncio.Event()
        # The context of all tasks and threads of the operator.
        _operator.set(self)
        running = kopf.operator(
            registry=registry,
            settings=self.settings,
            ready_flag=self._ready,
            stop_flag=self._stopping,
            **self._options,
        )
        self._task = asyncio.ensure_future(running)

    def _end(self) -> None:
        self._thread.loop.call_soon_threadsafe(self._stopping.set)
        self._pass_until(self._is_done, None)

    def _is_done(self) -> bool:
        return self._task is not None and self._task.done()

    def _raise_end(self) -> None:
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

    # Time

    @property
    def time(self) -> float:
        """The time of the operator in seconds: real time, and all jumps."""
        return self._thread.loop.time()

    def eventually(self, holds: Condition, *, within: float = 60.0) -> Any:
        """Lets the time of the operator pass until a condition holds, and returns its value. A condition that raises an
        error of the status 404 does not hold yet. Raises AssertionError with the last lines of the log."""
        waiting = _Waiting(self, within)
        while not (found := _value(holds)):
            waiting.step(holds)
        return found

    def advance(self, seconds: float) -> None:
        """Lets some seconds of the operator's time pass."""
        until = self.time + seconds
        self._pass_until(lambda: self.time >= until or self._is_done(), until)
        self._check_running()
        self.settle()

    def settle(self) -> None:
        """Waits, in real time, until the operator and the server are idle: only time makes them go on. Raises
        AssertionError if they never are."""
        if not self._wait_idle():
            self._check_running()
            raise AssertionError(f"the operator did not become idle within {self._patience:g} s\n{self.tail()}")

    def tail(self) -> str:
        """Returns the last lines of the log."""
        return "\n".join(["the last lines of the operator's log:", *self.log[-_SHOWN_LINES:]])

    def _pass_until(self, holds: Condition, limit: float | None) -> None:
        while not holds():
            self._pass(limit)

    def _pass(self, limit: float | None) -> None:
        """Lets the time jump to the next timer, if all are idle; otherwise waits a moment."""
        if self._virtual and self._is_idle():
            self._thread.jump(3600.0 if limit is None else max(limit - self.time, 0.0))
        else:
            time.sleep(_LOOK_SECONDS)

    def _wait_idle(self) -> bool:
        """Waits for an idle moment. Returns False if there is none, as with daemons in threads."""
        until = time.monotonic() + self._patience
        while not (idle := self._is_idle()) and time.monotonic() < until and not self._is_done():
            time.sleep(_LOOK_SECONDS)
        return idle

    def _is_idle(self) -> bool:
        # The controllers of the server react to all writes.
        activity = self.server.thread.loop.observed.activity
        if activity != self._settled:
            self.server.settle()
            self._settled = activity
        return are_idle(self._thread, self.server.thread) and not self.server.plane.services.offload.busy_count

    def _check_running(self) -> None:
        if self._is_done():
            self._raise_end()
            raise AssertionError(f"the operator has ended\n{self.tail()}")

    # In async tests

    async def __aenter__(self) -> "AsyncKopfOperator":
        await asyncio.to_thread(self.__enter__)
        return AsyncKopfOperator(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)


class AsyncKopfOperator:
    """The same for `async def` tests. Conditions may be coroutines."""

    def __init__(self, operator: KopfOperator) -> None:
        self.operator = operator
        self.server = operator.server
        self.log = operator.log

    async def eventually(self, holds: Condition, *, within: float = 60.0) -> Any:
        """Lets the time of the operator pass until a condition holds; see `KopfOperator.eventually`."""
        waiting = await asyncio.to_thread(_Waiting, self.operator, within)
        while not (found := await self._value(holds)):
            await asyncio.to_thread(waiting.step, holds)
        return found

    async def advance(self, seconds: float) -> None:
        """Lets some seconds of the operator's time pass."""
        await asyncio.to_thread(self.operator.advance, seconds)

    async def settle(self) -> None:
        """Waits until the operator and the server are idle."""
        await asyncio.to_thread(self.operator.settle)

    async def _value(self, holds: Condition) -> Any:
        found = await asyncio.to_thread(_value, holds)
        if not inspect.isawaitable(found):
            return found
        try:
            return await found
        except Exception as error:
            return _absent(error)


def kopf_operator(
    *sources: Source,
    server: LocalServer | None = None,
    settings: kopf.OperatorSettings | None = None,
    virtual: bool = True,
    patience: float = 10.0,
    **options: Any,
) -> KopfOperator:
    """Returns an operator for `with`, or for `async with`.

    `sources` are files, which run anew, names of modules or modules, which stand for their handlers and those of their
    submodules, and registries. `server` is the server, by default a new one. `settings` and the other `options` are
    arguments of `kopf.operator`, such as `namespaces`, `standalone` and `memo`; without `namespaces`, the operator
    serves all.

    With `virtual=False` the time is real. `patience` is the real time in seconds that a condition may need beyond its
    virtual time, for work of the server or of blocking handlers.
    """
    return KopfOperator(sources, server, settings, virtual, patience, options)


class _Waiting:
    """The wait for one condition."""

    def __init__(self, operator: KopfOperator, within: float) -> None:
        self._operator, self._within = operator, within
        self._limit = operator.time + within
        self._latest: float | None = None

    def step(self, holds: Condition) -> None:
        """Lets time pass until the next timer. Raises AssertionError if the time is over."""
        operator = self._operator
        operator._check_running()
        if operator.time < self._limit:
            operator._pass(self._limit)
            return
        if self._latest is None:
            self._latest = time.monotonic() + operator._patience
        if time.monotonic() > self._latest:
            raise AssertionError(f"{_source(holds)} did not hold within {self._within:g} s\n{operator.tail()}")
        time.sleep(_LOOK_SECONDS)


class _Log(logging.Handler):
    """Collects the messages of kopf in one operator, at all levels."""

    def __init__(self, operator: KopfOperator) -> None:
        super().__init__(logging.DEBUG)
        self._operator = operator
        self._logger = logging.getLogger(_LOGGER)
        self._level = self._logger.level

    def emit(self, record: logging.LogRecord) -> None:
        if _operator.get() is not self._operator:
            return
        message = record.getMessage()
        reference = getattr(record, "k8s_ref", None)
        if reference:
            namespace, name = reference.get("namespace"), reference.get("name", "")
            message = f"[{namespace}/{name}] {message}" if namespace else f"[{name}] {message}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            message += f" ({type(error).__name__}: {error})"
        self._operator.log.append(message)

    def __enter__(self) -> Self:
        self._logger.addHandler(self)
        self._logger.setLevel(logging.DEBUG)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)


def _settings(virtual: bool) -> kopf.OperatorSettings:
    made = kopf.OperatorSettings()
    if virtual and hasattr(made.watching, "inactivity_timeout"):
        # The server sends bookmarks in real time. In virtual time, every watch would seem to be broken.
        made.watching.inactivity_timeout = _FOREVER
    return made


def _value(holds: Condition) -> Any:
    try:
        return holds()
    except Exception as error:
        return _absent(error)


def _absent(error: Exception) -> None:
    """Returns None for an error of any client that says that an object does not exist; raises other errors."""
    response = getattr(error, "response", None)
    codes = [getattr(error, "status", None), getattr(error, "code", None), getattr(response, "status_code", None)]
    if 404 not in codes:
        raise error


def _source(holds: Condition) -> str:
    try:
        return inspect.getsource(holds).strip()
    except (OSError, TypeError):
        return "the condition"
