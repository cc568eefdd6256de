"""Requests that arrive while the cache of the state reads a resource."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.server.server_options import ServerSettings
from setpoint.store.cached import StateCache
from setpoint.store.cached.collection import Collection
from setpoint.store.sqlite import SqliteStore

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("query", ["limit=2", "limit=500"])
async def test_a_page_does_not_wait_for_the_whole_resource(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = StateCache._read

    async def blocked(cache: StateCache, name: str, collection: Collection) -> None:
        if name == "/core/configmaps/":
            await asyncio.Event().wait()
        await read(cache, name, collection)

    monkeypatch.setattr(StateCache, "_read", blocked)
    store = await SqliteStore.open(tmp_path / "store.db", durability="off")
    maker = Server(store, settings=ServerSettings(state_cache_bytes=0))
    server = Server(store, settings=ServerSettings(state_cache_bytes=1 << 20))
    try:
        async with asyncio.timeout(30):
            await maker.start()
            for name in ("a", "b"):
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
                headers = {"content-type": "application/json"}
                created = await maker(Request("POST", MAPS, "", headers, msgspec.json.encode(body)))
                assert created.status == 201
            await server.start()
            found = await server(Request("GET", MAPS, query))
            assert isinstance(found.body, bytes)
            assert [each["metadata"]["name"] for each in msgspec.json.decode(found.body)["items"]] == ["a", "b"]
    finally:
        maker.close()
        server.close()
        await store.close()
