"""How the client is used by those who check their types: read by mypy, never run.

What must not pass is marked with the error that it must give: mypy complains about marks that are not needed.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, assert_type

import setpoint as sp
from setpoint.client.kinds import metadata_only
from setpoint.client.list_result import Listing
from setpoint.client.watch import WatchEvent
from setpoint.objects.gvk import GroupVersionKind
from setpoint.schema.types import ObjectMeta


class Site(sp.Resource, group="example.com", version="v1"):
    """One's own kind."""

    replicas: int = 1


async def asynchronous(client: sp.Client) -> None:
    site = await client.get(Site, "a", "default")
    assert_type(site, Site)
    assert_type(await client.get("v1/Pod", "a", "default"), dict[str, Any])
    assert_type(await client.get(GroupVersionKind("", "v1", "Pod"), "a"), dict[str, Any])
    assert_type(await client.get(metadata_only(Site), "a"), dict[str, Any])
    assert_type(await client.list(Site, "default", labels={"a": "b"}), Listing[Site])
    assert_type((await client.list("v1/Pod")).items, list[dict[str, Any]])
    async for page in client.pages(Site):
        assert_type(page, Listing[Site])
    async for each in client.each("v1/Pod"):
        assert_type(each, dict[str, Any])
    async with client.watch(Site) as events:
        async for event in events:
            assert_type(event, WatchEvent[Site])
            assert_type(event.object, Site)
    assert_type(await client.create(site), Site)
    assert_type(await client.update(site, dry_run=True), Site)
    assert_type(await client.apply(site, field_manager="me", force=True), Site)
    assert_type(await client.apply({"kind": "Pod"}, field_manager="me"), dict[str, str])
    assert_type(await client.update_status(site), Site)
    assert_type(await client.edit(Site, "a", "default", lambda found: setattr(found, "replicas", 3)), Site)
    assert_type(await client.wait_for(Site, "a", "default", "condition=Ready", timeout=3), Site | None)
    assert_type(client.with_options(namespace="a"), sp.Client)

    await client.get(3, "a")  # type: ignore[call-overload]
    await client.get(Site)  # type: ignore[call-overload]
    await client.get(str, "a")  # type: ignore[type-var]
    await client.create("v1/Pod")  # type: ignore[type-var]
    await client.list(Site, lables="a=b")  # type: ignore[call-overload]
    await client.update(site, dryrun=True)  # type: ignore[call-arg]
    site.replica = 3  # type: ignore[attr-defined]


def synchronous(client: sp.SyncClient) -> None:
    assert_type(client.get(Site, "a", "default"), Site)
    assert_type(client.get("v1/Pod", "a", "default"), dict[str, Any])
    assert_type(client.list(Site), Listing[Site])
    assert_type(client.create(Site(metadata=ObjectMeta(name="a"))), Site)
    assert_type(client.each(Site), Iterator[Site])
    assert_type(client.watch(Site), AbstractContextManager[Iterator[WatchEvent[Site]]])
    client.get(3, "a")  # type: ignore[call-overload]
