"""Generating handlers: from a parent to its children and its status."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.flow.generate.worlds import (
    APP,
    CONFIG_MAP,
    App,
    AppStatus,
    World,
    app,
    children_of,
    condition_of,
    config_map,
    new_world,
    rendering,
    until,
)

from setpoint.api.core.v1 import ConfigMap, Secret
from setpoint.controller.context import Context
from setpoint.controller.rbac import rules
from setpoint.controller.request import Requeue
from setpoint.controller.sync_context import SyncContext
from setpoint.flow.fsm.results import Fail, Wait
from setpoint.flow.generate import child
from setpoint.objects.tree import Object


def listed(parent: App, status: AppStatus) -> list[ConfigMap]:
    return [ConfigMap(metadata=child(parent, name), data={"text": parent.spec.text}) for name in parent.spec.children]


async def waited(parent: App, status: AppStatus) -> Iterable[ConfigMap]:
    await asyncio.sleep(0)
    return listed(parent, status)


async def streamed(ctx: Context, parent: App, status: AppStatus) -> AsyncIterator[ConfigMap]:
    for each in listed(parent, status):
        await asyncio.sleep(0)
        yield each


def yielded(ctx: SyncContext, parent: App, status: AppStatus) -> Iterator[ConfigMap]:
    yield from listed(parent, status)


@pytest.mark.feature("E11")
@pytest.mark.parametrize("function", [listed, waited, streamed, yielded])
async def test_a_function_of_any_form_gives_children_which_are_made_changed_and_pruned(
    world: World, function: Callable[..., Any]
) -> None:
    world.run(rendering(function, kinds=[ConfigMap]))
    made = await world.client.create(app("a", "b"))
    assert (await world.is_so("True/Applied"))["message"] == "2 children are in place"
    found = await world.client.get(ConfigMap, "shop-a", "default")
    assert [each.uid for each in found.metadata.owner_references] == [made.metadata.uid]
    await world.change(lambda found: setattr(found.spec, "text", "bye"))
    await world.is_so("True/Applied")
    assert (await world.client.get(ConfigMap, "shop-b", "default")).data == {"text": "bye"}
    await world.want("b", "c")
    await world.is_so("True/Applied")
    assert await world.names() == {"shop-b", "shop-c"}


@pytest.mark.feature("E11")
async def test_a_function_that_raises_half_way_changes_nothing(world: World) -> None:
    world.run(rendering())
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.change(lambda found: setattr(found.spec, "text", "bye"))
    await world.is_so("True/Applied")

    def break_it(found: App) -> None:
        found.spec.children, found.spec.text = ["a", "c", "boom"], "never"

    await world.change(break_it)
    assert (await world.is_so("False/Error"))["message"] == "it went boom"
    assert await world.names() == {"a", "b"}
    assert (await world.client.get(CONFIG_MAP, "a", "default"))["data"] == {"text": "bye"}
    found = await world.client.get(App, "shop", "default")
    assert found.status is not None
    assert found.status.count == 2, "what a failed function wrote into the status is not reported"


@pytest.mark.feature("E11")
async def test_an_empty_result_removes_the_children(world: World) -> None:
    world.run(rendering())
    await world.client.create(app("a", "b"))
    await world.has("a", "b")
    await world.want()
    assert (await world.is_so("True/Applied"))["message"] == "0 children are in place"
    assert await world.names() == set()


@pytest.mark.feature("E11", "E5")
async def test_who_waits_keeps_the_children_and_says_why(world: World) -> None:
    def patient(parent: App, status: AppStatus) -> Iterator[Object]:
        yield config_map("a")
        status.seen = parent.spec.uses
        if parent.spec.uses:
            raise Wait(reason="TLSMissing", message=f"secret {parent.spec.uses} not found")
        yield config_map("b")

    world.run(rendering(patient))
    await world.client.create(app())
    await world.has("a", "b")
    await world.change(lambda found: setattr(found.spec, "uses", "tls"))
    assert (await world.is_so("False/TLSMissing"))["message"] == "secret tls not found"
    assert await world.names() == {"a", "b"}
    found = await world.client.get(App, "shop", "default")
    assert found.status is not None
    assert found.status.seen == "tls"


async def test_a_requeue_is_reported_as_waiting_and_is_no_error(world: World) -> None:
    def later(parent: App, status: AppStatus) -> Iterator[Object]:
        yield config_map("a")
        raise Requeue(600.0, "the disk is not there yet")

    controller = world.run(rendering(later))
    await world.client.create(app())
    assert (await world.is_so("False/Waiting"))["message"] == "the disk is not there yet"
    await until(lambda: len(controller.runs) > 0)
    assert (controller.runs[0].result, controller.runs[0].error) == ("requeue_after", None)
    assert await world.names() == set()


@pytest.mark.feature("E30")
async def test_what_fails_for_good_waits_for_the_next_change_and_keeps_its_reason(world: World) -> None:
    def strict(parent: App, status: AppStatus) -> Iterator[Object]:
        if not parent.spec.children:
            raise Fail("NoChildren", "name at least one", terminal=True)
        yield from children_of(parent, status)

    controller = world.run(rendering(strict))
    await world.client.create(app())
    await world.is_so("False/NoChildren")
    await world.settle(controller)
    assert [run.result for run in controller.runs] == ["terminal"]
    await world.want("a")
    await world.is_so("True/Applied")


@pytest.mark.feature("E52", "E73")
async def test_what_is_so_already_costs_no_request_and_the_status_is_written_once(world: World) -> None:
    controller = world.run(rendering())
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.settle(controller)
    assert all(sum(write.subresource == "status" for write in run.writes) <= 1 for run in controller.runs), (
        controller.runs
    )
    before = len(controller.runs)
    version = (await world.client.get(APP, "shop", "default"))["metadata"]["resourceVersion"]
    controller.enqueue(controller.runs[-1].request)
    await until(lambda: len(controller.runs) > before)
    assert not controller.runs[-1].has_writes
    assert (await world.client.get(APP, "shop", "default"))["metadata"]["resourceVersion"] == version


@pytest.mark.feature("E15", "E52", "G10")
@pytest.mark.parametrize("owner_references", [True, False])
async def test_children_that_others_change_or_delete_are_mended(world: World, owner_references: bool) -> None:
    world.run(rendering(owner_references=owner_references))
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.client.edit(CONFIG_MAP, "a", "default", lambda found: found["data"].update(text="mine"))
    await world.client.wait_for(CONFIG_MAP, "a", "default", "jsonpath={.data.text}=hello")
    await world.client.delete(CONFIG_MAP, "b", "default")
    await world.has("a", "b")


@pytest.mark.feature("E10", "E68")
async def test_fields_of_the_status_that_others_write_are_left_alone(world: World) -> None:
    def renders(parent: App, status: AppStatus) -> Iterator[Object]:
        status.url = f"http://{parent.metadata.name}"
        yield config_map("a", parent.spec.text)

    world.run(rendering(renders))
    await world.client.create(app())
    await world.is_so("True/Applied")

    def others(found: App) -> None:
        assert found.status is not None
        found.status.seen = "by somebody else"
        found.status.conditions.append(
            {
                "type": "Other",
                "status": "True",
                "reason": "Mine",
                "message": "",
                "lastTransitionTime": "2030-01-01T00:00:00Z",
            }
        )

    await world.client.edit(App, "shop", "default", others, subresource="status")
    await world.change(lambda found: setattr(found.spec, "text", "bye"))
    await world.is_so("True/Applied")
    found = await world.client.get(App, "shop", "default")
    assert found.status is not None
    assert (found.status.url, found.status.seen) == ("http://shop", "by somebody else")
    assert condition_of(found, "Other") is not None
    assert found.status.observed_generation == found.metadata.generation


async def test_an_untyped_parent_and_its_status_are_trees(world: World) -> None:
    def renders(parent: Object, status: Object) -> list[Object]:
        status["url"] = parent["metadata"]["name"]
        return [config_map(name) for name in parent["spec"]["children"]]

    world.run(rendering(renders, kind=APP))
    await world.client.create(app("a"))
    await world.is_so("True/Applied")
    assert (await world.client.get(APP, "shop", "default"))["status"]["url"] == "shop"


@pytest.mark.feature("E65", "E66", "E56")
async def test_with_a_finalizer_the_children_go_before_their_parent(world: World) -> None:
    world.run(rendering(finalizer="example.com/apps"))
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.client.edit(
        CONFIG_MAP, "a", "default", lambda found: found["metadata"].update(finalizers=["example.com/slow"])
    )
    await world.client.delete(App, "shop", "default")
    await world.is_so("False/Deleting")
    assert await world.names() == {"a"}
    await world.client.edit(CONFIG_MAP, "a", "default", lambda found: found["metadata"].update(finalizers=[]))
    await world.client.wait_for(App, "shop", "default", "delete")
    assert await world.names() == set()
    assert await world.inventories() == []


@pytest.mark.feature("E56", "G34")
async def test_children_stay_while_their_parent_is_being_deleted_and_whatever_becomes_of_finalizers(
    world: World,
) -> None:
    calls: list[str] = []

    def renders(parent: App, status: AppStatus) -> Iterator[Object]:
        calls.append(parent.metadata.name)
        yield from children_of(parent, status)

    controller = world.run(rendering(renders))
    made = app("a", "b")
    made.metadata.finalizers = ["example.com/other"]
    await world.client.create(made)
    await world.is_so("True/Applied")
    await world.client.edit(App, "shop", "default", lambda found: setattr(found.metadata, "finalizers", []))
    await world.settle(controller)
    assert await world.names() == {"a", "b"}
    await world.client.edit(
        App, "shop", "default", lambda found: setattr(found.metadata, "finalizers", ["example.com/other"])
    )
    await world.settle(controller)
    called = len(calls)
    await world.client.delete(App, "shop", "default")
    await world.settle(controller)
    await world.client.delete(CONFIG_MAP, "b", "default")
    await world.settle(controller)
    assert (await world.names(), len(calls)) == ({"a"}, called), "nothing is made or deleted any more"


@pytest.mark.feature("E74")
async def test_a_suspended_parent_is_left_alone_and_says_so(world: World) -> None:
    controller = world.run(rendering())
    await world.client.create(app("a"))
    await world.is_so("True/Applied")
    mark = {"setpoint.dev/suspend": "true"}
    await world.change(lambda found: found.metadata.annotations.update(mark))
    await world.is_so("True/Suspended", condition="Suspended")
    await world.want("b")
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.settle(controller)
    assert await world.names() == set()
    await world.change(lambda found: found.metadata.annotations.clear())
    await world.is_so("True/Applied")
    assert await world.names() == {"b"}
    assert condition_of(await world.client.get(App, "shop", "default"), "Suspended") is None


@pytest.mark.feature("E77")
@pytest.mark.parametrize("condition", ["Deployed", "Ready"])
async def test_an_event_tells_each_flip_of_the_condition_once(world: World, condition: str) -> None:
    controller = world.run(rendering(condition=condition))
    await world.client.create(app("a"))
    await world.is_so("True/Applied", condition=condition)
    await world.want("a", "b")  # still in place: there is nothing new to tell
    await world.has("a", "b")
    await world.settle(controller)
    await world.want("boom")
    await world.is_so("False/Error", condition=condition)
    await world.manager.events.flush()
    events = (await world.client.list("events.k8s.io/v1/Event", "default")).items
    assert sorted((each["type"], each["reason"], each["note"]) for each in events) == [
        ("Normal", "Applied", "1 child is in place"),
        ("Warning", "Error", "it went boom"),
    ]
    assert [each["series"] for each in events if "series" in each] == []


@pytest.mark.feature("E11")
async def test_the_rights_follow_from_the_kinds(world: World) -> None:
    found = await rules([rendering(kinds=[Secret])], world.client)
    by_resource = {(rule["apiGroups"][0], name): rule["verbs"] for rule in found for name in rule["resources"]}
    everything = ["create", "delete", "get", "list", "patch", "update", "watch"]
    assert by_resource["", "secrets"] == everything
    assert by_resource["", "configmaps"] == everything, "inventories are ConfigMaps"
    assert by_resource["example.com", "apps"] == ["get", "list", "patch", "update", "watch"]
    assert by_resource["example.com", "apps/status"] == ["get", "patch", "update"]


async def test_writes_are_of_the_field_manager_of_the_controller(world: World) -> None:
    world.run(rendering(field_manager="renderer"))
    await world.client.create(app("a"))
    await world.has("a")
    found = await world.client.get(CONFIG_MAP, "a", "default")
    assert [(each["manager"], each["operation"]) for each in found["metadata"]["managedFields"]] == [
        ("renderer", "Apply")
    ]


def test_a_handler_is_still_the_function_that_it_was() -> None:
    handler = rendering()
    assert [each["metadata"]["name"] for each in handler(app("a", "b"), AppStatus())] == ["a", "b"]
    assert handler.__doc__ == children_of.__doc__


async def test_two_managers_run_one_handler_without_knowing_of_each_other(world: World) -> None:
    handler = rendering()
    world.run(handler)
    await world.client.create(app("a"))
    await world.is_so("True/Applied")

    async def other() -> None:
        async with new_world() as second:
            second.run(handler)
            await second.client.create(app("b"))
            await second.is_so("True/Applied")
            assert await second.names() == {"b"}

    await asyncio.get_running_loop().run_in_executor(None, asyncio.run, other())
    assert await world.names() == {"a"}
