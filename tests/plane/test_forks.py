"""Forks of a running control plane through its API: for administrators, at a revision, within limits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, Expired, Forbidden, Invalid, NotFound, ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane, forks
from setpoint.store.contract import Purge, Selection
from setpoint.testing.templates import START

FORKS = "/apis/setpoint.dev/v1/forks"
RBAC = "rbac.authorization.k8s.io"
MAP = "v1/ConfigMap"


def configmap(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with ControlPlane(system=False) as plane:
        yield plane


async def ask(client: Client, method: str, path: str, body: Object | None = None, **query: str) -> Any:
    headers = {"content-type": "application/json"} if body is not None else {}
    content = msgspec.json.encode(body) if body is not None else b""
    answer = await client.raw(method, path, query=list(query.items()), headers=headers, body=content)
    return msgspec.json.decode(answer.body)


async def forked(client: Client, **spec: Any) -> Object:
    found: Object = await ask(client, "POST", FORKS, {"spec": spec})
    return found


async def granted(plane: ControlPlane, user: str, *rules: Object) -> Client:
    meta = {"name": user}
    client = plane.client()
    await client.create({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": list(rules)})
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": user}]
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": user}
    await client.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": ref,
            "subjects": subjects,
        }
    )
    return plane.client(user=user, groups=["system:authenticated"])


def rule(verbs: str, resources: str, group: str = "setpoint.dev") -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


async def test_a_fork_has_the_objects_of_a_revision_and_neither_plane_sees_the_other(plane: ControlPlane) -> None:
    client = plane.client()
    first = await client.create(configmap("a", colour="red"))
    revision = first["metadata"]["resourceVersion"]
    await client.patch(MAP, merge({"data": {"colour": "blue"}}), "a", "default")
    made = await forked(client, revision=revision)
    assert made["spec"] == {"revision": revision}
    path = made["status"]["path"]
    assert await ask(client, "GET", f"{path}/api/v1/namespaces/default/configmaps/a") == first
    await ask(client, "POST", f"{path}/api/v1/namespaces/default/configmaps", configmap("b"))
    await ask(client, "DELETE", f"{path}/api/v1/namespaces/default/configmaps/a")
    assert [item["metadata"]["name"] for item in (await client.list(MAP, "default")).items] == ["a"]
    there = await ask(client, "GET", f"{path}/api/v1/namespaces/default/configmaps", None, limit="5")
    assert [item["metadata"]["name"] for item in there["items"]] == ["b"]
    [listed] = (await ask(client, "GET", FORKS))["items"]
    assert listed["metadata"]["name"] == made["metadata"]["name"]
    assert listed["status"]["receivedBytes"] > 0
    assert (await ask(client, "GET", f"{FORKS}/{made['metadata']['name']}"))["status"]["user"] == "system:admin"


async def test_a_deleted_fork_ends_its_watches_and_is_gone(plane: ControlPlane) -> None:
    client = plane.client()
    made = await forked(client)
    name, path = made["metadata"]["name"], made["status"]["path"]
    from setpoint.client.transport import Call

    call = Call("GET", f"{path}/api/v1/namespaces/default/configmaps", [("watch", "true")], {})
    async with client.stream(call) as stream:
        seen = b""
        await ask(client, "POST", f"{path}/api/v1/namespaces/default/configmaps", configmap("b"))
        async for piece in stream:
            seen += piece
            if b'"name":"b"' in seen:
                await ask(client, "DELETE", f"{FORKS}/{name}")
    assert b'"ADDED"' in seen
    for gone in (f"{FORKS}/{name}", f"{path}/api/v1/namespaces"):
        with pytest.raises(NotFound, match=rf'forks\.setpoint\.dev "{name}" not found'):
            await ask(client, "GET", gone)


async def test_each_path_needs_its_right(plane: ControlPlane) -> None:
    made = await forked(plane.client())
    name, path = made["metadata"]["name"], made["status"]["path"]
    user = await granted(plane, "ada", rule("*", "configmaps/history revisions"), rule("*", "*", ""))
    refused = [("POST", FORKS), ("GET", FORKS), ("GET", f"{FORKS}/{name}"), ("DELETE", f"{FORKS}/{name}")]
    below = f"{path}/api/v1/namespaces/default/configmaps"
    for method, where in (*refused, ("GET", below), ("POST", below)):
        with pytest.raises(Forbidden, match='User "ada" cannot'):
            await ask(user, method, where, {} if method == "POST" else None)
    assert len((await ask(plane.client(), "GET", FORKS))["items"]) == 1


async def test_the_fork_authorizes_the_user_by_its_own_roles(plane: ControlPlane) -> None:
    """The right to forks alone shows no object, and rights that were given later do not count in an older fork."""
    before = await plane.services.store.revision()
    user = await granted(plane, "ada", rule("*", "forks forks/proxy"))
    now = await forked(user)
    with pytest.raises(Forbidden, match='"ada" cannot list resource "configmaps" in API group ""'):
        await ask(user, "GET", f"{now['status']['path']}/api/v1/namespaces/default/configmaps")
    old = await forked(user, revision=str(before))
    with pytest.raises(Forbidden, match='"ada" cannot list resource "forks"'):
        await ask(user, "GET", f"{old['status']['path']}{FORKS}")
    # Impersonation is decided by the plane, and a forged header has no effect in the fork.
    answer = await ask(user, "GET", f"{now['status']['path']}/apis/authentication.k8s.io/v1")
    assert answer["kind"] == "APIResourceList"
    review = await ask(
        user,
        "POST",
        f"{now['status']['path']}/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert review["status"]["userInfo"]["username"] == "ada"
    with pytest.raises(Forbidden, match="cannot impersonate"):
        await user.raw("GET", f"{now['status']['path']}/api/v1/namespaces", headers={"impersonate-user": "root"})


async def test_a_revision_that_cannot_be_read_is_an_error_of_its_field(plane: ControlPlane) -> None:
    client = plane.client()
    current = await plane.services.store.revision()
    with pytest.raises(Invalid, match=r'spec\.revision: Invalid value: "x": must be the number of a revision'):
        await forked(client, revision="x")
    with pytest.raises(Invalid, match=rf"spec\.revision: .* does not exist yet; the current one is {current}"):
        await forked(client, revision=str(current + 1))
    with pytest.raises(Invalid, match=r"spec\.ttlSeconds: Invalid value: 0: must be from 1 to 86400"):
        await forked(client, ttlSeconds=0)
    await client.create(configmap("a"))
    await plane.services.store.compact(current + 1)
    with pytest.raises(Expired, match=rf"spec\.revision: revision {current} is no longer kept") as refused:
        await forked(client, revision=str(current))
    assert refused.value.code == 410
    with pytest.raises(APIError, match="unknown field `colour`"):
        await forked(client, colour="red")
    assert (await ask(client, "GET", FORKS))["items"] == []


async def test_a_dry_run_creates_none(plane: ControlPlane) -> None:
    await ask(plane.client(), "POST", FORKS, {}, dryRun="All")
    assert (await ask(plane.client(), "GET", FORKS))["items"] == []


async def test_number_and_bytes_are_limited(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    client = plane.client()
    monkeypatch.setattr(forks, "MOST_FORKS", 2)
    monkeypatch.setattr(forks, "MOST_RECEIVED", 1000)
    one, _ = [await forked(client) for _ in range(2)]
    with pytest.raises(Forbidden, match="2 forks exist, which is the maximum: delete one of them"):
        await forked(client)
    path = f"{one['status']['path']}/api/v1/namespaces/default/configmaps"
    await ask(client, "POST", path, configmap("a", text="x" * 500))
    with pytest.raises(Forbidden, match="the fork has received 1,000 bytes"):
        await ask(client, "POST", path, configmap("b", text="x" * 500))
    assert (await ask(client, "GET", path))["metadata"]
    await ask(client, "DELETE", f"{FORKS}/{one['metadata']['name']}")
    monkeypatch.setattr(forks, "MOST_BYTES", 1000)
    with pytest.raises(Forbidden, match="of at most 1,000: delete forks, or compact the history"):
        await forked(client)


async def test_a_fork_of_a_fork_is_refused(plane: ControlPlane) -> None:
    made = await forked(plane.client())
    with pytest.raises(ServiceUnavailable, match="this server cannot be forked"):
        await ask(plane.client(), "POST", made["status"]["path"] + FORKS, {})


async def test_a_fork_ends_after_its_time() -> None:
    clock = ManualClock(START)
    async with ControlPlane(system=False, clock=clock) as plane:
        client = plane.client()
        made = await forked(client, ttlSeconds=60)
        assert made["status"]["expires"] == "2030-01-01T00:01:00Z"
        for seconds, left in ((59, 1), (1, 0)):
            clock.advance(seconds)
            for _ in range(100):
                await asyncio.sleep(0)
            assert len((await ask(client, "GET", FORKS))["items"]) == left


async def test_a_purge_covers_the_forks(plane: ControlPlane) -> None:
    client = plane.client()
    first = await client.create(configmap("a", secret="one"))
    await client.patch(MAP, merge({"data": {"secret": "two"}}), "a", "default")
    path = (await forked(client))["status"]["path"]
    object_path = f"{path}/api/v1/namespaces/default/configmaps/a"
    at = first["metadata"]["resourceVersion"]
    assert (await ask(client, "GET", object_path, None, at=at))["data"] == {"secret": "one"}
    await plane.services.store.purge(Selection("/core/configmaps/default/a"), Purge("admin", 0.0, "leaked"))
    with pytest.raises(Expired, match="purged"):
        await ask(client, "GET", object_path, None, at=at)


async def test_the_copy_of_a_large_store_is_made_in_a_thread(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No turn of the loop does work for each object: the copy is the work of a thread. A purge during the copy
    repeats the copy."""
    from setpoint.store.memory import State

    client = plane.client()
    await client.create(configmap("a", secret="one"))
    await client.patch(MAP, merge({"data": {"secret": "two"}}), "a", "default")
    moved, copies, original = plane.services.offload.moved, 0, State.copied
    loop = asyncio.get_running_loop()
    store = plane.services.store

    def copied(*given: Any) -> State:
        nonlocal copies
        copies += 1
        found = original(*given)
        if copies == 1:
            purge = store.purge(Selection("/core/configmaps/default/a"), Purge("admin", 0.0, "leaked"))
            asyncio.run_coroutine_threadsafe(purge, loop).result()
        return found

    monkeypatch.setattr(State, "copied", copied)
    path = (await forked(client))["status"]["path"]
    assert (copies, plane.services.offload.moved - moved) == (2, 3)
    history = await ask(client, "GET", f"{path}/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history")
    assert [item["type"] for item in history["items"]][-1] == "PURGED"


async def test_forks_of_a_file_and_the_end_of_the_plane(tmp_path: Path) -> None:
    async with ControlPlane(store=f"sqlite:{tmp_path}/state.db", system=False) as plane:
        client = plane.client()
        first = await client.create(configmap("a", colour="red"))
        await client.delete(MAP, "a", "default")
        made = await forked(client, revision=first["metadata"]["resourceVersion"])
        found = await ask(client, "GET", f"{made['status']['path']}/api/v1/namespaces/default/configmaps/a")
        assert found["data"] == {"colour": "red"}
        running = plane.services.forks
    assert running is not None
    assert running.forks == []


async def test_a_client_with_the_path_of_a_fork_works_as_with_any_server(plane: ControlPlane, tmp_path: Path) -> None:
    """Over HTTP, with discovery, definitions and watches."""

    class BoxSpec(sp.Model):
        size: int = 0

    class Box(sp.Resource, group="example.com", version="v1"):
        """A box."""

        spec: BoxSpec

    from setpoint.client.kubeconfig import load

    made = await forked(plane.client())
    url = await plane.listen("127.0.0.1")
    path = tmp_path / "kubeconfig"
    path.write_text(plane.kubeconfig().replace(url, url + made["status"]["path"]))
    connection = load([path]).connection("", {}, plane.services.clock)
    async with Client(connection.transport()) as client:
        await client.install(Box)
        async with client.watch(Box, "default") as events:
            await client.create(Box(metadata=sp.ObjectMeta(name="b", namespace="default"), spec=BoxSpec(size=3)))
            async for event in events:
                if event.type == "ADDED":
                    assert event.object.spec.size == 3
                    break
    with pytest.raises(NotFound):
        await plane.client().get("apiextensions.k8s.io/v1/CustomResourceDefinition", "boxes.example.com")
