"""Informers and paged lists of a user whose Role has the rights to list and watch, and no other."""

import pytest
from tests.cache.faults import CONFIG_MAP, Faults, World, config_map, names

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import Expired, Forbidden
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object

RBAC = "rbac.authorization.k8s.io"
# Longer than the past can be read without the right to the history.
LONG = 3600.0


async def reader(world: World) -> Client:
    """Returns the client of a user who may list and watch ConfigMaps in the namespace `default`."""
    metadata: Object = {"name": "reader", "namespace": "default"}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
    await world.client.create({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    await world.client.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "User", "name": "reader"}],
        }
    )
    return world.plane.client(user="reader")


async def test_an_informer_misses_nothing_when_its_watch_is_cut_again_and_again(world: World) -> None:
    faults = Faults((await reader(world)).transport)
    async with Cache(Client(faults, clock=world.clock), ids=SeededIds(2)) as cache:
        informer = cache.acquire(CONFIG_MAP, "default")
        await world.until(lambda: informer.synced)
        for number in range(5):
            faults.cut()
            await world.client.create(config_map(f"cut-{number}"))
            await world.until(lambda: len(names(informer)) == number + 1)  # noqa: B023 - called at once
        # The first list was all it took: every watch went on where the one before had ended.
        assert sum("sendInitialEvents" in query for query in faults.watches) == 1
        assert faults.lists == []


async def test_an_informer_that_was_away_for_longer_than_the_past_is_its_to_read_lists_again(world: World) -> None:
    faults = Faults((await reader(world)).transport)
    async with Cache(Client(faults, clock=world.clock), ids=SeededIds(2)) as cache:
        informer = cache.acquire(CONFIG_MAP, "default")
        await world.until(lambda: informer.synced)
        await world.client.create(config_map("seen"))
        await world.until(lambda: names(informer) == ["seen"])
        faults.refuse = lambda call: TransportError("away", sent=False)
        faults.cut()
        await world.client.delete(CONFIG_MAP, "seen", "default")
        await world.client.create(config_map("new"))
        world.clock.advance(LONG)
        faults.refuse = lambda call: None
        await world.until(lambda: names(informer) == ["new"], LONG)


async def test_a_list_in_pages_is_consistent_while_others_write_and_ends_with_410_when_it_takes_too_long(
    world: World,
) -> None:
    for name in "abc":
        await world.client.create(config_map(name))
    client = await reader(world)
    page = await client.list(CONFIG_MAP, "default", limit=1)
    await world.client.delete(CONFIG_MAP, "b", "default")
    world.clock.advance(60)
    rest = await client.list(CONFIG_MAP, "default", limit=5, continue_=page.continue_)
    assert [item["metadata"]["name"] for item in (*page.items, *rest.items)] == ["a", "b", "c"]
    world.clock.advance(LONG)
    with pytest.raises(Expired):
        await client.list(CONFIG_MAP, "default", limit=5, continue_=page.continue_)
    with pytest.raises(Forbidden, match="configmaps/history"):
        await client.list(CONFIG_MAP, "default", at=int(page.resource_version))
