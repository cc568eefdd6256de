"""What clients that accept protobuf read: the same as JSON says, made once and shared."""

import gzip
import json
from typing import Any

import pytest
from tests.server.authorization.cluster import Cluster
from tests.server.protobuf.bodies import content, message_in, parts
from tests.server.protobuf.test_protobuf_writing import holds

from setpoint.objects.clock import ManualClock
from setpoint.objects.gvk import GroupVersionKind
from setpoint.server.app import Server
from setpoint.server.codec.negotiation import JSON, PROTOBUF
from setpoint.server.codec.protobuf import decode
from setpoint.server.history.purge import evict
from setpoint.server.message import Request, Response
from setpoint.server.publish.discovery.documents import Discovery
from setpoint.server.publish.nonresource.version import VersionPage
from setpoint.server.registry.message_cache import MessageCache
from setpoint.server.server_options import Serving
from setpoint.store.contract import Item
from setpoint.store.memory import MemoryStore

from .reader import ALL_MAPS, MAPS, START, WIDGETS, MemorySink, Reader, Tree, reading

META = "g=meta.k8s.io;v=v1"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;{META}"
PARTIAL_LIST = f"{PROTOBUF};as=PartialObjectMetadataList;{META}"
# As client-go asks when its content type is protobuf.
GO = f"{PROTOBUF},{JSON}"
STREAM = f"{PROTOBUF};stream=watch"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def whole(response: Response) -> bytes:
    assert isinstance(response.body, bytes | list)
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


async def ask(reader: Reader, path: str, accept: str = GO, **query: object) -> Response:
    return await reader.ask("GET", path, None, {"accept": accept}, **query)


async def read(
    reader: Reader,
    path: str,
    *,
    accept: str = GO,
    status: int = 200,
    method: str = "GET",
    body: Tree | None = None,
    **query: object,
) -> Tree:
    """An answer in protobuf, as JSON."""
    response = await reader.ask(method, path, body, {"accept": accept}, **query)
    assert (response.status, response.content_type) == (status, PROTOBUF), whole(response)[:500]
    return decode(whole(response))


def deployment(name: str) -> Tree:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": {"text": "日本"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


async def made_maps(reader: Reader, count: int, size: int = 10) -> None:
    for number in range(count):
        await reader.create(MAPS, f"m{number:03}", data={"k": "é" * size})


async def test_an_object_says_the_same_in_json_and_in_protobuf() -> None:
    async with reading() as reader:
        made = await read(reader, DEPLOYMENTS, method="POST", body=deployment("web"), status=201)
        plain = await reader.json(f"{DEPLOYMENTS}/web")
        assert made == await read(reader, f"{DEPLOYMENTS}/web")
        assert made.pop("status") == plain.pop("status") == {}
        # Go writes the zero time of a template, which is omitted when stored.
        assert made == plain


async def test_every_verb_is_answered_in_protobuf() -> None:
    async with reading() as reader:
        path = f"{DEPLOYMENTS}/web"
        made = await read(reader, DEPLOYMENTS, method="POST", body=deployment("web"), status=201)
        made["spec"]["replicas"] = 3
        updated = await read(reader, path, method="PUT", body=made)
        assert updated["spec"]["replicas"] == 3
        updated["status"]["replicas"] = 1
        assert (await read(reader, f"{path}/status", method="PUT", body=updated))["status"]["replicas"] == 1
        scale = await read(reader, f"{path}/scale")
        assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 3)
        response = await reader.ask(
            "PATCH",
            path,
            {"spec": {"replicas": 4}},
            {"accept": GO, "content-type": "application/merge-patch+json"},
        )
        assert decode(whole(response))["spec"]["replicas"] == 4
        deleted = await read(reader, path, method="DELETE")
        assert (deleted["kind"], deleted["status"]) == ("Status", "Success")
        await made_maps(reader, 3)
        deleted = await read(reader, MAPS, method="DELETE")
        assert (deleted["kind"], len(deleted["items"])) == ("ConfigMapList", 3)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await reader.json(ACCOUNTS, method="POST", body={"metadata": {"name": "default"}}, status=201)
        await read(reader, PODS, method="POST", body=pod, status=201)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        evicted = await read(reader, f"{PODS}/p/eviction", method="POST", body=eviction, status=201)
        assert (evicted["kind"], evicted["status"]) == ("Status", "Success")
        token = await read(reader, f"{ACCOUNTS}/default/token", method="POST", body={"spec": {}}, status=201)
        assert token["kind"] == "TokenRequest"
        assert token["status"]["token"]
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
        review["spec"] = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert (await read(reader, path, method="POST", body=review, status=201))["status"]["allowed"]


async def test_a_list_is_the_same_list() -> None:
    async with reading() as reader:
        assert (await read(reader, MAPS))["items"] is None
        await made_maps(reader, 5)
        found, plain = await read(reader, MAPS), await reader.json(MAPS)
        assert found == plain
        assert found["kind"] == "ConfigMapList"


def after(token: str) -> dict[str, Any]:
    return {"continue": token} if token else {}


async def test_a_list_goes_on_page_by_page() -> None:
    async with reading() as reader:
        await made_maps(reader, 5)
        names, more = [], ""
        while True:
            page = decode(whole(await reader.ask("GET", MAPS, None, {"accept": GO}, limit=2, **after(more))))
            names += [item["metadata"]["name"] for item in page["items"]]
            more = page["metadata"].get("continue", "")
            if not more:
                break
            assert page["metadata"]["remainingItemCount"] == 5 - len(names)
        assert names == [f"m{number:03}" for number in range(5)]


async def test_a_large_list_is_written_in_slices_and_compressed() -> None:
    async with reading() as reader:
        await made_maps(reader, 90, size=1000)
        response = await ask(reader, MAPS)
        assert isinstance(response.body, list)
        # The start, the end, and slices of limited size between them.
        assert len(response.body) > 5
        assert max(map(len, response.body)) < 64 << 10
        plain = await ask(reader, MAPS, JSON)
        assert decode(whole(response)) == json.loads(whole(plain))
        packed = await reader.ask("GET", MAPS, None, {"accept": GO, "accept-encoding": "gzip"})
        assert gzip.decompress(whole(packed)) == whole(response)


async def test_each_revision_is_converted_once_for_all_lists_and_watches() -> None:
    async with reading() as reader:
        cache = reader.server.services.registry.resource("", "v1", "configmaps").messages  # type: ignore[union-attr]
        await made_maps(reader, 4)
        now = (await reader.json(MAPS))["metadata"]["resourceVersion"]
        watches = [await reader.watch(accept=STREAM, resourceVersion=now) for _ in range(3)]
        first = await ask(reader, MAPS)
        assert cache.made == 4
        await ask(reader, ALL_MAPS)
        assert whole(await ask(reader, MAPS)) == whole(first)
        assert cache.made == 4
        await reader.patch(f"{MAPS}/m001", {"data": {"k": "new"}})
        for watch in watches:
            (event,) = await watch.events(1)
            assert event["object"]["data"] == {"k": "new"}
        assert cache.made == 5
        changed = await read(reader, MAPS)
        assert [item["data"]["k"] for item in changed["items"]][1] == "new"
        assert cache.made == 5
        frames = [watch.sink.frames[0] for watch in watches]
        assert frames[0] is frames[1] is frames[2]


async def test_a_list_of_the_past_leaves_newer_messages() -> None:
    async with reading() as reader:
        await made_maps(reader, 1)
        revision = (await reader.json(MAPS))["metadata"]["resourceVersion"]
        await reader.patch(f"{MAPS}/m000", {"data": {"k": "new"}})
        cache = reader.server.services.registry.resource("", "v1", "configmaps").messages  # type: ignore[union-attr]
        await ask(reader, MAPS)
        past = await read(reader, MAPS, resourceVersion=revision, resourceVersionMatch="Exact")
        assert past["items"][0]["data"]["k"] != "new"
        await ask(reader, MAPS)
        assert cache.made == 1


def test_the_messages_in_the_cache_are_limited_by_their_bytes() -> None:
    cache, made = MessageCache(10_000), []

    def make(item: Item) -> bytes:
        made.append(item.key)
        return bytes(1000)

    items = [Item(f"/{number}", b"", number, 0) for number in range(1, 20)]
    for item in items:
        cache.message("object", item, make)
        assert cache.message("object", item, make) == bytes(1000)
    assert made == [item.key for item in items]
    cache.message("object", items[-7], make)
    assert len(made) == 19
    cache.message("object", items[-8], make)
    assert len(made) == 20
    cache.evict(items[-1].key)
    cache.message("object", items[-1], make)
    cache.message("metadata", items[-1], make)
    assert len(made) == 22


async def test_a_purged_object_leaves_no_message() -> None:
    async with reading() as reader:
        await made_maps(reader, 2)
        await ask(reader, MAPS)
        evict(reader.server.services, "/core/configmaps/default/m000")
        cache = reader.server.services.registry.resource("", "v1", "configmaps").messages  # type: ignore[union-attr]
        assert [key for _, key in cache._messages] == ["/core/configmaps/default/m001"]


async def test_a_watch_tells_every_event_in_frames() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "old", data={"text": "日本"})
        watch = await reader.watch(accept=STREAM, sendInitialEvents="true", allowWatchBookmarks="true",
                                   resourceVersionMatch="NotOlderThan")  # fmt: skip
        added, mark = await watch.events(2)
        assert added == {"type": "ADDED", "object": await reader.json(f"{MAPS}/old")}
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await reader.create(MAPS, "new", labels={"a": "b"})
        await reader.patch(f"{MAPS}/new", {"data": {"k": "v"}})
        last = await reader.json(f"{MAPS}/new")
        await reader.delete(f"{MAPS}/new")
        events = await watch.events(3)
        assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
        assert events[1]["object"] == last
        gone = events[2]["object"]["metadata"].pop("resourceVersion")
        assert int(gone) > int(last["metadata"].pop("resourceVersion"))
        assert events[2]["object"] == last


async def test_a_watch_that_fails_ends_with_a_status() -> None:
    async with reading() as reader:
        await made_maps(reader, 3)
        await reader.store.compact(await reader.store.revision())
        response = await ask(reader, MAPS, STREAM, watch="true", resourceVersion="1")
        sink = MemorySink()
        assert not isinstance(response.body, bytes | list)
        await response.body.run(sink)
        (event,) = sink.events
        assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)


async def test_metadata_alone_can_be_protobuf_even_of_custom_resources() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(WIDGETS, "w", spec={"size": 3}, labels={"a": "b"})
        await reader.create(MAPS, "m", data={"k": "v"})
        for path in (f"{WIDGETS}/w", f"{MAPS}/m"):
            found, plain = await read(reader, path, accept=PARTIAL), await reader.json(path)
            assert (found["apiVersion"], found["kind"]) == ("meta.k8s.io/v1", "PartialObjectMetadata")
            assert found["metadata"] == plain["metadata"]
            assert set(found) == {"apiVersion", "kind", "metadata"}
            listed = await read(reader, path.rpartition("/")[0], accept=PARTIAL_LIST)
            assert listed["kind"] == "PartialObjectMetadataList"
            assert listed["items"] == [{"metadata": plain["metadata"]}]
            old = await read(reader, path.rpartition("/")[0], accept=f"{PARTIAL_LIST}beta1")
            assert (old["apiVersion"], old["items"]) == ("meta.k8s.io/v1beta1", listed["items"])
        now = (await reader.json(WIDGETS))["metadata"]["resourceVersion"]
        watches = [
            await reader.watch(WIDGETS, accept=f"{PARTIAL}{suffix};stream=watch", resourceVersion=now)
            for suffix in ("", "beta1")
        ]
        await reader.patch(f"{WIDGETS}/w", {"spec": {"size": 4}})
        for watch, version in zip(watches, ("meta.k8s.io/v1", "meta.k8s.io/v1beta1"), strict=True):
            event = (await watch.events(1))[-1]
            assert (event["object"]["apiVersion"], event["object"]["kind"]) == (version, "PartialObjectMetadata")


@pytest.mark.parametrize(
    ("accept", "content_type", "status"),
    [
        (PROTOBUF, PROTOBUF, 406),
        (GO, JSON, 200),
        (f"{PROTOBUF};q=0.9,{JSON};q=0.1", JSON, 200),
    ],
)
async def test_custom_resources_have_no_protobuf(accept: str, content_type: str, status: int) -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(WIDGETS, "w")
        for path in (f"{WIDGETS}/w", WIDGETS):
            response = await ask(reader, path, accept)
            assert (response.status, response.content_type) == (status, content_type)


async def test_a_table_is_json_or_refused() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "m")
        table = f"{PROTOBUF};as=Table;{META}"
        response = await ask(reader, MAPS, table)
        assert (response.status, response.content_type) == (406, JSON)
        response = await ask(reader, MAPS, f"{table},{JSON};as=Table;{META},{JSON}")
        assert (response.status, response.content_type) == (200, JSON)
        assert json.loads(whole(response))["kind"] == "Table"


async def test_discovery_is_protobuf_where_it_is_asked_for() -> None:
    server = Server(
        MemoryStore(clock=ManualClock(START)),
        clock=ManualClock(START),
        serving=Serving(pages=[Discovery(), VersionPage()]),
    )
    await server.start()
    for path in ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"):
        told = await server(Request("GET", path, "", {"accept": GO, "host": "h"}, b""))
        plain = json.loads(whole(await server(Request("GET", path, "", {"host": "h"}, b""))))
        assert (told.status, told.content_type) == (200, PROTOBUF)
        assert holds(decode(whole(told), GroupVersionKind("", "v1", plain["kind"])), plain)
    assert (await server(Request("GET", "/version", "", {"accept": GO}, b""))).content_type == JSON


async def test_who_has_no_rights_is_told_so_in_protobuf() -> None:
    cluster = Cluster()
    await cluster.server.start()
    for query in ({}, {"watch": "true"}):
        response = await cluster.respond("GET", MAPS, user="eve", accept=GO, **query)
        assert (response.status, response.content_type) == (403, PROTOBUF)
        status = decode(whole(response))
        assert (status["kind"], status["reason"], status["code"]) == ("Status", "Forbidden", 403)
        assert 'User "eve" cannot' in status["message"]


async def test_an_object_is_indented_for_nobody_in_protobuf() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "m")
        plain = whole(await ask(reader, f"{MAPS}/m"))
        shown = await reader.ask("GET", f"{MAPS}/m", None, {"accept": GO, "user-agent": "curl/8"}, pretty="true")
        assert whole(shown) == plain
        (metadata,) = parts(message_in(plain))
        assert b"m" in content(metadata)
