"""`def` reconcilers run in threads, with the rights and duties of those that are `async def`."""

import asyncio
import functools
import json
import logging
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from tests.controller.core.worlds import CONFIG_MAP, WIDGET, Widget, World, config_map, until, widget, with_widgets

from setpoint.controller import threads, watchdog
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.fence import Fence, NotLeading
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.run_record import ReconcileRecord
from setpoint.controller.sync_context import SyncContext, is_blocking
from setpoint.controller.threads import ThreadPool
from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object
from setpoint.testing.recorder import Recorder

HISTORY = "/apis/setpoint.dev/v1/namespaces/default/configmaps/{}/history"
FINALIZER = "example.com/widget"


def maps(reconcile: Any, **options: Any) -> Controller:
    return Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"], **options)


async def causes(world: World, name: str) -> list[Object]:
    answer = await world.client.raw("GET", HISTORY.format(name))
    return [item["cause"] for item in json.loads(answer.body)["items"]]


async def test_a_def_reconciler_reads_writes_and_reports_without_await(world: World) -> None:
    await with_widgets(world)
    removed, at = [], []

    def reconcile(ctx: SyncContext, request: Request) -> Result | None:
        at.append(threading.current_thread().name)
        if ctx.finalize(FINALIZER, lambda: removed.append(threading.current_thread().name)):
            return None
        found = ctx.object()
        settings = ctx.lookup(CONFIG_MAP, "settings", "default")
        size = settings["data"]["size"] if settings is not None else "0"
        ctx.client.apply(ctx.own(config_map(f"{request.name}-child", {"size": size})))
        assert ctx.client.get(CONFIG_MAP, f"{request.name}-child", "default")["data"] == {"size": size}
        assert ctx.client.find(CONFIG_MAP, "nowhere", "default") is None
        assert "root" in [each["metadata"]["name"] for each in ctx.api.list(CONFIG_MAP, "default").items]
        ctx.status["size"] = int(size)
        ctx.status.condition("Ready", True, "Applied", f"of {found.spec.size}")
        ctx.recorder.normal(found, "Applied", "the child")
        return Result(requeue_after=600)

    await world.config_map("root")
    controller = Controller("widgets", reconcile, kind=Widget, owns=[CONFIG_MAP])
    controller.recorder = recorder = Recorder()
    await world.run(controller)
    await world.client.create(widget("w", 3))
    await until(lambda: any(run.result == "requeue_after" for run in controller.runs))
    child = await world.client.get(CONFIG_MAP, "w-child", "default")
    assert child["data"] == {"size": "0"}
    # A lookup counts, and the write has the cause and the field manager of the controller.
    await world.client.create(config_map("settings", {"size": "4"}))
    await world.client.wait_for(WIDGET, "w", "default", "jsonpath={.status.size}=4")
    assert {entry["manager"] for entry in child["metadata"]["managedFields"]} == {"widgets"}
    [*_, first] = await causes(world, "w-child")
    run = next(run for run in controller.runs if run.id == first["id"])
    assert ("apply", "default/w-child") in [(each.verb, each.object) for each in run.writes]
    assert (first["controller"], first["key"]) == ("widgets", "default/w")
    assert ("Applied", "the child") in [(told.reason, told.note) for told in recorder.told]
    await world.client.delete(WIDGET, "w", "default")
    await world.client.wait_for(WIDGET, "w", "default", "delete")
    assert {name.rpartition("_")[0] for name in (*at, *removed)} == {"widgets_reconcile"}
    assert len(removed) == 1


async def test_there_are_as_many_threads_as_concurrent_reconciles_and_the_loop_goes_on(world: World) -> None:
    most = running = 0
    lock, go = threading.Lock(), threading.Event()

    def reconcile(ctx: SyncContext, request: Request) -> None:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
        go.wait(60)
        with lock:
            running -= 1

    for number in range(5):
        await world.config_map(f"m{number}")
    controller = await world.run(maps(reconcile, concurrency=2))
    await until(lambda: most == 2)
    await world.config_map("another")  # the server, which shares the loop, answers
    go.set()
    await until(lambda: len(controller.runs) == 6)
    assert most == 2


@pytest.mark.parametrize(
    ("outcome", "result", "error"),
    [
        (ValueError("no good"), "error", "no good"),
        (Requeue(600, "later"), "requeue_after", "None"),
        (
            "text",
            "terminal",
            "reconcile must return a Result or None, not str: return sp.Result(requeue_after=SECONDS)",
        ),
    ],
    ids=["an error", "a requeue", "a wrong result"],
)
async def test_the_outcome_of_a_thread_is_that_of_its_reconcile(
    world: World, outcome: object, result: str, error: str
) -> None:
    def reconcile(ctx: SyncContext, request: Request) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    await world.config_map("m")
    controller = await world.run(maps(reconcile))
    await until(lambda: bool(controller.runs))
    assert (controller.runs[0].result, str(controller.runs[0].error)) == (result, error)


async def test_a_def_function_that_returns_a_coroutine_is_told_to_be_async(world: World) -> None:
    async def work() -> None: ...

    def reconcile(ctx: SyncContext, request: Request) -> Any:
        return work()

    await world.config_map("m")
    controller = await world.run(maps(reconcile))
    await until(lambda: bool(controller.runs))
    assert controller.runs[0].result == "terminal"
    assert str(controller.runs[0].error).endswith("returned an awaitable: use `async def`")


async def test_a_wait_in_a_thread_ends_with_the_timeout(world: World) -> None:
    ended: list[BaseException] = []

    def reconcile(ctx: SyncContext, request: Request) -> None:
        try:
            ctx.sleep(3600)
        except BaseException as error:
            assert ctx.cancelled
            ended.append(error)
            with pytest.raises(asyncio.CancelledError):
                ctx.client.apply(config_map("late"))
            raise

    await world.config_map("m")
    controller = await world.run(maps(reconcile, timeout=1.0))
    await until(lambda: bool(controller.runs))
    assert controller.runs[0].result == "timeout"
    assert isinstance(ended[0], asyncio.CancelledError)
    assert [each["metadata"]["name"] for each in (await world.client.list(CONFIG_MAP, "default")).items] == ["m"]


async def test_a_thread_that_exceeds_its_timeout_is_named_and_its_object_waits_for_its_end(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    go, calls = threading.Event(), []

    def reconcile(ctx: SyncContext, request: Request) -> None:
        calls.append(request.name)
        while not go.wait(0.001):  # does not ask whether it is cancelled
            pass

    await world.config_map("m")
    with caplog.at_level(logging.ERROR, watchdog.__name__):
        controller = await world.run(maps(reconcile, timeout=1.0, concurrency=2))
        await until(lambda: bool(caplog.records))
    line = reconcile.__code__.co_firstlineno + 2
    assert f"test_blocking.py:{line} in the thread maps_reconcile_1" in caplog.text
    controller.enqueue(Request("m", "default"))
    await world.config_map("other")
    await until(lambda: "other" in calls)
    assert calls == ["m", "other"]  # the other thread is free, but the object is not
    assert not controller.runs
    go.set()
    await until(lambda: calls.count("m") > 1)
    assert {run.result for run in list(controller.runs)[:2]} <= {"timeout", "success"}


async def test_a_stop_waits_for_a_thread_and_names_it(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PATIENCE_SECONDS", 0.01)
    begun, go, ended = threading.Event(), threading.Event(), []

    def reconcile(ctx: SyncContext, request: Request) -> None:
        begun.set()
        go.wait(60)
        ended.append(request.name)

    await world.config_map("m")
    controller = await world.run(maps(reconcile))
    await until(begun.is_set)
    with caplog.at_level(logging.WARNING, threads.__name__):
        stopping = asyncio.ensure_future(controller.stop(0))
        await until(lambda: bool(caplog.records))
        assert not stopping.done()
        go.set()
        await stopping
    assert ended == ["m"]
    (record,) = caplog.records
    line = reconcile.__code__.co_firstlineno + 2
    assert f"still runs at tests/controller/core/test_blocking.py:{line} in the thread maps_reconcile_1" in (
        record.getMessage()
    )


async def test_a_second_cancellation_of_a_stop_leaves_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    begun, go = threading.Event(), threading.Event()
    pool = ThreadPool("pool", 1, SystemClock())

    def work(_: object) -> None:
        begun.set()
        go.wait(60)

    running = asyncio.ensure_future(pool.run(work))
    await until(begun.is_set)
    pool.begin_close()
    running.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "pool: ends while a function still runs at" in caplog.text
    go.set()
    await pool.close()


current: ContextVar[str] = ContextVar("current", default="")


class _Sets:
    """Sets a context variable for each reconcile."""

    def started(self, run: ReconcileRecord) -> None:
        current.set(run.id)

    def finished(self, run: ReconcileRecord) -> None: ...


async def test_context_variables_reach_the_thread_and_the_coroutines_that_it_runs(world: World) -> None:
    seen = []

    async def look() -> str:
        return current.get()

    def reconcile(ctx: SyncContext, request: Request) -> None:
        assert current.get() == ctx.id
        current.set("of the thread")
        seen.append(ctx.in_loop(look()))

    await world.config_map("m")
    controller = await world.run(maps(reconcile, observer=_Sets()))
    await until(lambda: bool(controller.runs))
    assert controller.runs[0].result == "success"
    assert seen == ["of the thread"]


async def test_the_context_is_refused_in_the_loop_and_after_the_end(world: World) -> None:
    kept: list[SyncContext] = []
    await world.config_map("m")
    controller = await world.run(maps(lambda ctx, request: _nothing()))
    await until(lambda: bool(controller.runs))

    def reconcile(ctx: SyncContext, request: Request) -> None:
        kept.append(ctx)

    other = await world.run(Controller("others", reconcile, kind=CONFIG_MAP, namespaces=["default"]))
    await until(lambda: bool(other.runs))
    with pytest.raises(RuntimeError, match="only until its end"):
        kept[0].object()
    with pytest.raises(RuntimeError, match="only until its end"):
        await asyncio.to_thread(kept[0].object)


async def _nothing() -> None: ...


@pytest.mark.parametrize("led", [True, False], ids=["leads", "does not lead"])
async def test_a_replica_checks_its_fence_before_each_reconcile_and_each_write(world: World, led: bool) -> None:
    fence = Fence(SystemClock())
    fence.open(SystemClock.monotonic() + 3600)
    called, refused = [], []

    def reconcile(ctx: SyncContext, request: Request) -> None:
        called.append(request.name)
        if not led:
            fence.close()
        try:
            ctx.client.apply(config_map("child"), field_manager="x")
        except NotLeading as error:
            refused.append(error)

    await world.config_map("m")
    controller = maps(reconcile)
    controller.fence = fence
    await world.run(controller)
    await until(lambda: bool(controller.runs))
    before = len(called)
    await world.config_map("n")
    if led:
        await until(lambda: "n" in called)
        assert not refused
        return
    assert len(refused) == 1
    # The request waits, and is not reconciled.
    await until(lambda: Request("n", "default") in dict(controller.queue.waiting()))
    assert len(called) == before
    fence.open(SystemClock.monotonic() + 3600)
    controller.enqueue(Request("n", "default"))
    await until(lambda: "n" in called)


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


def _made_async(function: Any) -> Any:
    @functools.wraps(function)
    async def call(*args: Any) -> Any:
        return function(*args)

    return call


async def _coroutine(ctx: Context, request: Request) -> None: ...


def _plain(ctx: SyncContext, request: Request) -> None: ...


class _Plain:
    def __call__(self, ctx: SyncContext, request: Request) -> None: ...

    def method(self, ctx: SyncContext, request: Request) -> None: ...


class _Async:
    async def __call__(self, ctx: Context, request: Request) -> None: ...

    async def method(self, ctx: Context, request: Request) -> None: ...


@pytest.mark.parametrize(
    ("function", "blocks"),
    [
        (_plain, True),
        (_coroutine, False),
        (_decorated(_plain), True),
        (_decorated(_coroutine), False),
        (_made_async(_plain), False),
        (functools.partial(_plain), True),
        (functools.partial(_coroutine), False),
        (functools.lru_cache(_plain), True),
        (_Plain(), True),
        (_Async(), False),
        (_Plain().method, True),
        (_Async().method, False),
        (lambda ctx, request: _coroutine(ctx, request), False),
        (print, True),
        ("text".upper, True),
        ((1).__add__, True),
    ],
)
def test_what_is_defined_with_def_runs_in_a_thread(function: Any, blocks: bool) -> None:
    assert is_blocking(function) is blocks
