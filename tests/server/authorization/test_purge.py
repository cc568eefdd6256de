"""A purge removes the past of an object for who has the verb `purge`, and nothing tells the values any more."""

from typing import Any

import msgspec
import pytest
from tests.server.authorization.cluster import Answer, Cluster, binding, new_cluster, rule
from tests.server.read.reader import MemorySink, OpenWatch

from setpoint.server.history.tombstones import PREFIX
from setpoint.store.memory import MemoryStore

SECRETS = "/api/v1/namespaces/default/secrets"
OURS = "/apis/setpoint.dev/v1/namespaces/default"
PURGE = f"{OURS}/secrets/s/purge"
HISTORY = f"{OURS}/secrets/s/history"
OLD, NEW = "aHVudGVyMg==", "bmV3"
BODY = {"reason": "leaked in a ticket"}


def secret(value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": value}}


async def live(cluster: Cluster) -> tuple[int, int]:
    """A secret with a past; the revisions of its two values."""
    first = await cluster("POST", SECRETS, secret(OLD))
    second = await cluster("PUT", f"{SECRETS}/s", secret(NEW))
    return revision(first), revision(second)


def revision(answer: Answer) -> int:
    assert answer.status in (200, 201), answer.message
    body: Any = answer.body
    return int(body["metadata"]["resourceVersion"])


async def everything(cluster: Cluster, first: int) -> str:
    """All that can be read of the past of the secret, and what the server keeps of it in memory."""
    found = []
    for path, query in (
        (f"{SECRETS}/s", {"at": str(first)}),
        (SECRETS, {"at": str(first)}),
        (SECRETS, {"resourceVersion": str(first), "resourceVersionMatch": "Exact"}),
        (HISTORY, {}),
        ("/apis/setpoint.dev/v1/revisions", {"objects": "true"}),
    ):
        found.append(msgspec.json.encode((await cluster("GET", path, **query)).body).decode())
    response = await cluster.respond("GET", SECRETS, watch="true", resourceVersion=str(first - 1))
    if not isinstance(response.body, bytes | list):
        watch = OpenWatch(response.body, MemorySink())
        await watch.ended()
        found += [frame.payload.decode() for frame in watch.sink.frames]
        watch.sink.close()
        await watch.task
    for resource in cluster.server.services.registry:
        found += [frame.payload.decode() for frame in resource.changes._frames.values()]
        found += [value.decode() for value in resource.changes._labels]
    return "\n".join(found)


async def test_after_a_purge_nothing_tells_the_value(cluster: Cluster) -> None:
    first, second = await live(cluster)
    assert OLD in await everything(cluster, first)
    answer: Any = await cluster("POST", PURGE, BODY)
    assert (answer.status, answer.body["kind"], answer.body["removed"]) == (200, "PurgeResult", 1)
    assert OLD not in await everything(cluster, first)
    gone = await cluster("GET", f"{SECRETS}/s", at=str(first))
    assert gone.status == 410
    assert "was purged by system:admin: leaked in a ticket" in gone.message
    assert (await cluster("GET", SECRETS, at=str(first))).status == 410
    now: Any = (await cluster("GET", f"{SECRETS}/s")).body
    assert (now["data"], now["metadata"]["resourceVersion"]) == ({"password": NEW}, str(second))
    assert (await cluster("GET", f"{SECRETS}/s", at=str(second))).status == 200


async def test_the_history_shows_the_tombstone(cluster: Cluster) -> None:
    first, second = await live(cluster)
    await cluster("POST", PURGE, BODY)
    history: Any = (await cluster("GET", HISTORY)).body
    changed, purged = history["items"]
    mark = {"user": "system:admin", "time": "2026-01-02T03:04:05.000000Z", "reason": "leaked in a ticket"}
    assert (purged["type"], purged["revision"], purged["purged"]) == ("PURGED", str(first), mark)
    assert "patch" not in purged
    assert (changed["type"], changed["revision"]) == ("MODIFIED", str(second))
    assert changed["patch"][0]["op"] == "add"
    [record] = history["purges"]
    assert {**mark, "phase": "Completed", "removed": 1}.items() <= record.items()
    # It survives the deletion of the object and a compaction of everything.
    await cluster("DELETE", f"{SECRETS}/s")
    await cluster.store.compact(await cluster.store.revision())
    history = (await cluster("GET", HISTORY)).body
    assert (history["items"], history["purges"]) == ([], [record])
    assert await cluster.store.get(f"{PREFIX}/core/secrets/default/s") is not None


async def test_a_watch_that_would_replay_a_purged_value_gets_expired(cluster: Cluster) -> None:
    first, second = await live(cluster)
    await cluster("POST", PURGE, BODY)
    response = await cluster.respond("GET", SECRETS, watch="true", resourceVersion=str(first - 1))
    assert not isinstance(response.body, bytes | list)
    watch = OpenWatch(response.body, MemorySink())
    [event] = await watch.events(1)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    await watch.task
    assert second > first


async def test_only_the_verb_purge_allows_a_purge(cluster: Cluster) -> None:
    await live(cluster)
    await cluster.grant(
        "eve",
        rule("get list watch create update patch delete deletecollection", "*", groups="- setpoint.dev"),
        rule("purge", "secrets", groups="- setpoint.dev"),
        rule("purge", "configmaps/purge", groups="setpoint.dev"),
    )
    for user in ("eve", "nobody"):
        answer = await cluster("POST", PURGE, BODY, user=user)
        assert answer.status == 403
        assert 'cannot purge resource "secrets/purge" in API group "setpoint.dev"' in answer.message
    for number, role in enumerate(("admin", "edit", "view")):
        name = f"with-{role}"
        await cluster.made(binding(name, f"user{number}", to=role, cluster_role=True, namespace="default"), "default")
        assert (await cluster("POST", PURGE, BODY, user=f"user{number}")).status == 403
    assert OLD in str((await cluster("GET", HISTORY)).body)
    await cluster.grant("ann", rule("purge", "secrets/purge", groups="setpoint.dev"), namespace="default")
    assert (await cluster("POST", PURGE.replace("default", "kube-system"), BODY, user="ann")).status == 403
    answer = await cluster("POST", PURGE, BODY, user="ann")
    assert answer.status == 200, answer.message


async def test_with_the_right_in_a_namespace_only_its_current_incarnation_is_purged(cluster: Cluster) -> None:
    store = cluster.store
    key = "/core/secrets/default/s"
    first, _ = await live(cluster)
    await cluster("DELETE", f"{SECRETS}/s")
    # The namespace is made again.
    item = await store.get("/core/namespaces/default")
    assert item is not None
    await store.commit(item.key, None, None, _actor())
    await store.commit(item.key, item.value, None, _actor())
    await live(cluster)
    await cluster.grant("ann", rule("purge", "secrets/purge", groups="setpoint.dev"), namespace="default")
    answer: Any = await cluster("POST", PURGE, BODY, user="ann")
    assert (answer.status, answer.body["removed"]) == (200, 1)
    values = [entry.value is not None for entry in await store.history(key)]
    assert values == [True, False, False, True, True]
    answer = await cluster("POST", PURGE, BODY)
    assert answer.body["removed"] == 2
    assert first


def _actor() -> Any:
    from setpoint.objects.provenance import Actor

    return Actor("test")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "missing required field `reason`"),
        ({"reason": " "}, "reason must have 1 to 1024 characters"),
        ({"reason": "x" * 1025}, "reason must have 1 to 1024 characters"),
        ({"reason": "a\u202eb"}, "reason must not contain control characters"),
        ({"reason": "r", "through": "x"}, "through must be a revision"),
        ({"reason": "r", "through": "999999"}, "through must be a revision up to the current one"),
        ({"reason": "r", "more": 1}, "unknown field `more`"),
        ({"reason": 1}, "Expected `str`, got `int` - at `$.reason`"),
        ([], "Expected `object`, got `array`"),
    ],
)
async def test_a_bad_request_is_refused_and_changes_nothing(cluster: Cluster, body: Any, message: str) -> None:
    await live(cluster)
    before = await cluster.store.revision()
    answer = await cluster("POST", PURGE, body)
    assert (answer.status, message in answer.message) == (400, True), answer.message
    assert await cluster.store.revision() == before


async def test_unknown_objects_resources_and_methods_are_not_found(cluster: Cluster) -> None:
    await live(cluster)
    assert (await cluster("POST", f"{OURS}/secrets/other/purge", BODY)).status == 404
    assert (await cluster("POST", f"{OURS}/nothings/s/purge", BODY)).status == 404
    assert (await cluster("POST", "/apis/setpoint.dev/v1/secrets/s/purge", BODY)).status == 404
    assert (await cluster("POST", f"{OURS}/namespaces/s/purge", BODY)).status == 404
    for method in ("GET", "PUT", "DELETE"):
        assert (await cluster(method, PURGE, BODY)).status in (404, 405)
    assert (await cluster("POST", PURGE, BODY, dryRun="All")).status == 400
    assert OLD in str((await cluster("GET", HISTORY)).body)


async def test_only_values_through_a_revision_are_purged(cluster: Cluster) -> None:
    first, second = await live(cluster)
    await cluster("PUT", f"{SECRETS}/s", secret("dGhpcmQ="))
    answer: Any = await cluster("POST", PURGE, {**BODY, "through": str(first)})
    assert answer.body["removed"] == 1
    assert answer.body["tombstone"]["through"] == str(first)
    assert (await cluster("GET", f"{SECRETS}/s", at=str(second))).status == 200


async def test_the_past_of_a_namespace_can_be_purged(cluster: Cluster) -> None:
    await cluster("PATCH", "/api/v1/namespaces/default", {"metadata": {"annotations": {"a": OLD}}}, kind=MERGE)
    await cluster("PATCH", "/api/v1/namespaces/default", {"metadata": {"annotations": None}}, kind=MERGE)
    answer: Any = await cluster("POST", f"{OURS}/purge", BODY)
    assert (answer.status, answer.body["removed"]) == (200, 2)
    assert OLD not in str((await cluster("GET", f"{OURS}/history")).body)


MERGE = "application/merge-patch+json"


class WholePast(MemoryStore):
    """A store that can only remove everything, as etcd."""

    @property
    def purges_single_keys(self) -> bool:
        return False


async def test_a_store_that_removes_the_whole_past_asks_for_a_confirmation_and_for_the_right_everywhere() -> None:
    async with new_cluster(store=WholePast()) as cluster:
        await live(cluster)
        answer = await cluster("POST", PURGE, BODY)
        assert answer.status == 400
        assert "confirmClusterWide" in answer.message
        assert "whole etcd cluster" in answer.message
        confirmed = {**BODY, "confirmClusterWide": True}
        await cluster.grant("ann", rule("purge", "secrets/purge", groups="setpoint.dev"), namespace="default")
        answer = await cluster("POST", PURGE, confirmed, user="ann")
        assert answer.status == 403
        assert "at the cluster scope" in answer.message
        assert OLD in str((await cluster("GET", HISTORY)).body)
        assert (await cluster("POST", PURGE, confirmed)).status == 200
