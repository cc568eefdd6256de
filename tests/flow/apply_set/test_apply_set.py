"""An apply set brings about what is wanted, takes away what no longer is, and touches nothing else."""

import copy
from datetime import UTC, datetime

import pytest
from tests.flow.apply_set.sets import CONFIG_MAP, MANAGER, config_map, deployment, world

from setpoint.client.mapper import NoMatch
from setpoint.client.patches import merge
from setpoint.controller.reconcile_client import Applied
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.marks import find_owner
from setpoint.flow.orphans import purge_orphans
from setpoint.flow.plan import Action
from setpoint.flow.policy import Adopt, How, Mode, Prune, Replace
from setpoint.flow.record import ConfigMapRecord, StatusRecord
from setpoint.flow.result import ApplyFailed, PlanOutdated, PruneWithheld, Refused
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import ApplyConflict, Conflict, Forbidden, Invalid, NotFound
from setpoint.objects.tree import Object

MODES = [Mode.APPLY, Mode.UPDATE, Mode.MERGE]


@pytest.mark.feature("E47")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_wanted_is_made_changed_and_then_left_alone(mode: Mode) -> None:
    async with world() as it:
        own = it.own(how=How(mode))
        await own.add(config_map("one", a="1"), deployment("web")).apply()
        await own.add(config_map("one", a="2")).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "2"}
        it.requests.calls.clear()
        result = await own.apply()
        assert result.is_complete
        assert not it.requests.writes


@pytest.mark.feature("E52")
@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_new_process_sends_nothing_for_what_is_so_already(replicas: int) -> None:
    async with world() as it:
        await it.own().add(config_map("one"), deployment("web", replicas)).apply()
        it.requests.calls.clear()
        plan = await it.own().add(config_map("one"), deployment("web", replicas)).plan()
        assert [step.action for step in plan.steps] == [Action.KEEP, Action.KEEP]
        assert plan.is_empty
        assert plan.render() == "nothing to do"


async def test_an_object_of_a_kind_that_nobody_serves_or_installs_is_refused() -> None:
    async with world() as it:
        own = it.own().add({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
        with pytest.raises(NoMatch, match="Widget"):
            await own.plan()
        with pytest.raises(NoMatch, match="Widget"):
            await own.apply()
        assert not it.requests.writes


@pytest.mark.feature("E52")
async def test_drift_is_repaired() -> None:
    async with world() as it:
        own = it.own(how=How(force=True)).add(config_map("one", a="1"))
        await own.apply()
        await it.direct.patch(CONFIG_MAP, merge({"data": {"a": "9"}}), "one", "default")
        plan = await own.plan()
        assert '~ /data/a: "9" -> "1"' in plan.render()
        await own.apply(plan)
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "1"}


@pytest.mark.feature("E48")
async def test_a_field_that_is_left_out_goes_and_what_others_wrote_stays() -> None:
    async with world() as it:
        own = it.own()
        await own.add(config_map("one", a="1", b="2")).apply()
        await it.direct.patch(CONFIG_MAP, merge({"data": {"c": "3"}}), "one", "default", field_manager="other")
        plan = await own.add(config_map("one", a="1")).plan()
        assert '- /data/b: "2"' in plan.render()
        await own.apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "1", "c": "3"}


@pytest.mark.feature("E48")
async def test_an_update_removes_keys_and_keeps_finalizers_and_owners_of_others() -> None:
    async with world() as it:
        other = await it.owner("other")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other["metadata"]["uid"]}
        own = it.own(how=How(Mode.UPDATE), owner=await it.owner())
        await own.add(config_map("one", a="1", b="2")).apply()
        owners = (await it.direct.get(CONFIG_MAP, "one", "default"))["metadata"]["ownerReferences"]
        change = {"finalizers": ["example.com/x"], "ownerReferences": [*owners, reference]}
        await it.direct.patch(CONFIG_MAP, merge({"metadata": change}), "one", "default")
        await own.add(config_map("one", a="1")).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert found["data"] == {"a": "1"}
        assert found["metadata"]["finalizers"] == ["example.com/x"]
        assert {item["name"] for item in found["metadata"]["ownerReferences"]} == {"boss", "other"}


@pytest.mark.feature("E49")
@pytest.mark.parametrize("mode", MODES)
async def test_with_a_lock_a_version_that_is_gone_is_a_conflict_but_nothing_new_is(mode: Mode) -> None:
    async with world() as it:
        own = it.own(how=How(mode, lock=True))
        await own.add(config_map("one", a="1")).apply()
        seen = await it.direct.get(CONFIG_MAP, "one", "default")
        await it.direct.patch(CONFIG_MAP, merge({"data": {"c": "3"}}), "one", "default")
        changed = config_map("one", a="2")
        changed["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"]
        with pytest.raises(Conflict):
            await own.add(changed).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "1", "c": "3"}
        await own.add(config_map("one", a="2")).apply()


async def test_who_is_faster_is_looked_at_anew_without_a_lock() -> None:
    async with world() as it:
        own = it.own(how=How(Mode.UPDATE))
        await own.add(config_map("one", a="1")).apply()

        async def faster(call: object) -> None:
            await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": ["example.com/x"]}}), "one", "default")

        it.requests.before = faster
        await own.add(config_map("one", a="2")).apply()
        found = await it.direct.get(CONFIG_MAP, "one", "default")
        assert found["data"] == {"a": "2"}
        assert found["metadata"]["finalizers"] == ["example.com/x"]


@pytest.mark.feature("E50")
async def test_fields_of_another_manager_are_a_conflict_unless_forced() -> None:
    async with world() as it:
        await it.direct.apply(config_map("one", a="1"), field_manager="other")
        with pytest.raises(ApplyConflict, match="other"):
            await it.own().add(config_map("one", a="2")).apply()
        await it.own().add(config_map("one", a="2"), how=How(force=True)).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "2"}


# Pruning


@pytest.mark.feature("E55")
async def test_nothing_is_pruned_of_a_run_that_did_not_complete() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        bad: Object = {**config_map("Not A Name"), "data": {}}
        with pytest.raises(Invalid):
            await it.own().add(config_map("one"), bad).apply()
        assert await it.names() == {"one", "two"}
        async with it.own().collect() as own:
            own.add(config_map("one"))
        assert await it.names() == {"one"}


async def test_a_block_that_raises_changes_nothing() -> None:
    async with world() as it:
        await it.own().add(config_map("one")).apply()

        async def fail() -> None:
            async with it.own().collect() as own:
                own.add(config_map("two"))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert await it.names() == {"one"}


@pytest.mark.feature("E55", "E54")
async def test_only_the_object_with_the_recorded_uid_is_pruned() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        await it.direct.delete(CONFIG_MAP, "two", "default")
        await it.direct.create(config_map("two", mine="yes"))
        result = await it.own().add(config_map("one")).apply()
        assert result.pruned == []
        assert (await it.direct.get(CONFIG_MAP, "two", "default"))["data"] == {"mine": "yes"}


@pytest.mark.feature("E55")
async def test_more_than_the_limit_is_not_pruned_and_told() -> None:
    async with world() as it:
        names = ["a", "b", "c", "d"]
        await it.own().add(*(config_map(name) for name in names)).apply()
        with pytest.raises(PruneWithheld, match="limit of 2"):
            await it.own(prune=Prune(limit=2)).add(config_map("a")).apply()
        assert await it.names() == set(names)
        await it.own(prune=Prune(limit=3)).add(config_map("a")).apply()
        assert await it.names() == {"a"}


@pytest.mark.feature("E55")
async def test_what_says_so_is_not_pruned_nor_deleted_with_the_set() -> None:
    async with world() as it:
        kept = config_map("kept")
        kept["metadata"]["annotations"] = {"setpoint.dev/prune": "false"}
        await it.own().add(config_map("one"), kept).apply()
        await it.own().add(config_map("one")).apply()
        await it.own().delete()
        assert await it.names() == {"kept"}


@pytest.mark.feature("E55")
async def test_pruning_can_be_off() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        await it.own(prune=Prune(enabled=False)).add(config_map("one")).apply()
        assert await it.names() == {"one", "two"}
        await it.own().add(config_map("one")).apply()
        assert await it.names() == {"one"}


@pytest.mark.feature("E55")
async def test_what_is_unwanted_has_its_grace() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with world(clock=clock) as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        own = it.own(prune=Prune(grace=30)).add(config_map("one"))
        assert (await own.apply()).again_after == 30
        clock.advance(20)
        assert (await own.apply()).again_after == 10
        clock.advance(10)
        assert [each.name for each in (await own.apply()).pruned] == ["two"]
        assert await it.names() == {"one"}


async def test_what_is_wanted_again_begins_a_new_grace() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with world(clock=clock) as it:
        both = (config_map("one"), config_map("two"))
        await it.own().add(*both).apply()
        await it.own(prune=Prune(grace=30)).add(both[0]).apply()
        await it.own(prune=Prune(grace=30)).add(*both).apply()
        clock.advance(60)
        assert (await it.own(prune=Prune(grace=30)).add(both[0]).apply()).again_after == 30


async def test_what_has_finalizers_is_known_until_it_is_gone() -> None:
    async with world() as it:
        slow = config_map("slow")
        slow["metadata"]["finalizers"] = ["example.com/x"]
        await it.own().add(config_map("one"), slow).apply()
        await it.own().add(config_map("one")).apply()
        assert "slow" in (await it.inventories())[0]["data"]["inventory"]
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "slow", "default")
        await it.own().add(config_map("one")).apply()
        assert "slow" not in (await it.inventories())[0]["data"]["inventory"]


@pytest.mark.feature("E55")
async def test_an_object_in_another_version_is_the_same_object() -> None:
    async with world() as it:
        scaler: Object = {
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
            },
        }
        await it.own().add(scaler).apply()
        before = await it.direct.get("autoscaling/v2/HorizontalPodAutoscaler", "web", "default")
        result = await it.own().add({**scaler, "apiVersion": "autoscaling/v2"}).apply()
        assert result.pruned == []
        after = await it.direct.get("autoscaling/v2/HorizontalPodAutoscaler", "web", "default")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]


# Adoption


@pytest.mark.feature("E57")
@pytest.mark.parametrize("mode", MODES)
async def test_adoption_is_by_policy(mode: Mode) -> None:
    async with world() as it:
        await it.direct.apply(config_map("free"), field_manager=MANAGER)
        with pytest.raises(Refused, match="does not adopt objects"):
            await it.own(how=How(mode, adopt=Adopt.NEVER)).add(config_map("free")).apply()
        await it.own(how=How(mode)).add(config_map("free")).apply()
        assert await it.names() == {"free"}
        with pytest.raises(Refused, match="another set, main"):
            await it.own("second", how=How(mode)).add(config_map("free")).apply()
        await it.own("second", how=How(mode, adopt=Adopt.ALWAYS, force=True)).add(config_map("free")).apply()
        # The first set does not have it any more, and deletes nothing.
        await it.own().apply()
        assert await it.names() == {"free"}


@pytest.mark.feature("E57")
async def test_what_a_controller_or_a_tool_has_is_not_adopted() -> None:
    async with world() as it:
        other = await it.owner("other")
        await it.own("others", owner=other).add(config_map("theirs")).apply()
        await it.direct.patch(
            CONFIG_MAP, merge({"metadata": {"labels": {"setpoint.dev/apply-set": None}}}), "theirs", "default"
        )
        charted = config_map("charted")
        charted["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
        await it.direct.create(charted)
        with pytest.raises(Refused, match="controlled by ConfigMap other"):
            await it.own(owner=await it.owner()).add(config_map("theirs")).apply()
        with pytest.raises(Refused, match="Helm"):
            await it.own().add(config_map("charted")).apply()


async def test_a_refusal_does_not_keep_the_others_from_being_written() -> None:
    async with world() as it:
        await it.direct.create(config_map("b"))
        own = it.own(how=How(adopt=Adopt.NEVER))
        first, second = config_map("a"), config_map("b")
        with pytest.raises(ApplyFailed) as failed:
            await own.add(first).add(second).add(config_map("c"), after=[second]).apply()
        assert {each.name for each in failed.value.failures} == {"b", "c"}
        assert await it.names() == {"a"}


# Owners


@pytest.mark.parametrize("state", ["being deleted", "deleted", "replaced"])
async def test_no_object_is_adopted_for_an_owner_that_is_being_deleted(state: str) -> None:
    async with world() as it:
        owner = await it.owner(finalizers=["example.com/x"])
        await it.own(owner=owner).add(config_map("one")).apply()
        # The garbage collector does so for an owner that is deleted without its dependents.
        await it.direct.patch(CONFIG_MAP, merge({"metadata": {"ownerReferences": None}}), "one", "default")
        await it.direct.delete(CONFIG_MAP, "boss", "default")
        if state != "being deleted":
            await it.direct.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "boss", "default")
        if state == "replaced":
            await it.owner()
        # The cache of the controller still has the owner of before.
        await it.own(owner=owner).add(config_map("one")).apply()
        assert "ownerReferences" not in (await it.direct.get(CONFIG_MAP, "one", "default"))["metadata"]


async def test_an_owned_object_needs_no_read_of_its_owner() -> None:
    async with world() as it:
        owner = await it.owner()
        await it.own(owner=owner).add(config_map("one")).apply()
        it.requests.calls.clear()
        await it.own(owner=owner).add(config_map("one", a="2")).apply()
        assert not [call for call in it.requests.calls if call.method == "GET" and call.path.endswith("/boss")]


@pytest.mark.feature("E53", "E62")
async def test_owner_references_where_legal_and_the_inventory_where_not() -> None:
    async with world(system=True) as it:
        await it.direct.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}})
        owner = await it.owner()
        role: Object = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "reader", "namespace": "default"},
            "rules": [],
        }
        own = it.own(owner=owner).add(config_map("near", namespace=""), config_map("there", namespace="far"), role)
        result = await own.apply()
        near = result.get(CONFIG_MAP, "near", "default")
        assert near["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        assert near["metadata"]["ownerReferences"][0]["controller"] is True
        there = result.get(CONFIG_MAP, "there", "far")
        assert "ownerReferences" not in there["metadata"]
        found = find_owner(there)
        assert found is not None
        assert (found.name, found.namespace, found.gvk.kind) == ("boss", "default", "ConfigMap")
        # The inventory must not go with the owner, for not all objects do.
        assert "ownerReferences" not in (await it.inventories())[0]["metadata"]
        await it.direct.delete(CONFIG_MAP, "boss", "default")
        await it.plane.settle()
        assert await it.names(namespace="far") == {"there"}
        assert await purge_orphans(it.direct, field_manager=MANAGER) == [own.id]
        assert await it.names(namespace="far") == set()
        assert await it.inventories() == []
        with pytest.raises(NotFound):
            await it.direct.get("rbac.authorization.k8s.io/v1/ClusterRole", "reader")


@pytest.mark.parametrize("how", [How(), How(owner_references=False)], ids=["owned", "not owned"])
async def test_the_inventory_goes_with_the_owner_if_all_objects_do(how: How) -> None:
    async with world() as it:
        owner = await it.owner()
        own = it.own(owner=owner).add(config_map("one")).add(config_map("two"), how=how)
        await own.apply()
        [inventory] = await it.inventories()
        references = [each["uid"] for each in inventory["metadata"].get("ownerReferences", [])]
        assert references == ([] if how.owner_references is False else [owner["metadata"]["uid"]])


async def test_the_inventory_of_a_cluster_scoped_owner_goes_with_it() -> None:
    async with world() as it:
        owner = await it.direct.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}})
        await it.own(owner=owner, namespace="far").add(config_map("one", namespace="far")).apply()
        [inventory] = await it.inventories("far")
        assert [each["kind"] for each in inventory["metadata"]["ownerReferences"]] == ["Namespace"]


async def test_the_sets_of_living_owners_are_no_orphans() -> None:
    async with world() as it:
        await it.own(owner=await it.owner(), how=How(owner_references=False)).add(config_map("one")).apply()
        await it.own("free").add(config_map("two")).apply()
        assert await purge_orphans(it.direct, field_manager=MANAGER) == [], "a set without an owner is no orphan"
        assert await it.names() == {"one", "two"}


@pytest.mark.feature("E56")
async def test_nothing_is_made_for_an_owner_that_is_being_deleted() -> None:
    async with world() as it:
        owner = await it.owner(finalizers=["example.com/x"])
        await it.own(owner=owner).add(config_map("one", a="1")).apply()
        await it.direct.delete(CONFIG_MAP, "boss", "default")
        going = await it.direct.get(CONFIG_MAP, "boss", "default")
        result = await it.own(owner=going).add(config_map("one", a="2"), config_map("two")).apply()
        assert await it.names() == {"one"}
        assert result.get(CONFIG_MAP, "one", "default")["data"] == {"a": "2"}
        assert result.get(CONFIG_MAP, "one", "default")["metadata"]["ownerReferences"]


# Ignored fields, replacing, ordering


@pytest.mark.feature("E59")
@pytest.mark.parametrize("mode", MODES)
async def test_ignored_fields_are_left_to_others(mode: Mode) -> None:
    async with world() as it:
        own = it.own(how=How(mode)).ignore("apps/v1/Deployment", "/spec/replicas")
        await own.add(deployment("web", 3)).apply()
        assert (await own.apply()).written == []
        await it.direct.patch("apps/v1/Deployment", merge({"spec": {"replicas": 7}}), "web", "default")
        await own.apply()
        await own.add(deployment("web", 3, image="web:2")).apply()
        spec = (await it.direct.get("apps/v1/Deployment", "web", "default"))["spec"]
        assert spec["replicas"] == 7
        assert spec["template"]["spec"]["containers"][0]["image"] == "web:2"


@pytest.mark.feature("E59")
async def test_ignored_fields_of_items() -> None:
    async with world() as it:
        own = it.own().ignore("apps/v1/Deployment", "/spec/template/spec/containers/*/image")
        await own.add(deployment("web", 3, "web:1")).apply()
        # The field is still ours, so that its value has to be sent to stay.
        await own.add(deployment("web", 2, "web:2")).apply()
        spec = (await it.direct.get("apps/v1/Deployment", "web", "default"))["spec"]
        assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (2, "web:1")
        await it.direct.patch(
            "apps/v1/Deployment",
            merge({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:9"}]}}}}),
            "web",
            "default",
        )
        await own.add(deployment("web", 4, "web:1")).apply()
        spec = (await it.direct.get("apps/v1/Deployment", "web", "default"))["spec"]
        assert spec["replicas"] == 4
        assert spec["template"]["spec"]["containers"][0]["image"] == "web:9"


@pytest.mark.feature("E58")
async def test_what_cannot_change_is_replaced_by_policy() -> None:
    async with world() as it:
        sealed: Object = {**config_map("one", a="1"), "immutable": True}
        changed: Object = {**config_map("one", a="2"), "immutable": True}
        await it.own().add(sealed).apply()
        before = await it.direct.get(CONFIG_MAP, "one", "default")
        with pytest.raises(Invalid):
            await it.own().add(changed).apply()
        later = it.own().on_immutable(CONFIG_MAP, Replace.WAIT_GONE).add(changed)
        assert [step.action for step in (await later.plan()).steps] == [Action.REPLACE]
        await later.apply()
        after = await it.direct.get(CONFIG_MAP, "one", "default")
        assert after["data"] == {"a": "2"}
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.feature("E58")
async def test_what_the_server_alone_knows_to_be_unchangeable_is_replaced_in_a_later_run() -> None:
    async with world() as it:
        claim: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "disk", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "slow",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        other = copy.deepcopy(claim)
        other["spec"]["storageClassName"] = "fast"
        own = it.own(how=How(replace=Replace.LATER))
        await own.add(claim).apply()
        assert not (await own.add(other).apply()).is_complete
        for _ in range(2):
            found = (await it.direct.list("v1/PersistentVolumeClaim", "default")).items
            if found and found[0]["metadata"].get("finalizers"):
                await it.direct.patch(
                    "v1/PersistentVolumeClaim", merge({"metadata": {"finalizers": None}}), "disk", "default"
                )
            result = await own.apply()
        assert result.is_complete
        found = (await it.direct.list("v1/PersistentVolumeClaim", "default")).items
        assert found[0]["spec"]["storageClassName"] == "fast"


@pytest.mark.feature("E64")
async def test_a_definition_and_its_objects_in_one_set() -> None:
    async with world() as it:
        definition: Object = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "toys.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
                ],
            },
        }
        toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "bear"}}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "toys"}}
        own = it.own(namespace="default")
        own.add({**toy, "metadata": {"name": "bear", "namespace": "toys"}}, definition, space)
        result = await own.apply()
        assert [each.kind for each in result.written] == ["Namespace", "CustomResourceDefinition", "Toy"]
        assert (await own.apply()).written == []


@pytest.mark.feature("E64")
async def test_declared_dependencies_come_before_known_kinds_and_circles_are_told() -> None:
    async with world() as it:
        web, late = deployment("web"), config_map("late")
        result = await it.own().add(late, after=[web]).add(web).apply()
        assert [each.name for each in result.written] == ["web", "late"]
        with pytest.raises(ValueError, match="dependency cycle"):
            await it.own("other").add(late, after=[web]).add(web, after=[late]).plan()


# Plans


@pytest.mark.feature("E60")
async def test_a_plan_is_applied_exactly_or_not_at_all() -> None:
    async with world() as it:
        own = it.own()
        await own.add(config_map("one"), config_map("two")).apply()
        again = it.own().add(config_map("one", a="5"))
        plan = await again.plan()
        assert plan.render().splitlines() == [
            "apply ConfigMap default/one: differs from the wanted object",
            '    ~ /data/a: "1" -> "5"',
            "prune ConfigMap default/two: no longer wanted",
        ]
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "1"}
        await it.direct.patch(CONFIG_MAP, merge({"data": {"z": "1"}}), "one", "default")
        with pytest.raises(PlanOutdated):
            await again.apply(plan)
        assert await it.names() == {"one", "two"}
        await again.apply(await again.plan())
        assert await it.names() == {"one"}


# The inventory, deletion


@pytest.mark.feature("E54")
async def test_an_inventory_in_the_status_of_the_owner() -> None:
    async with world() as it:
        definition: Object = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "teams.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "teams", "singular": "team", "kind": "Team", "listKind": "TeamList"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                ],
            },
        }
        await it.own("definitions").add(definition).apply()
        team: Object = {
            "apiVersion": "example.com/v1",
            "kind": "Team",
            "metadata": {"name": "bakers", "namespace": "default"},
        }

        def own(tree: Object) -> ApplySet:
            return it.own(owner=tree, record=StatusRecord(tree, MANAGER))

        first = await it.direct.create(team)
        await own(first).add(config_map("one"), config_map("two")).apply()
        with pytest.raises(Conflict):
            await own(first).add(config_map("three")).apply()
        assert await it.names() == {"one", "two"}
        owner = await it.direct.get("example.com/v1/Team", "bakers", "default")
        assert [entry["name"] for entry in owner["status"]["inventory"]] == ["one", "two"]
        await own(owner).add(config_map("one")).apply()
        assert await it.names() == {"one"}
        owner = await it.direct.get("example.com/v1/Team", "bakers", "default")
        assert await own(owner).delete()
        assert await it.names() == set()


@pytest.mark.feature("E64")
async def test_deleting_a_set_deletes_its_objects_and_its_inventory_and_nothing_else() -> None:
    async with world() as it:
        await it.own("other").add(config_map("other")).apply()
        await it.own().add(config_map("one"), deployment("web")).apply()
        assert await it.own().delete()
        assert await it.names() == {"other"}
        assert await it.names("apps/v1/Deployment") == set()
        assert len(await it.inventories()) == 1
        assert await it.own().delete()


async def test_an_inventory_that_cannot_be_read_stops_everything() -> None:
    async with world() as it:
        await it.own().add(config_map("one"), config_map("two")).apply()
        where = (await it.inventories())[0]["metadata"]["name"]
        await it.direct.patch(CONFIG_MAP, merge({"data": {"inventory": "{"}}), where, "default")
        with pytest.raises(ValueError, match="repair or delete"):
            await it.own().add(config_map("one")).apply()
        assert await it.names() == {"one", "two"}


@pytest.mark.feature("E61")
async def test_transforms_change_what_is_written_and_not_what_was_given() -> None:
    def labelled(tree: Object) -> None:
        tree["metadata"].setdefault("labels", {})["team"] = "bakers"

    async with world() as it:
        given = config_map("one")
        before = copy.deepcopy(given)
        result = await it.own(transforms=[labelled]).add(given).apply()
        assert result.get(CONFIG_MAP, "one", "default")["metadata"]["labels"]["team"] == "bakers"
        assert given == before


async def test_a_namespace_that_ends_is_told_and_nothing_is_pruned() -> None:
    async with world() as it:
        space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}}
        await it.direct.create(space)
        await it.own().add(config_map("one"), config_map("two")).apply()
        await it.direct.delete("v1/Namespace", "far")
        with pytest.raises(Forbidden):
            await it.own().add(config_map("one"), config_map("x", namespace="far")).apply()
        assert await it.names() == {"one", "two"}


async def test_a_set_needs_a_place_for_its_inventory_and_a_field_manager() -> None:
    async with world() as it:
        with pytest.raises(ValueError, match="the inventory ConfigMap needs a namespace: set namespace or record"):
            it.own(namespace="")
        record = ConfigMapRecord("main", "default", None, MANAGER)
        own = it.own(namespace="", record=record).add(config_map("one"))
        assert (await own.apply()).written
        assert [each["metadata"]["name"] for each in await it.inventories()] == [record.name]
        with pytest.raises(ValueError, match="needs a namespace: set the namespace of the object or of the set"):
            await it.own(namespace="", record=record).add(config_map("two", namespace="")).apply()
        with pytest.raises(ValueError, match="needs a stable field manager: set field_manager"):
            it.own(client=it.direct)


async def test_a_field_that_is_no_longer_ignored_is_written() -> None:
    async with world() as it:
        memory = Applied()
        await it.own(memory=memory).add(config_map("one", a="1", b="1")).apply()
        await it.direct.patch(CONFIG_MAP, merge({"data": {"a": "9"}}), "one", "default")
        ignoring = it.own(memory=memory).ignore(CONFIG_MAP, "/data/a").add(config_map("one", a="1", b="1"))
        await ignoring.apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "9", "b": "1"}
        await it.own(memory=memory, how=How(force=True)).add(config_map("one", a="1", b="1")).apply()
        assert (await it.direct.get(CONFIG_MAP, "one", "default"))["data"] == {"a": "1", "b": "1"}


async def test_a_deleted_set_has_no_objects_left_to_write() -> None:
    async with world() as it:
        own = it.own().add(config_map("one"))
        await own.apply()
        own.add(config_map("two"))
        assert await own.delete()
        assert (await own.apply()).written == []
        assert await it.names() == set()
