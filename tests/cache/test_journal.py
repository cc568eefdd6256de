"""Watching a cache from a revision: everything after it, or the word that it is not known any more."""

import asyncio
from typing import Any

import pytest
from tests.cache.faults import CONFIG_MAP, GONE, World, config_map, error_event, new_world
from tests.client.test_client import Widget

from setpoint.cache import journal
from setpoint.cache.informer import Informer
from setpoint.cache.journal import JournalReader, Reset
from setpoint.client.patches import merge
from setpoint.plane import ControlPlane


async def taken(changes: JournalReader[Any], count: int) -> list[str]:
    found = []
    for _ in range(count):
        change = await anext(changes)
        event = "added" if change.old is None else "deleted" if change.new is None else "modified"
        found.append(f"{event} {change.held.meta.name}")
    return found


async def label(world: World, name: str, **labels: str | None) -> None:
    await world.client.patch(CONFIG_MAP, merge({"metadata": {"labels": labels}}), name, "default")


async def has_all(world: World, informer: Informer[Any]) -> None:
    """Waits until the informer has everything that was written."""
    newest = (await world.client.list(CONFIG_MAP, "default")).resource_version
    waiting = asyncio.ensure_future(informer.wait_for(newest))
    await world.until(waiting.done)


@pytest.mark.feature("E40")
async def test_what_happened_after_a_revision_is_told_and_then_what_happens(world: World) -> None:
    informer = await world.followed()
    since = informer.mark()
    await world.client.create(config_map("a"))
    await label(world, "a", zone="x")
    await has_all(world, informer)
    middle = informer.mark()
    await world.client.create(config_map("b"))
    await has_all(world, informer)
    async with informer.watch(since) as changes, informer.watch(middle) as later:
        assert await taken(changes, 3) == ["added a", "modified a", "added b"]
        assert await taken(later, 1) == ["added b"]
        await world.client.delete(CONFIG_MAP, "a", "default")
        assert await taken(changes, 1) == ["deleted a"]


@pytest.mark.feature("E40", "E39")
async def test_who_watches_a_query_hears_of_what_leaves_its_answer(world: World) -> None:
    informer = await world.followed()
    query = informer.query().labels("zone=a")
    async with informer.watch(informer.mark(), where=query) as changes:
        await world.client.create(config_map("other"))
        await world.client.create(config_map("x"))
        await label(world, "x", zone="a")
        await label(world, "x", more="1")
        await label(world, "x", zone="b")
        assert await taken(changes, 3) == ["added x", "modified x", "deleted x"]
    informer.add_index("i", lambda obj: [])
    named = informer.query().by("i", 1)
    with pytest.raises(ValueError, match="use `where`"):
        informer.watch(informer.mark(), where=named)


@pytest.mark.feature("E40")
async def test_a_revision_from_before_what_is_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_CHANGES", 3)
    async with new_world() as world:
        informer = await world.followed()
        since = informer.mark()
        for name in "abcde":
            await world.client.create(config_map(name))
        await has_all(world, informer)
        with pytest.raises(Reset, match="are not available"):
            informer.watch(since)
        with pytest.raises(Reset, match="no revision"):
            informer.watch("")
        async with informer.watch(informer.mark()) as slow:
            for name in "vwxyz":
                await world.client.create(config_map(name))
            await has_all(world, informer)
            with pytest.raises(Reset, match="not read"):
                await taken(slow, 5)


@pytest.mark.feature("E40")
async def test_a_reader_of_changes_without_revisions_ends_when_the_recording_restarts(world: World) -> None:
    informer = await world.followed()
    changes = informer.watch(informer.mark())
    mark = informer.mark()
    assert informer.watch(mark) is not None, "a complete journal is not restarted"
    part = next(iter(informer.scope.namespaces))
    informer.replace((), part, initial=False)  # of no revision, as a source without versions reports
    await world.client.create(config_map("a"))
    await has_all(world, informer)
    assert await taken(changes, 1) == ["added a"]
    again = informer.mark()
    with pytest.raises(Reset, match="the recording of changes restarts: query again"):
        await taken(changes, 1)
    with pytest.raises(Reset, match="are not available, only those after revision"):
        informer.watch(mark)
    async with informer.watch(again) as later:
        await world.client.create(config_map("b"))
        assert await taken(later, 1) == ["added b"]


@pytest.mark.feature("E40", "G38")
@pytest.mark.slow
async def test_watchers_are_told_when_the_informer_ends_or_the_server_counts_anew(world: World) -> None:
    for number in range(9):
        await world.client.create(config_map(f"n{number}"))
    informer = await world.followed()
    changes = informer.watch(informer.mark())
    async with ControlPlane(clock=world.clock, system=False) as empty, empty.client() as client:
        world.faults.inner = client.transport
        world.faults.cut()
        await world.until(lambda: not informer.list())
        with pytest.raises(Reset, match="lost its state: query again"):
            await taken(changes, 1)
        again = informer.watch(informer.mark())
        await client.create(config_map("new"))
        waiting = asyncio.ensure_future(taken(again, 1))
        await world.until(waiting.done)
        assert waiting.result() == ["added new"]
        await world.cache.close()
        with pytest.raises(Reset, match="no longer cached"):
            await taken(again, 1)


@pytest.mark.feature("G38")
async def test_a_new_schema_disturbs_neither_other_kinds_nor_who_watches_them(world: World) -> None:
    informer = await world.followed()
    changes = informer.watch(informer.mark())
    lists = sum(reflector.lists for reflector in informer.feed.reflectors)
    await world.client.create(Widget.crd())
    schema = merge({"spec": {"names": {"shortNames": ["wd"]}}})
    await world.client.patch("apiextensions.k8s.io/v1/CustomResourceDefinition", schema, "widgets.example.com")
    await world.client.create(config_map("a"))
    waiting = asyncio.ensure_future(taken(changes, 1))
    await world.until(waiting.done)
    assert waiting.result() == ["added a"]
    assert sum(reflector.lists for reflector in informer.feed.reflectors) == lists


@pytest.mark.feature("E40")
async def test_a_list_in_between_leads_on(world: World) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    since = informer.mark()
    await label(world, "a", zone="x")
    await has_all(world, informer)
    world.faults.interrupt = lambda call, number, line: error_event(GONE) if number == 0 else line
    world.faults.cut()
    await world.client.delete(CONFIG_MAP, "a", "default")
    await world.client.create(config_map("b"))
    world.faults.interrupt = lambda call, number, line: line
    await world.until(lambda: [obj["metadata"]["name"] for obj in informer.list()] == ["b"])
    async with informer.watch(since) as changes:
        assert (await taken(changes, 3))[0] == "modified a"
