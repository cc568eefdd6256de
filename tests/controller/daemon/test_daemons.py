"""Daemons: one long-running task for each object, in virtual time."""

import asyncio
import logging
import threading
from contextlib import nullcontext
from typing import Any, cast

import pytest
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.child_apply import ChildError
from setpoint.controller.context import Context
from setpoint.controller.daemon import DaemonContext, SyncDaemonContext, daemon
from setpoint.controller.daemon.daemon_controller import DaemonController
from setpoint.controller.declare import controller
from setpoint.controller.leader import LeaderElection
from setpoint.controller.manager import Manager
from setpoint.controller.rbac import rules
from setpoint.controller.request import Request, Requeue, TerminalError
from setpoint.controller.watch import Watch
from setpoint.plane import ControlPlane
from setpoint.schema.types import ObjectMeta, Resource

FINALIZER = "example.com/patrol"
pytestmark = pytest.mark.world(crds=[Widget])


class Patrol:
    """A daemon that writes down its starts and ends, and the sizes that it sees every ten seconds."""

    def __init__(self, **options: Any) -> None:
        self.log: list[str] = []
        self.fail: list[Exception] = []

        @daemon(Widget, **options)
        async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
            self.log.append(f"start {request.name}")
            try:
                while not await ctx.wait_stopped(10):
                    if self.fail:
                        raise self.fail.pop(0)
                    found = await ctx.object()
                    assert found is not None
                    self.log.append(f"{request.name} {found.spec.size}")
            finally:
                self.log.append(f"end {request.name} {ctx.stop_reason}".strip())

        self.daemon = patrol


def daemons_of(manager: Manager, number: int = 0) -> DaemonController:
    found = manager.controllers[number]
    assert isinstance(found, DaemonController)
    return found


async def test_a_daemon_runs_for_each_object_and_sees_its_current_state(world: testing.World) -> None:
    patrol = Patrol()
    await world.create(widget("a"))
    manager = await world.run(patrol.daemon)
    assert manager.controllers[0].name == "widget-patrol"
    await world.create(widget("b", size=5))
    await world.advance(10)
    assert sorted(patrol.log) == ["a 1", "b 5", "start a", "start b"]
    await world.client.patch(Widget, merge({"spec": {"size": 2}}), "a", "default")
    await world.advance(10)
    assert sorted(patrol.log[4:]) == ["a 2", "b 5"]  # a change restarts no daemon
    await world.client.delete(Widget, "a", "default")
    await world.settle()
    assert patrol.log[-1] == "end a deleted"
    assert daemons_of(manager).running == [Request("b", "default")]
    await world.stop(manager)
    assert patrol.log[-1] == "end b shutdown"
    assert daemons_of(manager).running == []


async def test_a_daemon_runs_only_while_its_object_matches(world: testing.World) -> None:
    patrol = Patrol(when=lambda found: found.spec.size > 1)
    await world.create(widget("a"))
    await world.run(patrol.daemon)
    assert patrol.log == []
    for size in (2, 3, 0, 2):
        await world.client.patch(Widget, merge({"spec": {"size": size}}), "a", "default")
        await world.settle()
    assert patrol.log == ["start a", "end a unmatched", "start a"]


async def test_an_object_that_matches_again_waits_for_the_end_of_the_former_daemon(world: testing.World) -> None:
    log: list[str] = []

    @daemon(Widget, when=lambda found: found.spec.size > 1, grace=60)
    async def slow(ctx: DaemonContext[Widget], request: Request) -> None:
        log.append("start")
        await ctx.wait_stopped()
        await ctx.clock.sleep(30)
        log.append("end")

    await world.create(widget("a", size=2))
    await world.run(slow)
    for size in (1, 2):
        await world.client.patch(Widget, merge({"spec": {"size": size}}), "a", "default")
        await world.settle()
    await world.advance(29)
    assert log == ["start"]
    await world.advance(1)
    assert log == ["start", "end", "start"]


async def test_a_new_object_of_the_same_name_has_a_daemon_of_its_own(world: testing.World) -> None:
    uids: list[str] = []

    @daemon(Widget)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        found = await ctx.object()
        assert found is not None
        uids.append(found.metadata.uid)
        await ctx.wait_stopped()

    await world.create(widget("a"))
    await world.run(patrol)
    with world.faults.stale(Widget):
        await world.client.delete(Widget, "a", "default")
        await world.create(widget("a"))
        await world.settle()
    await world.eventually(lambda: len(uids) == 2)
    assert uids[0] != uids[1]


@pytest.mark.parametrize("grace", [0, 20])
async def test_a_daemon_that_does_not_stop_is_cancelled_after_its_grace(world: testing.World, grace: float) -> None:
    ended: list[tuple[float, str]] = []

    @daemon(Widget, grace=grace)
    async def deaf(ctx: DaemonContext[Widget], request: Request) -> None:
        try:
            await ctx.clock.sleep(3600)
        except asyncio.CancelledError:
            ended.append((ctx.clock.monotonic(), ctx.stop_reason))
            raise

    await world.create(widget("a"))
    manager = await world.run(deaf)
    await world.client.delete(Widget, "a", "default")
    asked = world.clock.monotonic()
    await world.eventually(lambda: ended)
    assert ended == [(asked + grace, "deleted")]
    await world.settle()
    assert "cancelled" in [run.result for run in manager.controllers[0].runs]


async def test_a_finalizer_keeps_the_object_until_its_daemon_has_ended(world: testing.World) -> None:
    seen: list[object] = []

    @daemon(Widget, finalizer=FINALIZER, grace=60)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        await ctx.wait_stopped()
        await ctx.clock.sleep(30)
        found = await ctx.api.get(Widget, request.name, request.namespace)
        seen.append((found.metadata.deletion_timestamp is not None, found.metadata.finalizers))

    await world.create(widget("a"))
    await world.run(patrol)
    assert (await world.find(Widget, "a")).metadata.finalizers == [FINALIZER]
    await world.client.delete(Widget, "a", "default")
    await world.advance(29)
    assert (seen, await world.names(Widget)) == ([], ["a"])
    await world.advance(1)
    assert seen == [(True, [FINALIZER])]
    assert await world.names(Widget) == []


async def test_the_finalizer_is_removed_from_objects_that_have_no_daemon(world: testing.World) -> None:
    patrol = Patrol(finalizer=FINALIZER, when=lambda found: found.spec.size > 1)
    await world.create(widget("a", size=2), widget("b", size=2))
    manager = await world.run(patrol.daemon)
    await world.client.patch(Widget, merge({"spec": {"size": 1}}), "a", "default")
    await world.settle()
    assert not (await world.find(Widget, "a")).metadata.finalizers
    # The object is deleted while no manager runs.
    await world.stop(manager)
    await world.client.delete(Widget, "b", "default")
    assert await world.names(Widget) == ["a", "b"]
    await world.run(patrol.daemon)
    assert await world.names(Widget) == ["a"]
    assert patrol.log.count("start b") == 1


async def test_a_failed_daemon_is_started_again_with_backoff(
    world: testing.World, caplog: pytest.LogCaptureFixture
) -> None:
    starts: list[tuple[float, int]] = []

    @daemon(Widget)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        starts.append((ctx.clock.monotonic(), ctx.attempt))
        if len(starts) == 5:
            await ctx.clock.sleep(600)
        if len(starts) == 6:
            raise Requeue(45)
        if len(starts) == 7:
            await ctx.wait_stopped()
        raise ValueError("out of paper")

    await world.create(widget("a"))
    with caplog.at_level(logging.ERROR), world.expect(ValueError, match="out of paper"):
        manager = await world.run(patrol)
        await world.advance(1000)
    begun = starts[0][0]
    # After ten minutes the backoff begins again.
    assert [(start - begun, attempt) for start, attempt in starts] == [
        (0, 0),
        (1, 1),
        (3, 2),
        (7, 3),
        (15, 4),
        (616, 1),
        (661, 1),
    ]
    assert "widget-patrol default/a: the daemon failed; starting again in 8 s" in caplog.text
    text = "\n".join(str(each) for each in daemons_of(manager).families())
    assert "'result': 'error'}, 5)" in text
    assert "'state': 'running'}, 1)" in text
    with world.expect(ValueError, match="out of paper"):  # also at its end
        await world.stop()


async def test_a_change_does_not_shorten_the_backoff(world: testing.World) -> None:
    patrol = Patrol()
    patrol.fail = [ValueError("1"), ValueError("2"), ValueError("3")]
    await world.create(widget("a"))
    await world.run(patrol.daemon)
    with world.expect(ValueError) as expected:
        await world.advance(10 + 1 + 10 + 2 + 10 + 3)
    assert len(expected.problems) == 3
    assert patrol.log.count("start a") == 3
    await world.client.patch(Widget, merge({"spec": {"size": 2}}), "a", "default")
    await world.settle()
    assert patrol.log.count("start a") == 3
    await world.advance(1)
    assert patrol.log.count("start a") == 4


@pytest.mark.parametrize("error", [None, TerminalError("wrong size")])
async def test_a_daemon_that_returned_or_gave_up_stays_ended(world: testing.World, error: Exception | None) -> None:
    starts = []

    @daemon(Widget)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        starts.append(request.name)
        ctx.status.size = 7
        if error is not None:
            raise error

    await world.create(widget("a"))
    with world.expect(TerminalError) if error is not None else nullcontext():
        manager = await world.run(patrol)
        await world.advance(4000)
        assert starts == ["a"]
        assert (await world.find(Widget, "a")).status.size == 7
        await world.client.patch(Widget, merge({"spec": {"size": 2}}), "a", "default")
        await world.settle()
        assert len(starts) == (1 if error is None else 2)
        await world.stop(manager)
        await world.run(patrol)
    assert len(starts) == (2 if error is None else 3)


async def test_a_daemon_awaiting_a_cancelled_task_has_failed(world: testing.World) -> None:
    starts = []

    @daemon(Widget)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        starts.append(request.name)
        task = asyncio.ensure_future(ctx.clock.sleep(60))
        task.cancel()
        await task

    await world.create(widget("a"))
    with world.expect(RuntimeError, match="awaited a cancelled task"):
        await world.run(patrol)
        await world.eventually(lambda: len(starts) == 3)


async def test_the_status_of_a_daemon_is_written_when_it_says_so(world: testing.World) -> None:
    @daemon(Widget)
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        await ctx.wait_stopped(10)
        for size in (1, 2, 1):
            ctx.status.size = size
            await ctx.save_status()
            # Not even a cache that stands still hides the own write.
            assert ctx.status.size == size
        await ctx.wait_stopped(60)
        ctx.status.size = 9
        await ctx.save_status()
        await ctx.save_status()

    await world.create(widget("a"))
    await world.run(patrol)
    with world.faults.stale(Widget):
        await world.advance(10)
        found = await world.find(Widget, "a")
    assert found.status.size == 1
    assert found.status.observed_generation == 0
    await world.advance(60)
    assert (await world.find(Widget, "a")).status.size == 9
    assert len([seen for seen in world.faults.writes if seen.subresource == "status"]) == 4


async def test_the_writes_of_a_daemon_carry_their_cause(world: testing.World) -> None:
    causes: list[Any] = []

    @daemon(Widget, owns=[CONFIG_MAP])
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        causes.append((ctx.cause, [str(why.event) for why in ctx.why]))
        await ctx.client.apply(ctx.own(config_map("log", text="all is well")))
        await ctx.wait_stopped()

    await world.run(patrol)
    await world.create(widget("a"))
    await world.settle()
    [(cause, why)] = causes
    assert (cause.controller, cause.key, why) == ("widget-patrol", "default/a", ["created"])
    child = await world.find(CONFIG_MAP, "log")
    assert child["metadata"]["ownerReferences"][0]["name"] == "a"


async def test_a_long_life_needs_no_more_memory(world: testing.World) -> None:
    @daemon(Widget, reads=[CONFIG_MAP])
    async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
        for number in range(500):
            await ctx.client.find(CONFIG_MAP, f"c{number}", "default")
            ctx.status.size = number
            await ctx.save_status()

    await world.create(widget("a"))
    manager = await world.run(patrol)
    found = daemons_of(manager)
    [run] = await world.eventually(lambda: [run for run in found.runs if run.has_writes])
    assert (len(run.reads), len(run.writes), len(found.lookups)) == (32, 64, 0)


async def test_a_suspended_object_has_no_daemon(world: testing.World) -> None:
    patrol = Patrol(suspend=lambda found: "too small" if found.spec.size == 0 else "")
    await world.create(widget("a"))
    await world.run(patrol.daemon)
    for size in (0, 1):
        await world.client.patch(Widget, merge({"spec": {"size": size}}), "a", "default")
        await world.settle()
    assert patrol.log == ["start a", "end a suspended", "start a"]


async def test_the_conditions_of_the_reconciler_stay(world: testing.World) -> None:
    """A reconciler reports a child that it cannot write; the daemon beside it does not take that back."""

    @controller(Widget, owns=[CONFIG_MAP])
    async def widgets(ctx: Context, request: Request) -> None:
        if await ctx.object() is not None:
            await ctx.client.apply(ctx.own(config_map("taken")))

    patrol = Patrol(finalizer=FINALIZER)
    await world.create(config_map("taken"), widget("a"))
    with world.expect(ChildError):
        await world.run(widgets, patrol.daemon)
        await world.advance(20)
        await world.client.patch(Widget, merge({"metadata": {"labels": {"a": "b"}}}), "a", "default")
        await world.settle()
    found = await world.find(Widget, "a")
    assert [(each["type"], each["status"]) for each in found.status.conditions] == [("ChildrenApplied", "False")]


# Managers


async def test_a_lost_lease_ends_the_daemons_at_once(world: testing.World) -> None:
    ended: list[float] = []
    starts: list[str] = []

    @daemon(Widget, grace=1000)
    async def deaf(ctx: DaemonContext[Widget], request: Request) -> None:
        starts.append(request.name)
        try:
            await ctx.clock.sleep(36000)
        finally:
            ended.append(ctx.clock.monotonic())

    await world.create(widget("a"))
    manager = await world.run(deaf, leader_election=LeaderElection("patrol", "default", identity="first"))
    await world.eventually(lambda: starts)
    assert manager.elector is not None
    fence = manager.elector.fence
    with world.faults.down():
        await world.eventually(lambda: ended)
        # Before another replica may lead.
        assert fence.seconds == 0
        lease = await world.find("coordination.k8s.io/v1/Lease", "patrol")
        assert lease["spec"]["holderIdentity"] == "first"
        assert daemons_of(manager).running == []
    await world.eventually(lambda: len(starts) == 2)
    assert len(ended) == 1


async def test_only_the_leader_runs_daemons(world: testing.World) -> None:
    patrols = [Patrol(), Patrol()]
    await world.create(widget("a"))
    managers = [
        await world.run(each.daemon, leader_election=LeaderElection("patrol", "default", identity=str(number)))
        for number, each in enumerate(patrols)
    ]
    await world.advance(60)
    assert ["start a" in each.log for each in patrols] == [True, False]
    await world.stop(managers[0])
    assert patrols[0].log[-1] == "end a shutdown"
    await world.eventually(lambda: "start a" in patrols[1].log)


@pytest.mark.parametrize(("graceful", "waited"), [(0.0, 0), (5.0, 5), (100.0, 20), (None, 20)])
async def test_the_manager_gives_daemons_the_shorter_of_both_times(
    world: testing.World, graceful: float | None, waited: float
) -> None:
    ended: list[float] = []

    @daemon(Widget, grace=20)
    async def deaf(ctx: DaemonContext[Widget], request: Request) -> None:
        try:
            await ctx.clock.sleep(3600)
        finally:
            ended.append(ctx.clock.monotonic())

    await world.create(widget("a"))
    manager = await world.run(deaf, graceful=graceful)
    asked = world.clock.monotonic()
    await world.stop(manager)
    assert ended == [asked + waited]


async def test_a_daemon_that_ignores_its_cancellation_is_named_and_awaited(
    world: testing.World, caplog: pytest.LogCaptureFixture
) -> None:
    log = []

    @daemon(Widget, grace=1)
    async def deaf(ctx: DaemonContext[Widget], request: Request) -> None:
        try:
            await ctx.clock.sleep(3600)
        except asyncio.CancelledError:
            await ctx.clock.sleep(60)
        log.append("end")

    await world.create(widget("a"))
    manager = await world.run(deaf)
    await world.client.delete(Widget, "a", "default")
    await world.advance(7)
    assert "the daemon was cancelled, but still runs at" in caplog.text
    assert "deaf (test_daemons.py:" in caplog.text
    assert daemons_of(manager).stuck() == []
    await world.advance(10)
    assert [str(each.run.request) for each in daemons_of(manager).stuck()] == ["default/a"]
    assert log == []
    await world.advance(60)
    assert (log, daemons_of(manager).running) == (["end"], [])


# Threads


async def test_def_daemons_run_in_threads_of_their_own(world: testing.World) -> None:
    log: list[str] = []
    names: set[str] = set()

    @daemon(Widget, grace=30, daemon_threads=5)
    def patrol(ctx: SyncDaemonContext[Widget], request: Request) -> None:
        names.add(threading.current_thread().name)
        while not ctx.wait_stopped(10):
            found = ctx.object()
            assert found is not None
            ctx.status.size = found.spec.size
            ctx.save_status()
            log.append(request.name)
        log.append(f"end {request.name} {ctx.stop_reason} {ctx.stopped}")

    reconciled = []

    @controller(Widget)
    def widgets(ctx: Any, request: Request) -> None:
        reconciled.append(request.name)

    await world.create(*(widget(name, size=3) for name in "abcde"))
    manager = await world.run(patrol, widgets)
    await world.advance(20)
    assert sorted(log) == sorted("abcde" * 2)
    assert len(names) == 5
    assert set(reconciled) == set("abcde")  # no daemon takes a thread of the reconciler
    assert (await world.find(Widget, "e")).status.size == 3
    await world.client.delete(Widget, "c", "default")
    await world.settle()
    assert log[-1] == "end c deleted True"
    await world.stop(manager)
    assert sorted(log[-4:]) == [f"end {name} shutdown True" for name in "abde"]


async def test_a_def_daemon_that_does_not_stop_is_cancelled_in_its_wait(world: testing.World) -> None:
    ended = []

    @daemon(Widget, grace=15)
    def deaf(ctx: SyncDaemonContext[Widget], request: Request) -> None:
        try:
            ctx.sleep(3600)
        except asyncio.CancelledError:
            ended.append((ctx.clock.monotonic(), ctx.cancelled))
            raise

    await world.create(widget("a"))
    await world.run(deaf)
    await world.client.delete(Widget, "a", "default")
    asked = world.clock.monotonic()
    await world.advance(60)
    assert ended == [(asked + 15, True)]


async def test_daemons_beyond_the_number_of_threads_wait_and_are_named(
    world: testing.World, caplog: pytest.LogCaptureFixture
) -> None:
    begun = []

    @daemon(Widget, daemon_threads=2)
    def patrol(ctx: SyncDaemonContext[Widget], request: Request) -> None:
        begun.append(request.name)
        ctx.wait_stopped()

    await world.create(*(widget(name) for name in "abcd"))
    await world.run(patrol)
    assert len(begun) == 2
    assert caplog.text.count("the daemon waits for a thread, because 2 daemons run: set daemon_threads") == 1
    await world.client.delete(Widget, begun[0], "default")
    await world.eventually(lambda: len(begun) == 3)
    # A daemon that never began ends, too.
    waiting = ({"a", "b", "c", "d"} - set(begun)).pop()
    await world.client.delete(Widget, waiting, "default")
    await world.advance(20)
    assert waiting not in begun


async def test_the_same_seed_gives_the_same_run() -> None:
    async def trace(seed: int) -> object:
        steps: list[tuple[float, str, str]] = []

        @daemon(Widget, finalizer=FINALIZER)
        def patrol(ctx: SyncDaemonContext[Widget], request: Request) -> None:
            for size in range(3):
                ctx.status.size = size
                ctx.save_status()
                steps.append((ctx.clock.monotonic(), request.name, ctx.id))
                ctx.wait_stopped(size + 1)
            raise ValueError("again")

        objects = [widget(name) for name in "abc"]
        async with testing.world(crds=[Widget], objects=objects, seed=seed, tolerate=ValueError) as world:
            await world.run(patrol)
            await world.advance(60)
            return steps, [str(seen) for seen in world.faults.seen]

    first = await trace(3)
    assert first == await trace(3)
    assert first != await trace(4)


# Rights and mistakes


async def test_the_declared_rights_are_enough() -> None:
    async with testing.world(crds=[Widget], objects=[widget("a")], rights="declared") as world:
        log: list[int] = []

        @daemon(Widget, finalizer=FINALIZER)
        async def patrol(ctx: DaemonContext[Widget], request: Request) -> None:
            while not await ctx.wait_stopped(10):
                log.append(1)
                ctx.status.size = len(log)
                await ctx.save_status()

        await world.run(patrol)
        await world.advance(30)
        assert (await world.find(Widget, "a")).status.size == 3
        await world.client.delete(Widget, "a", "default")
        await world.settle()
        assert await world.names(Widget) == []
        found = await rules([patrol], world.client)
    assert {"apiGroups": ["example.com"], "resources": ["widgets/finalizers"], "verbs": ["update"]} in found


class Plain(Resource, group="example.com", version="v1"):
    """A kind without a status."""


async def test_a_kind_without_a_status_can_have_daemons_with_finalizers() -> None:
    log = []

    @daemon(Plain, finalizer=FINALIZER)
    async def patrol(ctx: DaemonContext[Plain], request: Request) -> None:
        log.append("start")
        await ctx.wait_stopped()

    @controller(Plain)
    async def plain(ctx: Context[Plain], request: Request) -> None:
        async def clean_up() -> None:
            log.append("clean")

        await ctx.finalize("example.com/plain", clean_up)

    async with testing.world(
        crds=[Plain], objects=[Plain(metadata=ObjectMeta(name="a", namespace="default"))]
    ) as world:
        manager = await world.run(patrol, plain)
        assert (await world.find(Plain, "a")).metadata.finalizers == [FINALIZER, "example.com/plain"]
        await world.client.delete(Plain, "a", "default")
        await world.settle()
        assert (log, await world.names(Plain)) == (["start", "clean"], [])
        assert {run.result for each in manager.controllers for run in each.runs} <= {"success", "conflict"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grace": -1}, "grace must not be negative"),
        ({"daemon_threads": 0}, "daemon_threads must be at least 1"),
        ({"finalizer": "patrol"}, "invalid finalizer 'patrol': expected DOMAIN/NAME"),
        ({"predicates": ()}, "a daemon has no predicates, which select changes: select its objects with when="),
    ],
)
async def test_invalid_options_are_refused(world: testing.World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        daemon(Widget, **options)


async def test_a_finalizer_with_a_selection_at_the_server_is_refused(world: testing.World) -> None:
    with pytest.raises(ValueError, match="select the objects with when= instead of labels or fields"):
        daemon(Watch(Widget, labels="app"), finalizer=FINALIZER)


async def test_a_class_is_no_daemon(world: testing.World) -> None:
    with pytest.raises(TypeError, match="a daemon is a function"):
        cast(Any, daemon(Widget))(Patrol)


async def test_blocked_def_daemons_do_not_stop_reconciles() -> None:
    """In real time: the daemons block their threads until every object was reconciled."""
    release = threading.Event()
    began, ended, reconciled = [], [], set()

    @daemon(Widget)
    def patrol(ctx: SyncDaemonContext[Widget], request: Request) -> None:
        began.append(request.name)
        release.wait()
        assert not ctx.wait_stopped(0)
        ended.append(request.name)

    @controller(Widget)
    def widgets(ctx: Any, request: Request) -> None:
        reconciled.add(request.name)

    async with ControlPlane(system=False) as plane, plane.client() as client:
        await client.install(Widget)
        async with Manager(client, controllers=[patrol, widgets], watchdog=False):
            try:
                for name in "abc":
                    await client.create(widget(name))
                while len(began) < 3 or len(reconciled) < 3:
                    await asyncio.sleep(0.001)
                assert ended == []
            finally:
                release.set()
            while len(ended) < 3:
                await asyncio.sleep(0.001)
