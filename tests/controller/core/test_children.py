"""`ctx.own`: an object becomes a child of the one that is reconciled."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.controller.core.worlds import Widget, World, config_map, until, widget, with_widgets

from setpoint.api.core.v1 import ConfigMap
from setpoint.api.rbac.v1 import ClusterRole
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.schema.types import ObjectMeta


async def reconciled(world: World, work: Any, *, owns: Sequence[str] = ("v1/ConfigMap",)) -> None:
    """Has `work` called in a reconcile of a widget, and waits for it."""
    await with_widgets(world)
    done = []

    async def reconcile(ctx: Context, request: Request) -> None:
        await work(ctx)
        done.append(request)

    await world.run(Controller("widget", reconcile, kind=Widget, owns=owns))
    await world.client.create(widget("w"))
    await until(lambda: bool(done))


async def test_a_typed_child_is_in_the_namespace_of_its_owner_and_controlled_by_it(world: World) -> None:
    async def work(ctx: Context) -> None:
        child = ConfigMap(metadata=ObjectMeta(name="child"), data={"a": "b"})
        await ctx.client.apply(ctx.own(child))
        assert not child.metadata.owner_references

    await reconciled(world, work)
    found = await world.client.get(ConfigMap, "child", "default")
    [owner] = found.metadata.owner_references
    uid = (await world.client.get(Widget, "w", "default")).metadata.uid
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Widget", "w", uid, True)


async def test_a_tree_is_copied_and_keeps_its_other_owners(world: World) -> None:
    async def work(ctx: Context) -> None:
        other = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "u"}
        child = config_map("child", ownerReferences=[other])
        owned = ctx.own(child)
        assert [owner["kind"] for owner in owned["metadata"]["ownerReferences"]] == ["Secret", "Widget"]
        assert child["metadata"]["ownerReferences"] == [other]

    await reconciled(world, work)


async def test_what_another_controls_or_lives_elsewhere_is_no_child(world: World) -> None:
    async def work(ctx: Context) -> None:
        other = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "u", "controller": True}
        with pytest.raises(ValueError, match="already controlled by Secret s"):
            ctx.own(config_map("child", ownerReferences=[other]))
        with pytest.raises(ValueError, match="cross-namespace"):
            ctx.own({**config_map("child"), "metadata": {"name": "child", "namespace": "other"}})

    await reconciled(world, work)


async def test_nothing_can_belong_to_what_is_gone(world: World) -> None:
    errors: list[str] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        try:
            ctx.own(config_map("child"))
        except LookupError as error:
            errors.append(str(error))

    controller = await world.run(Controller("widget", reconcile, kind="v1/Secret"))
    controller.enqueue(Request("gone", "default"))
    await until(lambda: bool(errors))
    assert errors == ["default/gone is deleted and cannot own objects"]


async def test_a_cluster_scoped_object_is_no_child_of_a_namespaced_one(world: World) -> None:
    async def work(ctx: Context) -> None:
        with pytest.raises(ValueError, match="ClusterRole r is cluster-scoped, and a namespaced Widget cannot own it"):
            ctx.own(ClusterRole(metadata=ObjectMeta(name="r")))
        tree = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
        with pytest.raises(ValueError, match=r"delete it in ctx\.finalize"):
            await ctx.client.apply(ctx.own(tree))

    await reconciled(world, work, owns=["rbac.authorization.k8s.io/v1/ClusterRole"])
    assert [each for each in (await world.client.list(ClusterRole)).items if each.metadata.name == "r"] == []
