"""What goes wrong in other frameworks' sets, by its number in the list of their defects, and does not here."""

import copy

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, config_map, deployment, world

from setpoint.client.patches import Patch, apply_configuration, merge
from setpoint.flow.marks import find_owner
from setpoint.flow.policy import How, Mode
from setpoint.objects.errors import ApplyConflict, Conflict
from setpoint.objects.tree import Object

MODES = [Mode.APPLY, Mode.UPDATE, Mode.MERGE]


@pytest.mark.feature("G9")
async def test_defect_09_outputs_never_pruned() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        result = await it.own().add(config_map("one")).apply()
        assert [each.name for each in result.pruned] == ["two"]
        assert await it.names() == {"one"}
        # Nothing wanted is a wish, too.
        await it.own().apply()
        assert await it.names() == set()


@pytest.mark.feature("G10")
@pytest.mark.parametrize("references", [True, False])
async def test_defect_10_outputs_without_controller_reference_lead_to_the_parent(references: bool) -> None:
    async with world() as it:
        result = (
            await it.own(owner=await it.owner(), how=How(owner_references=references)).add(config_map("one")).apply()
        )
        found = find_owner(result.get(CONFIG_MAP, "one", "default"))
        assert found is not None
        assert (found.gvk.kind, found.namespace, found.name) == ("ConfigMap", "default", "boss")


@pytest.mark.feature("G14")
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


@pytest.mark.feature("G15")
async def test_defect_15_generate_name_outputs_multiply() -> None:
    async with world() as it:
        tree = config_map("")
        tree["metadata"] = {"generateName": "one-", "namespace": "default"}
        with pytest.raises(ValueError, match="differ in every run"):
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


@pytest.mark.feature("G27")
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


@pytest.mark.feature("G30")
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


@pytest.mark.feature("G32")
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


@pytest.mark.feature("G35")
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


@pytest.mark.feature("G13", "E49")
async def test_defect_13_lock_and_apply_ignored_for_the_status() -> None:
    async with world() as it:
        await it.direct.create(deployment("web"))
        old = await it.direct.get("apps/v1/Deployment", "web", "default")
        await it.direct.patch("apps/v1/Deployment", merge({"metadata": {"labels": {"a": "b"}}}), "web", "default")
        metadata = {"name": "web", "namespace": "default"}

        def status(**more: str) -> Patch:
            tree = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**metadata, **more}}
            return apply_configuration({**tree, "status": {"observedGeneration": 1}})

        locked = status(resourceVersion=old["metadata"]["resourceVersion"])
        with pytest.raises(Conflict):
            await it.direct.patch_status("apps/v1/Deployment", locked, "web", "default", field_manager="reporter")
        found = await it.direct.patch_status("apps/v1/Deployment", status(), "web", "default", field_manager="reporter")
        [entry] = [each for each in found["metadata"]["managedFields"] if each["manager"] == "reporter"]
        assert (entry["operation"], entry["subresource"]) == ("Apply", "status")


@pytest.mark.feature("E63")
async def test_objects_have_the_recommended_label_and_others_where_that_is_said() -> None:
    async with world() as it:
        part_of = {"app.kubernetes.io/part-of": "shop"}

        def label(tree: Object) -> None:
            tree["metadata"]["labels"] = {**(tree["metadata"].get("labels") or {}), **part_of}

        said = config_map("two")
        said["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "helm"}
        result = await it.own(transforms=[label]).add(config_map("one"), said).apply()
        labels = [result.get(CONFIG_MAP, name, "default")["metadata"]["labels"] for name in ("one", "two")]
        assert [each["app.kubernetes.io/managed-by"] for each in labels] == ["teams", "helm"]
        assert all(part_of.items() <= each.items() for each in labels)
