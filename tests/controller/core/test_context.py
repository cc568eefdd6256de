"""What a reconcile is given: reads that show its own writes, tracked reads, a status, finalizers."""

import asyncio
import logging

import pytest
from tests.controller.core.worlds import (
    CONFIG_MAP,
    WIDGET,
    Widget,
    WidgetStatus,
    World,
    config_map,
    named,
    new_world,
    settle,
    until,
    widget,
    with_widgets,
)

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.expectations import Expectations
from setpoint.controller.handler import mapped
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object


@pytest.mark.feature("E36")
async def test_reads_of_declared_kinds_come_from_the_cache_and_cannot_be_changed(world: World) -> None:
    await world.config_map("a", data={"x": "1"})
    found: list[Object] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        found.append(await ctx.client.get(CONFIG_MAP, request.name, request.namespace))
        assert (await ctx.client.list(CONFIG_MAP, "default")).items
        with pytest.raises(NotFound, match='configmaps "none" not found'):
            await ctx.client.get(CONFIG_MAP, "none", "default")
        assert await ctx.client.find(CONFIG_MAP, "none", "default") is None

    controller = await world.run(Controller("maps", reconcile, kind=CONFIG_MAP, namespaces=["default"]))
    await until(lambda: len(controller.runs) == 1)
    assert controller.runs[0].error is None
    assert not controller.accesses  # the server was not asked for anything
    with pytest.raises(TypeError, match="shared"):
        found[0]["data"]["x"] = "2"


async def test_a_read_shows_what_the_reconcile_has_just_written(world: World) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        for number in range(20):
            made = await ctx.client.create(config_map(f"made-{number}"))
            assert (await ctx.client.get(CONFIG_MAP, f"made-{number}", "default"))["metadata"] == made["metadata"]
            assert len((await ctx.client.list(CONFIG_MAP, "default")).items) == number + 1
        for number in range(20):
            await ctx.client.delete(CONFIG_MAP, f"made-{number}", "default")
            assert await ctx.client.find(CONFIG_MAP, f"made-{number}", "default") is None
            assert len((await ctx.client.list(CONFIG_MAP, "default")).items) == 19 - number
        seen.append(True)

    controller = await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: len(controller.runs) == 1)
    assert controller.runs[0].error is None
    assert seen == [True]


async def test_a_kind_that_nobody_declared_is_read_from_the_server_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with new_world() as world:
        channel, seen = Channel(), []

        async def reconcile(ctx: Context, request: Request) -> None:
            seen.append((await ctx.client.get("v1/Namespace", "default"))["metadata"]["name"])
            seen.append(len((await ctx.client.list("v1/Namespace")).items) > 0)

        await world.run(Controller("c", reconcile, watches=[channel]))
        channel.send(named("x"))
        await until(lambda: len(seen) == 2)
        assert caplog.text.count("c reads v1/Namespace from the server each time") == 1
        assert not world.cache.informers


async def test_a_lookup_finds_the_own_part_while_another_controller_begins_to_watch_the_kind(world: World) -> None:
    await world.config_map("settings")
    found: list[Object | None] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        whole = world.cache.acquire(CONFIG_MAP)
        assert not whole.synced
        found.append(ctx.lookup(CONFIG_MAP, "settings", "default"))
        await world.cache.release(whole)

    watch = Watch(CONFIG_MAP, fields={"metadata.name": "settings"})
    controller = await world.run(Controller("c", reconcile, watches=[watch]))
    await until(lambda: len(controller.runs) == 1)
    assert controller.runs[0].error is None
    assert [each["metadata"]["name"] for each in found if each is not None] == ["settings"]


@pytest.mark.feature("E18")
async def test_what_a_reconcile_looked_up_brings_it_back_until_it_looks_no_more(world: World) -> None:
    await world.config_map("settings", data={"use": "other"})
    await world.config_map("other", data={"v": "1"})
    await world.config_map("unrelated")
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append([str(trigger) for trigger in ctx.why])
        settings = await ctx.client.get(CONFIG_MAP, "settings", "default")
        if use := settings.get("data", {}).get("use"):
            await ctx.client.get(CONFIG_MAP, use, "default")

    controller = await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: len(seen) == 1)
    await world.client.update(config_map("other", {"v": "2"}))
    await until(lambda: len(seen) == 2)
    assert seen[1] == ["ConfigMap default/other updated (data.v)"]
    await world.client.update(config_map("unrelated", {"v": "2"}))
    await settle(controller)
    assert len(seen) == 2
    await world.client.update(config_map("settings"))
    await until(lambda: len(seen) == 3)
    await world.client.update(config_map("other", {"v": "3"}))
    await settle(controller)
    assert len(seen) == 3
    assert {look.key for look in controller.lookups.of(named("x"))} == {"default/settings"}


@pytest.mark.feature("E18")
async def test_looking_for_what_is_not_there_brings_it_back_when_it_comes(world: World) -> None:
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(await ctx.client.find(CONFIG_MAP, "later", "default") is not None)

    await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: seen == [False])
    await world.config_map("later")
    await until(lambda: seen == [False, True])


@pytest.mark.feature("E18")
async def test_a_list_brings_a_request_back_when_something_joins_or_leaves_it(world: World) -> None:
    await world.config_map("a", labels={"app": "x"})
    await world.config_map("b", labels={"app": "y"})
    channel, seen = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.client.list(CONFIG_MAP, "default", labels={"app": "x"})
        seen.append(sorted(tree["metadata"]["name"] for tree in found.items))

    controller = await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: seen == [["a"]])
    await world.client.update(config_map("b", {"changed": "1"}, labels={"app": "y"}))
    await settle(controller)
    assert len(seen) == 1
    await world.client.update(config_map("b", labels={"app": "x"}))
    await until(lambda: seen[1:] == [["a", "b"]])
    await world.client.update(config_map("a", labels={"app": "z"}))
    await until(lambda: seen[2:] == [["b"]])
    await world.client.delete(CONFIG_MAP, "b", "default")
    await until(lambda: seen[3:] == [[]])


async def test_a_run_that_fails_forgets_nothing_that_it_depends_on(world: World) -> None:
    await world.config_map("a")
    channel, runs = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        runs.append(request)
        if len(runs) == 2:
            raise RuntimeError("before it looked")
        if len(runs) < 3:
            await ctx.client.get(CONFIG_MAP, "a", "default")

    controller = await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: len(controller.runs) == 1)
    channel.send(named("x"))
    await until(lambda: len(controller.runs) >= 2)
    assert controller.runs[1].error is not None
    await until(lambda: len(controller.runs) == 3 and not controller.queue.working())
    assert not controller.lookups.of(named("x"))  # the third run looked at nothing


@pytest.mark.feature("E73")
async def test_a_status_is_written_once_at_the_end_and_does_not_bring_the_request_back(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        obj = await ctx.object()
        ctx.status["size"] = obj.spec.size
        ctx.status.condition("Ready", True, "Fits", "it fits")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget(size=3))
    await until(lambda: len(controller.runs) == 1)
    await settle(controller)
    found = await world.client.get(WIDGET, "w", "default")
    assert found["status"]["size"] == 3
    assert found["status"]["observedGeneration"] == 1
    assert [item["reason"] for item in found["status"]["conditions"]] == ["Fits"]
    assert [str(write) for write in controller.runs[0].writes] == ["patch Widget/status default/w"]
    assert len(controller.runs) == 1  # its own report did not bring it back
    await world.client.update_status(Widget.from_json({**found, "status": {"size": 99}}))
    await until(lambda: len(controller.runs) == 2)  # somebody else's did
    await settle(controller)
    assert (await world.client.get(WIDGET, "w", "default"))["status"]["size"] == 3
    await world.client.patch(WIDGET, merge({"metadata": {"labels": {"a": "b"}}}), "w", "default")
    await until(lambda: len(controller.runs) == 3)
    assert not controller.runs[2].writes  # nothing changed, nothing was written


async def test_a_report_that_comes_with_other_news_is_no_reason_and_is_not_remembered(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        obj = await ctx.object()
        ctx.status["size"] = obj.spec.size

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    controller.pause()
    await world.client.create(widget(size=3))
    await until(lambda: len(controller.queue) == 1)
    # As it is when the server's answer comes after the event that it made.
    created = await world.client.get(WIDGET, "w", "default")
    report = await world.client.patch(WIDGET, merge({"status": {"size": 3}}), "w", "default", subresource="status")
    versions = [tree["metadata"]["resourceVersion"] for tree in (created, report)]
    await until(lambda: controller.entry_of(named("w")).meta.resource_version == versions[1])
    expectations = controller._expectations.setdefault("", Expectations())
    expectations.record_report(Widget.gvk(), "default/w", *versions)
    controller.resume()
    await until(lambda: len(controller.runs) == 1)
    assert [why.event for why in controller.runs[0].why] == ["created"]
    await settle(controller)
    assert not expectations._reports


async def test_a_status_is_put_on_top_of_what_somebody_else_wrote_meanwhile(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.status["size"] = 5
        if ctx.run.attempt == 0 and not ctx.status.get("ready"):
            await world.client.patch(WIDGET, merge({"status": {"ready": True}}), "w", "default", subresource="status")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: len(controller.runs) >= 1)
    assert controller.runs[0].error is None
    status = (await world.client.get(WIDGET, "w", "default"))["status"]
    assert (status["size"], status["ready"]) == (5, True)


async def test_the_conditions_of_two_controllers_do_not_undo_each_other(world: World) -> None:
    await with_widgets(world)
    theirs = {"type": "Theirs", "status": "True", "reason": "Fine", "message": ""}

    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.status.condition("Ours", True, "Fine")
        if not ctx.status.is_true("Theirs"):
            change = merge({"status": {"conditions": [{**theirs, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
            await world.client.patch(WIDGET, change, "w", "default", subresource="status")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: len(controller.runs) >= 1)
    assert controller.runs[0].error is None
    conditions = (await world.client.get(WIDGET, "w", "default"))["status"]["conditions"]
    assert {each["type"] for each in conditions} == {"Ours", "Theirs"}


@pytest.mark.feature("E73")
async def test_the_status_of_a_failure_is_written_too_but_nothing_counts_as_observed(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.status.condition("Ready", False, "Broken", "no")
        raise RuntimeError("no")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: len(controller.runs) >= 1)
    status = (await world.client.get(WIDGET, "w", "default"))["status"]
    assert status["conditions"][0]["reason"] == "Broken"
    assert status["observedGeneration"] == 0


async def test_the_status_of_a_requeue_is_written_and_the_generation_does_not_count_as_observed(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.status.condition("Ready", False, "Waiting", "not yet")
        raise Requeue(60.0, "not yet")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: len(controller.runs) == 1)
    await settle(controller)
    status = (await world.client.get(WIDGET, "w", "default"))["status"]
    assert status["conditions"][0]["reason"] == "Waiting"
    assert status["observedGeneration"] == 0


async def test_a_whole_status_keeps_the_conditions_that_it_does_not_say(world: World) -> None:
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        ctx.status.condition("Ready", None, "Unclear")
        ctx.status.put(WidgetStatus(size=2))
        assert not ctx.status.is_true("Ready")

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: len(controller.runs) == 1)
    status = (await world.client.get(WIDGET, "w", "default"))["status"]
    assert status["size"] == 2
    assert status["conditions"][0]["status"] == "Unknown"


async def test_a_finalizer_keeps_an_object_until_it_was_cleaned_up_after(world: World) -> None:
    await with_widgets(world)
    cleaned: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        async def clean_up() -> None:
            cleaned.append(request.name)
            if len(cleaned) == 1:
                raise RuntimeError("not yet")

        if await ctx.finalize("example.com/clean", clean_up):
            return
        ctx.status["ready"] = True

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: bool(controller.runs))
    await settle(controller)
    found = await world.client.get(WIDGET, "w", "default")
    assert found["metadata"]["finalizers"] == ["example.com/clean"]
    assert found["status"]["ready"] is True
    await world.client.delete(WIDGET, "w", "default")
    await world.client.wait_for(WIDGET, "w", "default", "delete")
    assert cleaned == ["w", "w"]
    await settle(controller)
    assert controller.runs[-1].error is None


@pytest.mark.parametrize("looked", [False, True], ids=["unseen", "seen before"])
async def test_a_status_is_written_on_top_of_the_finalizer_that_was_just_put(world: World, looked: bool) -> None:
    await with_widgets(world)

    async def clean_up() -> None: ...

    async def reconcile(ctx: Context, request: Request) -> None:
        if looked:
            assert not ctx.status.is_true("Ready")
        await ctx.finalize("example.com/clean", clean_up)
        ctx.status["ready"] = True

    controller = await world.run(Controller("widget", reconcile, kind=Widget))
    await world.client.create(widget())
    await until(lambda: bool(controller.runs))
    await settle(controller)
    assert len(controller.runs[0].writes) == 2
    # One that was refused would have been followed by a look at the object as it is.
    assert "get" not in {access.verb for access in controller.accesses}


@pytest.mark.feature("E52")
async def test_what_would_change_nothing_is_not_sent(world: World) -> None:
    await world.config_map("a", data={"x": "1"})
    channel = Channel()

    async def reconcile(ctx: Context, request: Request) -> None:
        await ctx.client.apply(config_map("child", {"k": "v"}), force=True)
        found = await ctx.client.get(CONFIG_MAP, "a", "default")
        await ctx.client.update(found)

    controller = await world.run(Controller("c", reconcile, watches=[channel], reads=[CONFIG_MAP]))
    channel.send(named("x"))
    await until(lambda: len(controller.runs) == 1)
    await settle(controller)
    channel.send(named("x"))
    await until(lambda: len(controller.runs) == 2)
    first, second = ([str(write) for write in run.writes] for run in controller.runs)
    assert first == ["apply ConfigMap default/child", "update ConfigMap default/a (skipped: no change)"]
    assert second == [
        "apply ConfigMap default/child (skipped: no change)",
        "update ConfigMap default/a (skipped: no change)",
    ]
    await world.client.patch(CONFIG_MAP, merge({"data": {"k": "other"}}), "child", "default")
    await settle(controller)
    channel.send(named("x"))
    await until(lambda: len(controller.runs) == 3)
    assert not controller.runs[2].writes[0].skipped  # somebody else changed it: now it is sent


async def test_a_write_says_which_reconcile_it_comes_from(world: World) -> None:
    channel, ids = Channel(), []

    async def reconcile(ctx: Context, request: Request) -> None:
        ids.append((ctx.client.options.cause, ctx.api.options.cause, ctx.id))

    await world.run(Controller("c", reconcile, watches=[channel]))
    channel.send(named("x"))
    await until(lambda: len(ids) == 1)
    cause, live, reconcile_id = ids[0]
    assert cause == live
    assert cause is not None
    assert (cause.controller, cause.key, cause.id) == ("c", "default/x", reconcile_id)


@pytest.mark.feature("E22", "E78")
async def test_every_line_of_the_log_says_what_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with new_world() as world:
        channel = Channel()

        async def reconcile(ctx: Context, request: Request) -> None:
            ctx.log.info("%d things", 3)

        controller = await world.run(Controller("c", reconcile, watches=[channel]))
        channel.send(named("x"))
        await until(lambda: len(controller.runs) == 1)
        record = next(record for record in caplog.records if "things" in record.message)
        assert record.message == f"c default/x [{controller.runs[0].id[:8]}] 3 things"
        assert record.__dict__["reconcile_id"] == controller.runs[0].id


@pytest.mark.feature("E15")
async def test_an_owner_is_reconciled_when_what_it_owns_changes_and_others_are_not(world: World) -> None:
    await with_widgets(world)
    seen: list[tuple[str, list[str]]] = []

    async def reconcile(ctx: Context, request: Request) -> Result | None:
        seen.append((request.name, [str(trigger) for trigger in ctx.why]))
        return None

    controller = await world.run(Controller("widget", reconcile, kind=Widget, owns=[CONFIG_MAP]))
    owner = await world.client.create(widget("w"))
    await world.client.create(widget("other"))
    await until(lambda: len(seen) == 2)
    reference = controller_reference(owner.to_json())
    await world.client.create(config_map("child", ownerReferences=[reference]))
    await world.client.create(config_map("stranger"))
    plain = {name: value for name, value in reference.items() if name not in ("controller", "blockOwnerDeletion")}
    await world.client.create(config_map("loose", ownerReferences=[plain]))
    await until(lambda: len(seen) == 3)
    await settle(controller)
    assert seen[2:] == [("w", ["ConfigMap default/child created"])]
    await world.client.patch(CONFIG_MAP, merge({"metadata": {"ownerReferences": None}}), "child", "default")
    await until(lambda: len(seen) == 4)  # who had it and has it no longer hears of that


@pytest.mark.feature("E16")
async def test_a_map_function_that_fails_is_asked_again_and_one_that_waits_is_waited_for(world: World) -> None:
    asked: list[str] = []
    seen: list[str] = []

    async def who(tree: Object) -> list[str]:
        name = tree["metadata"]["name"]
        asked.append(name)
        await asyncio.sleep(0)
        if asked.count(name) < 3:
            raise RuntimeError("ask again")
        return [f"{name}-user"]

    async def reconcile(ctx: Context, request: Request) -> None:
        seen.append(request.key)

    watch = Watch(CONFIG_MAP, mapped(who), namespaces=["default"])
    await world.run(Controller("c", reconcile, watches=[watch]))
    await world.config_map("a")
    await until(lambda: seen == ["default/a-user"])
