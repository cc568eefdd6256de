"""The outputs of a walk are one set: what a completed walk no longer puts out is deleted, and nothing else ever is."""

import asyncio
from typing import Any

import pytest
from tests.flow.fsm.worlds import FINALIZER, Bucket, World, bucket, config_map, new_world, settle, until

from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.flow.fsm import FSM, Done, Fail, Next, Note, Outputs, Wait
from setpoint.flow.policy import Adopt, How, Prune, Replace
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.testing import Faults

CONFIG_MAP = "v1/ConfigMap"
OURS = "app.kubernetes.io/managed-by"


def two_states(names: list[list[str]], answer: Any = None, **how: Any) -> FSM:
    """Each state puts out the ConfigMaps of its list; the second answers what it is given."""
    fsm = FSM(Bucket, **how)

    @fsm.state("One")
    async def one(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(*map(config_map, names[0]))
        return two

    @fsm.state("Two")
    async def two(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(*map(config_map, names[1]))
        result = answer() if answer is not None else Done()
        if isinstance(result, Exception) and not isinstance(result, Wait | Fail):
            raise result
        return result

    return fsm


async def touch(world: World, label: str, name: str = "b") -> None:
    """Has the object walk again."""
    await world.change(lambda found: found.metadata.labels.update(now=label), name)


async def outputs(world: World, namespace: str = "default") -> set[str]:
    found = await world.client.list(CONFIG_MAP, namespace, labels="setpoint.dev/apply-set,!setpoint.dev/kind")
    return {each["metadata"]["name"] for each in found.items}


async def comes_back(world: World, name: str, namespace: str) -> None:
    """Deletes a ConfigMap, and waits until there is another one."""
    before = (await world.client.get(CONFIG_MAP, name, namespace))["metadata"]["uid"]
    await world.client.delete(CONFIG_MAP, name, namespace)

    def is_another(found: Any) -> bool:
        return found is not None and found["metadata"]["uid"] != before

    await world.client.wait_for(CONFIG_MAP, name, namespace, is_another, timeout=5)


async def again(world: World, controller: Any, label: str) -> None:
    """Has the object walk again, and waits for that."""
    count = len(controller.runs)
    await touch(world, label)
    await until(lambda: len(controller.runs) > count)
    await settle(controller)


@pytest.mark.feature("G9", "E55")
async def test_what_a_completed_walk_no_longer_puts_out_is_deleted(world: World) -> None:
    names = [["a", "b"], ["c"]]
    controller = world.run(two_states(names))
    await world.create()
    await world.is_so("Ready=True/Ready")
    assert await outputs(world) == {"a", "b", "c"}
    names[0].remove("b")
    names[1].remove("c")
    await again(world, controller, "less")
    assert await outputs(world) == {"a"}
    names[0].clear()
    await again(world, controller, "nothing")
    assert await outputs(world) == set()


@pytest.mark.feature("G9", "E55", "E5")
@pytest.mark.parametrize(
    "answer",
    [Wait(60), Wait(60, keep_outputs=True), Fail("Broken", terminal=True), RuntimeError("broken")],
    ids=["wait", "wait with outputs", "fail", "exception"],
)
async def test_a_walk_that_is_cut_short_deletes_nothing(world: World, answer: Any) -> None:
    names, answers = [["a", "b"], ["c"]], [Done()]
    controller = world.run(two_states(names, lambda: answers[0]))
    await world.create()
    await world.is_so("Ready=True/Ready")
    names[0].remove("b")
    names[1][:] = ["d"]
    answers[0] = answer
    await again(world, controller, "cut")
    kept = {"d"} if getattr(answer, "keep_outputs", False) else set()
    assert await outputs(world) == {"a", "b", "c"} | kept
    answers[0] = Done()
    await again(world, controller, "whole")
    await world.is_so("Ready=True/Ready")
    assert await outputs(world) == {"a", "d"}


@pytest.mark.feature("E55", "E74")
async def test_a_suspended_object_has_nothing_deleted(world: World) -> None:
    names = [["a"], ["b"]]
    controller = world.run(two_states(names))
    await world.create()
    await world.is_so("Ready=True/Ready")
    names[1].clear()
    await world.change(lambda found: setattr(found.spec, "suspend", True))
    await world.is_so("Suspended=True/Suspended")
    await settle(controller)
    assert await outputs(world) == {"a", "b"}


@pytest.mark.feature("E55")
async def test_what_is_to_be_kept_stays_without_its_owner(world: World) -> None:
    wanted, fsm = [True], FSM(Bucket)
    fsm.keep("v1/Secret")

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        if wanted[0]:
            out.apply(config_map("data"), keep=True)
            out.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}})
        return Done()

    controller = world.run(fsm)
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    wanted[0] = False
    await again(world, controller, "without")
    await world.client.delete(made)
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)
    for kind, name in ((CONFIG_MAP, "data"), ("v1/Secret", "key")):
        assert "ownerReferences" not in (await world.client.get(kind, name, "default"))["metadata"]


@pytest.mark.feature("E55")
async def test_more_than_the_limit_is_not_deleted_and_told(world: World) -> None:
    names = [["a", "b", "c"], ["d"]]
    controller = world.run(two_states(names, prune=Prune(limit=2)))
    await world.create()
    await world.is_so("Ready=True/Ready")
    names[0].clear()
    await again(world, controller, "less")
    told = await world.is_so("Ready=False/PruneWithheld")
    assert "3 objects would be pruned" in told["Ready"]["message"]
    assert await outputs(world) == {"a", "b", "c", "d"}


@pytest.mark.feature("E55")
async def test_what_is_not_wanted_any_more_has_its_grace_and_then_goes_by_itself() -> None:
    async with new_world(manual=True) as world:
        names = [["a"], ["b"]]
        controller = world.run(two_states(names, prune=Prune(grace=60)))
        await world.create()
        await world.is_so("Ready=True/Ready")
        names[1].clear()
        await again(world, controller, "less")
        assert await outputs(world) == {"a", "b"}
        await world.turn(30, controller)
        assert await outputs(world) == {"a", "b"}
        await world.turn(31, controller)
        await settle(controller)
        assert await outputs(world) == {"a"}


@pytest.mark.feature("G10", "E15", "E53", "E54")
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
async def test_outputs_elsewhere_bring_their_machine_back_and_go_with_the_object(declared: bool) -> None:
    async def test(world: World) -> None:
        fsm = FSM(Bucket)

        @fsm.state("Stored")
        async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
            out.apply(config_map("near"))
            out.apply(config_map("far", namespace="elsewhere"))
            out.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}})
            return Done()

        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
        world.run(fsm, owns=[CONFIG_MAP, "v1/Namespace"] if declared else [])
        made = await world.create()
        await world.is_so("Ready=True/Ready")
        found = await world.client.get(Bucket, "b", "default")
        assert found.metadata.finalizers == ["setpoint.dev/bucket"]
        far = await world.client.get(CONFIG_MAP, "far", "elsewhere")
        assert "ownerReferences" not in far["metadata"]
        for name, namespace in (("near", "default"), ("far", "elsewhere")):
            await comes_back(world, name, namespace)
        await world.client.delete(made)
        await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)
        gone = await world.client.list(CONFIG_MAP, "elsewhere", labels="setpoint.dev/apply-set")
        assert gone.items == []
        assert await outputs(world) == set()

    async with asyncio.timeout(20), ControlPlane() as plane, plane.client() as client:
        await client.install(Bucket)
        async with Manager(client) as manager:
            await test(World(client, manager, None))


@pytest.mark.parametrize(
    ("namespace", "how", "finalizers"),
    [
        ("default", {}, []),
        ("default", {"owned": False}, ["setpoint.dev/bucket"]),
        ("default", {"keep": True}, []),
        ("elsewhere", {}, ["setpoint.dev/bucket"]),
        ("elsewhere", {"keep": True}, []),
    ],
    ids=["near", "near without owner", "near and kept", "far", "far and kept"],
)
async def test_an_object_gets_a_finalizer_only_for_outputs_that_would_outlive_it(
    world: World, namespace: str, how: dict[str, bool], finalizers: list[str]
) -> None:
    fsm = FSM(Bucket)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("a", namespace=namespace), **how)  # type: ignore[arg-type]
        return Done()

    await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    world.run(fsm)
    await world.create()
    await world.is_so("Ready=True/Ready")
    assert (await world.client.get(Bucket, "b", "default")).metadata.finalizers == finalizers


@pytest.mark.feature("E66", "E65")
async def test_children_are_deleted_in_order_and_the_object_waits_for_the_last(world: World) -> None:
    fsm = FSM(Bucket, finalizer=FINALIZER)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}}
        service["spec"] = {"ports": [{"port": 80}]}
        service["metadata"]["finalizers"] = ["example.com/slow"]
        out.apply(config_map("data"), service)
        return Done()

    fsm.delete_children("ChildrenDeleted")
    world.run(fsm, owns=[CONFIG_MAP, "v1/Service"])
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made)
    told = await world.is_so("ChildrenDeleted=False/WaitingForChildren", "Ready=False/Deleting")
    assert told["ChildrenDeleted"]["message"] == "not deleted yet: Service default/front, ConfigMap default/data"
    assert await world.has("data")  # others may need it: it goes after them
    await world.client.patch("v1/Service", merge({"metadata": {"finalizers": None}}), "front", "default")
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)
    assert not await world.has("data")


@pytest.mark.feature("E66")
@pytest.mark.parametrize("finalizes", [False, True], ids=["without states", "with states"])
async def test_an_object_waits_for_outputs_that_are_not_deleted_yet(world: World, finalizes: bool) -> None:
    fsm = FSM(Bucket, finalizer=FINALIZER)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(*(config_map(name, finalizers=["example.com/slow"]) for name in "abcd"))
        return Done()

    if finalizes:

        @fsm.finalize("Removed")
        async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
            return Done()

    world.run(fsm)
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made)
    told = await world.is_so("Ready=False/Deleting", "Stored=Unknown/Deleting")
    names = ", ".join(f"ConfigMap default/{name}" for name in "dcb")
    assert told["Ready"]["message"] == f"waiting for the deletion of outputs: {names} and 1 more"
    assert (told["Removed"]["status"] if finalizes else "True") == "True"
    for name in "abcd":
        assert (await world.client.get(Bucket, "b", "default")).metadata.finalizers == [FINALIZER]
        await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), name, "default")
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)
    assert await outputs(world) == set()


@pytest.mark.parametrize("manager", ["", "storage"])
async def test_outputs_are_of_the_field_manager_of_the_controller(world: World, manager: str) -> None:
    world.run(two_states([["a"], []]), **({"field_manager": manager} if manager else {}))
    await world.create()
    await world.is_so("Ready=True/Ready")
    found = await world.client.get(CONFIG_MAP, "a", "default")
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == [manager or "bucket"]


@pytest.mark.feature("E66")
async def test_the_outputs_of_an_object_that_is_deleted_without_them_stay(world: World) -> None:
    controller = world.run(two_states([["a"], ["b"]], finalizer=FINALIZER))
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made, propagation="Orphan")
    await settle(controller)
    await world.client.patch(Bucket, merge({"metadata": {"finalizers": None}}), "b", "default")
    assert await outputs(world) == {"a", "b"}


@pytest.mark.feature("E56")
async def test_nothing_is_made_for_an_object_that_is_being_deleted(world: World) -> None:
    fsm = two_states([["a"], ["b"]], finalizer=FINALIZER)

    @fsm.finalize("Removed")
    async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("a", {"going": "yes"}), config_map("farewell"))
        return Wait(60, keep_outputs=True)

    world.run(fsm)
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made)
    await world.is_so("Ready=False/Deleting")
    assert (await world.client.get(CONFIG_MAP, "a", "default"))["data"] == {"going": "yes"}
    assert not await world.has("farewell")


@pytest.mark.feature("E6")
async def test_a_note_never_lets_an_object_go(world: World) -> None:
    fsm, fine = two_states([["a"], []], finalizer=FINALIZER), [False]

    @fsm.finalize("Removed")
    async def removed(ctx: Context, found: Bucket, out: Outputs) -> Next:
        return Done() if fine[0] else Note(Done(), "Untidy", "something is left")

    world.run(fsm)
    made = await world.create()
    await world.is_so("Ready=True/Ready")
    await world.client.delete(made)
    told = await world.is_so("Removed=False/Untidy", "Ready=False/Deleting")
    assert told["Ready"]["message"] == "Removed: something is left"
    assert (await world.client.get(Bucket, "b", "default")).metadata.finalizers == [FINALIZER]
    fine[0] = True
    await world.client.wait_for(Bucket, "b", "default", "delete", timeout=5)


@pytest.mark.feature("E12")
async def test_an_object_that_is_asked_for_is_made_on_demand(world: World) -> None:
    def make(request: Request) -> Bucket | None:
        return bucket(request.name) if request.name.startswith("wanted") else None

    controller = world.run(two_states([["a"], []], create=make))
    await until(lambda: controller.working)
    for name in ("wanted", "not-wanted"):
        controller.enqueue(Request(name, "default"))
    await world.is_so("Ready=True/Ready", name="wanted")
    await settle(controller)
    assert [each.metadata.name for each in (await world.client.list(Bucket, "default")).items] == ["wanted"]


@pytest.mark.feature("E57")
async def test_what_another_has_is_not_taken_over_unless_that_is_said(world: World) -> None:
    other = config_map("a")
    other["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "helm"}
    await world.client.create(other)
    world.run(two_states([["a"], []]))
    await world.create()
    told = await world.is_so("One=False/ApplyFailed")
    assert "managed by helm" in told["One"]["message"]
    world.run(two_states([["a"], []], how=How(adopt=Adopt.ALWAYS)), name="taker")
    await world.client.wait_for(
        CONFIG_MAP, "a", "default", lambda each: "setpoint.dev/apply-set" in each["metadata"]["labels"], timeout=5
    )


@pytest.mark.feature("E58")
async def test_an_output_that_cannot_be_changed_is_made_anew_where_that_is_said(world: World) -> None:
    fsm = FSM(Bucket)
    fsm.on_immutable(CONFIG_MAP, Replace.WAIT_GONE)

    @fsm.state("Stored")
    async def stored(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply({**config_map("sealed", {"region": found.spec.region}), "immutable": True})
        return Done()

    world.run(fsm)
    await world.create()
    await world.is_so("Ready=True/Ready")
    await world.change(lambda found: setattr(found.spec, "region", "south"))
    await world.is_so("Ready=True/Ready")
    assert (await world.client.get(CONFIG_MAP, "sealed", "default"))["data"] == {"region": "south"}


@pytest.mark.feature("E52", "G9")
async def test_a_walk_that_finds_all_as_it_was_makes_no_request_and_drift_is_repaired() -> None:
    async with asyncio.timeout(10), ControlPlane(system=False) as plane, plane.client() as direct:
        await direct.install(Bucket)
        faults = Faults(direct)
        async with Manager(faults.of(direct)) as manager:
            controller = manager.add(two_states([["a", "b"], ["c"]]).controller(owns=[CONFIG_MAP]))
            world = World(direct, manager, None)
            await world.create()
            await world.is_so("Ready=True/Ready")
            await settle(controller)
            count = len(controller.runs)
            faults.seen.clear()
            controller.enqueue(Request("b", "default"))
            await until(lambda: len(controller.runs) > count)
            assert [str(seen) for seen in faults.seen if seen.resource != "events"] == []
            await direct.patch(CONFIG_MAP, merge({"metadata": {"labels": {OURS: "x"}}}), "b", "default")
            await direct.wait_for(
                CONFIG_MAP, "b", "default", lambda each: each["metadata"]["labels"][OURS] == "bucket", timeout=5
            )


@pytest.mark.feature("E31")
async def test_a_conflict_about_the_inventory_is_settled_without_an_error(world: World) -> None:
    names = [["a"], ["b"]]
    controller = world.run(two_states(names))
    await world.create()
    await world.is_so("Ready=True/Ready")
    inventories = await world.client.list(CONFIG_MAP, "default", labels="setpoint.dev/kind=apply-set-inventory")
    [inventory] = inventories.items
    # Somebody else writes it, without changing what it says.
    await world.client.patch(
        CONFIG_MAP, merge({"metadata": {"labels": {"x": "y"}}}), inventory["metadata"]["name"], "default"
    )
    names[1][:] = ["c"]
    await again(world, controller, "other")
    assert await outputs(world) == {"a", "c"}
    assert {run.result for run in controller.runs} <= {"success", "conflict"}


async def test_an_object_that_two_states_put_out_differently_is_told(world: World) -> None:
    fsm = FSM(Bucket)

    @fsm.state("One")
    async def one(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("a", {"v": "1"}))
        return two

    @fsm.state("Two")
    async def two(ctx: Context, found: Bucket, out: Outputs) -> Next:
        out.apply(config_map("a", {"v": "2"}))
        return Done()

    world.run(fsm)
    await world.create()
    told = await world.is_so("Two=False/ApplyFailed")
    assert "added twice" in told["Two"]["message"]
