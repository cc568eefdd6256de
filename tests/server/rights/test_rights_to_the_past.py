"""Rights to the past: recent revisions take the right to list and watch, everything else that to the history."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.server.authorization.cluster import Cluster, binding, rule
from tests.server.read.reader import MemorySink, OpenWatch
from tests.server.rights.tenancy import HISTORY_RULE, NAMESPACES, Estate, secret, secrets

from setpoint.server.message import Request

HERS = "aGVycw=="  # "hers", as a Secret has it
HISTORY = "/apis/setpoint.dev/v1/namespaces/room"
REVISIONS = "/apis/setpoint.dev/v1/revisions"
EXACT = {"resourceVersionMatch": "Exact"}
MINUTES = 60


@pytest.fixture
def estate(cluster: Cluster) -> Estate:
    return Estate(cluster)


async def told(estate: Estate, user: str, path: str, **query: str) -> list[Any]:
    """Opens a watch, and returns what it tells at once."""
    response = await estate.cluster.respond("GET", path, user=user, watch="true", **query)
    if isinstance(response.body, bytes):
        return [msgspec.json.decode(response.body)]
    assert not isinstance(response.body, list)
    watch = OpenWatch(response.body, MemorySink())
    for _ in range(50):
        await asyncio.sleep(0)
    watch.sink.close()
    await watch.task
    return watch.sink.events


async def recreated(estate: Estate, *rules: Any) -> tuple[str, str]:
    """Lets a namespace go from one owner to another. Returns a revision of the first owner's time and a token of it."""
    await estate.open("room", "alice")
    for name in ("a", "b"):
        await estate.ask("POST", secrets("room"), secret(name, "hers"), 201, user="alice")
    page = await estate.ask("GET", secrets("room"), status=200, user="alice", limit="1")
    await estate.close("room")
    await estate.open("room", "bob", *rules)
    await estate.ask("POST", secrets("room"), secret("a", "his"), 201, user="bob")
    return page["metadata"]["resourceVersion"], page["metadata"]["continue"]


async def test_the_owner_of_a_recreated_namespace_reads_nothing_of_the_one_before(estate: Estate) -> None:
    before, token = await recreated(estate)
    created = (await estate.ask("GET", f"{NAMESPACES}/room"))["metadata"]["resourceVersion"]
    for query in (
        {"resourceVersion": before, **EXACT},
        {"resourceVersion": before, "limit": "5"},
        {"continue": token},
        {"resourceVersion": str(int(created) - 1), **EXACT},
    ):
        body = await estate.ask("GET", secrets("room"), status=410, user="bob", **query)
        assert HERS not in str(body)
    for past in ({"at": before}, {"at": before, "limit": "1"}):
        assert HERS not in str((await estate.cluster("GET", secrets("room"), user="bob", **past)).body)
    assert (await estate.cluster("GET", secrets("room"), user="bob", at=before)).status == 403
    assert (await estate.cluster("GET", f"{secrets('room')}/a", user="bob", at=before)).status == 403
    assert (await estate.cluster("GET", f"{HISTORY}/secrets/a/history", user="bob")).status == 403
    assert (await estate.cluster("GET", REVISIONS, user="bob")).status == 403
    for path in (
        secrets("room"),
        "/api/v1/watch/namespaces/room/secrets",
        "/api/v1/watch/namespaces/room/secrets/a",
    ):
        [event] = await told(estate, "bob", path, resourceVersion=before)
        assert event["object"]["code"] == 410
    # What the token of the answer goes on with is the present.
    gone = await estate.ask("GET", secrets("room"), status=410, user="bob", **{"continue": token})
    rest = await estate.ask(
        "GET", secrets("room"), status=200, user="bob", **{"continue": gone["metadata"]["continue"]}
    )
    assert [item["metadata"]["name"] for item in rest["items"]] == []


async def test_a_parameter_that_is_written_in_another_way_is_the_same_parameter(estate: Estate) -> None:
    before, _ = await recreated(estate)
    headers = {"impersonate-user": "bob", "accept": "application/json"}
    for query in (f"%61t={before}", f"a%74={before}", f"at=&at={before}", f"limit=5&%61%74={before}"):
        response = await estate.cluster.server(Request("GET", secrets("room"), query, headers))
        assert response.status in (400, 403), query
        assert HERS.encode() not in response.body  # type: ignore[operator]


async def test_with_the_history_of_a_namespace_its_present_incarnation_is_read_whole(estate: Estate) -> None:
    before, token = await recreated(estate, HISTORY_RULE)
    first = await estate.revision()
    await estate.ask("DELETE", f"{secrets('room')}/a", status=200, user="bob")
    await estate.ask("POST", secrets("room"), secret("a", "his again"), 201, user="bob")
    estate.cluster.clock.advance(60 * MINUTES)
    # Both lives of the name since the namespace was created, and none before.
    found = await estate.ask("GET", f"{HISTORY}/secrets/a/history", status=200, user="bob")
    assert [item["type"] for item in found["items"]] == ["ADDED", "DELETED", "ADDED"]
    assert "continue" not in found["metadata"]
    assert HERS not in str(found)
    assert (await estate.cluster("GET", f"{HISTORY}/secrets/b/history", user="bob")).status == 404
    expired = await estate.cluster("GET", f"{HISTORY}/secrets/a/history", user="bob", **{"continue": before})
    assert expired.status == 410
    listed = await estate.ask("GET", secrets("room"), status=200, user="bob", at=first)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    # Long ago, and within the incarnation: lists and watches too.
    await estate.ask("GET", secrets("room"), status=200, user="bob", resourceVersion=first, **EXACT)
    events = await told(estate, "bob", secrets("room"), resourceVersion=first)
    assert [event["type"] for event in events] == ["DELETED", "ADDED"]
    # Before it: nothing, whichever way.
    for query in ({"at": before}, {"resourceVersion": before, **EXACT}, {"continue": token}):
        assert (await estate.cluster("GET", secrets("room"), user="bob", **query)).status == 410, query
    [event] = await told(estate, "bob", secrets("room"), resourceVersion=before)
    assert event["object"]["code"] == 410
    assert (await estate.cluster("GET", f"{secrets('room')}/a", user="bob", at=before)).status == 410


async def test_with_the_history_of_the_cluster_every_incarnation_is_read(estate: Estate) -> None:
    before, token = await recreated(estate)
    estate.cluster.clock.advance(60 * MINUTES)
    await estate.cluster.grant("carol", rule("get list watch", "secrets"), HISTORY_RULE)
    found = await estate.ask("GET", f"{HISTORY}/secrets/a/history", status=200, user="carol")
    assert [item["type"] for item in found["items"]] == ["ADDED", "DELETED", "ADDED"]
    for query in ({"at": before}, {"resourceVersion": before, **EXACT}, {"continue": token}):
        body = await estate.ask("GET", secrets("room"), status=200, user="carol", **query)
        assert HERS in str(body), query
    events = await told(estate, "carol", secrets("room"), resourceVersion=before)
    assert [event["type"] for event in events] == ["DELETED", "DELETED", "ADDED"]


async def test_the_history_alone_is_no_right_to_the_object(estate: Estate) -> None:
    before, _ = await recreated(estate)
    await estate.cluster.grant("carol", HISTORY_RULE)
    assert (await estate.cluster("GET", f"{HISTORY}/secrets/a/history", user="carol")).status == 403
    assert (await estate.cluster("GET", secrets("room"), user="carol", at=before)).status == 403


@pytest.mark.parametrize("rules", [(), (rule("list", "*", groups="* -"),)])
async def test_the_log_with_its_objects_takes_the_history_of_each_resource(
    estate: Estate, rules: tuple[Any, ...]
) -> None:
    await recreated(estate)
    await estate.cluster.grant("carol", rule("list", "revisions", groups="setpoint.dev"), *rules)
    assert (await estate.cluster("GET", REVISIONS, user="carol")).status == 200
    assert (await estate.cluster("GET", REVISIONS, user="carol", objects="true")).status == 403
    await estate.cluster.grant("carol", rule("list", "*", groups="*"), HISTORY_RULE, name="history")
    assert (await estate.cluster("GET", REVISIONS, user="carol", objects="true")).status == 200


async def test_the_history_of_a_namespace_itself_has_the_right_of_any_history(estate: Estate) -> None:
    await recreated(estate, rule("get", "namespaces"), rule("get", "namespaces/history", groups="setpoint.dev"))
    found = await estate.ask("GET", f"{HISTORY}/history", status=200, user="bob")
    # Only the incarnation that is bob's.
    assert [item["type"] for item in found["items"]] == ["ADDED"]
    whole = await estate.ask("GET", f"{HISTORY}/history", status=200)
    assert [item["type"] for item in whole["items"]].count("ADDED") == 2
    other = "/apis/setpoint.dev/v1/namespaces/default/history"
    assert (await estate.cluster("GET", other, user="bob")).status == 403


async def test_the_recent_past_takes_no_more_than_lists_and_watches(estate: Estate) -> None:
    await estate.open("room", "alice")
    await estate.ask("POST", NAMESPACES, {"metadata": {"name": "elsewhere"}}, 201)
    names = ["a", "b", "c"]
    for name in names:
        await estate.ask("POST", secrets("room"), secret(name, "hers"), 201, user="alice")
    page = await estate.ask("GET", secrets("room"), status=200, user="alice", limit="1")
    version, token = page["metadata"]["resourceVersion"], page["metadata"]["continue"]
    await estate.ask("DELETE", f"{secrets('room')}/c", status=200, user="alice")
    estate.cluster.clock.advance(4 * MINUTES)
    rest = await estate.ask("GET", secrets("room"), status=200, user="alice", **{"continue": token})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
    await estate.ask("GET", secrets("room"), status=200, user="alice", resourceVersion=version, **EXACT)
    events = await told(estate, "alice", secrets("room"), resourceVersion=version)
    assert [event["type"] for event in events] == ["DELETED"]
    estate.cluster.clock.advance(2 * MINUTES)
    for query in ({"continue": token}, {"resourceVersion": version, **EXACT}):
        assert (await estate.cluster("GET", secrets("room"), user="alice", **query)).status == 410
    [event] = await told(estate, "alice", secrets("room"), resourceVersion=version)
    assert event["object"]["code"] == 410
    # In the whole cluster it is the same window.
    await estate.cluster.grant("carol", rule("list watch", "secrets"))
    gone = await estate.cluster("GET", "/api/v1/secrets", user="carol", resourceVersion=version, **EXACT)
    assert gone.status == 410


async def test_a_watch_of_what_did_not_change_goes_on_however_long_ago_that_was(estate: Estate) -> None:
    await estate.open("room", "alice")
    await estate.ask("POST", secrets("room"), secret("a", "hers"), 201, user="alice")
    version = await estate.revision()
    await estate.ask("POST", NAMESPACES, {"metadata": {"name": "elsewhere"}}, 201)
    estate.cluster.clock.advance(60 * MINUTES)
    await estate.ask("POST", secrets("room"), secret("b", "hers"), 201, user="alice")
    events = await told(estate, "alice", secrets("room"), resourceVersion=version)
    assert [event["object"]["metadata"]["name"] for event in events] == ["b"]


async def test_a_watch_ends_when_its_namespace_goes_to_somebody_else(estate: Estate) -> None:
    await estate.open("room", "alice")
    await estate.cluster.grant("carol", rule("list watch", "secrets"))
    watches = {}
    for user in ("alice", "carol"):
        response = await estate.cluster.respond("GET", secrets("room"), user=user, watch="true")
        watches[user] = OpenWatch(response.body, MemorySink())  # type: ignore[arg-type]
    await estate.ask("POST", secrets("room"), secret("a", "hers"), 201, user="alice")
    assert await watches["alice"].told(1) == [("ADDED", "a")]
    await estate.close("room")
    assert await watches["alice"].told(1) == [("DELETED", "a")]
    assert not await watches["alice"].ended()
    await estate.open("room", "bob")
    await estate.ask("POST", secrets("room"), secret("b", "his"), 201, user="bob")
    # She hears of nothing that is his; who may watch everywhere goes on.
    assert await watches["alice"].told(0) == []
    assert await watches["alice"].ended()
    assert [name for _, name in await watches["carol"].told(3)] == ["a", "a", "b"]
    watches["carol"].sink.close()


async def test_a_watch_ends_within_a_minute_after_its_right_is_taken_away(estate: Estate) -> None:
    await estate.open("room", "alice")
    response = await estate.cluster.respond("GET", secrets("room"), user="alice", watch="true")
    watch = OpenWatch(response.body, MemorySink())  # type: ignore[arg-type]
    assert not await watch.ended()
    await estate.ask("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/room/rolebindings/alice", status=200)
    estate.cluster.clock.advance(61)
    assert await watch.ended()


@pytest.mark.parametrize("right", ["get", "get create"])
@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward", "proxy"])
async def test_a_conversation_that_begins_with_a_get_takes_the_right_to_create(
    estate: Estate, subresource: str, right: str
) -> None:
    await estate.cluster.grant("dave", rule(right, f"pods/{subresource}"))
    path = f"{NAMESPACES}/default/pods/p/{subresource}"
    answer = await estate.cluster("GET", path, user="dave", command="sh")
    refused = right == "get" and subresource != "proxy"
    assert (answer.status == 403) == refused, answer
    if refused:
        assert f'cannot create resource "pods/{subresource}"' in answer.message


async def test_among_the_default_roles_only_the_administrator_of_the_cluster_reads_the_past(cluster: Cluster) -> None:
    found = await cluster("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")
    names = [item["metadata"]["name"] for item in found.body["items"]]
    assert {"admin", "edit", "view", "cluster-admin"} <= set(names)
    holders = []
    for place, name in enumerate(names):
        user = f"user-{place}"
        await cluster.made(binding(user, user, to=name))
        may = await cluster.may(user, "get", "secrets", group="setpoint.dev", subresource="history")
        if may["allowed"]:
            holders.append(name)
    # These two controllers may read and delete everything there is, as on the real server.
    controllers = {f"system:controller:{name}" for name in ("generic-garbage-collector", "namespace-controller")}
    assert set(holders) - controllers == {"cluster-admin"}
