"""The objects of a cluster in a file, as far as the user may list them, and a world that begins with them."""

import base64
import json
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import setpoint as sp
from setpoint import testing
from setpoint.cli.main import main
from setpoint.client.client import Client
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, Expired
from setpoint.objects.tree import Object
from setpoint.past.archive.format import REVISIONS, BadArchive, Manifest
from setpoint.session.archive import cluster_source
from setpoint.session.archive.cluster_source import ClusterSelection, ClusterSource, RecordingError
from setpoint.session.archive.writer import ArchiveContents, write_archive
from setpoint.testing import LocalServer
from setpoint.testing.templates import START

RBAC = "rbac.authorization.k8s.io"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"
PASSWORD = "correct-horse-battery"


class ShelfSpec(sp.Model):
    """What a shelf should be."""

    books: int = 0


class ShelfStatus(sp.Model):
    """What a shelf is."""

    counted: int = 0
    observed_generation: int = 0


class Shelf(sp.Resource, group="example.com", version="v1"):
    """A shelf."""

    spec: ShelfSpec
    status: ShelfStatus | None = None


@sp.controller(Shelf, owns=["v1/ConfigMap"])
async def shelves(ctx: sp.Context[Shelf], request: sp.Request) -> None:
    shelf = await ctx.object()
    if shelf is None:
        return
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": request.name}}
    await ctx.client.apply(ctx.own({**child, "data": {"books": f"{shelf.spec.books}"}}))
    ctx.status.counted = shelf.spec.books


def shelf(name: str, books: int, namespace: str = "default") -> Shelf:
    return Shelf(metadata=sp.ObjectMeta(name=name, namespace=namespace), spec=ShelfSpec(books=books))


def configmap(name: str, namespace: str = "default", **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


@pytest.fixture
async def cluster() -> AsyncIterator[testing.World]:
    """A server with a controller at work, two namespaces, a Secret, and copies of its values."""
    async with testing.world(crds=[Shelf], objects=[shelf("a", 3), shelf("b", 4, "shop")]) as world:
        await world.run(shelves)
        await world.stop()
        applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"key":"{PASSWORD}"}}}}'}
        secret = {
            **configmap("key", "shop"),
            "kind": "Secret",
            "data": {"key": encoded(PASSWORD), "on": encoded("true")},
        }
        secret["metadata"]["annotations"] = applied
        await world.create(
            secret,
            configmap("settings", "shop", url=f"postgres://ada:{PASSWORD}@db", token=f"Bearer {TOKEN}", debug="true"),
        )
        yield world


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def record(client: Client, path: Path, selection: ClusterSelection = ClusterSelection()) -> Manifest:  # noqa: B008
    with ClusterSource(client, selection, client.namespace or "default") as source:
        return (await write_archive(path, source, ArchiveContents("cluster", ""), client.clock)).manifest


def lines(path: Path) -> dict[str, Object]:
    """The objects in an archive by key."""
    with zipfile.ZipFile(path) as archive:
        found = [json.loads(line) for line in archive.read(REVISIONS).splitlines()]
    assert [line["revision"] for line in found] == sorted(line["revision"] for line in found)
    return {line["key"]: line["value"] for line in found}


async def limited(world: testing.World, *rules: tuple[str, str], namespace: str = "") -> Client:
    """A client of a user with the right to get and list resources, in one namespace or in all."""
    kind = "Role" if namespace else "ClusterRole"
    meta = {"name": "reader", **({"namespace": namespace} if namespace else {})}
    listed = [{"apiGroups": [group], "resources": [plural], "verbs": ["get", "list"]} for group, plural in rules]
    role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, "rules": listed}
    ref = {"apiGroup": RBAC, "kind": kind, "name": "reader"}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": "ada"}]
    await world.client.create(role)
    await world.client.create(
        {"apiVersion": f"{RBAC}/v1", "kind": f"{kind}Binding", "metadata": meta, "roleRef": ref, "subjects": subjects}
    )
    client = world.plane.client(user="ada", groups=["system:authenticated"])
    client.namespace = namespace
    return client


async def test_a_world_begins_with_the_very_same_objects_and_controllers_adopt_them(
    cluster: testing.World, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.setpoint"
    manifest = await record(cluster.client, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert manifest.notes == []
    before = await cluster.client.get("example.com/v1/Shelf", "b", "shop")
    child = await cluster.client.get("v1/ConfigMap", "b", "shop")
    assert before["status"]["counted"] == 4
    async with testing.world(state=path) as world:
        assert await world.client.get("example.com/v1/Shelf", "b", "shop") == before
        assert await world.client.get("v1/ConfigMap", "b", "shop") == child
        assert world.clock.now() == cluster.clock.now()
        await world.run(shelves)
        # Nothing is left to do: the controller finds its own child.
        assert await world.client.get("v1/ConfigMap", "b", "shop") == child
        await world.client.edit("example.com/v1/Shelf", "b", "shop", lambda tree: tree["spec"].update(books=5))
        await world.settle()
        after = await world.client.get("v1/ConfigMap", "b", "shop")
        assert (after["metadata"]["uid"], after["data"]) == (child["metadata"]["uid"], {"books": "5"})
        async with world.fork() as copy:
            assert (await copy.find(Shelf, "b", "shop")).status.counted == 5


async def test_secrets_and_their_copies_are_masked_and_keys_stay(cluster: testing.World, tmp_path: Path) -> None:
    path = tmp_path / "cluster.setpoint"
    await record(cluster.client, path)
    with zipfile.ZipFile(path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    for hidden in (PASSWORD, encoded(PASSWORD), TOKEN):
        assert hidden.encode() not in everything
    found = lines(path)
    secret = found["/core/secrets/shop/key"]
    assert sorted(secret["data"]) == ["key", "on"]
    assert base64.b64decode(secret["data"]["key"]).startswith(b"***")
    settings = found["/core/configmaps/shop/settings"]["data"]
    assert settings["url"].startswith("postgres://ada:***")
    assert settings["debug"] == "true"


async def test_a_user_gets_what_the_user_may_list_and_the_rest_is_named(cluster: testing.World, tmp_path: Path) -> None:
    path = tmp_path / "cluster.setpoint"
    client = await limited(cluster, ("", "configmaps"), ("example.com", "shelfs"), namespace="shop")
    manifest = await record(client, path)
    assert set(lines(path)) == {
        "/core/configmaps/shop/b",
        "/core/configmaps/shop/settings",
        "/example.com/shelfs/shop/b",
    }
    notes = "\n".join(manifest.notes)
    assert "configmaps: only those in the namespace shop may be listed" in notes
    assert 'secrets is forbidden: User "ada" cannot list resource "secrets"' in notes

    with pytest.raises(BadArchive, match=r"1 of shelfs.example.com .*crds=.*or export again"):
        async with testing.world(state=path):
            pass
    async with testing.world(state=path, crds=[Shelf]) as world:
        assert (await world.find(Shelf, "b", "shop")).status.counted == 4
        await world.run(shelves)
        await world.client.edit(Shelf, "b", "shop", lambda found: setattr(found.spec, "books", 6))
        await world.eventually(lambda: counted(world, 6))


async def counted(world: testing.World, number: int) -> bool:
    return bool((await world.find(Shelf, "b", "shop")).status.counted == number)


async def test_a_user_without_any_right_gets_an_error_and_no_file(cluster: testing.World, tmp_path: Path) -> None:
    client = cluster.plane.client(user="eve", groups=["system:authenticated"])
    with pytest.raises(RecordingError, match='User "eve" cannot list resource "namespaces"'):
        await record(client, tmp_path / "cluster.setpoint")
    assert list(tmp_path.iterdir()) == []


async def test_namespaces_kinds_labels_and_events_are_selected(cluster: testing.World, tmp_path: Path) -> None:
    path = tmp_path / "cluster.setpoint"
    labelled = configmap("labelled", "shop")
    labelled["metadata"]["labels"] = {"app": "shop"}
    involved = {"kind": "ConfigMap", "name": "labelled", "namespace": "shop"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}}
    await cluster.create(labelled, {**event, "involvedObject": involved, "reason": "Seen", "type": "Normal"})

    await record(cluster.client, path, ClusterSelection(["shop"], ["shelf", "cm"]))
    assert set(lines(path)) == {
        "/apiextensions.k8s.io/customresourcedefinitions/shelfs.example.com",
        "/core/configmaps/shop/b",
        "/core/configmaps/shop/labelled",
        "/core/configmaps/shop/settings",
        "/core/namespaces/shop",
        "/example.com/shelfs/shop/b",
    }
    await record(cluster.client, path, ClusterSelection(["shop"], ["configmaps"], "app=shop"))
    assert set(lines(path)) == {"/core/configmaps/shop/labelled", "/core/namespaces/shop"}
    await record(cluster.client, path, ClusterSelection(["shop"], ["events"], events=True))
    assert "/core/events/shop/e" in lines(path)
    await record(cluster.client, path)
    assert "/core/events/shop/e" not in lines(path)
    with pytest.raises(RecordingError, match="the cluster has no resource 'boxes'"):
        await record(cluster.client, path, ClusterSelection(resources=["boxes"]))


class Counting:
    """Counts the lists of a client, and can make continue tokens expire."""

    def __init__(self, client: Client, path: str, failing: int = 0) -> None:
        self.calls: list[dict[str, str]] = []
        self._raw, self._path, self._failing = client.raw, path, failing

    async def __call__(self, method: str, path: str, **how: Any) -> Any:
        query = dict(how.get("query") or ())
        if path == self._path:
            self.calls.append(query)
            if "continue" in query and self._failing:
                self._failing -= 1
                raise Expired("the continue token has expired")
        return await self._raw(method, path, **how)


@pytest.mark.parametrize(("failing", "requests"), [(0, 3), (1, 5)])
async def test_lists_are_read_in_pages_at_one_revision(
    cluster: testing.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, requests: int
) -> None:
    monkeypatch.setattr(cluster_source, "PAGE", 2)
    path = tmp_path / "cluster.setpoint"
    await cluster.create(*(configmap(f"n{number}") for number in range(2)))
    counting = Counting(cluster.client, "/api/v1/configmaps", failing)
    monkeypatch.setattr(cluster.client, "raw", counting)
    manifest = await record(cluster.client, path)
    assert len(counting.calls) == requests
    assert {query["limit"] for query in counting.calls} == {"2"}
    assert counting.calls[0]["resourceVersionMatch"] == "Exact"
    assert counting.calls[0]["resourceVersion"] == str(manifest.revision)
    names = {"n0", "n1", "a", "b", "settings"}
    assert {key.rpartition("/")[2] for key in lines(path) if key.startswith("/core/configmaps/")} == names


async def test_a_list_that_expires_again_and_again_is_named(
    cluster: testing.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_source, "PAGE", 2)
    monkeypatch.setattr(cluster.client, "raw", Counting(cluster.client, "/api/v1/configmaps", 3))
    manifest = await record(cluster.client, tmp_path / "cluster.setpoint")
    assert manifest.notes == ["configmaps: the continue token has expired"]


async def test_the_world_calls_no_webhook_of_the_cluster(cluster: testing.World, tmp_path: Path) -> None:
    path = tmp_path / "cluster.setpoint"
    hook = {
        "name": "shelves.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/never"},
        "rules": [
            {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["configmaps"], "operations": ["CREATE"]},
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    await cluster.create({**kind, "metadata": {"name": "guard"}, "webhooks": [hook]})
    with pytest.raises(APIError, match="failed calling webhook"):
        await cluster.client.create(configmap("refused"))
    await record(cluster.client, path)
    async with testing.world(state=path) as world:
        assert await world.find(f"{kind['apiVersion']}/{kind['kind']}", "guard", "") is not None
        await world.client.create(configmap("accepted"))


async def test_a_session_with_a_history_is_a_state_as_well(tmp_path: Path) -> None:
    from setpoint.session.archive.sources import ServerSource

    path = tmp_path / "app.setpoint"
    async with testing.world(crds=[Shelf], objects=[shelf("a", 1)]) as world:
        await world.client.edit(Shelf, "a", "default", lambda found: setattr(found.spec, "books", 2))
        revision = (await world.find(Shelf, "a")).metadata.resource_version
        await write_archive(path, ServerSource(world.client), ArchiveContents("app", ""), world.clock)
    async with testing.world(state=path, clock=ManualClock(START)) as world:
        now = await world.find(Shelf, "a")
        assert (now.spec.books, now.metadata.resource_version) == (2, revision)
        assert (await world.client.get(Shelf, "a", "default", at=int(revision) - 1)).spec.books == 1


def test_the_command_exports_and_names_what_it_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "bug.setpoint"
    with LocalServer() as server:
        server.apply(configmap("settings", text="hello"))
        given = ["--kubeconfig", str(server.kubeconfig)]
        refused = CliRunner().invoke(main, ["export", str(path), *given, "--kinds", "cm"])
        assert (refused.exit_code, "need --cluster" in refused.output) == (1, True)
        command = ["export", "--cluster", str(path), "--kinds", "cm", "--namespaces", "default,gone", *given]
        done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert f"wrote {path}: " in done.output
    assert 'not included: namespace gone: namespaces "gone" not found' in done.output
    assert "/core/configmaps/default/settings" in lines(path)


async def test_an_invalid_token_ends_the_export(cluster: testing.World, tmp_path: Path) -> None:
    from setpoint.objects.errors import Unauthorized

    async def refuse(method: str, path: str, **how: Any) -> Any:
        raise Unauthorized("Unauthorized")

    await cluster.client.mapper.discover()
    cluster.client.raw = refuse  # type: ignore[method-assign]
    with pytest.raises(APIError, match="Unauthorized"):
        await record(cluster.client, tmp_path / "cluster.setpoint")
