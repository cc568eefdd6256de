"""The watch over all kinds that tells who belongs to whom, and what goes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest

from setpoint.client.client import Client
from setpoint.client.transport import Call
from setpoint.client.watch import raw_events
from setpoint.objects.errors import BadRequest, Expired, Forbidden
from setpoint.plane import ControlPlane
from setpoint.server.history import ownership

PATH = "/apis/setpoint.dev/v1/ownership"


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with asyncio.timeout(30), ControlPlane(system=False) as plane:
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with plane.client() as client:
        yield client


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


async def told(client: Client, *owners: str, **query: str) -> list[tuple[str, Any]]:
    """What is told up to the bookmark that says that the watch has caught up."""
    found = []
    asked = [("watch", "true"), *query.items(), *(("ownerUID", owner) for owner in owners)]
    call = Call("GET", PATH, asked, {"accept": "application/json"})
    async with client.stream(call) as stream:
        async for event in raw_events(stream):
            found.append((event.type, msgspec.json.decode(event.object)))
            if event.type == "BOOKMARK":
                return found
    raise AssertionError("the watch ended")


async def test_it_tells_of_what_has_owners_and_of_everything_that_goes(plane: ControlPlane, client: Client) -> None:
    owner = await client.create(config_map("owner"))
    start = owner["metadata"]["resourceVersion"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = await client.create(config_map("child", ownerReferences=[reference], labels={"a": "b"}))
    await client.create(config_map("stranger"))
    await client.delete("v1/ConfigMap", "stranger", "default")
    *events, (_, bookmark) = await told(client, resourceVersion=start)
    assert [(kind, each["metadata"]["name"]) for kind, each in events] == [
        ("ADDED", "child"),
        ("DELETED", "stranger"),
    ]
    assert events[0][1] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "child",
            "namespace": "default",
            "uid": child["metadata"]["uid"],
            "ownerReferences": [reference],
            "resourceVersion": child["metadata"]["resourceVersion"],
        },
        "found": [0],
    }
    assert bookmark["metadata"]["resourceVersion"] == events[1][1]["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    "wrong", [{"name": "other"}, {"uid": "other"}, {"kind": "Secret"}, {"kind": "Nothing"}, {"apiVersion": "a/v1"}]
)
async def test_it_says_which_references_lead_to_an_owner(
    plane: ControlPlane, client: Client, wrong: dict[str, str]
) -> None:
    owner = await client.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await client.create(config_map("child", ownerReferences=[{**reference, **wrong}, reference]))
    *events, _ = await told(client, sendInitialEvents="true")
    assert [each["found"] for _, each in events] == [[1]]
    await client.delete("v1/ConfigMap", "owner", "default")
    *events, _ = await told(client, sendInitialEvents="true")
    assert ["found" in each for _, each in events] == [False]


async def test_it_can_begin_with_what_is_there(plane: ControlPlane, client: Client) -> None:
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u"}
    await client.create(config_map("child", ownerReferences=[reference]))
    await client.create(config_map("going", finalizers=["orphan"]))
    await client.create(config_map("stranger"))
    *events, _ = await told(client, sendInitialEvents="true")
    assert [(kind, each["metadata"]["name"]) for kind, each in events] == [("ADDED", "child"), ("ADDED", "going")]


async def test_an_object_that_loses_its_owners_is_told_once_more(plane: ControlPlane, client: Client) -> None:
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u"}
    child = await client.create(config_map("child", ownerReferences=[reference]))
    await client.update({**config_map("child"), "data": {"k": "v"}})
    await client.update({**config_map("child"), "data": {"k": "w"}})
    *events, _ = await told(client, resourceVersion=child["metadata"]["resourceVersion"])
    assert [each["metadata"].get("ownerReferences") for _, each in events] == [None]


async def test_who_is_too_late_is_told_so(plane: ControlPlane, client: Client) -> None:
    first = await client.create(config_map("a"))
    await client.create(config_map("b"))
    store = plane._started.services.store
    await store.compact(await store.revision())
    with pytest.raises(Expired):
        await told(client, resourceVersion=first["metadata"]["resourceVersion"])


async def test_it_takes_the_right_to_it(plane: ControlPlane, client: Client) -> None:
    async with plane.client(user="jane") as jane:
        with pytest.raises(Forbidden, match=r'cannot watch resource "ownership" in API group "setpoint.dev"'):
            await told(jane)
    with pytest.raises(BadRequest, match="resourceVersion must be a number"):
        await told(client, resourceVersion="x")


def owned_by(*owners: Any) -> list[dict[str, str]]:
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
        for each in owners
    ]


async def dependents(client: Client, *owners: Any) -> list[str]:
    *events, _ = await told(client, *(each["metadata"]["uid"] for each in owners), sendInitialEvents="true")
    assert {kind for kind, _ in events} <= {"ADDED"}
    return [each["metadata"]["name"] for _, each in events]


async def test_the_dependents_of_an_owner_are_found_in_an_index(
    plane: ControlPlane, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    owner_uids = ownership._owner_uids

    def counted(value: bytes) -> Sequence[str]:
        nonlocal read
        read += 1
        return owner_uids(value)

    monkeypatch.setattr(ownership, "_owner_uids", counted)
    first = await client.create(config_map("first"))
    second = await client.create(config_map("second"))
    child = await client.create(config_map("child", ownerReferences=owned_by(first)))
    await client.create(config_map("both", ownerReferences=owned_by(first, second)))
    await client.create(config_map("grandchild", ownerReferences=owned_by(child)))
    for number in range(30):
        await client.create(config_map(f"stranger-{number}"))
    counts = []
    for _ in range(3):
        read = 0
        assert sorted(await dependents(client, first)) == ["both", "child", "grandchild"]
        counts.append(read)
    assert counts[0] > 30, "the first use reads all objects"
    assert counts[2] == 0, "the third use reads only the dependents"
    assert await dependents(client, second) == ["both"]
    assert sorted(await dependents(client, child, second)) == ["both", "grandchild"]
    assert await dependents(client, config_map("x", uid="unknown")) == []
    await client.delete("v1/ConfigMap", "both", "default")
    await client.create(config_map("late", ownerReferences=owned_by(second)))
    assert await dependents(client, second) == ["late"]


@pytest.mark.parametrize("uses", [1, 3])
async def test_only_changes_of_dependents_are_told(plane: ControlPlane, client: Client, uses: int) -> None:
    owner = await client.create(config_map("owner"))
    for _ in range(uses - 1):
        assert await dependents(client, owner) == []
    query = [("watch", "true"), ("sendInitialEvents", "true"), ("ownerUID", owner["metadata"]["uid"])]
    found: list[tuple[str, str]] = []
    async with client.stream(Call("GET", PATH, query, {"accept": "application/json"})) as stream:
        events = raw_events(stream)
        assert (await anext(events)).type == "BOOKMARK"
        other = await client.create(config_map("other", ownerReferences=owned_by(config_map("x", uid="u"))))
        child = await client.create(config_map("child", ownerReferences=owned_by(owner)))
        await client.create(config_map("grandchild", ownerReferences=owned_by(child, other)))
        await client.delete("v1/ConfigMap", "other", "default")
        await client.update(config_map("child"))
        await client.delete("v1/ConfigMap", "grandchild", "default")
        while len(found) < 4:
            event = await anext(events)
            found.append((event.type, msgspec.json.decode(event.object)["metadata"]["name"]))
    assert found == [("ADDED", "child"), ("ADDED", "grandchild"), ("MODIFIED", "child"), ("DELETED", "grandchild")]


async def test_the_number_of_owners_is_bounded_and_takes_the_same_right(plane: ControlPlane, client: Client) -> None:
    with pytest.raises(BadRequest, match="ownerUID: 101 values are too many: at most 100 in one request"):
        await told(client, *map(str, range(101)))
    async with plane.client(user="jane") as jane:
        with pytest.raises(Forbidden, match=r'cannot watch resource "ownership" in API group "setpoint.dev"'):
            await told(jane, "u", sendInitialEvents="true")
