"""`setpoint purge`: of an object at a server, and of one in what a session has left."""

import asyncio
import base64
import json
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner
from tests.cli.conftest import Command, Ran

from setpoint.cli.main import main
from setpoint.objects.errors import BadRequest
from setpoint.past.runs.record import RunObject, RunRecord
from setpoint.past.runs.run_files import RunFiles
from setpoint.plane import ControlPlane
from setpoint.session.app_apply import Applied, read_applied
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions
from setpoint.store.sqlite import SqliteStore

OLD = "hunter2-hunter2-hunter2"


def secret(namespace: str, value: str) -> str:
    metadata = {"name": "s", "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"v": value}})


def live(setpoint: Command, namespace: str) -> None:
    for value in (OLD, "current"):
        assert setpoint("apply", "-f", "-", text=secret(namespace, value)).code == 0


def test_the_past_of_an_object_is_removed_and_the_history_says_so(setpoint: Command, namespace: str) -> None:
    live(setpoint, namespace)
    ran = setpoint("purge", "secret/s", "-n", namespace, "--reason", "leaked in a ticket", "--yes")
    assert (ran.code, ran.stdout) == (0, f"server: removed 1 value of Secret/{namespace}/s\n"), ran.stderr
    history = setpoint("history", "secret/s", "-n", namespace)
    assert history.code == 0, history.stderr
    assert "value purged by system:admin: leaked in a ticket" in history.stdout
    told = json.loads(setpoint("history", "secret/s", "-n", namespace, "-o", "json").stdout)
    assert [item["type"] for item in told["items"]] == ["MODIFIED", "PURGED"]
    first = told["items"][1]["revision"]
    gone = setpoint("at", str(first), "get", "secret/s", "-n", namespace)
    assert gone.code != 0
    assert "was purged" in gone.stderr
    for question in ("diff", "blame", "why"):
        asked = setpoint(question, "secret/s", "-n", namespace)
        assert "Traceback" not in asked.stdout + asked.stderr
        assert OLD not in asked.stdout + asked.stderr


def test_it_asks_before_and_does_nothing_unless_that_is_confirmed(setpoint: Command, namespace: str) -> None:
    live(setpoint, namespace)
    ran = setpoint("purge", "secret/s", "-n", namespace, "--reason", "leaked", text="n\n")
    assert (ran.code, "aborted; no value was removed" in ran.stderr) == (1, True)
    told = json.loads(setpoint("history", "secret/s", "-n", namespace, "-o", "json").stdout)
    assert [item["type"] for item in told["items"]] == ["MODIFIED", "ADDED"]
    ran = setpoint("purge", "secret/s", "-n", namespace, "--reason", "leaked", "-o", "json", text="y\n")
    assert json.loads(ran.stdout)["items"][0]["removed"] == 1


def test_what_is_wrong_is_said_in_one_line(setpoint: Command, namespace: str) -> None:
    assert "Missing option '--reason'" in setpoint("purge", "secret/s").stderr
    ran = setpoint("purge", "secret/none", "-n", namespace, "--reason", "r", "--yes")
    assert (ran.code, "does not exist" in ran.stderr) == (3, True)
    ran = setpoint("purge", "secret/s", "--reason", "r", "--through", "x", "--yes")
    assert (ran.code, "--through x: expected a revision" in ran.stderr) == (2, True)


def test_a_store_in_etcd_is_announced_and_asked_for(
    setpoint: Command, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    async def purge(*_: object, cluster_wide: bool = False) -> dict[str, int]:
        asked.append(cluster_wide)
        if not cluster_wide:
            raise BadRequest('set "confirmClusterWide": true to do so')
        return {"removed": 1}

    monkeypatch.setattr("setpoint.past.queries.purge", purge)
    refused = setpoint("purge", "secret/s", "-n", namespace, "--reason", "r", text="y\nn\n")
    assert (refused.code, asked) == (1, [False])
    assert "compacts the whole cluster" in refused.stderr
    assert "Compact and defragment the whole etcd cluster?" in refused.stderr
    assert setpoint("purge", "secret/s", "-n", namespace, "--reason", "r", "--yes").code == 0
    assert asked == [False, False, True]


async def _run(store: Path) -> None:
    """A run of an app that leaves the past of a secret."""
    async with ControlPlane(f"sqlite:{store}", system=False) as plane:
        client = plane.client()
        for value in (OLD, "current"):
            await client.apply(yaml.safe_load(secret("default", value)), field_manager="test")


def test_the_stored_runs_of_a_session_are_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "USER": "ann", "KUBECONFIG": ""}
    sessions = Sessions.of(environ)
    places = Places.of(environ, "shop-1")
    for store in (places.store, Places(places.crashed).store):
        store.parent.mkdir(parents=True, exist_ok=True)
        asyncio.run(_run(store))
    applied = Applied(
        objects=[yaml.safe_load(secret("default", OLD)), {"kind": "Executable", "metadata": {"name": "s"}}]
    )
    Places(places.crashed).applied.write_bytes(msgspec.json.encode(applied))
    earlier = RunFiles(places.runs)
    values = (RunObject("/core/secrets/default/s", 1, msgspec.Raw(b'{"data": {"v": "%b"}}' % OLD.encode())),)
    earlier.write(RunRecord(number=1, log="a", started="", first_revision=1, end="Stopped"), values)
    told = Session(
        app="shop", directory=str(tmp_path), process="", kubeconfig="", url="", started="", data=str(places.data)
    )
    sessions.add(told)
    sessions.remove(told, ended="2026-01-31T12:00:00Z")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["purge", "secret/s", "--reason", "leaked", "--yes"], env=environ)
    ran = Ran(result.exit_code, result.stdout, result.stderr)
    assert ran.code == 0, (ran, result.exception)
    crashed = Places(places.crashed)
    assert ran.stdout.splitlines() == [
        f"{crashed.store}: removed 2 values of Secret/default/s",
        f"{places.store}: removed 2 values of Secret/default/s",
    ]
    # The next run continues the one; the other is over, and its last value is current nowhere.
    assert asyncio.run(_values(places.store)) == [True, False]
    assert asyncio.run(_values(crashed.store)) == [False, False, False]
    assert [each.purged for each in earlier.objects(1)] == [True]
    assert [tree["kind"] for tree in read_applied(crashed).objects] == ["Executable"]
    for value in (OLD.encode(), base64.b64encode(OLD.encode())):
        assert [path for path in tmp_path.rglob("*") if path.is_file() and value in path.read_bytes()] == []


async def _values(path: Path) -> list[bool]:
    store = await SqliteStore.open(path)
    try:
        return [entry.value is not None for entry in await store.history("/core/secrets/default/s")]
    finally:
        await store.close()
