"""What goes wrong in other frameworks' sets, by its number in the list of their defects, and does not here."""

import copy

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, config_map, deployment, world

from setpoint.client.patches import merge
from setpoint.flow.marks import find_owner
from setpoint.flow.policy import How, Mode
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.tree import Object

MODES = [Mode.APPLY, Mode.UPDATE, Mode.MERGE]


async def test_defect_09_outputs_never_pruned() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        result = await it.own().add(config_map("one")).apply()
        assert [each.name for each in result.pruned] == ["two"]
        assert await it.names() == {"one"}
        # Nothing wanted is a wish, too.
        await it.own().apply()
        assert await it.names() == set()


@pytest.mark.parametrize("references", [True, False])
async def test_defect_10_outputs_without_controller_reference_lead_to_the_parent(references: bool) -> None:
    async with world() as it:
        result = (
            await it.own(owner=await it.owner(), how=How(owner_references=references)).add(config_map("one")).apply()
        )
        found = find_owner(result.get(CONFIG_MAP, "one", "default"))
        assert found is not None
        assert (found.gvk.kind, found.namespace, found.name) == ("ConfigMap", "default", "boss")


@pytest.mark.parametrize("mode", MODES)
async def test_defect_14_callers_object_differs_by_write_mode(mode: Mode) -> None:
    async with world() as it:
        owner = await it.owner()
        for data in ({"a": "1"}, {"a": "2"}):
            given = config_map("one", **data)
            before = copy.deepcopy(given)
            result = await it.own(how=How(mode), owner=owner).add(given).apply()
            assert given == before
            assert result.get(CONFIG_MAP, "one", "default") == await it.direct.get(CONFIG_MAP, "one", "default")


async def test_defect_15_generate_name_outputs_multiply() -> None:
    async with world() as it:
        tree = config_map("")
        tree["metadata"] = {"generateName": "one-", "namespace": "default"}
        with pytest.raises(ValueError, match="another in every run"):
            it.own().add(tree)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("references", [True, False])
async def test_defect_26_no_owner_reference_inverted(mode: Mode, references: bool) -> None:
    async with world() as it:
        own = it.own(owner=await it.owner(), how=How(mode, owner_references=references))
        await own.add(config_map("one")).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert ("ownerReferences" in found["metadata"]) is references


@pytest.mark.parametrize("mode", MODES)
async def test_defect_26_without_owner_references_those_of_others_stay(mode: Mode) -> None:
    async with world() as it:
        other = await it.owner("other")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other["metadata"]["uid"]}
        own = it.own(owner=await it.owner(), how=How(mode, owner_references=False))
        await own.add(config_map("one", a="1")).apply()
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"ownerReferences": [reference]}}), "one", "default")
        await own.add(config_map("one", a="2")).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert [item["name"] for item in found["metadata"]["ownerReferences"]] == ["other"]


@pytest.mark.parametrize("mode", MODES)
async def test_defect_27_secret_values_in_the_applied_annotation(mode: Mode) -> None:
    async with world() as it:
        value = "cGFzc3dvcmQxMjM="
        secret: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "key", "namespace": "default"},
            "data": {"password": value},
        }
        own = it.own(how=How(mode)).add(secret)
        assert value not in (await own.plan()).render()
        await own.apply()
        found = await it.direct.get("v1/Secret", "key", "default")
        assert value not in str(found["metadata"])
        assert value not in str(await it.inventories())
        changed = own.add({**secret, "data": {"password": "b3RoZXI="}})
        text = (await changed.plan()).render()
        assert "/data/password" in text
        assert value not in text
        assert "b3RoZXI=" not in text


async def test_defect_28_conflict_recorded_as_success() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        await it.direct.patch(CONFIG_MAP, merge({"data": {"a": "9"}}), "one", "default", field_manager="other")
        for _ in range(2):
            with pytest.raises(ApplyConflict):
                await it.own().add(config_map("one")).apply()
        assert await it.names() == {"one", "two"}


async def test_defect_28_several_conflicts_are_a_conflict() -> None:
    async with world() as it:
        for name in ("one", "two"):
            await it.direct.apply(config_map(name), field_manager="other")
        with pytest.raises(Conflict):
            await it.own().add(config_map("one", a="2"), config_map("two", a="2")).apply()


async def test_defect_29_undeclared_kinds_orphaned() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), deployment("web")).apply()
        # Nothing of the kind is wanted any more, nor named anywhere.
        await it.own().add(config_map("one")).apply()
        assert (await it.direct.list("apps/v1/Deployment", "default")).items == []


async def test_defect_30_delete_not_found_reported_as_error() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()

        async def gone(call: object) -> None:
            await it.direct.delete(CONFIG_MAP, "two", "default")

        it.requests.before = gone
        await it.own().add(config_map("one")).apply()
        assert await it.names() == {"one"}
        await it.direct.delete(CONFIG_MAP, "one", "default")
        assert await it.own().delete()


async def test_defect_32_merge_patch_labelled_json_patch() -> None:
    async with world() as it:
        own = it.own(how=How(Mode.MERGE))
        await own.add(config_map("one", a="1")).apply()
        await own.add(config_map("one", a="2")).apply()
        patches = [call for call in it.requests.writes if call.method == "PATCH"]
        assert [call.headers["content-type"] for call in patches] == ["application/merge-patch+json"]


async def test_defect_34_children_deleted_when_finalizers_vanish() -> None:
    async with world(system=True) as it:
        owner = await it.owner(finalizers=["example.com/x"])
        await it.own(owner=owner).add(config_map("one")).apply()
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "boss", "default")
        await it.plane.settle()
        assert await it.names() == {"one"}
        await it.own(owner=await it.direct.get(CONFIG_MAP, "boss", "default")).add(config_map("one")).apply()
        assert await it.names() == {"one"}


async def test_defect_35_blocking_limiter_in_a_worker() -> None:
    async with world() as it:
        waits = []

        class Counting:
            """The clock, which notes who waits."""

            def __getattr__(self, name: str) -> object:
                if name == "sleep":
                    waits.append(name)
                return getattr(it.direct.clock, name)

        it.client.clock = Counting()  # type: ignore[assignment]
        for number in range(30):
            await it.own().add(config_map("one", a=str(number))).apply()
        assert waits == []
