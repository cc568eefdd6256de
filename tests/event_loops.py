"""Runs `async def` tests and their `async def` fixtures, each test in one task of an event loop of its own.

The first async fixture, or else the test, starts the loop. The loop closes after the last fixture has ended, and the
test fails if a task still runs then. All steps run in the same task, as if the fixtures were `async with` statements
around the test: a fixture may keep a timeout or a task group open while the test runs.

The fixture `loop_factory` selects the kind of loop. A package overrides the fixture to run its tests on another loop,
or on several in turn.
"""

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from types import CoroutineType
from typing import Any

import pytest

LoopFactory = Callable[[], asyncio.AbstractEventLoop]
Step = Coroutine[Any, Any, Any]

# The turns that cancelled tasks get to end before the test fails because of them.
_LAST_TURNS = 10
# The number of times that a step is cancelled that was interrupted, and the seconds until the next time.
_CANCELLATIONS, _SECONDS = 3, 1.0
# The loops of stuck tests, which cannot be closed and must not be collected as garbage.
_STUCK: list[object] = []
_END = object()


class TestLoop:
    """The event loop of one test. Does not start before the first step."""

    __test__ = False

    def __init__(self, factory: LoopFactory) -> None:
        self._runner = asyncio.Runner(loop_factory=factory)
        self._task: asyncio.Task[list[asyncio.Task[Any]]] | None = None
        self._steps: asyncio.Queue[tuple[Step, asyncio.Future[Any]] | None]
        self._result: asyncio.Future[Any]
        self._failure: BaseException | None = None
        # True if a step did not end when it was cancelled.
        self._is_stuck = False

    def run(self, step: Step) -> Any:
        """Runs a step: the setup or teardown of a fixture, or the test."""
        __tracebackhide__ = True
        loop = self._runner.get_loop()
        if self._task is None:
            loop.set_exception_handler(self._handle)
            self._steps = asyncio.Queue()
            self._task = loop.create_task(self._work(), name="test")
        else:
            self._abandon()
        self._result = loop.create_future()
        self._steps.put_nowait((step, self._result))
        try:
            return loop.run_until_complete(self._result)
        except asyncio.CancelledError:
            if self._failure is None:
                raise
            raise self._failure from None

    def close(self) -> None:
        """Closes the loop. Fails if a task still runs."""
        left: list[asyncio.Task[Any]] = []
        try:
            if self._task is not None and not self._is_stuck:
                self._abandon()
                self._steps.put_nowait(None)
                left = self._runner.get_loop().run_until_complete(self._task)
                self._cancel(left)
        finally:
            if not self._is_stuck:  # closing would wait for the stuck step as well
                self._runner.close()
        if left:
            pytest.fail(f"tasks still run after the test and its fixtures: {left}", pytrace=False)

    def _abandon(self) -> None:
        """Cancels the last step if a signal, such as that of pytest-timeout, interrupted the loop during the step."""
        assert self._task is not None
        if self._result.done():
            return
        for _ in range(_CANCELLATIONS):
            self._task.cancel()
            self._runner.get_loop().run_until_complete(asyncio.wait([self._result], timeout=_SECONDS))
            if self._result.done():
                self._result.exception()  # retrieved, or asyncio would log it
                return
        self._is_stuck = True
        _STUCK.append((self, self._runner.get_loop()))
        places = "\n".join(_awaited(self._task.get_coro()))
        pytest.fail(f"the test does not end when it is cancelled; it waits at:\n{places}", pytrace=False)

    def _cancel(self, tasks: "list[asyncio.Task[Any]]") -> None:
        """Cancels tasks. Those that do not end are stuck: the end of the loop would wait for them."""
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        loop = self._runner.get_loop()
        _, pending = loop.run_until_complete(asyncio.wait(tasks, timeout=_CANCELLATIONS * _SECONDS))
        if pending:
            self._is_stuck = True
            _STUCK.append((self, loop))

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Ends the test after a signal of pytest-timeout, whose exception uvloop logs as that of any callback."""
        loop.default_exception_handler(context)
        if isinstance(context.get("exception"), pytest.fail.Exception) and self._task is not None:
            self._failure = context["exception"]
            self._task.cancel()

    async def _work(self) -> "list[asyncio.Task[Any]]":
        __tracebackhide__ = True
        while (order := await self._steps.get()) is not None:
            step, result = order
            try:
                value = await step
            except BaseException as error:
                result.set_exception(error)
            else:
                result.set_result(value)
        return await _left_tasks()


def _awaited(coroutine: Any) -> Iterator[str]:
    """Yields the places at which a coroutine, and those that it awaits, are suspended."""
    while (frame := getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)) is not None:
        yield f"  {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


async def _left_tasks() -> "list[asyncio.Task[Any]]":
    for _ in range(_LAST_TURNS):
        others = asyncio.all_tasks() - {asyncio.current_task()}
        # gRPC, which is not written in Python, ends its own tasks some time after a channel was closed.
        left = [task for task in others if isinstance(task.get_coro(), CoroutineType)]
        if not left:
            break
        await asyncio.sleep(0)
    return left


@pytest.fixture
def loop_factory() -> LoopFactory:
    """Returns the factory of the event loop of the test: the loop of the standard library."""
    return asyncio.new_event_loop


@pytest.fixture
def test_loop(loop_factory: LoopFactory) -> Iterator[TestLoop]:
    """Provides the event loop of the test. Tests need not ask for it."""
    loop = TestLoop(loop_factory)
    yield loop
    loop.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> None:
    """Gives each `async def` test a loop."""
    if inspect.iscoroutinefunction(obj) and collector.istestfunction(obj, name):
        pytest.mark.usefixtures("test_loop")(obj)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Generator[None]:
    """Runs `async def` fixtures in the loop of the test."""
    function: Any = fixturedef.func
    replacement: Callable[..., Any]
    if not inspect.isasyncgenfunction(function) and not inspect.iscoroutinefunction(function):
        return (yield)
    if fixturedef.scope != "function" or not inspect.iscoroutinefunction(request.function):
        replacement = _refusal(fixturedef.argname)
    elif inspect.isasyncgenfunction(function):
        replacement = _generator_fixture(function, request)
    else:
        replacement = _coroutine_fixture(function, request)
    fixturedef.func = replacement  # type: ignore[misc]
    try:
        return (yield)
    finally:
        fixturedef.func = function  # type: ignore[misc]


def _refusal(name: str) -> Callable[..., Any]:
    """Returns a fixture that fails. A failure of the hook itself would leave pytest with half a fixture."""

    def fixture(**_arguments: Any) -> Any:
        pytest.fail(
            f"only `async def` tests use the async fixture {name}, each its own (scope=function)", pytrace=False
        )

    return fixture


def _coroutine_fixture(function: Callable[..., Step], request: pytest.FixtureRequest) -> Callable[..., Any]:
    @functools.wraps(function)
    def fixture(**arguments: Any) -> Any:
        __tracebackhide__ = True
        return request.getfixturevalue("test_loop").run(function(**arguments))

    del fixture.__wrapped__  # pytest would see a coroutine function again
    return fixture


def _generator_fixture(
    function: Callable[..., AsyncGenerator[Any, None]], request: pytest.FixtureRequest
) -> Callable[..., Iterator[Any]]:
    def fixture(**arguments: Any) -> Iterator[Any]:
        __tracebackhide__ = True
        loop: TestLoop = request.getfixturevalue("test_loop")
        generator = function(**arguments)
        yield loop.run(_next(generator))
        if loop.run(_next(generator)) is not _END:
            pytest.fail(f"the async fixture {function.__name__} has more than one yield")

    return fixture


async def _next(generator: AsyncGenerator[Any, None]) -> Any:
    __tracebackhide__ = True
    return await anext(generator, _END)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def` tests. Tests with a world of `setpoint.testing` are run by its plugin, which comes first."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    __tracebackhide__ = True
    loop = pyfuncitem.funcargs["test_loop"]
    assert isinstance(loop, TestLoop)
    wanted = pyfuncitem._fixtureinfo.argnames
    try:
        loop.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    except asyncio.CancelledError:
        pytest.fail("the test was cancelled: by itself, or by a timeout or a task group of a fixture")
    return True
