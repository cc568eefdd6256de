"""Rights that another server over the same store gives and takes."""

import asyncio
from typing import Any

from tests.server.authorization.cluster import API, Cluster, rule

from setpoint.store.contract import TooLate
from setpoint.store.memory import MemoryStore


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_right_counts_on_every_server_over_the_store() -> None:
    store = MemoryStore()
    first, second = Cluster(store), Cluster(store)
    for cluster in (first, second):
        cluster.server.services.views.shared = True
        await cluster.server.start()
    assert (await second.may("ann", "get", "pods"))["allowed"] is False
    await first.grant("ann", rule("get", "pods"))
    await settled()
    assert (await second.may("ann", "get", "pods"))["allowed"] is True
    await first("DELETE", f"{API}/clusterrolebindings/anns")
    await settled()
    assert (await second.may("ann", "get", "pods"))["allowed"] is False
    second.server.services.views.close()
    first.server.services.views.close()


class Interrupted(MemoryStore):
    """Its watches are told that they are too late, when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_late = False

    def watch(self, prefix: str, after: int | None = None) -> Any:
        cursor, store = super().watch(prefix, after), self

        class Late:
            async def next(self) -> Any:
                while not store.is_late:
                    await asyncio.sleep(0)
                raise TooLate(0, 0)

            def close(self) -> None:
                cursor.close()

        return cursor if store.is_late else Late()


async def test_a_server_that_missed_changes_reads_all_anew_and_keeps_nothing_that_is_gone() -> None:
    store = Interrupted()
    first, second = Cluster(store), Cluster(store)
    await first.server.start()
    await first.grant("ann", rule("get", "pods"))
    await first.grant("bob", rule("get", "pods"))
    second.server.services.views.shared = True
    assert (await second.may("bob", "get", "pods"))["allowed"] is True
    await first("DELETE", f"{API}/clusterrolebindings/bobs")
    await first("DELETE", f"{API}/clusterroles/bobs")
    await first.grant("cid", rule("get", "pods"))
    store.is_late = True
    await settled()
    for user, allowed in (("ann", True), ("bob", False), ("cid", True)):
        assert await second.may(user, "get", "pods") == (await first.may(user, "get", "pods"))
        assert (await second.may(user, "get", "pods"))["allowed"] is allowed
    second.server.services.views.close()
