"""The servers of an etcd share their keys: a client trusts all of them, and its credentials work everywhere."""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.store.etcd_server import require_etcd, shared_etcd

from setpoint.client.client import Client
from setpoint.config import Config
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane, PlaneError
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.memory import MemoryStore

FILES = ["admin.token", "authority.pem", "front-proxy.pem", "service-accounts.pem"]
REVIEW: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
_roots = count()


@pytest.fixture
def store() -> str:
    require_etcd()
    return f"etcd:http://{shared_etcd().endpoint}/identity-{next(_roots)}"


@pytest.fixture
def key(tmp_path: Path) -> Callable[..., str]:
    def write(name: str = "key", content: bytes = b"0123456789abcdef" * 2) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


def plane(store: str, data: Path | None = None, key: str = "") -> ControlPlane:
    return ControlPlane(store, config=Config(identity_key=key), data=data, system=False)


async def user_at(one: ControlPlane, kubeconfig: str, folder: Path) -> Any:
    """Returns the user that a server sees in a kubeconfig, which another server wrote."""
    path = folder / "kubeconfig"
    cluster = kubeconfig.partition("server: ")[2].partition("\n")[0]
    path.write_text(kubeconfig.replace(cluster, one.url))
    async with Client.from_kubeconfig(str(path)) as client:
        return (await client.create(REVIEW))["status"]["userInfo"]["username"]


async def test_credentials_of_one_server_work_at_the_others(store: str, tmp_path: Path) -> None:
    async with plane(store) as first, plane(store, tmp_path / "second") as second:
        for each in (first, second):
            await each.listen()
        assert first.authority == second.authority
        assert first.token == second.token
        assert await user_at(second, first.kubeconfig(), tmp_path) == "system:admin"
        assert await user_at(second, first.kubeconfig("jane"), tmp_path) == "jane"
        async with first.client() as client:
            metadata = {"name": "app", "namespace": "default"}
            await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
            request: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            path = "/api/v1/namespaces/default/serviceaccounts/app/token"
            answer = await client.raw("POST", path, body=json.dumps(request).encode())
        token = json.loads(answer.body)["status"]["token"]
        async with second.client(token=token) as other:
            found = await other.create(REVIEW)
        assert found["status"]["userInfo"]["username"] == "system:serviceaccount:default:app"
    kept = sorted(path.name for path in (tmp_path / "second").iterdir())
    assert [name for name in kept if name in FILES] == FILES
    async with plane(store) as later:
        assert later.token == first.token


async def test_the_files_of_the_first_server_become_those_of_all(store: str, tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path / "first", system=False) as before:
        await before.listen()
        token, authority = before.token, before.authority
    async with plane(store, tmp_path / "first"), plane(store) as second:
        await second.listen()
        assert (second.token, second.authority) == (token, authority)


async def test_other_files_are_refused(store: str, tmp_path: Path) -> None:
    async with ControlPlane(data=tmp_path, system=False) as before:
        assert before.token
    async with plane(store):
        pass
    with pytest.raises(PlaneError, match=r"admin.token differs from the identity .* set --data to another directory"):
        async with plane(store, tmp_path):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["admin.token"]


async def test_an_encrypted_identity_needs_its_key(store: str, key: Callable[..., str]) -> None:
    async with plane(store, key=key()) as first, plane(store, key=key()) as second:
        assert first.token == second.token
    with pytest.raises(PlaneError, match="is encrypted: start with --identity-key"):
        async with plane(store):
            pass
    with pytest.raises(PlaneError, match=r"other does not decrypt the identity .*: use the file of the others"):
        async with plane(store, key=key("other", b"x" * 32)):
            pass


async def test_an_identity_in_plain_text_is_not_taken_for_an_encrypted_one(store: str, key: Callable[..., str]) -> None:
    async with plane(store):
        pass
    with pytest.raises(PlaneError, match="stored without encryption: start without --identity-key"):
        async with plane(store, key=key()):
            pass


async def test_a_short_key_is_refused(store: str, key: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(PlaneError, match=r"has 5 bytes: at least 32 random bytes are needed"):
        async with plane(store, key=key("short", b"short")):
            pass
    with pytest.raises(PlaneError, match=r"cannot read .*missing: No such file"):
        async with plane(store, key=str(tmp_path / "missing")):
            pass


async def test_a_store_of_one_server_has_no_shared_identity(key: Callable[..., str]) -> None:
    with pytest.raises(PlaneError, match="only servers that share an etcd"):
        async with plane("memory", key=key()):
            pass
    async with ControlPlane(MemoryStore(), system=False) as one, ControlPlane(MemoryStore(), system=False) as other:
        assert one.token != other.token


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_no_read_of_the_log_has_the_identity(store: str, key: Callable[..., str], is_encrypted: bool) -> None:
    async with plane(store, key=key() if is_encrypted else "") as one:
        token = one.token.encode()
        raw = await EtcdStore.open(EtcdConfig.from_url(store.removeprefix("etcd:")))
        try:
            stored = await raw.identity()
            assert stored is not None
            assert (token in stored) is not is_encrypted
            assert token not in (await raw.snapshot()).dump()
            assert all(token not in (entry.value or b"") for entry in await raw.log())
            assert not [item for item in (await raw.range("")).items if "identity" in item.key]
        finally:
            await raw.close()
        async with one.client() as client:
            for path in (
                "/apis/setpoint.dev/v1/revisions",
                "/metrics",
                "/apis/setpoint.dev/v1/summaries",
                "/api/v1/secrets",
            ):
                assert token not in (await client.raw("GET", path)).body


async def test_servers_that_start_together_agree(store: str, tmp_path: Path) -> None:
    started = [plane(store, tmp_path / str(number)) for number in range(4)]
    await asyncio.gather(*(each.__aenter__() for each in started))
    try:
        assert len({each.token for each in started}) == 1
        kept = {(tmp_path / str(number) / "authority.pem").read_bytes() for number in range(4)}
        assert len(kept) == 1
    finally:
        for each in started:
            await each.__aexit__(None, None, None)


@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_cannot_be_used_is_not_shared(store: str, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff")
    with pytest.raises(PlaneError, match=rf"{name}.* move the file away"):
        async with plane(store, tmp_path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == [name]
    async with plane(store) as other:
        assert other.token


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense",
        b'{"version": 2}',
        b'{"keys": {"admin.token": "x"}}',
        json.dumps({"keys": {**dict.fromkeys(FILES, "x"), "../escaped": "x"}}).encode(),
        json.dumps({"keys": dict.fromkeys(FILES, "\u00e9")}).encode(),
    ],
)
async def test_an_identity_that_others_wrote_into_etcd_makes_no_file(
    store: str, tmp_path: Path, content: bytes
) -> None:
    raw = await EtcdStore.open(EtcdConfig.from_url(store.removeprefix("etcd:")))
    assert await raw.keep_identity(content) == content
    await raw.close()
    data = tmp_path / "data"
    with pytest.raises(PlaneError, match="the identity of the servers of this store cannot be read: "):
        async with plane(store, data):
            pass
    assert not list(tmp_path.iterdir())
