"""A control plane in this process: asked without sockets, opened to others, several at once, kept over a restart."""

import asyncio
import base64
import json
import ssl
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import uvloop
import yaml
from tests.event_loops import LoopFactory
from tests.server.edge.edge import Client

from setpoint.plane import ControlPlane, PlaneError
from setpoint.server.edge.certificates import CertificateError
from setpoint.server.message import Request
from setpoint.store.contract import Closed, StoreError
from setpoint.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def loop_factory() -> LoopFactory:
    """Runs the tests on the loop of `setpoint serve`."""
    return uvloop.new_event_loop


def config_map(name: str) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).encode()


async def ask(plane: ControlPlane, method: str, path: str, body: bytes = b"", token: str = "") -> tuple[int, Any]:
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    response = await plane.handler(Request(method, path, "", headers, body))
    parts = response.body
    assert isinstance(parts, bytes | list)
    return response.status, json.loads(parts if isinstance(parts, bytes) else b"".join(parts))


async def names(plane: ControlPlane) -> list[str]:
    _, found = await ask(plane, "GET", CONFIG_MAPS)
    return [item["metadata"]["name"] for item in found["items"] if item["metadata"]["name"] != "kube-root-ca.crt"]


async def connect(plane: ControlPlane) -> Client:
    config = yaml.safe_load(plane.kubeconfig())
    cluster = config["clusters"][0]["cluster"]
    context = None
    if "certificate-authority-data" in cluster:
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
    scheme, _, address = cluster["server"].partition("://")
    host, _, port = address.rpartition(":")
    assert (scheme == "https") == (context is not None)
    return Client(*await asyncio.open_connection(host.strip("[]"), int(port), ssl=context))


async def test_a_plane_answers_in_process_as_its_administrator() -> None:
    async with ControlPlane() as plane:
        status, created = await ask(plane, "POST", CONFIG_MAPS, config_map("a"))
        assert (status, created["metadata"]["name"]) == (201, "a")
        assert await names(plane) == ["a"]
        assert (await ask(plane, "GET", CONFIG_MAPS, token="wrong"))[0] == 401
        assert (await ask(plane, "GET", CONFIG_MAPS, token=plane.token))[0] == 200


@pytest.mark.feature("E45", "E87")
async def test_planes_in_one_process_know_nothing_of_each_other() -> None:
    async with ControlPlane() as one, ControlPlane() as other:
        await ask(one, "POST", CONFIG_MAPS, config_map("a"))
        await ask(other, "POST", CONFIG_MAPS, config_map("b"))
        assert (await names(one), await names(other)) == (["a"], ["b"])
        assert await one.listen() != await other.listen()
        assert (await ask(one, "GET", CONFIG_MAPS, token=other.token))[0] == 401


async def test_a_plane_is_of_use_only_while_it_runs() -> None:
    plane = ControlPlane()
    with pytest.raises(RuntimeError, match="async with"):
        await ask(plane, "GET", CONFIG_MAPS)
    async with plane:
        assert await names(plane) == []
    with pytest.raises(RuntimeError, match="async with"):
        await ask(plane, "GET", CONFIG_MAPS)


async def test_a_store_that_was_given_stays_open_and_one_that_was_opened_does_not() -> None:
    store = MemoryStore()
    async with ControlPlane(store) as plane:
        await ask(plane, "POST", CONFIG_MAPS, config_map("a"))
    async with ControlPlane(store) as plane:
        assert await names(plane) == ["a"]
    await store.close()
    with pytest.raises(Closed):
        await store.revision()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::1"])
async def test_a_kubeconfig_leads_to_the_plane(host: str) -> None:
    async with ControlPlane() as plane:
        try:
            await plane.listen(host)
        except OSError:
            pytest.skip(f"this machine has no {host}")
        user = yaml.safe_load(plane.kubeconfig())["users"][0]["user"]
        client = await connect(plane)
        bearer = f"Authorization: Bearer {user['token']}\r\n"
        assert (await client.ask(CONFIG_MAPS, headers=bearer)).status == 200
        anonymous = await client.ask(CONFIG_MAPS)
        assert json.loads(anonymous.body)["message"] == (
            'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" '
            'in API group "" in the namespace "default"'
        )
        wrong = await client.ask(CONFIG_MAPS, headers="Authorization: Bearer wrong\r\n")
        assert (wrong.status, json.loads(wrong.body)["message"]) == (401, "Unauthorized")
        client.close()


async def test_a_plane_serves_without_tls_and_at_a_unix_socket_too(tmp_path: Path) -> None:
    async with ControlPlane(token="t0ken") as plane:
        assert (await plane.listen(tls=False)).startswith("http://127.0.0.1:")
        await plane.listen_unix(tmp_path / "api.sock")
        bearer = "Authorization: Bearer t0ken\r\n"
        for client in (await connect(plane), Client(*await asyncio.open_unix_connection(tmp_path / "api.sock"))):
            assert (await client.ask(CONFIG_MAPS, headers=bearer)).status == 200
            assert (await client.ask(CONFIG_MAPS)).status == 403
            client.close()
    assert not (tmp_path / "api.sock").exists()


async def test_leaving_a_plane_ends_its_watches_cleanly() -> None:
    async with ControlPlane(token="t0ken") as plane:
        await plane.listen(tls=False)
        client = await connect(plane)
        client.send(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\n\r\n".encode())
        assert b"200 OK" in await client.reader.readuntil(b"\r\n\r\n")
        await ask(plane, "POST", CONFIG_MAPS, config_map("a"))
        assert json.loads(await client.chunk())["type"] == "ADDED"
    assert await client.chunk() == b""
    assert await client.at_end()
    client.close()


async def test_a_plane_with_data_is_the_same_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'deep' / 'state.db'}"

    async def life(name: str) -> tuple[list[str], str, dict[str, Any]]:
        async with ControlPlane(store) as plane:
            await plane.listen()
            await ask(plane, "POST", CONFIG_MAPS, config_map(name))
            config = yaml.safe_load(plane.kubeconfig())
            return await names(plane), config["users"][0]["user"]["token"], config["clusters"][0]["cluster"]

    first, token, cluster = await life("a")
    second, same_token, same_cluster = await life("b")
    assert (first, second) == (["a"], ["a", "b"])
    assert same_token == token
    assert same_cluster["certificate-authority-data"] == cluster["certificate-authority-data"]
    assert stat.S_IMODE((tmp_path / "deep" / "state.db.keys").stat().st_mode) == 0o700


async def test_a_kubeconfig_replaces_only_one_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kubeconfig"
    async with ControlPlane() as plane:
        await plane.listen()
        plane.write_kubeconfig(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        plane.write_kubeconfig(path)
        assert path.read_text() == plane.kubeconfig()
        path.write_text("apiVersion: v1\nkind: Config\nclusters: []\n")
        with pytest.raises(PlaneError, match="not written by Setpoint"):
            plane.write_kubeconfig(path)
        assert "clusters: []" in path.read_text()


@pytest.mark.parametrize("spec", ["", "memory:", "sqlite", "sqlite:", "etcd:", "postgres:x", "Memory"])
async def test_a_store_that_is_none_is_refused(spec: str) -> None:
    with pytest.raises(PlaneError, match="expected memory, sqlite:PATH or etcd:URL"):
        async with ControlPlane(spec):
            pass


async def test_a_plane_that_cannot_start_leaves_its_store_to_others(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "authority.pem").write_text("nonsense")
    with pytest.raises(StoreError):
        async with ControlPlane(f"sqlite:{tmp_path / 'state.db'}"):
            pass
    async with ControlPlane(f"sqlite:{tmp_path / 'other.db'}", data=tmp_path / "keys") as plane:
        with pytest.raises(CertificateError, match="move the file away"):
            await plane.listen()
    async with ControlPlane(f"sqlite:{tmp_path / 'other.db'}"):
        pass


async def test_a_plane_serves_the_definitions_that_another_wrote_to_the_same_store() -> None:
    name = "widgets.example.com"
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    definition = json.dumps({**kind, "metadata": {"name": name}, "spec": spec}).encode()
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    store = MemoryStore()
    widgets = Request("GET", "/apis/example.com/v1/widgets")
    async with ControlPlane(store) as one, ControlPlane(store) as other:
        assert (await one.handler(widgets)).status == 404
        assert (await ask(other, "POST", definitions, definition))[0] == 201
        while (await one.handler(widgets)).status != 200:
            await asyncio.sleep(0.01)
        assert (await ask(other, "DELETE", f"{definitions}/{name}"))[0] == 200
        while (await one.handler(widgets)).status != 404:
            await asyncio.sleep(0.01)
    await store.close()


async def connect_as(plane: ControlPlane, user: str, groups: Sequence[str] = ()) -> Client:
    """A connection that brings the certificate of a user, as the kubeconfig made for it has it."""
    config = yaml.safe_load(plane.kubeconfig(user, groups))
    cluster, found = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(found["client-certificate-data"]) + base64.b64decode(found["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    return Client(*await asyncio.open_connection(host, int(port), ssl=context))


async def test_a_plane_makes_kubeconfigs_for_other_users_by_certificates_it_signs() -> None:
    async with ControlPlane() as plane:
        with pytest.raises(PlaneError, match="no certificate authority to sign a certificate for jane"):
            plane.kubeconfig("jane")
        await plane.listen()
        client = await connect_as(plane, "jane", ["dev", "system:masters"])
        review = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await client.ask(path, "POST", review, "Content-Type: application/json\r\n")
        found = json.loads(answer.body)["status"]["userInfo"]
        assert (found["username"], found["groups"]) == ("jane", ["dev", "system:masters", "system:authenticated"])
        client.writer.close()
