"""The earlier runs of an app: recorded at the end or after a crash, read with rights to their objects, and purged."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from setpoint.client.client import Client
from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import APIError, BadRequest, Forbidden, Invalid, NotFound, UnsupportedMediaType
from setpoint.past.runs.record import End
from setpoint.past.runs.run_files import RunFiles
from setpoint.past.runs.run_history import RunHistory, RunStart
from setpoint.past.runs.settings import RunSettings
from setpoint.plane import ControlPlane
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.server.request.context import Services
from setpoint.store.contract import Retention, Store
from setpoint.store.sqlite import SqliteStore
from setpoint.workload.kinds.definitions import definitions

GROUP = "usvc-dev.developer.microsoft.com"
RBAC = "rbac.authorization.k8s.io"
ROOT = "/apis/setpoint.dev/v1"
MERGE = {"content-type": "application/merge-patch+json"}
TIME = "2026-01-31T12:00:00Z"
READY = {"type": "Ready", "status": "True", "reason": "Healthy", "message": "", "lastTransitionTime": TIME}
RUNNING = {"state": "Running", "healthStatus": "Healthy", "conditions": [READY]}
FAILED = {
    "state": "Finished",
    "exitCode": 3,
    "restartCount": 2,
    "conditions": [{**READY, "status": "False", "reason": "ExitedWithError"}],
}


class App:
    """A control plane with runs, and what a session does with both."""

    def __init__(self, plane: ControlPlane, runs: RunHistory, directory: Path) -> None:
        self.plane, self.runs, self.directory = plane, runs, directory
        self.client = plane.client(field_manager="setpoint up")

    async def part(self, name: str, status: Any = RUNNING) -> None:
        tree: Any = {"apiVersion": f"{GROUP}/v1", "kind": "Executable", "metadata": {"name": name}}
        tree["spec"] = {"executablePath": "/bin/true"}
        made = await self.client.create(tree)
        await self.client.update_status({**made, "status": status})

    async def config_map(self, name: str, **data: str) -> None:
        await self.write({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})

    async def secret(self, name: str, **data: str) -> None:
        await self.write({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})

    async def write(self, tree: Any) -> None:
        tree["metadata"]["namespace"] = "default"
        await self.client.apply(tree)

    async def user(self, name: str, *rules: tuple[str, str, str]) -> Client:
        """Returns the client of a user with rules of verbs, group and resources."""
        made = [
            {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
            for verbs, group, resources in rules
        ]
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": made}
        await self.client.create(role)
        binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
        reference = {"kind": "ClusterRole", "name": name, "apiGroup": RBAC}
        subjects = [{"kind": "User", "name": name, "apiGroup": RBAC}]
        await self.client.create({**binding, "roleRef": reference, "subjects": subjects})
        return self.plane.client(user=name)

    async def end(self, end: End = "Stopped") -> None:
        await self.runs.before_shutdown()
        await self.runs.finish(end)


@asynccontextmanager
async def app(
    directory: Path, store: Store | str = "memory", *, crashed: Path | None = None, **settings: Any
) -> AsyncIterator[App]:
    """Yields an app whose run has begun."""

    async def opened() -> Store:
        assert crashed is not None
        return await SqliteStore.open(crashed, clock=SystemClock(), retention=Retention())

    start = RunStart("/home/jane/shop/setpoint.yaml", ("ci",))
    open_crashed = opened if crashed is not None else None

    def runs(services: Services, first: int) -> RunHistory:
        return RunHistory(services, first, directory / "runs", RunSettings(**settings), start, open_crashed)

    async with ControlPlane(store, system=False, runs=runs) as plane:
        await provide(plane.services, definitions())
        plane.runs.begin()
        yield App(plane, plane.runs, directory)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[App]:
    async with app(tmp_path) as shop:
        yield shop


async def read(client: Client, path: str, **query: str) -> Any:
    return json.loads((await client.raw("GET", f"{ROOT}/{path}", query=list(query.items()))).body)


async def change(client: Client, number: int, body: Any, headers: Any = MERGE) -> Any:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return json.loads((await client.raw("PATCH", f"{ROOT}/runs/{number}", headers=headers, body=text)).body)


def names(items: Sequence[Any]) -> list[str]:
    return [f"{each['kind']}/{each['metadata']['name']}" for each in items]


async def test_the_current_run_is_listed_as_of_now(shop: App) -> None:
    await shop.part("api")
    await shop.part("worker", FAILED)
    [run] = (await read(shop.client, "runs"))["items"]
    assert (run["number"], run["current"], run["end"], run["failed"]) == (1, True, "", 1)
    assert (run["file"], run["profiles"], run["isInLog"]) == ("/home/jane/shop/setpoint.yaml", ["ci"], True)
    api, worker = run["parts"]
    assert (api["name"], api["state"], api["reason"]) == ("api", "Ready", "Healthy")
    assert api["readySeconds"] >= 0
    assert (worker["state"], worker["restarts"], worker["exitCode"]) == ("Failed", 2, 3)
    assert "readySeconds" not in worker
    assert await read(shop.client, "runs/1") == run
    await shop.config_map("settings", colour="red")
    objects = await read(shop.client, "runs/1/objects")
    assert names(objects["items"]) == ["ConfigMap/settings", "Executable/api", "Executable/worker"]


async def test_a_run_is_recorded_as_it_was_before_the_shutdown(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.part("api")
        await shop.config_map("settings", colour="red")
        await shop.runs.before_shutdown()
        # The shutdown deletes the parts while the objects are read.
        await shop.client.delete(f"{GROUP}/v1/Executable", "api")
        await shop.runs.finish("TerminalGone")
    async with app(tmp_path) as shop:
        _, run = (await read(shop.client, "runs"))["items"]
        assert (run["number"], run["current"], run["end"]) == (1, False, "TerminalGone")
        assert run["started"] < run["ended"]
        assert [(each["name"], each["state"]) for each in run["parts"]] == [("api", "Ready")]
        objects = await read(shop.client, "runs/1/objects")
        assert names(objects["items"]) == ["ConfigMap/settings", "Executable/api"]
        assert objects["metadata"] == {"number": 1, "revision": run["lastRevision"]}
        assert "managedFields" not in json.dumps(objects)


async def test_runs_are_recorded_without_objects_beyond_the_bound(tmp_path: Path) -> None:
    async with app(tmp_path, max_bytes=4096) as shop:
        await shop.part("api")
        await shop.config_map("settings", text="x" * 4096)
        assert (await read(shop.client, "runs/1/objects"))["items"] == []
        await shop.end()
    async with app(tmp_path) as shop:
        run = await read(shop.client, "runs/1")
        assert (run["objects"], run["omitted"]) == (0, "the objects of the app have more than 4096 bytes")
        assert [(each["name"], each["state"]) for each in run["parts"]] == [("api", "Ready")]
        found = await read(shop.client, "runs/1/difference")
        assert (found["from"], found["to"], found["objects"]) == (1, 2, [])
        assert found["notes"] == ["run 1: the objects of the app have more than 4096 bytes"]


async def test_runs_that_are_off_are_not_recorded(tmp_path: Path) -> None:
    async with app(tmp_path, enabled=False) as shop:
        await shop.config_map("settings", colour="red")
        assert (await read(shop.client, "runs"))["items"] == []
        await shop.end()
    assert not (tmp_path / "runs").exists()


async def test_a_server_without_runs_has_an_empty_list() -> None:
    async with ControlPlane("memory", system=False) as plane:
        assert (await read(plane.client(), "runs"))["items"] == []
        for path in ("runs/1", "runs/1/objects", "runs/1/difference"):
            with pytest.raises(NotFound):
                await read(plane.client(), path)
        with pytest.raises(NotFound):
            await change(plane.client(), 1, {"pinned": True})


async def test_a_crashed_run_is_recorded_from_its_store(tmp_path: Path) -> None:
    path = tmp_path / "crashed.sqlite3"
    store = await SqliteStore.open(path, clock=SystemClock(), retention=Retention())
    async with app(tmp_path, store) as shop:
        await shop.part("api", FAILED)
        await shop.config_map("settings", colour="red")
        await read(shop.client, "runs")
    await store.close()
    async with app(tmp_path, crashed=path) as shop:
        current, crashed = (await read(shop.client, "runs"))["items"]
        assert (crashed["number"], crashed["end"], crashed["failed"]) == (1, "Crashed", 1)
        # The time of the last write.
        assert crashed["started"] < crashed["ended"] < current["started"]
        assert (crashed["isInLog"], current["isInLog"], current["number"]) == (False, True, 2)
        assert names((await read(shop.client, "runs/1/objects"))["items"]) == ["ConfigMap/settings", "Executable/api"]


async def test_a_crashed_run_with_a_damaged_store_is_recorded_without_objects(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with app(tmp_path) as shop:
        await read(shop.client, "runs")
    (tmp_path / "crashed.sqlite3").write_bytes(b"no database" * 100)
    async with app(tmp_path, crashed=tmp_path / "crashed.sqlite3") as shop:
        _, run = (await read(shop.client, "runs"))["items"]
        assert (run["end"], run["omitted"]) == ("Crashed", "the store of the run cannot be read")
    assert "the objects of the crashed run 1 cannot be read" in caplog.text


async def test_the_store_of_another_run_is_not_recorded(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await read(shop.client, "runs")
    store = await SqliteStore.open(tmp_path / "other.sqlite3", clock=SystemClock(), retention=Retention())
    async with app(tmp_path / "other", store) as shop:
        await shop.config_map("settings", colour="red")
    await store.close()
    async with app(tmp_path, crashed=tmp_path / "other.sqlite3") as shop:
        assert (await read(shop.client, "runs/1"))["omitted"] == "the store of the run cannot be read"
        assert (await read(shop.client, "runs/1/objects"))["items"] == []


async def test_a_run_that_ended_before_its_first_apply_is_not_recorded(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await read(shop.client, "runs")
    async with app(tmp_path) as shop:
        assert [each["number"] for each in (await read(shop.client, "runs"))["items"]] == [2]


async def test_a_recorded_run_is_not_recorded_again_after_a_crash_at_its_end(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.config_map("settings", colour="red")
        begun = RunFiles(tmp_path / "runs")
        await read(shop.client, "runs")
        current = begun.current()
        await shop.end()
    assert current is not None
    # The host was killed after the record was written, and before the beginning was removed.
    begun.begin(current)
    async with app(tmp_path, crashed=tmp_path / "none.sqlite3") as shop:
        ended = (await read(shop.client, "runs"))["items"][1:]
        assert [(each["number"], each["end"]) for each in ended] == [(1, "Stopped")]


async def test_revisions_of_one_store_stay_in_the_log(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "s.sqlite3", clock=SystemClock(), retention=Retention())
    for _ in range(2):
        async with app(tmp_path, store) as shop:
            await shop.config_map("settings", colour="red")
            await shop.end()
    async with app(tmp_path, store) as shop:
        runs = (await read(shop.client, "runs"))["items"]
        assert [(each["number"], each["isInLog"]) for each in runs] == [(3, True), (2, True), (1, True)]
    await store.close()
    # An empty store has another log.
    async with app(tmp_path) as shop:
        assert [each["isInLog"] for each in (await read(shop.client, "runs"))["items"]] == [True, False, False]


async def test_a_run_is_pinned_and_named(tmp_path: Path) -> None:
    async with app(tmp_path, keep=1) as shop:
        run = await change(shop.client, 1, {"pinned": True, "name": "before the upgrade"})
        assert (run["pinned"], run["name"], run["current"]) == (True, "before the upgrade", True)
        await shop.end()
    for _ in range(2):
        async with app(tmp_path, keep=1) as shop:
            await shop.end()
    async with app(tmp_path, keep=1) as shop:
        runs = (await read(shop.client, "runs"))["items"]
        assert [(each["number"], each["pinned"]) for each in runs] == [(4, False), (3, False), (1, True)]
        assert (await change(shop.client, 1, {"pinned": None, "name": None}))["name"] == ""
        assert (await read(shop.client, "runs/1"))["pinned"] is False


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ({"pinned": True, "started": "x"}, Invalid, "started: cannot be changed"),
        ({"pinned": "yes"}, Invalid, "pinned: must be true or false"),
        ({"name": 3}, Invalid, "name: must be a text"),
        ({"name": "a" * 101}, Invalid, "name: must have at most 100 characters"),
        (b"[1]", BadRequest, "not a merge patch such as"),
    ],
)
async def test_other_changes_are_refused_by_field(shop: App, body: Any, error: type[APIError], message: str) -> None:
    with pytest.raises(error, match=message):
        await change(shop.client, 1, body)
    run = await read(shop.client, "runs/1")
    assert (run["pinned"], run["name"]) == (False, "")


async def test_requests_name_wrong_numbers_and_types(shop: App) -> None:
    for path in ("runs/none", "runs/0", "runs/99999999999"):
        with pytest.raises(BadRequest, match="is not the number of a run, such as 3"):
            await read(shop.client, path)
    for path in ("runs/7", "runs/7/objects", "runs/7/difference"):
        with pytest.raises(NotFound):
            await read(shop.client, path)
    with pytest.raises(BadRequest, match="to: 'now' is not the number of a run"):
        await read(shop.client, "runs/1/difference", to="now")
    with pytest.raises(UnsupportedMediaType):
        await change(shop.client, 1, {"pinned": True}, {"content-type": "application/json"})
    with pytest.raises(NotFound):
        await change(shop.client, 7, {"pinned": True})


async def test_two_runs_are_compared(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.part("api")
        await shop.config_map("settings", colour="red")
        await shop.end()
    async with app(tmp_path) as shop:
        await shop.part("api", FAILED)
        await shop.config_map("settings", colour="blue")
        await shop.end()
    async with app(tmp_path) as shop:
        found = await read(shop.client, "runs/1/difference", to="2")
        assert (found["from"], found["to"]) == (1, 2)
        assert [each["fields"] for each in found["parts"]] == [
            ["state", "reason", "restarts", "exitCode", "ready", "readySeconds"]
        ]
        [settings, _] = found["objects"]
        assert settings["object"]["name"] == "settings"
        assert settings["changes"] == [{"path": "data.colour", "old": "red", "new": "blue"}]
        now = await read(shop.client, "runs/1/difference")
        assert [(each["object"]["name"], each["type"]) for each in now["objects"]] == [
            ("settings", "removed"),
            ("api", "removed"),
        ]


async def test_parts_and_objects_require_the_rights_to_list_them_and_to_their_history(tmp_path: Path) -> None:
    runs = ("list get patch", "setpoint.dev", "runs runs/objects runs/difference")
    async with app(tmp_path) as shop:
        await shop.part("api")
        await shop.config_map("settings", colour="red")
        await shop.secret("key", v="hunter2")
        await shop.end()
    async with app(tmp_path) as shop:
        plain = await shop.user("plain", runs)
        lists = await shop.user("lists", runs, ("list", "", "configmaps"), ("list", GROUP, "executables"))
        history = ("get", "setpoint.dev", "configmaps/history")
        reads = await shop.user("reads", runs, ("list", "", "configmaps secrets"), history)
        for client in (plain, lists):
            assert (await read(client, "runs/1"))["parts"] == []
            assert (await read(client, "runs/1/objects"))["items"] == []
            found = await read(client, "runs/1/difference")
            assert (found["parts"], found["objects"]) == ([], [])
        assert names((await read(reads, "runs/1/objects"))["items"]) == ["ConfigMap/settings"]
        assert [each["object"]["kind"] for each in (await read(reads, "runs/1/difference"))["objects"]] == ["ConfigMap"]
        admin = names((await read(shop.client, "runs/1/objects"))["items"])
        assert admin == ["ConfigMap/settings", "Secret/key", "Executable/api"]


async def test_each_endpoint_requires_its_own_right(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.config_map("settings", colour="red")
        eve = await shop.user("eve", ("list get", "setpoint.dev", "runs"), ("*", "", "*"))
        assert len((await read(eve, "runs"))["items"]) == 1
        assert (await read(eve, "runs/1"))["number"] == 1
        for path in ("runs/1/objects", "runs/1/difference"):
            with pytest.raises(Forbidden):
                await read(eve, path)
        with pytest.raises(Forbidden):
            await change(eve, 1, {"pinned": True})
        other = shop.plane.client(user="other")
        for path in ("runs", "runs/1"):
            with pytest.raises(Forbidden):
                await read(other, path)


async def test_secrets_are_masked_without_the_rights_to_secrets(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.write(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "settings"},
                "data": {"url": "postgres://shop:hunter2@db/shop", "colour": "red"},
            }
        )
        history = ("get", "setpoint.dev", "configmaps/history secrets/history")
        runs = ("get", "setpoint.dev", "runs/objects runs/difference")
        without = await shop.user("without", runs, ("list", "", "configmaps"), history)
        holder = await shop.user("holder", runs, ("list", "", "configmaps secrets"), history)
        for client, is_masked in ((without, True), (holder, False)):
            [found] = (await read(client, "runs/1/objects"))["items"]
            assert ("hunter2" not in found["data"]["url"]) == is_masked
            assert found["data"]["colour"] == "red"


async def test_a_purge_removes_the_values_of_earlier_runs(tmp_path: Path) -> None:
    for value in ("hunter2", "swordfish"):
        async with app(tmp_path) as shop:
            await shop.secret("key", v=value)
            await shop.end()
    async with app(tmp_path) as shop:
        # The current log has no such object, but earlier runs have.
        assert await purge(shop.client, "secrets", "key") == 2
        for number in (1, 2):
            found = await read(shop.client, f"runs/{number}/objects")
            assert found["items"] == []
            assert found["purged"] == [{"resource": "secrets", "namespace": "default", "name": "key"}]
        assert (await read(shop.client, "runs/1/difference", to="2"))["notes"] == [
            "purged and not compared: secrets/default/key"
        ]


async def purge(client: Client, kind: str, name: str) -> int:
    path = f"{ROOT}/namespaces/default/{kind}/{name}/purge"
    headers = {"content-type": "application/json"}
    removed: int = json.loads((await client.raw("POST", path, headers=headers, body=b'{"reason": "leaked"}')).body)[
        "removed"
    ]
    return removed


async def test_a_purge_spares_the_value_that_an_object_still_has(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "s.sqlite3", clock=SystemClock(), retention=Retention())
    for value in ("hunter2", "swordfish"):
        async with app(tmp_path, store) as shop:
            await shop.secret("key", v=value)
            await shop.end()
    async with app(tmp_path, store) as shop:
        # One value in the log, and one in a run.
        assert await purge(shop.client, "secrets", "key") == 2
        objects = [await read(shop.client, f"runs/{number}/objects") for number in (1, 2)]
        assert [(len(each["items"]), len(each["purged"])) for each in objects] == [(0, 1), (1, 0)]
        await shop.end()
    await store.close()
    # The current value is part of the run after the purge.
    assert [each.purged for each in RunFiles(tmp_path / "runs").objects(3)] == [False]


async def test_a_purge_during_the_shutdown_reaches_the_run_that_is_being_recorded(tmp_path: Path) -> None:
    async with app(tmp_path) as shop:
        await shop.secret("key", v="hunter2")
        await shop.runs.before_shutdown()
        assert shop.runs._reading is not None
        await shop.runs._reading
        await shop.client.delete("v1/Secret", "key", "default")
        # One value in the log; the one that was read is removed when the run is recorded.
        assert await purge(shop.client, "secrets", "key") == 1
        await shop.runs.finish("Stopped")
    [found] = RunFiles(tmp_path / "runs").objects(1)
    assert (found.key, found.purged) == ("/core/secrets/default/key", True)
