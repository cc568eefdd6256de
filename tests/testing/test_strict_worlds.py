"""A problem of a controller fails the test of its world, unless the test expects the problem."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget, widgets

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.daemon import DaemonContext, daemon, timer
from setpoint.controller.declare import controller
from setpoint.controller.request import Request, Requeue, Result, TerminalError
from setpoint.controller.timers import Stream
from setpoint.controller.watch import Watch
from setpoint.controller.webhook import Denied, WebhookServer, validate
from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import Conflict, Forbidden, InternalError

WORLD: dict[str, Any] = {"crds": [Widget], "objects": [widget()]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch", "create"]}


@controller(Widget)
async def fails(ctx: Context, request: Request) -> None:
    raise KeyError("colour")


@controller(Widget)
async def writes_undeclared(ctx: Context, request: Request) -> None:
    await ctx.client.apply(config_map("note", text="hello"))


@controller(Widget)
async def swallows(ctx: Context, request: Request) -> None:
    try:
        await ctx.client.apply(config_map("note", text="hello"))
    except Forbidden:
        return


@controller(Widget, owns=[CONFIG_MAP], own_status_triggers=True)
async def counts_up(ctx: Context, request: Request) -> None:
    """Changes its object in each reconcile, and so triggers the next one."""
    found = await ctx.object()
    if found is not None:
        ctx.status["size"] = (found.status.size if found.status is not None else 0) + 1


def fighter(name: str, value: str, other: str) -> Any:
    """Returns a controller that insists on a value of a ConfigMap that another one changes."""

    @controller(Widget, owns=[CONFIG_MAP], name=name)
    async def insists(ctx: Context, request: Request) -> None:
        found = await ctx.client.find(CONFIG_MAP, "flag", "default")
        if found is None:
            await ctx.client.create(ctx.own(config_map("flag", owner=value)))
        elif found["data"]["owner"] == other:
            await ctx.client.update({**found, "data": {"owner": value}})

    return insists


async def unsettled(end: Callable[[], object]) -> None:
    """A world with a problem that no wait of the world reports."""
    async with testing.world(crds=[Widget]) as world:
        await world.run(fails)
        await world.client.create(widget())
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(world.problems) == 1
        end()


# Each problem


async def test_a_reconcile_that_raises_fails_the_test_with_the_exception_as_the_cause() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(
            testing.ReconcileFailed, match="widget failed for default/w with KeyError: 'colour'"
        ) as info:
            await world.run(fails)
    cause = info.value.__cause__
    assert isinstance(cause, KeyError)
    # The traceback of the cause begins with the code of the author.
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["fails"]
    assert "If the test expects this problem: with world.expect(KeyError): ..." in info.value.__notes__


WAITS: dict[str, Callable[[testing.World], Awaitable[Any]]] = {
    "settle": lambda world: world.settle(),
    "advance": lambda world: world.advance(1),
    "eventually": lambda world: world.eventually(lambda: False),
    "never": lambda world: world.never(lambda: False),
    "drive": lambda world: world.drive(world.clock.sleep(1)),
}


@pytest.mark.parametrize("wait", WAITS)
async def test_every_wait_reports_a_problem(wait: str) -> None:
    async with testing.world(crds=[Widget]) as world:
        await world.run(fails)
        await world.client.create(widget())
        with pytest.raises(testing.ReconcileFailed):
            await WAITS[wait](world)


async def test_a_problem_is_reported_at_the_end_at_the_latest() -> None:
    with pytest.raises(testing.ReconcileFailed):
        await unsettled(lambda: None)


async def test_a_problem_never_hides_the_exception_of_the_test() -> None:
    with pytest.raises(ZeroDivisionError) as info:
        await unsettled(lambda: 1 / 0)
    notes = "\n".join(info.value.__notes__)
    assert "ReconcileFailed: the controller widget failed for default/w with KeyError: 'colour'" in notes


async def test_a_reported_problem_is_not_reported_again() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.ReconcileFailed):
            await world.run(fails)
        await world.stop()


@pytest.mark.parametrize("raised", [TerminalError("no"), TimeoutError("no"), Forbidden("no")])
async def test_signals_of_failure_are_problems(raised: Exception) -> None:
    @controller(Widget)
    async def signals(ctx: Context, request: Request) -> None:
        raise raised

    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.ReconcileFailed):
            await world.run(signals)


@pytest.mark.parametrize("raised", [Requeue(1.0), Requeue(), Conflict("changed")])
async def test_requeues_and_conflicts_are_no_problems(raised: Exception) -> None:
    calls = []

    @controller(Widget)
    async def retries(ctx: Context, request: Request) -> None:
        calls.append(request)
        if len(calls) < 3:
            raise raised

    async with testing.world(**WORLD) as world:
        await world.run(retries)
        await world.eventually(lambda: len(calls) == 3)
        assert world.problems == []


async def test_a_blocking_reconcile_a_daemon_and_a_timer_are_reconciles() -> None:
    @controller(Widget)
    def blocking(ctx: Any, request: Request) -> None:
        raise KeyError("blocking")

    @daemon(Widget)
    async def patrols(ctx: DaemonContext[Any], request: Request) -> None:
        raise KeyError("daemon")

    @timer(Widget, interval=60)
    async def ticks(ctx: Context, request: Request) -> None:
        raise KeyError("timer")

    for target, name in ((blocking, "blocking"), (patrols, "daemon"), (ticks, "timer")):
        async with testing.world(**WORLD) as world:
            with world.expect(KeyError, match=name):
                await world.run(target)
                await world.advance(61)
            await world.stop()


async def test_functions_of_sources_are_code_of_the_author() -> None:
    async def follow(enqueue: Any) -> None:
        raise KeyError("stream")

    def requests(entry: Any) -> Sequence[Request]:
        raise KeyError("handler")

    watch = Watch(CONFIG_MAP).with_handler(requests)
    for source, name in ((Stream("uploads", follow), "stream"), (watch, "handler")):

        @controller(Widget, watches=[source])
        async def quiet(ctx: Context, request: Request) -> None: ...

        async with testing.world(**WORLD) as world:
            with world.expect(testing.ReconcileFailed, match=rf"source .* raised KeyError: '{name}'"):
                await world.run(quiet)
                await world.client.create(config_map("a"))
                await world.settle()


async def test_a_refused_request_is_a_problem_even_if_the_controller_catches_the_error() -> None:
    async with testing.world(**WORLD, rights="declared") as world:
        with pytest.raises(
            testing.MissingRight, match=r'User "controllers" cannot patch resource "configmaps"'
        ) as info:
            await world.run(swallows)
        assert info.value.object == "default/w"
        await world.stop()
        with pytest.raises(testing.MissingRight, match="widget for default/w was refused") as info:
            await world.run(writes_undeclared)
        assert isinstance(info.value.__cause__, Forbidden)
        assert "add owns=" in "".join(info.value.__cause__.__notes__)
        # The refused request and the failed reconcile are one problem.
        assert [type(problem) for problem in world.problems] == [testing.MissingRight] * 2


async def test_a_refused_watch_is_a_problem() -> None:
    async with testing.world(**WORLD, rights=[]) as world:
        with world.expect(testing.MissingRight) as expected:
            await world.run(widgets)
        assert {str(problem).partition("cannot ")[2].partition(" in ")[0] for problem in expected.problems} == {
            f'{verb} resource "{resource}"' for verb in ("list", "watch") for resource in ("configmaps", "widgets")
        }


async def test_a_refusal_by_admission_is_no_missing_right() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"configmaps": "0"}},
    }

    async with testing.world(**WORLD, rights="declared") as world:
        created = (await world.create(quota))[0]
        await world.client.update_status(
            {**created, "status": {"hard": {"configmaps": "0"}, "used": {"configmaps": "0"}}}
        )
        with world.expect(Forbidden) as expected:
            await world.run(widgets)
        assert {type(problem) for problem in expected.problems} == {testing.ReconcileFailed}


async def test_a_write_of_an_undeclared_kind_names_the_declaration() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.UndeclaredWrite) as info:
            await world.run(writes_undeclared)
    assert str(info.value) == (
        'the controller widget may not apply configmaps default/note by its declaration: add owns=["v1/ConfigMap"] to '
        'the controller, or extra_rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", '
        '"create"]}] for objects that are not its children'
    )


async def test_extra_rules_declare_a_write() -> None:
    @controller(Widget, extra_rules=[SECRETS])
    async def notes(ctx: Context, request: Request) -> None:
        await ctx.client.apply({**config_map("note"), "kind": "Secret", "data": {}})

    async with testing.world(**WORLD) as world:
        await world.run(notes)
        assert await world.names("v1/Secret") == ["note"]


async def test_a_delete_of_the_own_kind_needs_a_rule() -> None:
    @controller(Widget)
    async def deletes(ctx: Context, request: Request) -> None:
        if await ctx.object() is not None:
            await ctx.client.delete(Widget, request.name, request.namespace)

    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.UndeclaredWrite) as info:
            await world.run(deletes)
    rule = '{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["delete"]}'
    assert str(info.value).endswith(f"add extra_rules=[{rule}] to the controller")


async def test_a_reconcile_that_triggers_itself_is_a_loop() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.ReconcileLoop, match=r"widget reconciles default/w again and again: .*status\.size"):
            await world.run(counts_up)


async def test_two_controllers_that_undo_each_others_writes_are_a_loop() -> None:
    with pytest.raises(testing.ReconcileLoop, match=r"(red and blue|blue and red), which may undo") as info:
        async with testing.world(**WORLD) as world:
            await world.run(fighter("red", "red", "blue"), fighter("blue", "blue", "red"))
    assert "data.owner" in str(info.value)


async def test_requeues_without_a_pause_are_a_loop() -> None:
    calls = []

    @controller(Widget)
    async def spins(ctx: Context, request: Request) -> Result:
        calls.append(request)
        return Result(requeue_after=0.001)

    async with testing.world(**WORLD, loop_limit=20) as world:
        await world.run(spins)
        with pytest.raises(testing.ReconcileLoop, match="a requeue without a pause triggered 21 reconciles in a row"):
            await world.advance(60)
    assert len(calls) == 22  # the first one has another trigger


async def test_a_poll_and_changes_by_the_test_are_no_loop() -> None:
    calls = []

    @controller(Widget, owns=[CONFIG_MAP])
    async def polls(ctx: Context, request: Request) -> Result:
        calls.append(request)
        await ctx.client.apply(ctx.own(config_map("child", minute=f"{ctx.clock.now():%H:%M}")))
        return Result(requeue_after=1)

    async with testing.world(**WORLD, loop_limit=5) as world:
        await world.run(widgets)
        for size in range(2, 30):
            await world.client.patch(Widget, merge({"spec": {"size": size}}), "w", "default")
            await world.settle()
        await world.stop()
        await world.run(polls)
        await world.advance(60)
        assert world.problems == []
    assert len(calls) > 60


async def test_a_webhook_that_fails_is_a_problem_and_a_refusal_is_none() -> None:
    @validate(Widget)
    def checked(found: Widget) -> None:
        if found.spec.size > 10:
            raise Denied("too large")
        if found.spec.size < 0:
            raise KeyError("negative")

    async with testing.world(crds=[Widget], admission=[checked.in_process()]) as world:
        with pytest.raises(Forbidden, match="too large"):
            await world.client.create(widget("a", size=11))
        await world.settle()
        with pytest.raises(InternalError, match="negative"):
            await world.client.create(widget("b", size=-1))
        with pytest.raises(testing.ReconcileFailed, match=r"the webhook \S+ raised KeyError: 'negative'") as info:
            await world.settle()
    assert isinstance(info.value.__cause__, KeyError)


async def test_a_webhook_behind_a_server_that_fails_is_a_problem() -> None:
    @validate(Widget)
    def checked(found: Widget) -> None:
        raise KeyError("negative")

    async with testing.world(crds=[Widget], clock=SystemClock()) as world:
        await world.run(webhooks=WebhookServer(world.client, [checked], address="127.0.0.1:0"))
        with pytest.raises(InternalError, match="negative"):
            await world.client.create(widget())
        with pytest.raises(testing.ReconcileFailed, match="raised KeyError: 'negative'"):
            await world.settle()


# Expectations


async def test_an_expected_problem_does_not_fail_the_test() -> None:
    async with testing.world(**WORLD) as world:
        with world.expect(KeyError, match="colour") as expected:
            await world.run(fails)
            await world.advance(1)
        assert len(expected.problems) > 3
        assert {problem.object for problem in expected.problems} == {"default/w"}
        assert world.problems == expected.problems
        await world.stop()


async def test_an_expected_problem_must_occur() -> None:
    async with testing.world(**WORLD) as world:
        with (
            pytest.raises(AssertionError, match="no controller had the expected problem KeyError matching 'x'"),
            world.expect(KeyError, match="x"),
        ):
            await world.run(widgets)


async def test_an_exception_of_the_block_is_not_hidden() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(ZeroDivisionError), world.expect(KeyError):
            _ = 1 / 0


async def test_other_problems_than_the_expected_one_fail_the_test() -> None:
    async with testing.world(**WORLD) as world:
        with pytest.raises(testing.ReconcileFailed), world.expect((ValueError, testing.ReconcileLoop)):
            await world.run(fails)


async def test_a_problem_after_the_block_fails_the_test() -> None:
    async with testing.world(**WORLD) as world:
        with world.expect(KeyError):
            await world.run(fails)
        with pytest.raises(testing.ReconcileFailed):
            await world.advance(60)


async def test_the_inner_expectation_comes_first() -> None:
    async with testing.world(**WORLD) as world:
        with world.expect(testing.Problem) as outer:
            with world.expect(KeyError) as inner:
                await world.run(fails)
            await world.advance(1)
        assert len(inner.problems) == 1
        assert len(outer.problems) > 1
        await world.stop()


async def test_problems_are_expected_by_their_class() -> None:
    async with testing.world(**WORLD, rights="declared") as world:
        with world.expect(testing.MissingRight):
            await world.run(swallows)
        await world.stop()
    async with testing.world(**WORLD) as world:
        with world.expect(testing.UndeclaredWrite):
            await world.run(writes_undeclared)
        await world.stop()
        with world.expect(testing.ReconcileLoop):
            await world.run(counts_up)
        await world.stop()


@pytest.mark.parametrize(
    "options", [{"strict": False}, {"tolerate": KeyError}, {"tolerate": [testing.ReconcileFailed]}]
)
async def test_a_world_tolerates_problems(options: dict[str, Any]) -> None:
    async with testing.world(**WORLD, **options) as world:
        await world.run(fails)
        assert [type(problem) for problem in world.problems] == [testing.ReconcileFailed]


async def test_a_world_tolerates_only_what_is_named() -> None:
    async with testing.world(**WORLD, tolerate=testing.ReconcileLoop) as world:
        with pytest.raises(testing.ReconcileFailed):
            await world.run(fails)


async def test_invalid_options_are_refused() -> None:
    with pytest.raises(TypeError, match="is not an exception class"):
        async with testing.world(tolerate=["ValueError"]):  # type: ignore[list-item]
            pass
    with pytest.raises(ValueError, match="loop_limit must be at least 1"):
        async with testing.world(loop_limit=0):
            pass


async def test_a_copy_of_a_world_is_as_strict() -> None:
    async with testing.world(crds=[Widget], tolerate=KeyError) as world:
        await world.run(fails)
        async with world.fork() as other:
            await other.client.create(widget())
            await other.settle()
            assert len(other.problems) == 1
        assert world.problems == []


# Single reconciles


async def test_a_failed_single_reconcile_must_be_looked_at() -> None:
    async def overlooked() -> None:
        async with testing.world(crds=[Widget]) as world:
            ran = await world.run_once(fails, widget())
            assert ran.writes == []

    with pytest.raises(testing.ReconcileFailed, match="colour") as info:
        await overlooked()
    assert "did not look at this failure of run_once" in info.value.__notes__[0]
    async with testing.world(crds=[Widget]) as world:
        assert (await world.run_once(fails, widget())).result == "error"
        assert isinstance((await world.run_once(fails, widget())).error, KeyError)
        with world.expect(KeyError):
            await world.run_once(fails, widget())


async def test_a_single_reconcile_declares_its_writes_too() -> None:
    async with testing.world(crds=[Widget]) as world:
        with pytest.raises(testing.UndeclaredWrite):
            await world.run_once(writes_undeclared, widget())


# Faults of the test


async def test_failures_from_faults_are_no_problems() -> None:
    async with testing.world(**WORLD) as world:
        world.faults.fail("apply", CONFIG_MAP, error=500, times=3)
        lost = world.faults.lose("patch", Widget, subresource="status")
        await world.run(widgets)
        await world.eventually(lambda: lost.hits == 1)
        with world.faults.down():
            await world.client.edit(Widget, "w", "default", lambda found: setattr(found.spec, "size", 2))
            await world.advance(30)
        await world.eventually(lambda: world.find(CONFIG_MAP, "w-child"))
        assert world.problems == []


async def test_a_wrapped_failure_from_a_fault_is_no_problem() -> None:
    @controller(Widget, owns=[CONFIG_MAP])
    async def wraps(ctx: Context, request: Request) -> None:
        try:
            await ctx.client.apply(ctx.own(config_map("child")))
        except Exception as error:
            raise RuntimeError("cannot write the child") from error

    async with testing.world(**WORLD) as world:
        world.faults.fail("apply", CONFIG_MAP, error=500)
        await world.run(wraps)
        await world.eventually(lambda: world.find(CONFIG_MAP, "child"))
        assert world.problems == []


async def test_a_bug_beside_a_fault_is_a_problem() -> None:
    @controller(Widget, owns=[CONFIG_MAP])
    async def careless(ctx: Context, request: Request) -> None:
        try:
            await ctx.client.apply(ctx.own(config_map("child")))
        except Exception:
            ctx.log.info("cannot write the child")
        raise KeyError("colour")

    async with testing.world(**WORLD) as world:
        world.faults.fail("apply", CONFIG_MAP, error=500)
        with pytest.raises(testing.ReconcileFailed, match="colour"):
            await world.run(careless)


async def test_crashes_are_no_problems() -> None:
    crashes = 0
    async for crash in testing.every_crash(**WORLD):
        await crash.run(widgets, until=partial(crash.world.find, CONFIG_MAP, "w-child"))
        crashes += crash.happened
    assert crashes == 4
