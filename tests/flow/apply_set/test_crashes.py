"""Whenever the process ends, with the last write done or not, the next run ends where an undisturbed one does: nothing
leaked, nothing pruned by mistake."""

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, World, config_map, deployment, world

from setpoint.client.transport import TransportError
from setpoint.flow.policy import How, Mode, Replace
from setpoint.objects.tree import Object

FIRST = [config_map("a", v="1"), config_map("b", v="1"), deployment("web")]
SECOND = [config_map("a", v="2"), config_map("c", v="1")]
THIRD = [config_map("d", v="1")]


async def run(it: World, wanted: list[Object], mode: Mode) -> None:
    """A run in a new process."""
    await it.own(how=How(mode)).add(*wanted).apply()


async def state(it: World) -> dict[str, Object]:
    """What is there of the set, and what its inventory knows."""
    found = {}
    for kind in (CONFIG_MAP, "apps/v1/Deployment"):
        for item in (await it.direct.list(kind, "default", labels="setpoint.dev/apply-set,!setpoint.dev/kind")).items:
            found[item["metadata"]["name"]] = item.get("data") or {}
    names = [inventory["data"]["inventory"].count('"uid"') for inventory in await it.inventories()]
    return {"objects": found, "known": {"count": names}}


async def crash(it: World, wanted: list[Object], mode: Mode, after: int, does_last: bool) -> bool:
    """A run that ends after so many writes; whether it did."""
    it.requests.crash_after, it.requests.does_last = after, does_last
    try:
        await run(it, wanted, mode)
    except TransportError:
        return True
    finally:
        it.requests.crash_after = None
    return False


@pytest.mark.parametrize("does_last", [True, False], ids=["done", "not-done"])
@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.UPDATE, Mode.MERGE])
async def test_a_crash_after_any_write_converges_to_the_same(mode: Mode, does_last: bool) -> None:
    async with world() as it:
        await run(it, FIRST, mode)
        await run(it, SECOND, mode)
        expected = await state(it)
        writes = 0
        assert expected["objects"] == {"a": {"v": "2"}, "c": {"v": "1"}}
    for first in (True, False):
        after, crashed = 0, True
        while crashed:
            after += 1
            async with world() as it:
                # A bystander, of the same name as nothing of the set.
                await it.direct.create(config_map("bystander"))
                if first:
                    crashed = await crash(it, FIRST, mode, after, does_last)
                else:
                    await run(it, FIRST, mode)
                    crashed = await crash(it, SECOND, mode, after, does_last)
                await run(it, SECOND, mode)
                assert await state(it) == expected
                assert await it.direct.get(CONFIG_MAP, "bystander", "default")
                writes += crashed
    assert writes >= 6


@pytest.mark.parametrize("after", range(1, 6))
async def test_what_was_made_before_a_crash_and_is_not_wanted_after_it_is_pruned(after: int) -> None:
    async with world() as it:
        await crash(it, FIRST, Mode.APPLY, after, True)
        await run(it, THIRD, Mode.APPLY)
        assert (await state(it))["objects"] == {"d": {"v": "1"}}


@pytest.mark.parametrize("after", range(1, 6))
async def test_an_intent_is_no_right_to_delete_what_another_made_meanwhile(after: int) -> None:
    async with world() as it:
        await crash(it, FIRST, Mode.APPLY, after, False)
        if "b" not in await it.names():
            await it.direct.create(config_map("b", mine="yes"))
            await run(it, THIRD, Mode.APPLY)
            assert (await it.direct.get(CONFIG_MAP, "b", "default"))["data"] == {"mine": "yes"}


@pytest.mark.parametrize("after", range(1, 4))
async def test_a_crash_while_an_object_is_replaced_loses_nothing(after: int) -> None:
    async with world() as it:
        sealed: Object = {**config_map("one", a="1"), "immutable": True}
        changed: Object = {**config_map("one", a="2"), "immutable": True}
        await it.own().add(sealed).apply()
        it.requests.crash_after = after
        with pytest.raises(TransportError):
            await it.own(how=How(replace=Replace.WAIT_GONE)).add(changed).apply()
        it.requests.crash_after = None
        await it.own(how=How(replace=Replace.WAIT_GONE)).add(changed).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert found["data"] == {"a": "2"}
        assert found["metadata"]["uid"] in (await it.inventories())[0]["data"]["inventory"]


@pytest.mark.parametrize("after", range(1, 5))
async def test_a_crash_while_the_set_is_deleted_leaves_nothing_unknown(after: int) -> None:
    async with world() as it:
        await run(it, FIRST, Mode.APPLY)
        it.requests.crash_after = after
        with pytest.raises(TransportError):
            await it.own().delete()
        it.requests.crash_after = None
        assert await it.own().delete()
        assert await state(it) == {"objects": {}, "known": {"count": []}}
