"""A run of a set: failures of single objects, dependencies, and other clients that write at the same time."""

from typing import Any

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, World, config_map, world

from setpoint.client.patches import merge
from setpoint.client.transport import Call, TransportError
from setpoint.flow.policy import Adopt, How, Mode, Prune, Replace
from setpoint.flow.result import ApplyFailed, PlanOutdated, Refused
from setpoint.objects.errors import Conflict, Invalid
from setpoint.objects.tree import Object

BAD: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not A Name", "namespace": "default"}}


def sealed(name: str, **data: str) -> Object:
    return {**config_map(name, **data), "immutable": True}


async def data(it: World, name: str) -> Any:
    return (await it.direct.get(CONFIG_MAP, name, "default"))["data"]


async def test_an_object_is_not_written_if_one_that_it_depends_on_failed() -> None:
    async with world() as it:
        own = (
            it.own().add(BAD).add(config_map("needs"), after=[BAD]).add(config_map("last"), after=[config_map("needs")])
        )
        with pytest.raises(ApplyFailed) as failed:
            await own.add(config_map("other")).apply()
        errors = {identity.name: error for identity, error in failed.value.failures.items()}
        assert list(errors) == ["Not A Name", "needs", "last"]
        assert isinstance(errors["Not A Name"], Invalid)
        assert isinstance(errors["needs"], Refused)
        assert str(errors["needs"]) == "depends on ConfigMap default/Not A Name, which could not be written"
        assert str(errors["last"]) == "depends on ConfigMap default/needs, which could not be written"
        assert str(failed.value).startswith("3 objects of the set could not be written: ConfigMap default/Not A Name: ")
        assert await it.names() == {"other"}


async def test_a_run_ends_at_once_if_the_server_is_unreachable() -> None:
    async with world() as it:
        it.requests.crash_after = 2  # the inventory and the first object
        with pytest.raises(TransportError):
            await it.own().add(*(config_map(name) for name in "abc")).apply()
        assert len(it.requests.writes) == 2
        assert await it.names() == {"a"}, "only its answer was lost"


@pytest.mark.parametrize("mode", [Mode.UPDATE, Mode.MERGE])
async def test_a_write_is_tried_four_times_while_others_write(mode: Mode) -> None:
    async with world() as it:
        own = it.own(how=How(mode)).ignore(CONFIG_MAP, "/data/n")
        await own.add(config_map("one", a="1")).apply()
        races = 0

        async def faster(call: Call) -> None:
            nonlocal races
            races += 1
            await it.direct.patch(CONFIG_MAP, merge({"metadata": {"labels": {"n": str(races)}}}), "one", "default")
            it.requests.before = faster

        it.requests.before = faster
        if mode is Mode.MERGE:
            await own.add(config_map("one", a="2")).apply()
            assert (races, await data(it, "one")) == (1, {"a": "2"}), "a patch of other fields has no conflict"
        else:
            with pytest.raises(Conflict):
                await own.add(config_map("one", a="2")).apply()
            assert (races, await data(it, "one")) == (4, {"a": "1"})


async def test_an_object_that_is_deleted_meanwhile_is_created_again() -> None:
    async with world() as it:
        own = it.own(how=How(Mode.MERGE))
        await own.add(config_map("one", a="1")).apply()

        async def faster(call: Call) -> None:
            await it.direct.delete(CONFIG_MAP, "one", "default")

        it.requests.before = faster
        await own.add(config_map("one", a="2")).apply()
        assert await data(it, "one") == {"a": "2"}


async def test_an_exact_plan_creates_and_changes_objects() -> None:
    async with world() as it:
        await it.own().add(config_map("one", a="1")).apply()
        own = it.own().add(config_map("one", a="2"), config_map("two"))
        result = await own.apply(await own.plan())
        assert [each.name for each in result.written] == ["one", "two"]
        assert (await data(it, "one"), await data(it, "two")) == ({"a": "2"}, {"a": "1"})


async def test_an_apply_does_not_depend_on_the_version_that_was_read() -> None:
    async with world() as it:
        await it.own().add(config_map("one", a="1")).apply()
        count = len(it.requests.writes)

        async def faster(call: Call) -> None:
            await it.direct.patch(CONFIG_MAP, merge({"data": {"b": "1"}}), "one", "default")

        it.requests.before = faster
        await it.own().add(config_map("one", a="2")).apply()
        assert await data(it, "one") == {"a": "2", "b": "1"}
        assert len(it.requests.writes) - count == 1, "the write of another field is no conflict"


async def test_an_exact_plan_is_not_adjusted_to_writes_of_others() -> None:
    async with world() as it:
        await it.own().add(config_map("one", a="1")).apply()
        own = it.own().add(config_map("one", a="2"))
        plan = await own.plan()

        async def faster(call: Call) -> None:
            await it.direct.patch(CONFIG_MAP, merge({"data": {"b": "1"}}), "one", "default")

        it.requests.before = faster
        with pytest.raises(Conflict):
            await own.apply(plan)
        assert await data(it, "one") == {"a": "1", "b": "1"}
        with pytest.raises(PlanOutdated):
            await own.apply(plan)


async def test_a_deferred_replacement_waits_and_prunes_nothing() -> None:
    async with world() as it:
        own = it.own(how=How(replace=Replace.LATER))
        await own.add(sealed("one", a="1"), config_map("old")).apply()
        before = (await it.direct.get(CONFIG_MAP, "one", "default"))["metadata"]["uid"]
        later = it.own(how=How(replace=Replace.LATER), prune=Prune(grace=0)).add(
            sealed("one", a="2"), config_map("new")
        )
        result = await later.apply()
        assert not result.is_complete
        assert [step.identity.name for step in result.waiting] == ["one"]
        assert ([each.name for each in result.written], result.pruned, result.again_after) == (["new"], [], None)
        assert await it.names() == {"old", "new"}
        result = await later.apply()
        assert result.is_complete
        assert [each.name for each in result.written] == ["one"]
        assert [each.name for each in result.pruned] == ["old"]
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert (found["data"], found["metadata"]["uid"] != before) == ({"a": "2"}, True)


RECREATED = "ConfigMap default/one was recreated by another client during its replacement"


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        (How(lock=True), Conflict, RECREATED),
        (How(adopt=Adopt.NEVER), Refused, "already exists outside this set"),
    ],
    ids=["lock", "adopt never"],
)
async def test_an_object_that_another_client_recreates_is_not_overwritten(
    how: How, error: type[Exception], words: str
) -> None:
    async with world() as it:
        await it.own().add(sealed("one", a="1")).apply()

        async def faster(call: Call) -> None:
            await it.direct.delete(CONFIG_MAP, "one", "default")
            await it.direct.create(config_map("one", mine="yes"))

        it.requests.before = faster
        own = it.own(how=how._replace(replace=Replace.WAIT_GONE)).add(sealed("one", a="2"))
        with pytest.raises(error, match=words):
            await own.apply()
        assert await data(it, "one") == {"mine": "yes"}


async def test_a_replacement_waits_for_the_deletion() -> None:
    async with world() as it:
        await it.own().add({**sealed("one", a="1")}).apply()
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": ["example.com/slow"]}}), "one", "default")
        own = it.own(how=How(replace=Replace.WAIT_GONE), timeout=0.05).add(sealed("one", a="2"))
        with pytest.raises(TimeoutError):
            await own.apply()
        assert await data(it, "one") == {"a": "1"}
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "one", "default")
        await own.apply()
        assert await data(it, "one") == {"a": "2"}


async def test_an_incremental_run_writes_each_object_once_and_prunes_at_its_end() -> None:
    async with world() as it:
        await it.own().add(config_map("a"), config_map("old")).apply()
        own = it.own()
        run = await own.begin()
        first = await run.put(await own.add(config_map("a"), config_map("b")).prepare())
        assert sorted(identity.name for identity in first) == ["a", "b"]
        again = await run.put(await own.add(config_map("b"), config_map("c")).prepare())
        assert sorted(identity.name for identity in again) == ["b", "c"]
        with pytest.raises(
            ValueError, match="ConfigMap default/c was added twice in different forms: remove one of them"
        ):
            await run.put(await own.add(config_map("c", a="2")).prepare())
        assert await it.names() == {"a", "b", "c", "old"}
        result = await run.finish()
        assert [each.name for each in result.pruned] == ["old"]
        assert sorted(each.name for each in result.written) == ["b", "c"]
        assert sorted(identity.name for identity in result.objects) == ["a", "b", "c"]
        assert await it.names() == {"a", "b", "c"}
        assert (await it.own().add(*(config_map(name) for name in "abc")).apply()).written == []


async def test_an_incremental_run_with_a_failure_prunes_nothing_and_records_the_others() -> None:
    async with world() as it:
        await it.own().add(config_map("old")).apply()
        own = it.own()
        run = await own.begin()
        with pytest.raises(Invalid):
            await run.put(await own.add(config_map("a"), BAD).prepare())
        with pytest.raises(Invalid):
            await run.finish()
        assert await it.names() == {"a", "old"}
        [inventory] = await it.inventories()
        uid = (await it.direct.get(CONFIG_MAP, "a", "default"))["metadata"]["uid"]
        assert uid in inventory["data"]["inventory"]
