"""A set in a controller: what is as it should be costs no request, and an old view of the world does no harm."""

from typing import Any

import pytest
from tests.controller.core.worlds import PATIENCE
from tests.flow.apply_set.sets import CONFIG_MAP, Watched, World, config_map, deployment, world

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.kinds import kind_of
from setpoint.client.options import Options
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.policy import Adopt, How, Mode
from setpoint.flow.result import Refused
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object

SECRET = "v1/Secret"


class Stale(Client):
    """A client whose reads show what was there when it was told to stop looking."""

    seen: dict[tuple[Any, ...], Object | None]

    async def get(self, kind: Any, name: str, namespace: str = "", **how: Any) -> Any:
        key = (kind_of(kind).gvk, name, namespace)
        if key not in self.seen:
            return await super().get(kind, name, namespace, **how)
        found = self.seen[key]
        if found is None:
            raise NotFound.of(GroupResource("", "configmaps"), name)
        return found


async def stale(it: World, *names: str) -> Stale:
    """A client that goes on showing these ConfigMaps as they are now."""
    client = Stale(Watched(it.direct.transport), options=Options(field_manager="teams"), clock=it.direct.clock)
    client.seen = {}
    for name in names:
        try:
            found: Object | None = await it.direct.get(CONFIG_MAP, name, "default")
        except NotFound:
            found = None
        client.seen[kind_of(CONFIG_MAP).gvk, name, "default"] = found
    return client


@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.UPDATE, Mode.MERGE])
async def test_a_stale_view_takes_over_nothing_that_it_does_not_see(mode: Mode) -> None:
    async with world() as it:
        client = await stale(it, "one")
        await it.direct.apply(config_map("one", mine="yes"), field_manager="teams")
        own = it.own(client=client, api=it.client, how=How(mode, adopt=Adopt.NEVER))
        with pytest.raises(Refused):
            await own.add(config_map("one")).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"mine": "yes"}


@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.UPDATE, Mode.MERGE])
async def test_a_stale_view_of_what_is_gone_makes_it_anew(mode: Mode) -> None:
    async with world() as it:
        await it.own(how=How(mode)).add(config_map("one", a="1")).apply()
        client = await stale(it, "one")
        await it.direct.delete(CONFIG_MAP, "one", "default")
        await it.own(client=client, api=it.client, how=How(mode)).add(config_map("one", a="2")).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert found["data"] == {"a": "2"}
        assert found["metadata"]["uid"] in (await it.inventories())[0]["data"]["inventory"]


async def test_a_stale_inventory_is_a_conflict_and_nothing_is_lost() -> None:
    async with world() as it:
        inventory = f"apply-set-{it.own().id}"
        client = await stale(it, inventory)
        await it.own().add(config_map("one")).apply()
        with pytest.raises(Conflict):
            await it.own(client=client, api=it.client).add(config_map("two")).apply()
        client = await stale(it, inventory)
        await it.own().add(config_map("one"), config_map("two")).apply()
        with pytest.raises(Conflict):
            await it.own(client=client, api=it.client).add(config_map("three")).apply()
        await it.own().apply()
        assert await it.names() == set()


async def test_a_stale_view_with_force_does_not_undo_what_is_left_to_others() -> None:
    async with world() as it:
        how = How(force=True)
        own = it.own(how=how).ignore(CONFIG_MAP, "/data/size")
        await own.add(config_map("one", a="1", size="3")).apply()
        client = await stale(it, "one")
        await it.direct.patch(CONFIG_MAP, merge({"data": {"size": "7"}}), "one", "default", field_manager="scaler")
        again = it.own(client=client, api=it.client, how=how).ignore(CONFIG_MAP, "/data/size")
        await again.add(config_map("one", a="2", size="3")).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "2", "size": "7"}


@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.UPDATE, Mode.MERGE])
async def test_in_a_controller_a_set_that_is_as_it_should_be_sends_nothing_and_drift_comes_back(mode: Mode) -> None:
    ran = []

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.object()
        if found is None:
            return
        own = ApplySet.of(ctx, "children", found, how=How(mode))
        own.add(*(config_map(f"child-{number}", namespace="") for number in range(10)), deployment("web"))
        await own.apply()
        ran.append(request)

    async with world() as it, Cache(it.client) as cache:
        controller = Controller(
            "keeper", reconcile, kind=SECRET, owns=[CONFIG_MAP, "apps/v1/Deployment"], concurrency=1
        )
        await controller.start(cache)
        controller.work()
        try:
            boss = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boss", "namespace": "default"}}
            await it.direct.create(boss)
            await it.direct.wait_for("apps/v1/Deployment", "web", "default", "create", timeout=PATIENCE)
            await _quiet(it, controller)
            assert len(await it.names()) == 10
            before = len(ran)
            it.requests.calls.clear()
            await it.direct.patch(SECRET, merge({"metadata": {"labels": {"x": "y"}}}), "boss", "default")
            while len(ran) == before:
                await it.direct.clock.sleep(0.001)
            await _quiet(it, controller)
            assert [call.target for call in it.requests.calls if "watch" not in call.target] == []
            await it.direct.delete(CONFIG_MAP, "child-3", "default")
            await it.direct.wait_for(CONFIG_MAP, "child-3", "default", "create", timeout=PATIENCE)
        finally:
            await controller.stop()


async def _quiet(it: World, controller: Controller) -> None:
    """Waits until a controller has had nothing to do for a moment."""
    quiet = 0
    while quiet < 20:
        quiet = 0 if len(controller.queue) or controller.queue.working() else quiet + 1
        await it.direct.clock.sleep(0.002)
