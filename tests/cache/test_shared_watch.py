"""A shared watch: revisions that it has reached, its parts by namespace, and the errors that need another list."""

import asyncio

import pytest
from tests.cache.faults import CONFIG_MAP, GONE, World, config_map, new_world

from setpoint.cache.reflector import _is_too_large, _is_unknown_version
from setpoint.cache.shared_watch import NotSynced
from setpoint.objects.errors import APIError, Expired, Gone, NotFound, StatusCause, Timeout


async def test_a_revision_is_reached_with_its_last_change(world: World) -> None:
    informer = await world.followed()
    made = await world.client.create(config_map("a"))
    revision = int(made["metadata"]["resourceVersion"])
    await world.until(lambda: informer.get("default/a") is not None)
    feed = informer.feed
    assert [feed.has_reached(revision + more) for more in (-1, 0, 1)] == [True, True, False]
    assert feed.has_reached(revision, "default")
    assert int(feed.resource_version) == revision
    await feed.wait_for(str(revision))
    await feed.wait_for("no number")
    later = [asyncio.ensure_future(feed.wait_for(str(revision + more))) for more in (2, 1)]
    await world.settle()
    assert [each.done() for each in later] == [False, False]
    await world.client.create(config_map("b"))
    await world.until(later[1].done)
    assert not later[0].done()
    await world.client.create(config_map("c"))
    await world.until(later[0].done)
    assert feed.reflectors[0].watches == 1


async def test_waiters_end_with_the_watch(world: World) -> None:
    informer = await world.followed()
    await world.client.create(config_map("a"))
    await world.until(lambda: informer.get("default/a") is not None)
    uid = (informer.get("default/a") or {})["metadata"]["uid"]
    await informer.feed.wait_deleted("default/a", "of another object")
    waiting = [
        asyncio.ensure_future(informer.feed.wait_deleted("default/a", uid)),
        asyncio.ensure_future(informer.feed.wait_for("1000000")),
    ]
    await world.settle()
    assert not any(each.done() for each in waiting)
    await informer.feed.stop()
    for each in waiting:
        with pytest.raises(NotSynced, match="the informer was stopped"):
            await each
    with pytest.raises(NotSynced, match="is no longer cached"):
        await informer.feed.wait_synced()
    assert not informer.feed.synced


async def test_the_reached_revision_is_that_of_the_slowest_namespace() -> None:
    async with new_world(namespaces=["one", "two"]) as world:
        for namespace in ("one", "two"):
            await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        informer = await world.followed(CONFIG_MAP, "")
        feed = informer.feed
        began = int(feed.resource_version)
        made = await world.client.create(config_map("a", "one"))
        revision = int(made["metadata"]["resourceVersion"])
        await world.until(lambda: informer.get("one/a") is not None)
        assert feed.has_reached(revision, "one")
        assert not feed.has_reached(revision, "two")
        assert not feed.has_reached(revision)
        assert int(feed.resource_version) == began
        assert feed.has_reached(revision, "unknown"), "no part can lag behind"


async def test_a_list_without_a_revision_resets_readers_of_any_revision(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list without a comparable revision may be older than the known state, even if that is the first one."""
    informer = await world.followed()
    [part] = informer.feed._parts.values()
    resets: list[str] = []
    monkeypatch.setattr(informer, "reset", resets.append)
    for version, found in ((1, "1"), (1, "2"), (0, "")):
        part.version = version
        part.replace([], found)
    assert resets == []
    part.version = 1
    part.replace([], "")
    assert resets == ["the server has lost its state"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GONE, True),
        (Expired("too old"), True),
        (Gone("gone"), True),
        (Timeout("Too large resource version: 9, current: 3"), True),
        (Timeout("x", causes=[StatusCause("ResourceVersionTooLarge", "Too large", "")]), True),
        (Timeout("the request timed out"), False),
        (Timeout("x", causes=[StatusCause("Other", "", "")]), False),
        (NotFound("Too large resource version"), False),
        (ValueError("Too large resource version"), False),
    ],
)
def test_an_unknown_resource_version_is_told_from_other_errors(error: Exception, expected: bool) -> None:
    assert _is_unknown_version(error) is expected
    assert _is_too_large(error) is (expected and not isinstance(error, Expired | Gone))
    assert isinstance(error, APIError | ValueError)
