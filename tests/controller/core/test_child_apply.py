"""Children of a reconciled object: what others do to a child neither blocks its owner nor stays."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tests.controller.core.worlds import CONFIG_MAP, WIDGET, Widget, World, config_map, widget, with_widgets

from setpoint.client.client import Client
from setpoint.client.kinds import kind_of
from setpoint.client.patches import merge
from setpoint.controller.child_apply import Child, ChildError, apply_child
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request
from setpoint.objects.errors import Conflict, Invalid, NotFound
from setpoint.objects.tree import Object

Event = tuple[str, str, str]


class Recorder:
    """Keeps the warnings that a controller records."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def warning(self, regarding: Any, reason: str, note: str, **_: Any) -> None:
        self.events.append((regarding.metadata.name, reason, note))


async def run(
    world: World, child: Callable[[Widget], Object], owns: Sequence[str] = (CONFIG_MAP,), **how: Any
) -> Recorder:
    """Runs a controller of widgets that applies one child."""
    await with_widgets(world)

    async def reconcile(ctx: Context, request: Request) -> None:
        found = await ctx.object()
        if found is not None:
            await ctx.client.apply(ctx.own(child(found)), **how)
            ctx.status["size"] = found.spec.size

    controller = Controller("widget", reconcile, kind=Widget, owns=owns)
    controller.recorder = recorder = Recorder()
    await world.run(controller)
    return recorder


def sized(found: Widget) -> Object:
    return config_map("child", {"size": str(found.spec.size), "color": found.spec.color})


async def data_of(client: Client) -> Any:
    return (await client.get(CONFIG_MAP, "child", "default"))["data"]


async def until_data(client: Client, **wanted: str) -> Object:
    def holds(tree: Any) -> bool:
        return tree is not None and wanted.items() <= (tree.get("data") or {}).items()

    found = await client.wait_for(CONFIG_MAP, "child", "default", until=holds, timeout=60)
    assert found is not None
    return found


async def condition(client: Client, reason: str = "") -> Object:
    """Waits for the condition ChildrenApplied with this reason; without one, until there is none."""
    found: Object = {}

    def holds(tree: Any) -> bool:
        nonlocal found
        listed = ((tree or {}).get("status") or {}).get("conditions") or ()
        found = next((each for each in listed if each["type"] == "ChildrenApplied"), {})
        return bool(found.get("reason", "") == reason)

    await client.wait_for(WIDGET, "w", "default", until=holds, timeout=60)
    return found


async def change(client: Client) -> None:
    await client.patch(CONFIG_MAP, merge({"data": {"size": "99"}}), "child", "default", field_manager="edit")


async def remove(client: Client) -> None:
    await client.patch(CONFIG_MAP, merge({"data": {"size": None}}), "child", "default", field_manager="edit")


async def add(client: Client) -> None:
    await client.patch(CONFIG_MAP, merge({"data": {"extra": "x", "size": "9"}}), "child", "default")


async def put(client: Client) -> None:
    def empty(tree: Object) -> None:
        tree["data"] = {"color": "green"}

    await client.edit(CONFIG_MAP, "child", "default", empty, field_manager="put")


async def apply(client: Client) -> None:
    await client.apply(config_map("child", {"size": "7"}), field_manager="other", force=True)


async def strip(client: Client) -> None:
    stripped = {"metadata": {"managedFields": [{}]}, "data": {"size": "8"}}
    await client.patch(CONFIG_MAP, merge(stripped), "child", "default", field_manager="strip")


async def delete(client: Client) -> None:
    await client.delete(CONFIG_MAP, "child", "default")


@pytest.mark.parametrize("disturb", [change, remove, add, put, apply, strip, delete], ids=lambda each: each.__name__)
async def test_a_child_gets_its_fields_back(world: World, disturb: Callable[[Client], Awaitable[None]]) -> None:
    recorder = await run(world, sized)
    await world.client.create(widget("w"))
    await until_data(world.client, size="1", color="red")
    await disturb(world.client)
    found = await until_data(world.client, size="1", color="red")
    assert ("extra" in found["data"]) is (disturb is add)  # fields of other managers stay
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    await until_data(world.client, size="2", color="red")
    assert recorder.events == []


async def test_a_field_that_the_owner_leaves_out_belongs_to_an_autoscaler(world: World) -> None:
    def deployment(found: Widget) -> Object:
        labels = {"app": "child"}
        container = {"name": "web", "image": f"web:{found.spec.size}"}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "child", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }

    def shows(image: str) -> Callable[[Any], bool]:
        return lambda tree: tree is not None and tree["spec"]["template"]["spec"]["containers"][0]["image"] == image

    recorder = await run(world, deployment, owns=["apps/v1/Deployment"])
    await world.client.create(widget("w"))
    await world.client.wait_for("apps/v1/Deployment", "child", "default", until=shows("web:1"), timeout=60)
    await world.client.patch(
        "apps/v1/Deployment", merge({"spec": {"replicas": 5}}), "child", "default",
        subresource="scale", field_manager="horizontal-pod-autoscaler",
    )  # fmt: skip
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    found = await world.client.wait_for("apps/v1/Deployment", "child", "default", until=shows("web:2"), timeout=60)
    assert found is not None
    assert found["spec"]["replicas"] == 5
    assert recorder.events == []


async def test_an_object_that_no_object_controls_is_not_adopted(world: World) -> None:
    recorder = await run(world, sized)
    before = await world.client.create(config_map("child", {"mine": "x"}))
    await world.client.create(widget("w"))
    found = await condition(world.client, "ChildNotControlled")
    assert found["status"] == "False"
    assert found["message"] == (
        "ConfigMap default/child exists and no object controls it: delete or rename the object, or choose another name "
        "for the child"
    )
    assert recorder.events[0] == ("w", "ChildNotControlled", found["message"])
    assert await world.client.get(CONFIG_MAP, "child", "default") == before
    await delete(world.client)
    await until_data(world.client, size="1")
    assert await condition(world.client) == {}


async def test_the_child_of_another_object_is_left_alone(world: World) -> None:
    await run(world, sized)
    await world.client.create(widget("first"))
    first = await until_data(world.client, size="1")
    await world.client.create(widget("w", 5))
    found = await condition(world.client, "ChildNotControlled")
    assert "exists and Widget first controls it" in found["message"]
    assert await world.client.get(CONFIG_MAP, "child", "default") == first


async def test_without_force_the_field_and_its_owner_are_reported(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await run(world, sized, force=False)
    await world.client.create(widget("w"))
    await until_data(world.client, size="1")
    with caplog.at_level(logging.ERROR):
        await change(world.client)
        found = await condition(world.client, "ChildConflict")
    assert 'ConfigMap default/child has fields of other managers: .data.size (owned by "edit"' in found["message"]
    assert found["message"].endswith("; apply without force=False")
    assert (await data_of(world.client))["size"] == "99"
    assert "Traceback" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


def frozen_child(found: Widget) -> Object:
    return {**sized(found), "immutable": True}


async def test_a_rejected_change_is_reported_with_its_remedy(world: World) -> None:
    await run(world, frozen_child)
    await world.client.create(widget("w"))
    await until_data(world.client, size="1")
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    found = await condition(world.client, "ChildInvalid")
    assert "data: Forbidden: field is immutable when `immutable` is set" in found["message"]
    assert "pass recreate=True to replace the child" in found["message"]
    await delete(world.client)
    await until_data(world.client, size="2")
    await condition(world.client)


async def test_a_child_with_an_immutable_field_is_replaced_on_request(world: World) -> None:
    recorder = await run(world, frozen_child, recreate=True)
    await world.client.create(widget("w"))
    before = await until_data(world.client, size="1")
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    after = await until_data(world.client, size="2")
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert recorder.events == []


async def test_a_child_is_not_deleted_for_one_that_the_server_would_reject(world: World) -> None:
    def child(found: Widget) -> Object:
        key = "size" if found.spec.size == 1 else "not a key!"
        return {**config_map("child", {key: str(found.spec.size)}), "immutable": True}

    await run(world, child, recreate=True)
    await world.client.create(widget("w"))
    before = await until_data(world.client, size="1")
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    found = await condition(world.client, "ChildInvalid")
    assert "not a key!" in found["message"]
    assert "recreate" not in found["message"]
    assert await world.client.get(CONFIG_MAP, "child", "default") == before


async def test_a_child_that_terminates_is_waited_for(world: World) -> None:
    def child(found: Widget) -> Object:
        tree = frozen_child(found)
        return {**tree, "metadata": {**tree["metadata"], "finalizers": ["example.com/held"]}}

    await run(world, child, recreate=True)
    await world.client.create(widget("w"))
    await until_data(world.client, size="1")
    await world.client.patch(WIDGET, merge({"spec": {"size": 2}}), "w", "default")
    await condition(world.client, "ChildTerminating")
    await world.client.patch(CONFIG_MAP, merge({"metadata": {"finalizers": None}}), "child", "default")
    await until_data(world.client, size="2")
    await condition(world.client)


async def test_an_object_that_was_read_is_not_applied(world: World) -> None:
    found = await world.client.create(config_map("a", {"x": "1"}))
    with pytest.raises(ValueError, match=r"cannot apply ConfigMap a: the object was read from a server.*`edit`"):
        await world.client.apply(found, field_manager="me")


async def test_apply_insists_on_the_resource_version_that_is_given(world: World) -> None:
    found = await world.client.create(config_map("a", {"x": "1"}))
    version = found["metadata"]["resourceVersion"]
    newer = await world.client.apply(config_map("a", {"y": "1"}, resourceVersion=version), field_manager="me")
    assert newer["data"] == {"x": "1", "y": "1"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await world.client.apply(config_map("a", {"y": "2"}, resourceVersion=version), field_manager="me")


class Blind:
    """A client whose cache shows no object yet."""

    def __init__(self, client: Client) -> None:
        self.mapper = client.mapper

    async def get(self, *_: Any) -> Object:
        raise NotFound("not in the cache")


@pytest.mark.parametrize(("uid", "dry_run"), [("other", None), ("mine", True)])
async def test_a_replacement_never_deletes_a_foreign_object_and_none_in_a_dry_run(
    world: World, uid: str, dry_run: bool | None
) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "controller": True}
    before = await world.client.create(config_map("child", ownerReferences=[{**owner, "uid": uid}]))
    child = Child(kind_of(CONFIG_MAP), config_map("child"), "child", "default", {**owner, "uid": "mine"})
    blind: Any = Blind(world.client)

    async def send(is_forced: bool) -> None:
        raise Invalid("the field is immutable")

    with pytest.raises(ChildError):
        await apply_child(blind, world.client, child, send, force=None, recreate=True, how={"dry_run": dry_run})
    assert await world.client.get(CONFIG_MAP, "child", "default") == before
