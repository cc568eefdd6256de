"""Faults happen to the requests that they are about, as often as they are to, and to no others."""

from functools import partial
from typing import Any

import pytest
from tests.testing.kinds import CONFIG_MAP, Widget, config_map, widget, widgets

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.client.transport import TransportError
from setpoint.objects.errors import Conflict, InternalError, NotFound, TooManyRequests

pytestmark = pytest.mark.feature("E89")


@pytest.mark.world(crds=[Widget])
async def test_a_fault_is_about_a_verb_and_a_kind_and_happens_so_often(world: testing.World) -> None:
    fault = world.faults.fail("create", CONFIG_MAP, error=Conflict, times=2)
    await world.app.create(widget())
    for _ in range(2):
        with pytest.raises(Conflict):
            await world.app.create(config_map("a"))
    await world.app.create(config_map("a"))
    assert fault.hits == 2


@pytest.mark.parametrize(
    ("failure", "raised"),
    [(500, InternalError), (NotFound, NotFound), (TransportError("gone", sent=True), TransportError)],
    ids=["code", "class", "transport"],
)
@pytest.mark.parametrize("done", [True, False], ids=["done", "not-done"])
async def test_a_write_fails_before_or_after_it_is_done(failure: Any, raised: type[Exception], done: bool) -> None:
    async with testing.world() as world:
        world.faults.fail("write", error=failure, done=done)
        with pytest.raises(raised):
            await world.app.create(config_map("a"))
        assert (await world.find(CONFIG_MAP, "a") is not None) == done


async def test_a_subresource_can_be_meant_and_a_fault_can_be_ended() -> None:
    async with testing.world(crds=[Widget], objects=[widget()]) as world:
        fault = world.faults.fail("patch", Widget, subresource="status", times=None)
        ran = await world.run_once(widgets, widget())
        assert isinstance(ran.error, InternalError)
        assert await world.find(CONFIG_MAP, "w-child") is not None
        fault.stop()
        assert (await world.run_once(widgets, widget())).error is None


async def test_a_server_that_asks_for_patience_is_waited_for_in_virtual_time() -> None:
    async with testing.world() as world:
        busy = TooManyRequests("later", retry_after_seconds=30)
        world.faults.fail("create", error=busy, times=3)
        before = world.clock.monotonic()
        await world.drive(world.app.create(config_map("a")))
        assert world.clock.monotonic() - before == 90


async def test_a_request_takes_longer_and_somebody_else_is_faster() -> None:
    async with testing.world(objects=[config_map("a", x="1")]) as world:
        world.faults.delay("get", seconds=5)
        before = world.clock.monotonic()
        found = await world.drive(world.app.get(CONFIG_MAP, "a", "default"))
        assert world.clock.monotonic() - before == 5
        world.faults.before(
            "update", CONFIG_MAP, lambda: world.client.patch(CONFIG_MAP, merge({"data": {"x": "2"}}), "a", "default")
        )
        with pytest.raises(Conflict):
            await world.app.update(found)


async def test_watches_that_are_cut_or_expire_lose_nothing() -> None:
    for expired in (False, True):
        async with testing.world(crds=[Widget]) as world:
            world.faults.break_watches(Widget, after=1, expired=expired)
            await world.run(widgets)
            for number in range(5):
                await world.create(widget(f"w{number}"))
                await world.eventually(partial(_children, world, number + 1))
            assert world.faults.cut(CONFIG_MAP) == 1
            await world.create(widget("w5"))
            await world.eventually(partial(_children, world, 6))
            watches = [seen for seen in world.faults.seen if (seen.verb, seen.resource) == ("watch", "widgets")]
            assert len(watches) > 5


async def _children(world: testing.World, count: int) -> bool:
    return len(await world.names(CONFIG_MAP)) == count


async def test_a_stale_view_hears_of_nothing_until_it_is_over() -> None:
    async with testing.world(crds=[Widget]) as world:
        await world.run(widgets)
        with world.faults.stale(Widget):
            await world.create(widget())
            await world.never(lambda: world.find(CONFIG_MAP, "w-child"))
        await world.eventually(lambda: world.find(CONFIG_MAP, "w-child"), within=1)


async def test_after_a_crash_nothing_is_sent_until_another_process_is_there() -> None:
    async with testing.world() as world:
        world.faults.crash_after(2)
        await world.app.create(config_map("a"))
        with pytest.raises(TransportError):
            await world.app.create(config_map("b"))
        with pytest.raises(TransportError):
            await world.drive(world.app.create(config_map("c")))
        assert await world.names(CONFIG_MAP) == ["a", "b"]
        world.faults.revive()
        await world.app.create(config_map("c"))
        assert [str(seen) for seen in world.faults.writes] == [
            "create configmaps default",
            "create configmaps default",
            "create configmaps default",
        ]


async def test_every_crash_of_a_reconcile_is_tried_once_done_and_once_not() -> None:
    tried = []
    async for crash in testing.every_crash(crds=[Widget], objects=[widget(size=2)]):
        world = crash.world

        async def is_ready(world: testing.World = world) -> bool:
            found = await world.find(Widget, "w")
            return found.status is not None and found.status.size == 2

        await crash.run(widgets, until=is_ready)
        assert (await world.find(CONFIG_MAP, "w-child"))["data"] == {"size": "2"}, str(crash)
        tried.append((crash.writes, crash.done, crash.happened))
    assert tried == [
        (1, True, True), (2, True, True), (3, True, False), (1, False, True), (2, False, True), (3, False, False)
    ]  # fmt: skip


async def test_what_is_no_verb_and_no_part_of_a_request_is_said() -> None:
    async with testing.world() as world:
        with pytest.raises(ValueError, match="unknown verb 'put': expected apply, create"):
            world.faults.fail("put")
        with pytest.raises(TypeError, match="unknown selector label"):
            world.faults.fail("get", label="x")
        with pytest.raises(RuntimeError, match="no controllers were run"):
            async for _ in testing.every_crash():
                pass
