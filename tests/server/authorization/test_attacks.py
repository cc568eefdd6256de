"""What somebody tries who may not read secrets, and what an authorizer is asked about: exactly what is then served."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import example, given, settings
from tests.server.authorization.cluster import Cluster, rule
from tests.server.read.reader import MemorySink, OpenWatch

from setpoint.server.access.authorization.modes import AlwaysAllow
from setpoint.server.message import Request, Stream
from setpoint.server.ports import ALLOWED, Decision, User
from setpoint.server.registry.registry import Registry
from setpoint.server.requestinfo import RequestInfo
from setpoint.store.contract import ANY, Page
from setpoint.store.memory import MemoryStore

SECRETS = "/api/v1/namespaces/default/secrets"
MARKER = "aHVudGVyMg=="
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": MARKER}}
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
# Whatever reads the past, all of another kind, and the verbs that do not read: none of it is the right to read secrets.
OTHER_RIGHTS = [
    rule("*", "*", groups="setpoint.dev"),
    rule("*", "configmaps namespaces pods"),
    rule("create update patch delete deletecollection", "secrets"),
    rule("*", "secrets/status secrets/history"),
    rule("*", "secrets", groups="example.com"),
    rule("get", urls="/api/* /apis/* /secrets*"),
]

READS = [
    (SECRETS, {}),
    (f"{SECRETS}/s", {}),
    ("/api/v1/secrets", {}),
    (SECRETS, {"fieldSelector": "metadata.name=s"}),
    (SECRETS, {"labelSelector": "!nothing"}),
    (SECRETS, {"watch": "true"}),
    (SECRETS, {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}),
    ("/api/v1/watch/namespaces/default/secrets", {}),
    ("/api/v1/watch/namespaces/default/secrets/s", {}),
    ("/api/v1/watch/secrets", {}),
    (f"{SECRETS}/s", {"at": "AT"}),
    (SECRETS, {"at": "AT"}),
    ("/apis/setpoint.dev/v1/namespaces/default/secrets/s/history", {}),
    ("/apis/setpoint.dev/v1/namespaces/default/secrets/s/history/", {"limit": "1"}),
    ("/api/v1/namespaces/default//secrets/s", {}),
    ("//api/v1/namespaces/default/secrets/s", {}),
    ("/api//v1/namespaces/default/secrets/s", {}),
    ("/api/v1/namespaces/default/secrets/s/", {}),
    ("/api/v1/namespaces/default/configmaps/../secrets/s", {}),
    ("/api/v1/namespaces/default/configmaps/%2e%2e/secrets/s", {}),
    ("/api/v1/namespaces/default/configmaps/%2E%2E%2Fsecrets%2Fs", {}),
    ("/api/v1/namespaces/default/configmaps/..%2fsecrets%2fs", {}),
    ("/api/v1/namespaces/kube-system/../default/secrets/s", {}),
    ("/api/v1/./namespaces/default/secrets/s", {}),
    ("/api/v1/namespaces/default%2Fsecrets%2Fs", {}),
    ("/api/v1/namespaces%2fdefault%2fsecrets/s", {}),
    ("/%61pi/v1/namespaces/default/secrets/s", {}),
    ("/api/v1/namespaces/default/%73ecrets/s", {}),
    ("/api/v1/namespaces/default/%2573ecrets/s", {}),
    ("/api/v1/namespaces/default/SECRETS/s", {}),
    ("/API/v1/namespaces/default/secrets/s", {}),
    ("/api/v1/namespaces/default/secrets/s/status", {}),
    ("/api/v1/namespaces/default/secrets%00/s", {}),
    ("/api/v1/namespaces/default/secrets/s%3Fwatch=1", {}),
    ("/api/v1/namespaces/default/secrets;x=1/s", {}),
    ("/apis//v1/namespaces/default/secrets/s", {}),
    ("/apis/core/v1/namespaces/default/secrets/s", {}),
    ("/apis/v1/namespaces/default/secrets/s", {}),
    ("/api/v1/proxy/namespaces/default/secrets/s", {}),
    ("/api/v1/namespaces/default/pods/p/proxy/../../../secrets/s", {}),
    ("/apis/example.com/../../api/v1/namespaces/default/secrets/s", {}),
    ("/healthz/../api/v1/namespaces/default/secrets/s", {}),
]


@pytest.mark.parametrize("accept", ["application/json", TABLE, PARTIAL, PARTIAL_LIST, PROTOBUF, "application/yaml"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_secret_is_not_read_in_any_form_by_who_has_every_right_but_that_one(
    cluster: Cluster, method: str, accept: str
) -> None:
    made = await cluster("POST", SECRETS, SECRET)
    await cluster.grant("eve", *OTHER_RIGHTS)
    at = made.body["metadata"]["resourceVersion"]
    for path, query in READS:
        asked = {name: at if value == "AT" else value for name, value in query.items()}
        response = await cluster.respond(method, path, user="eve", accept=accept, **asked)
        assert isinstance(response.body, bytes), path
        assert response.status >= 400, path
        assert MARKER.encode() not in response.body, path
        assert b"hunter2" not in response.body, path


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", SECRETS, {**SECRET, "metadata": {"name": "t"}}),
        ("PUT", f"{SECRETS}/s", {**SECRET, "data": {}}),
        ("DELETE", f"{SECRETS}/s", None),
    ],
)
async def test_to_write_is_not_to_read(cluster: Cluster, method: str, path: str, body: Any) -> None:
    """What a writer is answered is what they have sent, or no more than that it is done."""
    await cluster("POST", SECRETS, SECRET)
    await cluster.grant("eve", *OTHER_RIGHTS)
    answer = await cluster(method, path, body, user="eve")
    assert answer.status in (200, 201)
    if method != "POST":
        assert MARKER not in str(answer.body)


async def test_the_past_of_an_object_needs_the_right_to_get_it_by_its_name(cluster: Cluster) -> None:
    history = "/apis/setpoint.dev/v1/namespaces/default"
    for name in ("s", "t"):
        await cluster("POST", SECRETS, {**SECRET, "metadata": {"name": name}})
    await cluster.grant("eve", rule("get", "secrets", names="s"), rule("get", "namespaces", names="default"))
    answer = await cluster("GET", f"{history}/secrets/s/history", user="eve")
    assert answer.status == 403
    assert 'resource "secrets/history" in API group "setpoint.dev"' in answer.message
    await cluster.grant("eve", rule("get list", "*/history history", groups="setpoint.dev"), name="history")
    assert (await cluster("GET", f"{history}/secrets/s/history", user="eve")).status == 200
    answer = await cluster("GET", f"{history}/secrets/t/history", user="eve")
    assert answer.message.startswith('secrets "t" is forbidden: User "eve" cannot get resource "secrets"')
    # A deleted secret is as secret as before.
    await cluster("DELETE", f"{SECRETS}/t")
    assert (await cluster("GET", f"{history}/secrets/t/history", user="eve")).status == 403
    assert (await cluster("GET", f"{history}/history", user="eve")).status == 200
    other = "/apis/setpoint.dev/v1/namespaces/kube-system/history"
    assert (await cluster("GET", other, user="eve")).status == 403


async def test_a_rule_for_names_holds_for_a_list_and_a_watch_of_one_name_and_shows_no_other(cluster: Cluster) -> None:
    for name in ("s", "t"):
        await cluster("POST", SECRETS, {**SECRET, "metadata": {"name": name}})
    await cluster.grant("eve", rule("list watch deletecollection", "secrets", names="s"), namespace="default")

    async def status(method: str = "GET", path: str = SECRETS, **query: str) -> int:
        return (await cluster(method, path, user="eve", **query)).status

    found = await cluster("GET", SECRETS, user="eve", fieldSelector="metadata.name=s")
    assert [item["metadata"]["name"] for item in found.body["items"]] == ["s"]
    assert await status(fieldSelector="metadata.name=s", watch="true") == 200
    assert await status(fieldSelector="metadata.name==s,metadata.namespace=default") == 200
    both = await cluster("GET", SECRETS, user="eve", fieldSelector="metadata.name=s,metadata.name=t")
    assert both.body["items"] == []
    for selector in ("metadata.name=t", "metadata.name!=t", "metadata.name=", "type=Opaque", "metadata.name=s/t"):
        assert await status(fieldSelector=selector) == 403, selector
    assert await status(fieldSelector="nonsense") == 403
    assert await status(path="/api/v1/secrets", fieldSelector="metadata.name=s") == 403
    # What takes many away cannot be allowed for one.
    assert await status("DELETE", fieldSelector="metadata.name=s") == 403


async def test_only_the_first_of_several_selectors_counts_for_who_may_and_for_what_is_shown(cluster: Cluster) -> None:
    for name in ("s", "t"):
        await cluster("POST", SECRETS, {**SECRET, "metadata": {"name": name}})
    await cluster.grant("eve", rule("list", "secrets", names="s"))
    query = "fieldSelector=metadata.name%3Ds&fieldSelector=metadata.name%3Dt"
    headers = {"impersonate-user": "eve", "accept": "application/json"}
    response = await cluster.server(Request("GET", SECRETS, query, headers))
    assert isinstance(response.body, bytes)
    assert [item["metadata"]["name"] for item in msgspec.json.decode(response.body)["items"]] == ["s"]


class Recording(AlwaysAllow):
    """Allows everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[RequestInfo] = []

    def decide(self, user: User, info: RequestInfo) -> Decision:
        self.asked.append(info)
        return ALLOWED


class Watched(MemoryStore):
    """Remembers which keys, or beginnings of keys, were read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[str] = []

    async def get(self, key: str, at: int | None = None) -> Any:
        self.touched.append(key)
        return await super().get(key, at)

    async def range(self, prefix: str, *args: Any, **options: Any) -> Page:
        self.touched.append(prefix)
        return await super().range(prefix, *args, **options)

    async def history(self, key: str, *args: Any, **options: Any) -> Sequence[Any]:
        self.touched.append(key)
        return await super().history(key, *args, **options)

    def watch(self, prefix: str, after: int | None = None) -> Any:
        self.touched.append(prefix)
        return super().watch(prefix, after)

    async def commit(self, key: str, value: bytes | None, expect: Any = ANY, *args: Any, **options: Any) -> int:
        self.touched.append(key)
        return await super().commit(key, value, expect, *args, **options)


WORDS = """
    api apis v1 apps core setpoint.dev namespaces default kube-system secrets configmaps deployments deployments.apps
    pods s status scale history proxy watch log finalize . .. %2e %2E%2E %2F ..%2F %2fsecrets s%2Fstatus SECRETS
    secrets%00 %73ecrets %25
"""
PIECES = st.sampled_from(["", *WORDS.split()])
PATHS = st.one_of(
    st.lists(PIECES, max_size=9).map(lambda pieces: "/" + "/".join(pieces)),
    st.tuples(
        st.sampled_from(["/api/v1/", "/apis/apps/v1/", "/apis/setpoint.dev/v1/"]), st.lists(PIECES, max_size=7)
    ).map(lambda parts: parts[0] + "/".join(parts[1])),
)
QUERIES = st.sampled_from(
    ["", "watch=1", "watch=false", "fieldSelector=metadata.name%3Ds", "dryRun=All", "at=1", "limit=1"]
)


def test_what_is_touched_is_what_the_authorizer_was_asked_about() -> None:
    store, authorizer = Watched(), Recording()

    async def ask(cluster: Cluster, method: str, path: str, query: str) -> None:
        await cluster("POST", SECRETS, SECRET)
        store.touched.clear()
        authorizer.asked.clear()
        headers = {"accept": "application/json", "content-type": "application/merge-patch+json"}
        response = await cluster.server(Request(method, path, query, headers, b"{}" if method == "PATCH" else b""))
        if not isinstance(response.body, bytes | list):
            await _followed(response.body)
        assert authorizer.asked, "nobody was asked"
        scopes = [_scope(cluster.server.services.registry, info) for info in authorizer.asked]
        for key in store.touched:
            # The records of an object's purges belong to its history.
            about = key.removeprefix("/purges")
            assert any(scope and about.startswith(scope) for scope in scopes), (key, authorizer.asked)
        for info in authorizer.asked:
            if info.subresource == "history" and "at=" in query:
                continue  # the right to the past of what the path says
            # What the authorizer sees is in the path, letter by letter, once that is decoded.
            for part in (info.group, info.namespace, info.resource, info.name, info.subresource):
                assert part in unquote(path) + query

    with asyncio.Runner() as runner:
        cluster = Cluster(store, authorizer)
        runner.run(cluster.server.start())
        # What the server itself knows of namespaces is read once.
        runner.run(cluster.server.services.namespaces.current())

        @settings(max_examples=250, deadline=None)
        @given(st.sampled_from(["GET", "HEAD", "DELETE", "PATCH", "OPTIONS", "get"]), PATHS, QUERIES)
        @example("GET", "/api/v1/namespaces/default/secrets/s", "")
        @example("GET", "/api/v1/namespaces/default/secrets", "fieldSelector=metadata.name%3Ds")
        @example("GET", "/api/v1/namespaces/default/configmaps/%2e%2e%2Fsecrets", "")
        @example("GET", "/apis/setpoint.dev/v1/namespaces/default/secrets/s/history", "")
        @example("GET", "/api/v1/watch/namespaces/default/secrets", "")
        @example("DELETE", "/api/v1/namespaces/default/secrets", "")
        def law(method: str, path: str, query: str) -> None:
            runner.run(ask(cluster, method, path, query))

        law()


async def _followed(stream: Stream) -> None:
    """Lets a watch begin, and ends it."""
    sink = MemorySink()
    watch = OpenWatch(stream, sink)
    await watch.ended()
    sink.close()
    await watch.task


def _scope(registry: Registry, info: RequestInfo) -> str | None:
    """The beginning of all keys that a request is about."""
    resource = registry.resource(info.group, info.version, info.resource)
    if resource is None:
        return None
    is_one = info.name and info.verb not in ("list", "watch")
    return resource.storage.key(info.namespace, info.name) if is_one else resource.storage.scope(info.namespace)
