"""Past values of Secrets are purged by age, where that is asked for."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.server.authorization.cluster import Cluster, new_cluster

from setpoint.config.checks import check
from setpoint.config.settings import Config, History
from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.plane import ControlPlane
from setpoint.server.history.secret_retention import SecretRetention
from setpoint.store.contract import ANY, LogEntry, PurgedPage
from setpoint.store.memory import MemoryStore

START = datetime(2026, 1, 1, tzinfo=UTC)
SECRETS = "/api/v1/namespaces/default/secrets"


def secret(name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"v": value}}


def kept(entries: Sequence[LogEntry]) -> list[bool]:
    return [entry.value is not None for entry in entries]


async def test_values_that_were_replaced_longer_ago_than_the_bound_are_purged(cluster: Cluster) -> None:
    retention = SecretRetention(cluster.server.services, 100.0)
    await cluster("POST", SECRETS, secret("s", "0"))
    await cluster("POST", SECRETS, secret("gone", "0"))
    for number in range(1, 4):
        cluster.clock.advance(60)
        await cluster("PUT", f"{SECRETS}/s", secret("s", str(number)))
    await cluster("DELETE", f"{SECRETS}/gone")
    # 0 was replaced 120 seconds ago, 1 60 seconds ago; the other one was deleted just now.
    assert await retention.round() == 1
    key = "/core/secrets/default/s"
    assert kept(await cluster.store.history(key)) == [True, True, True, False]
    cluster.clock.advance(101)
    assert await retention.round() == 3
    assert kept(await cluster.store.history(key)) == [True, False, False, False]
    assert kept(await cluster.store.history("/core/secrets/default/gone")) == [False, False]
    assert await retention.round() == 0
    history: Any = (await cluster("GET", "/apis/setpoint.dev/v1/namespaces/default/secrets/s/history")).body
    [record] = history["purges"]
    assert (record["user"], record["reason"]) == ("system:retention", "older than 100 seconds")
    assert [item.get("purged", {}).get("user") for item in history["items"]] == [None, *["system:retention"] * 3]


async def test_a_round_visits_a_bounded_number_of_secrets_at_a_time() -> None:
    limits: list[int] = []

    class Counting(MemoryStore):
        async def purge(self, *arguments: Any) -> PurgedPage:
            limits.append(arguments[3])
            return await super().purge(*arguments)

    async with new_cluster(store=Counting(clock=ManualClock(START))) as cluster:
        for number in range(250):
            await cluster("POST", SECRETS, secret(f"s{number}", "0"))
            await cluster("PUT", f"{SECRETS}/s{number}", secret(f"s{number}", "1"))
        cluster.clock.advance(11)
        assert await SecretRetention(cluster.server.services, 10.0).round() == 250
        assert limits == [100, 100, 100]


@pytest.mark.parametrize("seconds", [100.0, None])
async def test_a_plane_does_so_by_itself_and_by_default_does_not(seconds: float | None) -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock=clock)
    config = Config(history=History(secret_seconds=seconds))
    async with ControlPlane(store, config=config, clock=clock, system=False):
        key = "/core/secrets/default/s"
        for value in (b"{}", b"{ }"):
            await store.commit(key, value, ANY, Actor("test"))
        for _ in range(20):
            clock.advance(20)
            for _ in range(20):
                await asyncio.sleep(0)
        assert kept(await store.history(key)) == [True, seconds is None]
    await store.close()


@pytest.mark.parametrize(
    ("store", "seconds", "message"),
    [
        ("memory", 0, "0 is out of range: must be greater than 0, or left out"),
        ("etcd:http://localhost:2379", 10, "etcd cannot purge the history of Secrets separately"),
    ],
)
def test_a_bound_that_cannot_be_kept_is_refused(store: str, seconds: float, message: str) -> None:
    [(path, text)] = list(check(Config(store=store, history=History(secret_seconds=seconds))))
    assert path == ("history", "secretSeconds")
    assert message in text
