"""The cache over HTTP: the same through real connections, and a server that goes and comes back at its address."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.cache.faults import CONFIG_MAP, Journal, config_map, names
from tests.client.test_client import over_http

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.plane import ControlPlane


async def test_own_writes_are_read_over_http() -> None:
    async with over_http() as client, Cache(client) as cache, cache.use(CONFIG_MAP, "default") as informer:
        for number in range(20):
            await cache.client.create(config_map(f"m{number:02}"))
            assert await cache.get(CONFIG_MAP, f"m{number:02}", "default") is not None
        await cache.client.delete(CONFIG_MAP, "m00", "default")
        assert await cache.get(CONFIG_MAP, "m00", "default") is None
        assert (cache.counts.live, cache.counts.late) == (0, 0)
        assert len(names(informer)) == 19


async def test_a_server_that_comes_back_at_its_address_is_followed_on(tmp_path: Path) -> None:
    async def credentials(refused: Mapping[str, str] | None) -> Mapping[str, str]:
        return {"authorization": "Bearer secret"}

    def plane() -> ControlPlane:
        return ControlPlane(f"sqlite:{tmp_path / 'db'}", token="secret", system=False)

    async with plane() as first:
        url = await first.listen(tls=False)
        client = Client(HttpTransport(endpoint(url), credentials=credentials))
        cache = Cache(client)
        informer = cache.acquire(CONFIG_MAP, "default")
        journal = Journal()
        informer.add_handler(journal)
        await informer.wait_synced()
        await client.create(config_map("a"))
    async with plane() as second:
        await second.listen(port=int(url.rpartition(":")[2]), tls=False)
        made = await client.create(config_map("b"))
        informer.feed.retry_now()
        async with asyncio.timeout(20):
            await informer.wait_for(made["metadata"]["resourceVersion"])
        assert names(informer) == ["a", "b"]
        assert [text for text in journal.texts if "kube" not in text] == ["+a", "+b"]
        await cache.close()
        await client.close()
