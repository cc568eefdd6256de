"""Informers: what handlers hear and in which order, and what can be waited for."""

import asyncio
from typing import Any

import pytest
from tests.cache.faults import CONFIG_MAP, GONE, Journal, World, answer_of, config_map, names
from tests.cache.test_reflector import CUT, REFUSED, is_watch, streams_list
from tests.client.test_client import Widget, WidgetSpec, widget

from setpoint.cache.informer import Change
from setpoint.cache.shared_watch import NotSynced
from setpoint.client.kinds import metadata_only
from setpoint.objects.frozen import thaw


async def test_a_handler_hears_of_what_is_there_and_then_of_each_change_once(world: World) -> None:
    await world.client.create(config_map("a"))
    journal = Journal()
    informer = world.cache.acquire(CONFIG_MAP, "default")
    informer.add_handler(journal)
    await world.settle()
    await world.client.update(config_map("a", k="1"))
    await world.client.create(config_map("b"))
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.settle()
    assert journal.texts == ["+a*", "~a", "+b", "-a"]


async def test_when_a_handler_hears_of_a_change_the_store_has_it(world: World) -> None:
    informer = await world.followed()
    seen: list[Any] = []

    def handler(change: Change[Any]) -> None:
        held = informer.store.get(change.held.meta.key)
        seen.append(held is change.new)

    informer.add_handler(handler)
    await world.client.create(config_map("a"))
    await world.client.update(config_map("a", k="1"))
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.settle()
    assert seen == [True, True, True]


async def test_a_late_handler_hears_of_what_is_there_at_once_unless_it_does_not_want_to(world: World) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    late, later = Journal(), Journal()
    informer.add_handler(late)
    informer.add_handler(later, replay=False)
    assert late.texts == ["+a*"]
    await world.client.create(config_map("b"))
    await world.settle()
    assert late.texts == ["+a*", "+b"]
    assert later.texts == ["+b"]


async def test_what_went_while_nobody_looked_is_told_as_such(world: World) -> None:
    for name in ("a", "b"):
        await world.client.create(config_map(name))
    informer = await world.followed()
    journal = Journal()
    informer.add_handler(journal, replay=False)
    world.faults.refuse = lambda call: CUT if is_watch(call) else None
    world.faults.cut()
    await world.settle()
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.client.update(config_map("b", k="1"))
    await world.client.create(config_map("c"))
    # Only a list brings it to the present: the watch has been away for too long.
    world.faults.refuse = lambda call: answer_of(GONE) if is_watch(call) and not streams_list(call) else None
    await world.until(lambda: "default/c" in informer.store)
    assert sorted(journal.texts) == ["+c", "-a!", "~b"]


async def test_an_object_that_was_made_anew_while_nobody_looked_is_told_from_the_old_one_by_its_uid(
    world: World,
) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    journal = Journal()
    informer.add_handler(journal, replay=False)
    # The first lost watch is followed by a list at once, the second by a wait.
    world.faults.refuse = lambda call: answer_of(GONE) if is_watch(call) else None
    world.faults.cut()
    await world.settle()
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.client.create(config_map("a"))
    world.faults.refuse = lambda call: answer_of(GONE) if is_watch(call) and not streams_list(call) else None
    await world.until(lambda: bool(journal.changes))
    [change] = journal.changes
    assert journal.texts == ["~a"]
    assert change.is_another


async def test_a_handler_that_fails_harms_nobody_and_hears_of_the_next_change(world: World) -> None:
    informer = await world.followed()
    journal = Journal()

    def fails(change: Change[Any]) -> None:
        raise ValueError("no")

    registration = informer.add_handler(fails)
    informer.add_handler(journal)
    await world.client.create(config_map("a"))
    await world.client.create(config_map("b"))
    await world.settle()
    assert journal.texts == ["+a", "+b"]
    assert registration.failures == 2


async def test_a_handler_can_go_even_while_it_is_told(world: World) -> None:
    informer = await world.followed()
    heard: list[str] = []

    def once(change: Change[Any]) -> None:
        heard.append(change.held.meta.name)
        registration.remove()
        other.remove()

    registration = informer.add_handler(once)
    other = informer.add_handler(lambda change: heard.append("other"))
    await world.client.create(config_map("a"))
    await world.client.create(config_map("b"))
    await world.settle()
    assert heard == ["a"]


async def test_everything_is_told_again_to_who_wants_it_every_so_often(world: World) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    often, never = Journal(), Journal()
    informer.add_handler(often, replay=False, resync=100)
    informer.add_handler(never, replay=False)
    await world.advance(89)
    assert often.texts == []
    await world.advance(22)
    assert often.take() == ["~a="]
    await world.advance(1000)
    assert 9 <= len(often.take()) <= 11
    assert never.texts == []
    assert len(world.faults.watches) <= 5  # nobody asked the server for it


async def test_a_reader_who_takes_his_time_gets_the_latest_of_each_object_and_holds_up_nobody(world: World) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    async with informer.changes() as changes:
        first = await anext(changes)
        assert (first.old, first.held.meta.name, first.initial) == (None, "a", True)
        for number in range(50):
            await world.client.update(config_map("a", k=str(number)))
        await world.client.create(config_map("came and went"[:4]))
        await world.client.delete(CONFIG_MAP, "came", "default")
        await world.client.create(config_map("b"))
        while "default/b" not in informer.store:
            await world.settle()
        assert len(changes) == 2
        second, third = await anext(changes), await anext(changes)
        assert second.old is first.new
        assert second.held.object["data"] == {"k": "49"}
        assert (third.old, third.held.meta.name) == (None, "b")
        waiting = asyncio.ensure_future(anext(changes))
        await world.settle()
        assert not waiting.done()
        await world.client.delete(CONFIG_MAP, "b", "default")
        assert (await waiting).new is None


@pytest.mark.feature("E36")
async def test_what_is_read_is_shared_and_cannot_be_changed(world: World) -> None:
    await world.client.create(Widget.crd())
    await world.client.create(widget("a", size=3))
    typed = await world.followed(Widget)
    trees = await world.followed("example.com/v1/Widget")
    found, tree = typed.get("default/a"), trees.get("default/a")
    assert found is typed.get("default/a")
    assert found is not None
    assert type(found.edit()) is Widget
    assert tree is not None
    with pytest.raises(TypeError, match="edit"):
        found.spec.size = 5
    with pytest.raises(TypeError, match="thaw"):
        tree["spec"]["size"] = 5
    edited = found.edit()
    edited.spec.size = 5
    assert (found.spec, thaw(tree)["spec"]["size"]) == (WidgetSpec(size=3), 3)


async def test_every_form_of_an_object_comes_by_one_watch(world: World) -> None:
    await world.client.create(Widget.crd())
    await world.client.create(widget("a", size=3))
    typed = await world.followed(Widget)
    typed.get("default/a")
    trees = await world.followed("example.com/v1/Widget")
    heads = await world.followed(metadata_only(Widget))
    assert len(world.faults.watches) == 1
    journal = Journal()
    heads.add_handler(journal)
    await world.client.create(widget("b", size=4))
    await world.settle()
    assert [(obj.metadata.name, obj.spec.size) for obj in typed.list()] == [("a", 3), ("b", 4)]
    assert [tree["spec"]["size"] for tree in trees.list()] == [3, 4]
    assert [set(tree) for tree in heads.list()] == [{"apiVersion", "kind", "metadata"}] * 2
    assert journal.texts == ["+a*", "+b"]


@pytest.mark.feature("E35")
async def test_metadata_alone_is_asked_for_where_nobody_wants_more_and_says_what_it_is_of(world: World) -> None:
    await world.client.create(config_map("a", k="v"))
    informer = await world.followed(metadata_only(CONFIG_MAP))
    found = informer.get("default/a")
    assert found is not None
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
    assert "data" not in found
    assert b'"data"' not in informer.store._entries["default/a"].raw


async def test_one_can_wait_for_a_revision_to_be_there(world: World) -> None:
    informer = await world.followed()
    made = await world.client.create(config_map("a"))
    version = made["metadata"]["resourceVersion"]
    assert "default/a" not in informer.store
    await informer.wait_for(version)
    assert "default/a" in informer.store
    await informer.wait_for(version)
    await informer.wait_for("not a number")


async def test_who_waits_is_told_when_the_informer_ends(world: World) -> None:
    informer = await world.followed()
    waiting = asyncio.ensure_future(informer.wait_for("999999"))
    await world.settle()
    await world.cache.close()
    with pytest.raises(NotSynced, match="stopped"):
        await waiting


async def test_waiting_for_an_informer_that_does_not_get_on_ends_with_the_reason(world: World) -> None:
    world.faults.refuse = lambda call: REFUSED
    informer = world.cache.acquire(CONFIG_MAP, "default")
    waiting = asyncio.ensure_future(informer.wait_synced(5))
    await world.advance(6)
    with pytest.raises(NotSynced, match="not synced within 5 s: unreachable: connection refused"):
        await waiting


async def test_objects_are_made_when_they_are_read_and_counted_in_bytes(world: World) -> None:
    await world.client.create(config_map("a", k="v" * 1000))
    informer = await world.followed()
    held = informer.store.get("default/a")
    assert held is not None
    assert not held.is_made
    assert informer.store.bytes >= held.raw_size > 1000
    assert held.object["data"]["k"] == "v" * 1000
    assert held.is_made
    assert held.in_form(len).object >= 1000
    await world.client.delete_all(CONFIG_MAP, "default")
    await world.settle()
    assert names(informer) == []
    assert informer.store.bytes == sum(each.raw_size for each in informer.store.all())
